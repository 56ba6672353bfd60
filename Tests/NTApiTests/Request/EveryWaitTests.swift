import Testing

@testable import NTApi

/// Each event that can end a request, in each of its waits: the request ends once, with the right error.
@Suite struct EveryWaitTests {
    enum Wait: String, CaseIterable, Sendable {
        case exchange, pause, turn, token, otherToken
        case redirectDecision, responseDecision, retryDecision, challengeDecision, cacheDecision
        case callInterceptor, attemptInterceptor, answerInterceptor, headInterceptor
        case dataHandler

        /// Whether the wait is for the program. At the deadline, the request continues as if the program had not been
        /// asked.
        var isDecision: Bool { rawValue.hasSuffix("Decision") }
    }

    enum Event: CaseIterable, Sendable {
        case cancel, cancelAll, close, invalidate, timeOut
    }

    /// A waiting request, and what keeps it waiting.
    private final class Scene: Sendable {
        let client: APIClient
        let clock = ManualClock()
        let responses = Log<APIResponse>()
        let request: APIRequest
        private let decisions = Log<RequestDecision>()
        private let interceptions = Log<Interception>()
        private let refreshes = Log<TokenRefresh>()
        private let isReading = Signal()
        let mayRead = Signal()
        private let wait: Wait

        init(_ wait: Wait) {
            self.wait = wait
            let stub = Stub()
            var configuration = SessionConfiguration.ephemeral
            configuration.cache = HTTPCache(memoryCapacity: 1 << 20)
            client = APIClient(baseURL: "https://api.example/v1", configuration: configuration)
            client.logFlags = []
            client.stub = stub
            client.clock = clock
            var args: [APIArg] = [
                .timeout(5, .total), .responseThread(.background), .dataThread(.background), .option(.rawData),
            ]
            let rule = stub.on("GET", "way")
            let answer = StubAnswer.text("body", headers: ["Cache-Control": "max-age=60"])
            switch wait {
            case .exchange: rule.answer(.json([:], delay: 1000))
            case .pause:
                rule.answer(.status(503)).answer(answer)
                args.append(.retry(RetryPolicy(attempts: 2, base: 3)))
            case .turn:
                rule.answer(answer)
                let limiter = RateLimiter(requests: 1, seconds: 4)
                limiter.pause(seconds: 4)
                client.rateLimiter = limiter
            case .token, .otherToken:
                rule.answer(.status(401)).answer(answer)
                client.authenticator = Authenticator(
                    token: wait == .token ? nil : .init("old"), timeout: 10_000,
                    answering: { [refreshes] in refreshes.append($0) })
            case .redirectDecision: rule.answer(.status(302, headers: ["Location": "/v1/other"]))
            case .retryDecision:
                rule.answer(.status(503)).answer(answer)
                args.append(.retry(RetryPolicy(attempts: 2)))
            case .challengeDecision: rule.answer(.status(401, headers: ["WWW-Authenticate": "Basic realm=r"]))
            case .dataHandler: rule.answer(answer.inPieces(of: 1, every: 100))
            default: rule.answer(answer)
            }
            stub.on("GET", "other").answer(answer)
            switch wait {
            case .callInterceptor, .attemptInterceptor:
                let scope: Interceptor.Scope = wait == .callInterceptor ? .call : .attempt
                client.interceptors = [Interceptor(handling: scope) { [interceptions] in interceptions.append($0) }]
            case .answerInterceptor, .headInterceptor:
                client.interceptors = [
                    Interceptor(handling: .attempt) { [interceptions] interception in
                        if interception.response == nil {
                            interception.send()
                        } else {
                            interceptions.append(interception)
                        }
                    }
                ]
            default: break
            }
            request = client.request("way", args: args)
            let kinds: [Wait: DecisionKinds] = [
                .redirectDecision: .redirect, .responseDecision: .response, .retryDecision: .retry,
                .challengeDecision: .challenge, .cacheDecision: .cache,
            ]
            if let kind = kinds[wait] {
                request.setDecisionHandler(for: kind) { [decisions] in decisions.append($0) }
            }
            if [.responseDecision, .headInterceptor, .dataHandler].contains(wait) {
                request.setDataHandler { [isReading, mayRead] _ in
                    if wait == .dataHandler {
                        isReading.set()
                        mayRead.block()
                    }
                }
            }
            request.setHandler { [responses] in responses.append($0) }
        }

