import Testing

@testable import NTApi

/// Calls each public initializer and function that takes a number with the most extreme numbers. No call traps, and a
/// request that is made with the result ends. Tests/tools/test_extreme_arguments.py lists what is missing here.
@Suite struct ExtremeArgumentTests {
    private struct Numbers {
        private var generator: SeededGenerator

        init(_ seed: UInt64) { generator = SeededGenerator(seed) }

        private static let integers = [Int.min, .min + 1, -1, 0, 1, 2, 1 << 31, 1 << 53, .max - 1, .max]
        private static let doubles: [Double] = [
            -.infinity, -.greatestFiniteMagnitude, -1e18, -1, -0.0, 0, .leastNonzeroMagnitude, 1e-9, 1, 1e9, 1e18,
            1e300,
            .greatestFiniteMagnitude, .infinity, .nan,
        ]

        var int: Int { mutating get { Self.integers.randomElement(using: &generator) ?? 0 } }
        var double: Double { mutating get { Self.doubles.randomElement(using: &generator) ?? 0 } }
    }

    /// Sends a request to a stub. Cancels it if it has not ended after some waits.
    private static func ask(
        _ args: [APIArg] = [], _ answer: StubAnswer = .status(503), _ configuration: SessionConfiguration? = nil,
        _ hooks: APIClient.Hooks = .init(), change: (APIClient, ManualClock) -> Void = { _, _ in }
    ) async {
        let client = APIClient(baseURL: "https://api.example", configuration: configuration, hooks: hooks)
        let (clock, stub) = (ManualClock(), Stub())
        client.logFlags = []
        client.clock = clock
        client.stub = stub
        stub.on("GET", "**").answer(answer)
        change(client, clock)
        let request = client.begin("x", args: args + [.responseThread(.background)])
        for _ in 0..<10 {
            for _ in 0..<100 where request.isRunning && clock.sleepers == 0 { await Task.yield() }
            clock.advance(by: clock.nextWake ?? 0)
        }
        request.cancel()
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
    }

    private typealias Call = @Sendable (inout Numbers) async throws -> Void

