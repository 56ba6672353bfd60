import Testing

@testable import NTApi

/// Requests that wait for their turn, with a clock that the test advances.
@Suite struct RateLimiterTests {
    private let clock = ManualClock()

    private func client(_ limiter: RateLimiter?, args: [APIArg] = []) throws -> TestClient {
        let client = try TestClient.of("fault", args: args)
        client.clock = clock
        client.rateLimiter = limiter
        return client
    }

    /// Begins numbered requests. The log gets their responses in the order of sending.
    private func begin(
        _ client: TestClient, _ numbers: Range<Int>, _ ended: Log<APIResponse>, _ args: [APIArg] = []
    ) -> [APIRequest] {
        numbers.map { number in
            client.begin(
                "echo", args: [.url("n", number), .responseThread(.background)] + args, handler: { ended.append($0) })
        }
    }

    private func numbers(_ responses: [APIResponse]) -> [Int] {
        responses.compactMap { $0.json?["args"]?["n"]?.string.flatMap { Int($0) } }
    }

    /// Expects that the next request waits this long; 0 means not at all.
    private func expectPause(_ seconds: Double, of client: APIClient) async {
        async let next = client.response("echo")
        if seconds > 0 {
            await #expect(throws: Never.self) { try await clock.waitForSleepers() }
            #expect(clock.nextWake == seconds)
            clock.advance(by: seconds)
        }
        #expect(await next.error == nil)
    }

    /// A request that is cancelled at the moment when it gets its permit gives it to the next one.
    @Test func noPermitIsLost() async throws {
        let limiter = RateLimiter(requests: 1)
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        let first = begin(client, 0..<1, ended)[0]
        _ = await ended.first(1)
        // This place in the line belongs to a request that no longer waits.
        let isOver = LineWait(first, .max)
        #expect(limiter.admit(isOver, priority: 0.5, deadline: .distantFuture) == .wait)
        _ = begin(client, 1..<3, ended)
        try await clock.waitForSleepers()
        clock.advance(by: 1)
        #expect(numbers(await ended.first(2)) == [0, 1] && limiter.waitingCount == 1)
        clock.advance(by: 1)
        #expect(numbers(await ended.first(3)) == [0, 1, 2])
    }

    /// A request has its permit while an attempt interceptor holds it.
    @Test(arguments: ["cancel", "respond", "fail"]) func anUnusedPermitGoesToTheNext(_ end: String) async throws {
        let client = try client(RateLimiter(requests: 1))
        let (held, ended) = (Log<Interception>(), Log<APIResponse>())
        let holding = Interceptor(handling: .attempt) { held.append($0) }
        let first = begin(client, 0..<1, ended, [.interceptor(holding)])[0]
        let interception = await held.first(1)[0]
        _ = begin(client, 1..<2, ended)
        try await clock.waitForSleepers()
        switch end {
        case "cancel": first.cancel()
        case "respond": interception.respond(HTTPResponse(status: 200))
        default: interception.fail(.cancelled)
        }
        #expect(numbers(await ended.first(2)) == [1] && clock.elapsed == 0)
    }

