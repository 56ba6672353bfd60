import Testing

@testable import NTApi

/// What the headers of a response say about the next request.
@Suite struct PushbackTests {
    private let now = 1_700_000_000.0

    private func head(_ headers: (name: String, value: String)..., status: Int = 429) -> ResponseHead {
        ResponseHead(status: status, headers: HTTPHeaders(headers), httpVersion: 1.1)
    }

    // MARK: How long to wait

    @Test(
        arguments: [
            ("2", 2), ("2.0", 2), ("1.5", 2), ("0.25", 1), ("0.0", 0), ("+1", 1), ("+1.5", 2), ("+", nil), ("++1", nil),
            ("+-1", nil), ("1.", nil), (".5", nil), ("1.5.2", nil), ("-1.5", nil), ("nan", nil), ("inf", nil),
            ("0x1p3", nil), ("1,5", nil), ("Tue, 14 Nov 2023 22:13:30 GMT", 10),
            ("Tue, 14 Nov 2023 22:13:30 UTC", 10), ("Tue, 14 Nov 2023 22:13:10 GMT", 0),
        ] as [(String, Double?)]) func aWaitIsAWholeNumber(_ text: String, _ seconds: Double?)
    {
        #expect(head(("Retry-After", text)).retryAfter(now: now) == seconds)
    }

    /// Both the server and a proxy have sent it.
    @Test func theFirstLineThatIsOneCounts() {
        #expect(head(("Retry-After", "5"), ("Retry-After", "9")).retryAfter(now: now) == 5)
        #expect(head(("Retry-After", "soon"), ("Retry-After", "7")).retryAfter(now: now) == 7)
        let date = "Tue, 14 Nov 2023 22:13:30 GMT"
        #expect(head(("Date", date), ("Date", date), ("Retry-After", date)).retryAfter(now: now) == 0)
    }

    /// The clocks of server and client may differ by any time.
    @Test(
        arguments: [
            ("Tue, 14 Nov 2023 21:13:20 GMT", "Tue, 14 Nov 2023 21:13:30 GMT", 10),
            ("Tue, 14 Nov 2023 23:13:20 GMT", "Tue, 14 Nov 2023 23:13:30 GMT", 10),
            ("Tue, 14 Nov 2023 23:13:20 UTC", "Tue, 14 Nov 2023 23:13:30 GMT", 10),
            ("Tue, 14 Nov 2023 23:13:20 GMT", "Tue, 14 Nov 2023 23:13:10 GMT", 0),
            ("soon", "Tue, 14 Nov 2023 22:13:30 GMT", 10), ("Tue, 14 Nov 2023 21:13:20 GMT", "7", 7),
        ] as [(String, String, Double)])
    func aTimeIsOneOfTheServersClock(_ date: String, _ text: String, _ seconds: Double) throws {
        #expect(head(("Date", date), ("Retry-After", text)).retryAfter(now: now) == seconds)
        let reset = HTTPDate.seconds(text).map(String.init) ?? text
        let exhausted = head(("Date", date), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", reset))
        #expect(exhausted.exhaustion(now: now) == seconds)
    }

    @Test(
        arguments: [
            ("1500", 1.5), ("0", 0), ("0.5", 0.0005), ("soon", 7), ("-1", 7), ("", 7),
            ("+1500", 1.5),
            ("99999999999999999999999", 0x1p63 / 1000),
        ] as [(String, Double)]) func millisecondsAreReadFirst(_ text: String, _ seconds: Double)
    {
        #expect(head(("Retry-After", "7"), ("retry-after-ms", text)).retryAfter(now: now) == seconds)
    }

    // MARK: Whether to send again

    @Test(arguments: [("true", true), ("TRUE", true), ("false", false), ("1", nil), ("", nil), ("yes", nil)])
    func theServerSaysWhether(_ text: String, _ should: Bool?) {
        #expect(head(("X-Should-Retry", text)).shouldRetry == should)
        #expect(head().shouldRetry == nil)
    }

    @Test func theServerDecidesInPlaceOfTheStatuses() {
        func decide(_ status: Int, _ should: Bool?, mayBeRepeated: Bool = true) -> RetryDecision {
            let attempt = RetryDecision.Attempt(status: status, shouldRetry: should, mayBeRepeated: mayBeRepeated)
            return RetryDecision.decide(.standard, attempt, fraction: 0.5, secondsLeft: 1000)
        }
        for status in [400, 404, 409, 501] {
            #expect(decide(status, true) == .retry(afterSeconds: 0.25))
            #expect(decide(status, nil) == .stand)
        }
        for status in [429, 503] {
            #expect(decide(status, false) == .giveUp("not sent again: the server asks not to (x-should-retry)"))
        }
        // The policy would not retry these responses, so there is nothing to explain.
        #expect(decide(200, false) == .stand && decide(404, false) == .stand)
        // A success stays a success, whatever the header says. A request that must not be sent twice is not retried.
        #expect(decide(200, true) == .stand && decide(304, true) == .stand)
        #expect(decide(503, true, mayBeRepeated: false) != .retry(afterSeconds: 0.25))
        // The program may decide differently.
        let refused = RetryDecision.Attempt(status: 503, shouldRetry: false)
        #expect(RetryDecision.isOpen(.standard, refused))
        #expect(
            RetryDecision.decide(.standard, refused, fraction: 0, secondsLeft: 1000, wish: 2)
                == .retry(afterSeconds: 2))
        // The response is broken, so its header does not count.
        let broken = APIError(domain: .network, code: .network, message: "reset", isRetryable: true)
        let cut = RetryDecision.Attempt(status: 200, shouldRetry: false, error: broken)
        #expect(RetryDecision.decide(.standard, cut, fraction: 0.5, secondsLeft: 1000) == .retry(afterSeconds: 0.25))
    }