        /// Begins the request, and returns when it waits.
        func begin() async throws {
            request.resume()
            switch wait {
            case .exchange, .pause, .turn: try await clock.waitForSleepers()
            case .token, .otherToken: _ = try await refreshes.element(0)
            case .callInterceptor, .attemptInterceptor, .answerInterceptor, .headInterceptor:
                _ = try await interceptions.element(0)
            case .dataHandler: await isReading.wait()
            default: _ = try await decisions.element(0)
            }
        }

        func apply(_ event: Event) {
            switch event {
            case .cancel: request.cancel()
            case .cancelAll: client.cancelAll()
            case .close: client.close()
            case .invalidate: client.invalidateAndCancel()
            case .timeOut: clock.advance(by: 6)
            }
        }

        /// Sends the replies that the request has waited for, after its end.
        func answerLate() {
            for decision in decisions.all { decision.proceed() }
            for interception in interceptions.all { interception.send() }
            for refresh in refreshes.all { refresh.succeed(.init("new")) }
            clock.advance(by: 1000)
        }
    }

    private func expectOneEnd(_ scene: Scene, _ allowed: [ErrorCode?], _ note: String) async throws {
        scene.mayRead.set()
        let response = try await scene.responses.element(0)
        scene.answerLate()
        #expect(await onThread { scene.request.wait(timeout: patience) } == .completed, "\(note)")
        _ = await onThread { scene.client.drain(timeout: patience) }
        #expect(scene.responses.count == 1, "\(note)")
        #expect(allowed.contains(response.error?.code), "\(note): \(String(describing: response.error))")
    }

    @Test(arguments: Wait.allCases, Event.allCases) func anEventEndsIt(_ wait: Wait, _ event: Event) async throws {
        let scene = Scene(wait)
        try await scene.begin()
        scene.apply(event)
        var allowed: [ErrorCode?] = [event == .timeOut ? .timeout : .cancelled]
        // A decision that is too late counts as not asked. A pause and a wait of the rate limit end before the
        // deadline.
        if event == .timeOut, wait.isDecision || wait == .pause || wait == .turn {
            allowed += [nil, .httpError, .authentication]
        }
        try await expectOneEnd(scene, allowed, "\(wait) \(event)")
    }

    @Test(arguments: Wait.allCases) func noTimePassesWhileItIsSuspended(_ wait: Wait) async throws {
        let scene = Scene(wait)
        try await scene.begin()
        #expect(scene.request.suspend())
        scene.clock.advance(by: 1000)
        #expect(scene.request.state == .suspended && scene.responses.count == 0)
        #expect(scene.request.resume())
        // A result that was due may arrive before the cancel.
        let allowed: [ErrorCode?] = scene.request.cancel() ? [.cancelled] : [nil]
        try await expectOneEnd(scene, allowed, "\(wait)")
    }

    @Test(arguments: Wait.allCases) func whatIsSuspendedCanBeCancelled(_ wait: Wait) async throws {
        let scene = Scene(wait)
        try await scene.begin()
        #expect(scene.request.suspend())
        #expect(scene.request.cancel())
        try await expectOneEnd(scene, [.cancelled], "\(wait)")
    }

    /// Random events at any moment, from several threads.
    @Test func whateverHappens() async throws {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        for _ in 0..<300 {
            let wait = Wait.allCases.randomElement(using: &random) ?? .exchange
            let scene = Scene(wait)
            scene.mayRead.set()
            scene.request.resume()
            let plans = (0..<2).map { _ in
                (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    (Int.random(in: 0..<40, using: &random), Int.random(in: 0..<6, using: &random))
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for plan in plans {
                    group.addTask {
                        for (pause, what) in plan {
                            for _ in 0..<pause { await Task.yield() }
                            switch what {
                            case 0: scene.request.suspend()
                            case 1: scene.request.resume()
                            case 2: scene.clock.advance(by: 2)
                            case 3: scene.answerLate()
                            case 4: scene.request.cancel()
                            default: break
                            }
                        }
                    }
                }
            }
            scene.request.resume()
            scene.client.cancelAll()
            let note = "NTAPI_SEED=\(seed) \(wait)"
            try await expectOneEnd(scene, [nil, .cancelled, .timeout, .httpError, .authentication], note)
        }
    }
}