    @Test func evenlyAndInOrder() async throws {
        let limiter = RateLimiter(requests: 10)
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 0..<4, ended)
        #expect(numbers(await ended.first(1)) == [0] && limiter.waitingCount == 3)
        for count in 2...4 {
            try await clock.waitForSleepers()
            clock.advance(by: 0.0999)
            #expect(ended.count == count - 1)
            clock.advance(by: 0.0001)
            #expect(numbers(await ended.first(count)) == Array(0..<count))
        }
        #expect(limiter.waitingCount == 0 && clock.sleepers == 0)
        // `queued` also includes the time for which a request waited for a connection.
        #expect(zip(ended.all, [0, 0.1, 0.2, 0.3]).allSatisfy { $0.metrics.queued >= $1 - 1e-6 })
        #expect(client.lines.all.isEmpty)
    }

    @Test func aBurstAndClientsThatShare() async throws {
        let limiter = RateLimiter(requests: 1, burst: 3)
        let (one, other) = (try client(limiter), try client(limiter))
        let ended = Log<APIResponse>()
        _ = begin(one, 0..<2, ended) + begin(other, 2..<5, ended)
        #expect(Set(numbers(await ended.first(3))) == [0, 1, 2] && limiter.waitingCount == 2)
        try await clock.waitForSleepers()
        clock.advance(by: 2)
        #expect(await ended.first(5).count == 5)
    }

    @Test func aRequestMayHaveALimiterOfItsOwn() async throws {
        let (usual, own) = (RateLimiter(requests: 1, seconds: 10), RateLimiter(requests: 1, seconds: 100))
        let client = try client(usual)
        let ended = Log<APIResponse>()
        _ = begin(client, 0..<1, ended) + begin(client, 1..<3, ended, [.rateLimiter(own), .rateLimiter(nil)])
        #expect(Set(numbers(await ended.first(2))) == [0, 1])
        #expect(usual.waitingCount == 0 && own.waitingCount == 1)
        try await clock.waitForSleepers()
        clock.advance(by: 100)
        #expect(await ended.first(3).count == 3)
        let refused = await client.response("echo", args: [.rateLimiter(RateLimiter(requests: 0))])
        #expect(refused.error?.code == .invalidRequest)
    }

    @Test func thePriorityGoesFirst() async throws {
        let limiter = RateLimiter(requests: 1)
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 0..<1, ended)
        _ = await ended.first(1)
        for (number, priority) in [(1, 0.5), (2, 0), (3, 1)] {
            let request = client.request("echo", args: [.url("n", number), .responseThread(.background)])
            request.priority = priority
            request.setHandler { ended.append($0) }
            request.resume()
        }
        for count in 2...4 {
            try await clock.waitForSleepers()
            clock.advance(by: 1)
            _ = await ended.first(count)
        }
        #expect(numbers(ended.all) == [0, 3, 1, 2])
    }

    @Test func whoIsCancelledOrSuspendedIsPassed() async throws {
        let limiter = RateLimiter(requests: 1)
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        let requests = begin(client, 0..<4, ended, [.timeout(10, .total)])
        _ = await ended.first(1)
        #expect(requests[1].suspend() && requests[2].cancel() && requests[2].state == .cancelled)
        #expect(await ended.first(2).last?.error?.code == .cancelled)
        try await clock.waitForSleepers()
        clock.advance(by: 1)
        #expect(await ended.first(3).last?.json?["args"]?["n"]?.string == "3")
        // A suspended request may wait for any time, even beyond its deadline.
        #expect(clock.sleepers == 0 && limiter.waitingCount == 1)
        clock.advance(by: 100)
        #expect(requests[1].resume())
        let last = await ended.first(4).last
        #expect(last?.error == nil && last?.json?["args"]?["n"]?.string == "1" && limiter.waitingCount == 0)
    }

    @Test func whatWouldComeTooLateFailsAtOnce() async throws {
        let limiter = RateLimiter(requests: 1, seconds: 60)
        let client = try client(limiter)
        #expect(await client.response("echo").error == nil)
        let total = await client.response("echo", args: [.timeout(30, .total)])
        #expect(total.error?.code == .timeout && total.error?.isRetryable == true && total.metrics.retries == 0)
        let message = total.error?.message ?? ""
        #expect(message.hasASCIIPrefix("the rate limit of 1 request in 60 s would delay the request by at least 60 s"))
        #expect(message.containsSubstring("(total timeout, GET "))
        let queue = await client.response("echo", args: [.timeout(59, .queue)])
        #expect(queue.error?.message.containsSubstring("(queue timeout, GET ") == true)
        #expect(limiter.waitingCount == 0 && clock.elapsed == 0)
    }

    @Test func whoIsPassedTooOftenRunsOutOfTime() async throws {
        let limiter = RateLimiter(requests: 1)
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 0..<1, ended)
        _ = await ended.first(1)
        _ = begin(client, 1..<2, ended, [.timeout(1.5, .total)])
        // Without the pause, the request would get its permit in time.
        limiter.pause(seconds: 10)
        clock.advance(by: 1.5)
        let late = await ended.first(2).last
        #expect(late?.error?.code == .timeout && late?.metrics.queued == 1.5 && limiter.waitingCount == 0)
    }

    @Test func aServerHoldsUpAll() async throws {
        let limiter = RateLimiter(requests: 100, burst: 100)
        let client = try client(limiter)
        let token = "t\(UInt64.random(in: 0 ... .max))"
        let args: [APIArg] = [
            .url("token", token), .url("status", 429), .url("retry-after", 5), .retry(RetryPolicy(base: 0)),
        ]
        async let response = client.response("fail-first", args: args)
        try await clock.waitForSleepers()
        let ended = Log<APIResponse>()
        _ = begin(client, 0..<1, ended)
        #expect(limiter.waitingCount == 1)
        clock.advance(by: 5)
        #expect(await ended.first(1).first?.error == nil)
        // The retry follows it.
        try await clock.waitForSleepers()
        clock.advance(by: 1)
        #expect(await response.error == nil)
    }

    @Test(arguments: [(0.0, 0), (2, 2), (60, 5)]) func pausesHaveALimit(_ maximum: Double, _ seconds: Double)
        async throws
    {
        let limiter = RateLimiter(RateLimit(requests: 1000, burst: 1000, maximumPause: maximum))
        let client = try client(limiter)
        let response = await client.response("status/503", args: [.url("h-Retry-After", 5)])
        #expect(response.error?.retryAfter == 5)
        await expectPause(seconds, of: client)
    }

    @Test(
        arguments: [
            ([("RateLimit", "\"default\";r=0;t=5")], 5.0), ([("RateLimit", "\"default\";r=1;t=5")], 0),
            ([("RateLimit", "\"default\";r=0;t=500")], 60),
            ([("RateLimit", "\"default\";r=0;t=5"), ("Retry-After", "9")], 5),
            ([("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "7")], 7),
        ] as [([(String, String)], Double)])
    func whatIsLeftOfAServersLimit(_ headers: [(String, String)], _ seconds: Double) async throws {
        let client = try client(RateLimiter(requests: 1000, burst: 1000))
        // A successful response has these headers, too. They avoid the next refusal.
        let response = await client.response("headers", args: headers.map { .url($0.0, $0.1) })
        #expect(response.error == nil)
        await expectPause(seconds, of: client)
    }

    /// After a refusal, Retry-After wins over the other headers.
    @Test func aRefusalSaysItBest() async throws {
        let client = try client(RateLimiter(requests: 1000, burst: 1000))
        let args: [APIArg] = [.url("h-RateLimit", "\"default\";r=0;t=50"), .url("h-Retry-After", 3)]
        #expect(await client.response("status/429", args: args).error?.retryAfter == 3)
        await expectPause(3, of: client)
    }

    @Test func redirectsAndAttemptsCount() async throws {
        let client = try client(RateLimiter(requests: 1, burst: 3))
        // A redirect counts as two requests. One permit is left.
        #expect(await client.response("redirect/echo").error == nil)
        #expect(await client.response("echo").error == nil)
        async let last = client.response("echo")
        try await clock.waitForSleepers()
        clock.advance(by: 1)
        #expect(await last.error == nil)
    }

    @Test func fromTheDefaults() async throws {
        let client = try client(nil)
        client.defaults["rateLimit"] = ["requests": 1, "seconds": 10]
        #expect(await client.response("echo").error == nil)
        // A change of the default does not affect requests that wait.
        client.defaults["unit"] = "metric"
        async let second = client.response("echo")
        try await clock.waitForSleepers()
        #expect(clock.nextWake == 10)
        clock.advance(by: 10)
        #expect(await second.error == nil)
        client.defaults["rateLimit"] = ["requests": 0]
        let message = await client.response("echo").error?.message
        #expect(message?.hasASCIIPrefix("the default rateLimit is {\"requests\":0}: 0.0 requests in 1.0 s") == true)
        client.defaults["rateLimit"] = nil
        client.rateLimiter = RateLimiter(requests: -1)
        let own = await client.response("echo").error
        #expect(own?.code == .invalidRequest && own?.message.hasASCIIPrefix("the rate limit: -1.0 requests") == true)
        var configuration = SessionConfiguration.ephemeral
        configuration.rateLimit = RateLimit(requests: 3, burst: 2)
        #expect(configuration.rateLimit == RateLimit(requests: 3, burst: 2))
    }

    @Test func whoOnlyWaits() async throws {
        let client = try client(RateLimiter(requests: 1))
        #expect(await onThread { client.perform("echo") }.error == nil)
        async let response = onThread { client.perform("echo") }
        try await clock.waitForSleepers()
        clock.advance(by: 1)
        #expect(await response.error == nil)
    }

    @Test func aClientThatClosesLeavesTheLine() async throws {
        let limiter = RateLimiter(requests: 1)
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 0..<3, ended)
        _ = await ended.first(1)
        client.close()
        #expect(await ended.first(3).suffix(2).allSatisfy { $0.error?.code == .cancelled })
        #expect(limiter.waitingCount == 0 && clock.sleepers == 0)
    }
}
