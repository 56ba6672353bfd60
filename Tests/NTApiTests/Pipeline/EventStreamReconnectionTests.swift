import Testing

@testable import NTApi

@Suite struct EventStreamReconnectionTests {
    private func head(_ status: Int, _ type: String? = "text/event-stream") -> ResponseHead {
        var head = ResponseHead(status: status, headers: HTTPHeaders(), httpVersion: 1.1)
        if let type { head.headers.add("Content-Type", type) }
        return head
    }

    private func wait(_ decision: EventStreamReconnection.Decision?) -> Double? {
        if case .connectAgain(let seconds) = decision { seconds } else { nil }
    }

    private func failure(_ decision: EventStreamReconnection.Decision?) -> APIError? {
        if case .fail(let error) = decision { error } else { nil }
    }

    private let broken = APIError(domain: .network, code: .network, message: "reset")

    @Test(arguments: [
        "text/event-stream", "TEXT/Event-Stream", "text/event-stream; charset=utf-8", "text/event-stream;x",
        " text/event-stream ;charset=latin1",
    ]) func aStreamIsRead(_ type: String) {
        var policy = EventStreamReconnection()
        #expect(
            policy.answered(head(200, type), jitter: 0) == nil && policy.answered(head(201, type), jitter: 0) == nil)
    }

    @Test(arguments: [
        "text/plain", "application/json", "", "text/event-streams", "text/event", "x;text/event-stream", nil,
    ]) func anythingElseIsAnError(_ type: String?) throws {
        var policy = EventStreamReconnection()
        let error = try #require(failure(policy.answered(head(200, type), jitter: 0)))
        #expect(error.domain == .http && error.httpStatus == 200)
        #expect(error.message.containsSubstring((type ?? "").isEmpty ? "no content type" : type ?? ""))
    }

    @Test func noContentEndsIt() {
        var policy = EventStreamReconnection()
        #expect(policy.answered(head(204), jitter: 0) == .finish && policy.answered(head(205), jitter: 0) == .finish)
        policy.received(lastEventID: "1", retry: nil)
        #expect(policy.answered(head(204, nil), jitter: 0) == .finish)
    }

    @Test(arguments: [300, 302, 304, 400, 401, 403, 404, 408, 410, 429, 499]) func mistakesEndIt(_ status: Int) throws {
        var policy = EventStreamReconnection()
        let error = try #require(failure(policy.answered(head(status), jitter: 0)))
        #expect(error.code == .httpError && error.httpStatus == status)
        #expect(error.message.containsSubstring("HTTP \(status)"))
    }

    @Test(arguments: [500, 502, 503, 504, 599]) func troublesOfTheServerPass(_ status: Int) {
        var policy = EventStreamReconnection()
        #expect(wait(policy.answered(head(status, "text/html"), jitter: 0)) == 3)
        #expect(wait(policy.answered(head(status), retryAfter: 77, jitter: 0)) == 77)
        #expect(wait(policy.answered(head(status), retryAfter: 1e9, jitter: 0)) == 86_400)
    }

    @Test func whatWasTriedInVainIsTriedEverMoreSeldom() {
        var policy = EventStreamReconnection()
        let waits = (0..<8).map { _ in wait(policy.ended(broken, jitter: 0)) }
        #expect(waits == [3, 6, 12, 24, 30, 30, 30, 30] && policy.failures == 8)
        // An event resets the failures.
        policy.received(lastEventID: "", retry: nil)
        #expect(wait(policy.ended(broken, jitter: 0)) == 3 && policy.failures == 0)
        #expect(wait(policy.ended(broken, jitter: 0)) == 3 && wait(policy.ended(broken, jitter: 0)) == 6)
        for _ in 0..<100 { _ = policy.ended(broken, jitter: 0) }
        #expect(wait(policy.ended(broken, jitter: 0)) == 30)
    }

    @Test func theLotSpreadsTheClients() {
        for (jitter, expected) in [(0.0, 3.0), (0.5, 3.75), (1, 4.5), (-1, 3), (9, 4.5)] {
            var policy = EventStreamReconnection()
            #expect(wait(policy.ended(nil, jitter: jitter)) == expected)
        }
    }

    @Test func theServerSaysHowLong() {
        var policy = EventStreamReconnection()
        policy.received(lastEventID: "", retry: 100)
        #expect(wait(policy.ended(nil, jitter: 0)) == 0.1)
        // It always pauses, whatever the server has sent. The pause grows after connections without an event.
        policy.received(lastEventID: "", retry: 0)
        let waits = (0..<5).map { _ in wait(policy.ended(broken, jitter: 0)) }
        #expect(waits == [0.1, 0.1, 2, 4, 8])
        policy.received(lastEventID: "", retry: 120_000)
        #expect((0..<4).map { _ in wait(policy.ended(broken, jitter: 0)) } == [120, 120, 120, 120])
        policy.received(lastEventID: "", retry: .max)
        #expect(wait(policy.ended(nil, jitter: 1)) == 86_400)
    }

    @Test func theNextRequestSaysWhereToGoOn() {
        var policy = EventStreamReconnection()
        let plain = [("Accept", "text/event-stream"), ("Cache-Control", "no-store")]
        #expect(policy.headers.elementsEqual(plain, by: ==))
        policy.received(lastEventID: "41 é", retry: nil)
        #expect(policy.headers.elementsEqual(plain + [("Last-Event-ID", "41 é")], by: ==))
        // An identifier with a control character cannot be sent in a header.
        policy.received(lastEventID: "a\u{1}b", retry: nil)
        #expect(policy.headers.count == 2)
        #expect(EventStreamReconnection(lastEventID: "7").headers.last?.value == "7")
    }

    @Test func someErrorsDoNotPass() {
        for code in [ErrorCode.tls, .cancelled, .invalidRequest, .responseTooLarge, .generic, .tooManyRedirects] {
            var policy = EventStreamReconnection()
            let failure = APIError(code: code)
            #expect(policy.ended(failure, jitter: 0) == .fail(failure))
        }
        for code in [ErrorCode.network, .timeout, .noInternet] {
            var policy = EventStreamReconnection()
            #expect(wait(policy.ended(APIError(code: code), jitter: 0)) == 3)
        }
    }

    /// A POST does not reconnect, for example.
    @Test func withoutReconnectingTheFirstEndIsTheLast() {
        var policy = EventStreamReconnection(reconnects: false)
        #expect(policy.answered(head(200), jitter: 0) == nil && policy.ended(nil, jitter: 0) == .finish)
        #expect(policy.ended(broken, jitter: 0) == .fail(broken))
        #expect(failure(policy.answered(head(503), jitter: 0))?.httpStatus == 503)
    }

    @Test func afterSoManyFailuresInARowTheLastIsTheStreams() {
        var policy = EventStreamReconnection(maximumFailures: 3)
        policy.received(lastEventID: "", retry: nil)
        #expect(wait(policy.ended(nil, jitter: 0)) == 3)
        #expect(wait(policy.ended(broken, jitter: 0)) == 3 && wait(policy.ended(nil, jitter: 0)) == 6)
        #expect(policy.ended(broken, jitter: 0) == .fail(broken))
        var once = EventStreamReconnection(maximumFailures: 1)
        #expect(once.ended(broken, jitter: 0) == .fail(broken))
        once = EventStreamReconnection(maximumFailures: 1)
        once.received(lastEventID: "", retry: nil)
        #expect(wait(once.ended(broken, jitter: 0)) == 3)
    }
}
