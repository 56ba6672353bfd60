import Testing

@testable import NTApi

/// Requests that are not sent because their server fails, with a clock that the test advances.
@Suite struct CircuitBreakerTests {
    private let clock = ManualClock()

    private func client(_ policy: JSON, args: [APIArg] = []) throws -> TestClient {
        let client = try TestClient.of("fault", args: args)
        client.clock = clock
        client.defaults["circuitBreaker"] = policy
        return client
    }

    private func code(_ client: APIClient, _ status: Int, _ args: [APIArg] = []) async -> ErrorCode? {
        await client.response("status/\(status)", args: args).error?.code
    }

    @Test func aServerThatFailsIsLeftAlone() async throws {
        let client = try client(["minimum_calls": 4, "open_seconds": 30, "probes": 2])
        for status in [200, 404, 503, 503] { _ = await code(client, status) }
        let refused = await client.response("status/200")
        #expect(refused.status == 0 && refused.error?.code == .circuitOpen && refused.error?.domain == .network)
        #expect(refused.error?.isRetryable == true && refused.error?.retryAfter == 30)
        #expect(refused.error?.message.hasSuffix("is open for 30 s: 2 of the last 4 requests failed") == true)
        #expect(await onThread { client.perform("status/200").error?.code } == .circuitOpen)
        clock.advance(by: 29)
        #expect(await client.response("status/200").error?.retryAfter == 1)
        clock.advance(by: 1)
        #expect(await code(client, 200) == nil)
        #expect(await code(client, 502) == .httpError)
        #expect(await client.response("status/200").error?.message.hasSuffix("a request that tried it failed") == true)
        clock.advance(by: 30)
        for _ in 0..<10 { #expect(await code(client, 200) == nil) }
    }

    @Test func whatCountsIsSaid() async throws {
        let client = try client(["minimum_calls": 2, "statuses": [404], "network_errors": false])
        let cut: [APIArg] = [.baseURL("http://127.0.0.1:1/")]
        for _ in 0..<5 {
            #expect(await code(client, 503) == .httpError)
            #expect(await code(client, 200, cut) == .network)
        }
        // These are half of the ten requests that got a response.
        for _ in 0..<5 { #expect(await code(client, 404) == .httpError) }
        #expect(await code(client, 404) == .circuitOpen)
        let other = try self.client(["minimum_calls": 2])
        for _ in 0..<2 { #expect(await code(other, 200, cut) == .network) }
        #expect(await code(other, 200, cut) == .circuitOpen)
        #expect(await code(other, 200) == nil)
    }

    @Test func attemptsCountAndAreNotMade() async throws {
        let client = try client(["minimum_calls": 3], args: [.retry(RetryPolicy(attempts: 5, base: 0))])
        let response = await client.response("status/503")
        #expect(response.error?.code == .circuitOpen && response.metrics.retries == 3)
    }

    @Test func theCacheStillAnswers() async throws {
        var configuration = SessionConfiguration.ephemeral
        configuration.circuitBreaker = CircuitBreakerPolicy(minimumCalls: 1)
        configuration.proxy = ""
        let client = APIClient(baseURL: try TestServers.url("fault"), configuration: configuration)
        let cached: [APIArg] = [
            .url("h-Cache-Control", "max-age=1000"), .url("token", "c\(UInt64.random(in: 0 ... .max))"),
        ]
        #expect(await client.response("cached", args: cached).error == nil)
        _ = await code(client, 500)
        #expect(await code(client, 200) == .circuitOpen)
        let again = await client.response("cached", args: cached)
        #expect(again.error == nil && again.metrics.source == .cache)
    }

    @Test func whatWasCancelledCountsNeitherWay() async throws {
        let client = try client(["minimum_calls": 1, "open_seconds": 10, "probes": 1])
        _ = await code(client, 500)
        clock.advance(by: 10)
        for _ in 0..<3 {
            let ended = Log<APIResponse>()
            let request = client.begin("hold", args: [.responseThread(.background)], handler: { ended.append($0) })
            #expect(request.cancel())
            #expect(await ended.first(1).first?.error?.code == .cancelled)
        }
        for _ in 0..<2 { #expect(await code(client, 200) == nil) }
    }

    /// A failure of another server says nothing about this one.
    @Test func whatAnInterceptorSentElsewhereCountsForNobody() async throws {
        let stub = Stub()
        stub.on("GET", "status/200").answer(.json([:]))
        stub.on("GET", "https://other.example/").answer(.status(503))
        let client = try client(["minimum_calls": 1])
        client.stub = stub
        let elsewhere = Interceptor(.attempt) { call in
            var request = call.request
            request.url = "https://other.example/"
            return try await call.next(request)
        }
        for _ in 0..<3 {
            #expect(await client.response("status/200", args: [.interceptor(elsewhere)]).status == 503)
        }
        #expect(await code(client, 200) == nil)
    }

    @Test func settingsAreRead() async throws {
        for (wrong, words) in [
            (["failure_rate": 0], "failure_rate is 0.0"), (["failure_rate": 1.5], "failure_rate is 1.5"),
            (["minimum_calls": 0], "minimum_calls is 0"), (["probes": 0], "probes is 0"),
            (["window_seconds": 0], "window_seconds is 0.0"), (["open_seconds": -1], "open_seconds is -1.0"),
            (["statuses": [200]], "200 is among the statuses"), (["statuses": ["a"]], "statuses"),
            ("on", "true, false"),
            (["rate": 1], "true, false"),
        ] as [(JSON, String)] {
            let error = await code(try client(wrong), 200)
            let message = try await client(wrong).response("status/200").error?.message
            #expect(error == .invalidRequest && message?.containsSubstring(words) == true, "\(message ?? "")")
        }
        for isOn in [true, false] { #expect(await code(try client(JSON(isOn)), 200) == nil) }
        var configuration = SessionConfiguration.ephemeral
        let policy = CircuitBreakerPolicy(failureRate: 0.25, windowSeconds: 5, statuses: [503], networkErrors: false)
        configuration.circuitBreaker = policy
        #expect(configuration.circuitBreaker == policy)
        configuration.circuitBreaker = nil
        #expect(configuration.circuitBreaker == nil)
    }
}
