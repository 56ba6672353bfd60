import Testing

@testable import NTApi

/// How a passage ends when its interceptor has not answered.
@Suite struct InterceptorEndTests {
    private let stub = Stub()
    private let clock = ManualClock()
    private let held = Log<Interception>()
    private let ends = Log<Bool>()

    /// A passage that answers as the test says, and records its end.
    private final class Run: InterceptorRun {
        private let answer: @Sendable (Interception) -> Void
        private let ends: Log<Bool>

        init(_ ends: Log<Bool>, _ answer: @escaping @Sendable (Interception) -> Void) {
            self.ends = ends
            self.answer = answer
        }

        func intercept(_ interception: Interception) { answer(interception) }

        func end() { ends.append(true) }
    }

    private func client(
        _ scope: Interceptor.Scope, _ answer: @escaping @Sendable (Interception) -> Void
    ) -> TestClient {
        let client = TestClient(at: "https://api.example")
        client.stub = stub
        client.clock = clock
        client.add(Interceptor(scope, of: ends, passage: { [ends] in Run(ends, answer) }))
        return client
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt], [true, false]) func theDeadlineEndsIt(
        _ scope: Interceptor.Scope, _ onTheWayIn: Bool
    ) async throws {
        stub.on("GET", "way")
        let client = client(scope) { [held] interception in
            if onTheWayIn || interception.response != nil { held.append(interception) } else { interception.send() }
        }
        let responses = Log<APIResponse>()
        client.begin("way", args: [.timeout(5, .total), .handlers(.all, on: .background)]) { responses.append($0) }
        _ = try await held.element(0)
        clock.advance(by: 5)
        #expect(try await responses.element(0).error?.clock == .total)
        // `end` comes before the response, because no callback of the request may follow the response.
        #expect(ends.count == 1)
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func oneThatWasLetGoDoesNotEnd(
        _ scope: Interceptor.Scope
    ) async {
        stub.on("GET", "way")
        let client = client(scope) { if $0.response == nil { $0.send() } else { $0.proceed() } }
        #expect(await client.response("way", args: [.option(.rawData)]).error == nil)
        #expect(ends.count == 0)
    }

    /// An interceptor that sends a request gets an answer even if the request cannot be sent.
    @Test func aStreamThatCannotBeSentAgainIsAnsweredWithAnError() async {
        stub.on("POST", "way")
        let client = TestClient(at: "https://api.example")
        client.stub = stub
        let codes = Log<ErrorCode?>()
        client.interceptors = [
            Interceptor(.attempt) { call in
                let first = try await call.next()
                codes.append(try await call.next().error?.code)
                return first
            }
        ]
        let isSent = Lock(false)
        let stream = BodyStream(length: 2) { buffer in
            guard !isSent.withLock({ exchange(&$0, with: true) }) else { return 0 }
            buffer.copyBytes(from: "ab".utf8)
            return 2
        }
        let response = await client.response("way", args: [.stream(stream), .option(.rawData)])
        #expect(response.error == nil && response.status == 200)
        #expect(codes.all == [.invalidRequest] && stub.requests.count == 1)
    }
}
