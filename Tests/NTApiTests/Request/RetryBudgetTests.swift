import Testing

@testable import NTApi

/// Retries limited by the server and by a budget, with a real server and a clock that stands still.
@Suite struct RetryBudgetTests {
    private let clock = ManualClock()

    private func client(_ policy: RetryPolicy) throws -> TestClient {
        let client = try TestClient.of("fault", args: [.retry(policy)])
        client.clock = clock
        client.defaults["maximumConnections"] = 8
        return client
    }

    private func failing(_ times: Int, _ status: Int, _ headers: [String: String] = [:]) -> [APIArg] {
        [.url("token", "t\(UInt64.random(in: 0 ... .max))"), .url("times", times), .url("status", status)]
            + headers.map { .url("h-\($0)", $1) }
    }

    // MARK: What the server says

    @Test func theServerAsksForAnotherAttempt() async throws {
        let client = try client(RetryPolicy(base: 0))
        let again = await client.response("fail-first", args: failing(2, 409, ["x-should-retry": "true"]))
        #expect(again.error == nil && again.metrics.retries == 2)
        let never = await client.response("fail-first", args: failing(2, 503, ["x-should-retry": "false"]))
        #expect(never.status == 503 && never.metrics.retries == 0 && never.error?.isRetryable == false)
        #expect(
            never.error?.message.hasSuffix("; not sent again: the server asks not to (x-should-retry)") == true)
        let args = failing(2, 409, ["x-should-retry": "true"])
        #expect(await client.response("fail-first", args: args + [.retry(.never)]).error?.isRetryable == true)
        // The header does not make a POST safe to repeat.
        let post = await client.response("fail-first", args: args + [.form("a", 1)])
        #expect(post.metrics.retries == 0 && post.error?.isRetryable == false)
        #expect(post.error?.message.hasSuffix("a POST is not idempotent, and has no idempotency key") == true)
    }

    @Test func theServerSaysMilliseconds() async throws {
        let client = try client(RetryPolicy(base: 0))
        async let response = client.response("fail-first", args: failing(1, 429, ["retry-after-ms": "2500"]))
        try await clock.waitForSleepers()
        #expect(clock.nextWake == 2.5)
        clock.advance(by: 2.5)
        #expect(await response.error == nil)
        let long = await client.response("fail-first", args: failing(1, 429, ["retry-after-ms": "60001"]))
        #expect(long.error?.retryAfter == 60.001 && long.metrics.retries == 0)
    }

    @Test func theServerLearnsTheAttempt() async throws {
        let client = try client(RetryPolicy(base: 0, attemptHeader: "X-Attempt"))
        let args = failing(2, 503)
        #expect(await client.response("fail-first", args: args).metrics.retries == 2)
        let seen = await client.response("seen", args: args).json?["requests"]?.array ?? []
        #expect(seen.map { $0["header"]?["x-attempt"]?.string } == ["1", "2", "3"])
        for name in ["a b", "", "Content-Length", "x\n"] {
            let wrong = await client.response("echo", args: [.retry(RetryPolicy(attemptHeader: name))])
            #expect(wrong.error?.code == .invalidRequest && wrong.error?.message.contains("attemptHeader") == true)
        }
    }

    // MARK: The budget

    /// Many requests fail at the same time, but only a few are retried.
    @Test func aFailingServerIsSpared() async throws {
        let client = try client(RetryPolicy(base: 0, budget: 0.2, budgetMinimum: 1))
        let stub = Stub()
        stub.on("GET", "*").answer(.status(503, headers: ["Retry-After": "30"], delay: 1))
        client.stub = stub
        let count = 20
        let ended = Log<APIResponse>()
        let requests = (0..<count).map { _ in
            client.begin("orders", args: [.responseThread(.background)], handler: { ended.append($0) })
        }
        try await clock.waitForSleepers(count)
        clock.advance(by: 1)
        // Four of twenty wait for their next attempt.
        let refused = await ended.first(count - 4)
        #expect(refused.allSatisfy { $0.error?.message.hasSuffix("are repeated now (budget)") == true })
        try await clock.waitForSleepers(4)
        #expect(clock.sleepers == 4 && ended.count == count - 4)
        let origin = try #require(requests[0].httpRequest.flatMap { Origin(url: $0.url) })
        #expect(client.retryBudgets[origin].running == 4 && client.retryBudgets[origin].repeated == 4)
        for request in requests { request.cancel() }
        #expect(await ended.first(count).count == count)
        #expect(client.retryBudgets[origin] == RetryBudgets.Counts())
    }
}