    // MARK: The rest of a limit

    @Test(
        arguments: [
            (#""default";r=0;t=30"#, nil, 30), (#""default";r=1;t=30"#, nil, nil), (#""default";t=30"#, nil, nil),
            (#""burst";r=0;t=2, "daily";r=0;t=40"#, nil, 40), (#""burst";r=0;t=2, "daily";r=9;t=40"#, nil, 2),
            (#" "a";r=0 ; t=5 "#, nil, 5), (#""a, b";r=0;t=5;pk=:cGs6:"#, nil, 5), (#""a\"; r=1";r=0;t=5"#, nil, 5),
            (#""default";r=0"#, #""default";q=100;w=60"#, 60), (#""default";r=0"#, #""other";q=100;w=60"#, nil),
            (#""default";r=0"#, nil, nil), (#""default";r=-1;t=3"#, nil, nil), (#""default";r=x;t=3"#, nil, nil),
            (#""default";r=0;t=1.5"#, nil, nil), ("", nil, nil), (";;;,,,=", nil, nil), (#""open;r=0;t=3"#, nil, nil),
            (#""default";r=9;r=0;t=4"#, nil, 4),
        ] as [(String, String?, Double?)])
    func theStandardsFields(_ limit: String, _ policy: String?, _ seconds: Double?) {
        var headers = [(name: "RateLimit", value: limit)]
        if let policy { headers.append(("RateLimit-Policy", policy)) }
        let head = ResponseHead(status: 200, headers: HTTPHeaders(headers), httpVersion: 1.1)
        #expect(head.exhaustion(now: now) == seconds)
    }

    @Test(
        arguments: [
            ("0", "30", 30), ("0", "1700000012", 12), ("0", "1600000000", 0), ("1", "30", nil), ("0", nil, nil),
            ("none", "30", nil), ("0", "soon", nil), ("0.0", "1.5", 1.5),
        ] as [(String, String?, Double?)])
    func theCommonFields(_ remaining: String, _ reset: String?, _ seconds: Double?) {
        for prefix in ["X-RateLimit", "x-ratelimit", "RateLimit"] {
            var headers = [(name: "\(prefix)-Remaining", value: remaining)]
            if let reset { headers.append(("\(prefix)-Reset", reset)) }
            let head = ResponseHead(status: 200, headers: HTTPHeaders(headers), httpVersion: 1.1)
            #expect(head.exhaustion(now: now) == seconds, "\(prefix)")
        }
    }

    @Test(
        arguments: [
            ("limit=100, remaining=0, reset=30", 30), ("limit=100,remaining=0,reset=1.5", 1.5),
            ("limit=100, remaining=1, reset=30", nil), ("remaining=0", nil), ("remaining=x, reset=5", 9),
        ] as [(String, Double?)])
    func theFieldOfDraft7(_ limit: String, _ seconds: Double?) {
        let both = head(("RateLimit", limit), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "9"))
        #expect(both.exhaustion(now: now) == seconds)
    }

    @Test func theStandardsFieldIsReadFirst() {
        let both = head(("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "9"), ("RateLimit", #""a";r=3;t=1"#))
        #expect(both.exhaustion(now: now) == nil && head().exhaustion(now: now) == nil)
    }
}