    private static let calls: [String: Call] = [
        "APIArg.timeout": {
            await ask([.timeout($0.double), .timeout($0.double, .total), .timeout($0.double, .queue)])
        },
        "APIClient.drain": { numbers in
            let seconds = numbers.double
            await onThread { _ = TestClient(at: nil).drain(timeout: seconds) }
        },
        "APIClient.drainAll": { numbers in
            // A positive timeout would also wait for the requests of other tests.
            let seconds = min(numbers.double, 0)
            await onThread { _ = APIClient.drainAll(timeout: seconds) }
        },
        "APIDate.init": { _ = "\(APIDate(secondsSince1970: $0.double))" },
        "APIError.init": { _ = "\(APIError(code: .network, httpStatus: $0.int, transportCode: $0.int))" },
        "APIRequest.priority": { numbers in
            let priority = numbers.double
            await ask([], .status(200), nil, .init(buildRequest: { request, _ in request.priority = priority }))
        },
        "APIRequest.wait": { numbers in
            let (seconds, request) = (numbers.double, TestClient(at: nil).begin(args: [.responseThread(.background)]))
            await onThread { _ = request.wait(timeout: seconds) }
        },
        "Authenticator.init": { numbers in
            let (timeout, lifetime) = (numbers.double, numbers.double)
            let authenticator = Authenticator(statuses: [numbers.int, 503], timeout: timeout) { _ in
                return Authenticator.Token("x", lifetime: lifetime)
            }
            await ask { client, _ in client.authenticator = authenticator }
            let answering = Authenticator(statuses: [numbers.int, 503], timeout: timeout, answering: { _ in })
            await ask { client, _ in client.authenticator = answering }
        },
        "BodyStream.init": { numbers in
            await ask([.method("POST"), .stream(BodyStream(length: Int64(numbers.int)) { _ in 0 })])
            let taken = numbers.int
            await ask([.method("POST"), .stream(BodyStream { _ in taken })])
        },
        "CircuitBreakerPolicy.init": { numbers in
            var configuration = SessionConfiguration.ephemeral
            configuration.circuitBreaker = CircuitBreakerPolicy(
                failureRate: numbers.double, minimumCalls: numbers.int, windowSeconds: numbers.double,
                openSeconds: numbers.double, probes: numbers.int, statuses: [numbers.int, 503])
            await ask([.retry(RetryPolicy())], .status(503), configuration)
        },
        "Cookie.init": { numbers in
            let cookie = Cookie(name: "a", value: "b", domain: "api.example", expires: numbers.double)
            let client = APIClient(configuration: .ephemeral)
            try? client.cookies?.set(cookie)
            _ = "\(cookie) \(String(describing: client.cookies?.cookies))"
        },
        "HTTPCache.init": { numbers in
            let cache = HTTPCache(memoryCapacity: numbers.int)
            var configuration = SessionConfiguration.ephemeral
            configuration.cache = cache
            await ask([], .status(200, headers: ["Cache-Control": "max-age=\(numbers.int)"]), configuration)
            let folder = "\(try TestServers.url("tmp"))/extreme-\(UInt64.random(in: 0 ... .max))"
            _ = try? HTTPCache(memoryCapacity: numbers.int, diskCapacity: numbers.int, folder: folder)
        },
        "HTTPResponse.init": { numbers in
            let status = numbers.int
            await ask([.interceptor(Interceptor(.attempt) { _ in HTTPResponse(status: status) })])
        },
        "JSON.init": { numbers in
            for json in [
                JSON(numbers.double), JSON(integerLiteral: Int64(numbers.int)), JSON(floatLiteral: numbers.double),
            ] {
                _ = "\(json) \(String(describing: json.int)) \(String(describing: json.int64))"
            }
        },
        "Mailbox.run": { numbers in
            let seconds = numbers.double
            await onThread {
                let mailbox = Mailbox()
                mailbox.stop()
                _ = mailbox.run(timeout: seconds)
            }
        },
        "ManualClock.advance": { numbers in
            let clock = ManualClock()
            for _ in 0..<3 { clock.advance(by: numbers.double) }
            _ = (clock.elapsed, clock.calendarSeconds)
        },
        "ManualClock.init": { _ = ManualClock(calendar: $0.double).calendarSeconds },
        "ManualClock.waitForSleepers": { numbers in
            let (count, seconds) = (numbers.int, min(numbers.double, 0))
            await onThread { try? ManualClock().waitForSleepers(count, timeout: seconds) }
        },
        "ProtectionSpace.init": { _ = "\(ProtectionSpace(scheme: "https", host: "h", port: $0.int))" },
        "RateLimit.init": { numbers in
            var configuration = SessionConfiguration.ephemeral
            configuration.rateLimit = RateLimit(
                requests: numbers.double, seconds: numbers.double, burst: numbers.int, maximumPause: numbers.double)
            await ask([.retry(RetryPolicy())], .status(503), configuration)
        },
        "RateLimiter.init": { numbers in
            let limiter = RateLimiter(requests: numbers.double, seconds: numbers.double, burst: numbers.int)
            await ask([.retry(RetryPolicy())]) { client, _ in client.rateLimiter = limiter }
        },
        "RateLimiter.pause": { numbers in
            let limiter = RateLimiter(requests: 1)
            for _ in 0..<3 { limiter.pause(seconds: numbers.double) }
            await ask { client, _ in client.rateLimiter = limiter }
        },
        "SharedStore.set": { numbers in MemoryStore().set("a", [1], seconds: numbers.double, StoreCall { _ in }) },
        "MemoryStore.set": { numbers in
            let replies = Log<Result<StoreReply, StoreProblem>>()
            let store = MemoryStore()
            for _ in 0..<3 { store.set("a", [1], seconds: numbers.double, StoreCall { replies.append($0) }) }
            store.get("a", StoreCall { replies.append($0) })
            #expect(replies.count == 4)
        },
        "StoreOptions.init": { numbers in
            let limit = RateLimit(requests: numbers.double, seconds: numbers.double, burst: numbers.int)
            let options = StoreOptions(timeout: numbers.double, onFailure: .open)
            for limit in [limit, RateLimit(requests: 1)] {
                let limiter = RateLimiter([limit], sharedBy: MemoryStore(), key: "a", options)
                limiter.pause(seconds: numbers.double)
                await ask { client, _ in client.rateLimiter = limiter }
            }
        },
        "RequestDecision.retry": { numbers in
            let seconds = numbers.double
            await ask(
                [], .status(503), nil,
                .init(decide: { decision in _ = decision.retry(afterSeconds: seconds) }, decisions: .retry))
        },
        "RetryPolicy.init": { numbers in
            let policy = RetryPolicy(
                attempts: numbers.int, base: numbers.double, cap: numbers.double, maximumRetryAfter: numbers.double,
                statuses: [numbers.int, 503], budget: numbers.double, budgetMinimum: numbers.int)
            await ask([.retry(policy)], .status(503, headers: ["Retry-After": "\(numbers.double)"]))
        },
        "SessionConfiguration.var": { numbers in
            var configuration = SessionConfiguration.ephemeral
            configuration.maximumResponseSize = numbers.int
            configuration.maximumRedirects = numbers.int
            configuration.cacheMemoryCapacity = numbers.int
            configuration.cacheDiskCapacity = numbers.int
            configuration.requestTimeout = numbers.double
            configuration.resourceTimeout = numbers.double
            configuration.exitTimeout = numbers.double
            configuration.connectTimeout = numbers.double
            configuration.queueTimeout = numbers.double
            configuration.attemptTimeout = numbers.double
            configuration.maximumConnectionsPerHost = numbers.int
            configuration.maximumConnections = numbers.int
            await ask([], .status(200), configuration)
        },
        "Stub.waitForRequests": { numbers in
            let (count, seconds) = (numbers.int, min(numbers.double, 0))
            await onThread { _ = try? Stub().waitForRequests(count, timeout: seconds) }
        },
        "StubAnswer.data": { await ask([], .data([1], status: $0.int, delay: $0.double)) },
        "StubAnswer.fault": { await ask([], .fault(.timeout, delay: $0.double)) },
        "StubAnswer.inPieces": { await ask([], .text("abc").inPieces(of: $0.int, every: $0.double)) },
        "StubAnswer.init": { await ask([], StubAnswer(status: $0.int)) },
        "StubAnswer.json": { await ask([], .json([1], status: $0.int, delay: $0.double)) },
        "StubAnswer.status": { await ask([], .status($0.int, delay: $0.double)) },
        "StubAnswer.text": { await ask([], .text("a", status: $0.int, delay: $0.double)) },
        "StubFault.connectionLost": { await ask([], .fault(.connectionLost(after: $0.int))) },
        "StubRule.fail": { numbers in
            let seconds = numbers.double
            await ask { client, _ in client.stub?.on("GET", "/x").fail(.timeout, delay: seconds) }
        },
        "Token.init": { _ = "\(Authenticator.Token("x", lifetime: $0.double))" },
        "TransferProgress.init": { numbers in
            let progress = TransferProgress(bytes: Int64(numbers.int), total: Int64(numbers.int))
            _ = "\(progress) \(String(describing: progress.fraction))"
        },
    ]

    @Test(arguments: calls.keys.sorted()) func noneTraps(_ name: String) async throws {
        let call = try #require(Self.calls[name])
        for round in 0..<100 {
            var numbers = Numbers(SeededGenerator.ofThisRun &+ UInt64(round))
            try await call(&numbers)
        }
    }
}
