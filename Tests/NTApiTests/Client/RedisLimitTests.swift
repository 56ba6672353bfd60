import Testing

@testable import NTApi

/// Shared rate limits in a Redis server.
@Suite struct RedisLimitTests {
    /// The script does what the value in Swift does, at the same times.
    @Test func theScriptAndTheValueAgree() throws {
        let redis = try RedisConnection(TestServers.url("redis"))
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let lua = StoreScript.permits.lua
        for round in 0..<20 {
            let keys = ["limit", "line", "ends"].map { "ntapi:1:{\(seed) \(round)}:\($0)" }
            let limits = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                SharedPermits.Limit(
                    interval: .random(in: 1...200_000, using: &random), burst: .random(in: 1...20, using: &random))
            }
            var permits = SharedPermits()
            var now: Int64 = 1_700_000_000_000_000
            for step in 0..<100 {
                now +=
                    [0, 1, .random(in: 0...100_000, using: &random), .random(in: 0...2_000_000, using: &random)]
                    .randomElement(using: &random) ?? 0
                // A clock that is set back, too.
                if Int.random(in: 0..<50, using: &random) == 0 { now -= 3_000_000 }
                let ask = SharedPermits.Ask(
                    limiter: .random(in: 1...6, using: &random), wanted: .random(in: 0...5, using: &random),
                    spare: Bool.random(using: &random) ? 0 : .random(in: 0...5, using: &random),
                    returned: Bool.random(using: &random) ? 0 : .random(in: 0...3, using: &random),
                    pause: Int.random(in: 0..<10, using: &random) == 0 ? .random(in: 0...500_000, using: &random) : 0,
                    limits: limits)
                let timed = replaced(lua, "redis.call('TIME')", "{'\(now / 1_000_000)', '\(now % 1_000_000)'}")
                let found = try redis.run(timed, keys, ask.arguments)
                let expected = permits.take(ask, now)
                #expect(
                    found == ["\(expected.granted)", "\(expected.wait)"],
                    "NTAPI_SEED=\(seed), round \(round), step \(step)")
            }
        }
    }

    private func replaced(_ text: String, _ part: String, _ other: String) -> String {
        guard let range = text.firstRange(of: part) else { return "" }
        return String(text[..<range.lowerBound]) + other + String(text[range.upperBound...])
    }

    /// Clients that share a limit as processes would: the server sees no more than it allows.
    @Test func clientsOfSeveralLimitersKeepIt() async throws {
        let limits = [RateLimit(requests: 100, burst: 5)]
        let seed = SeededGenerator.ofThisRun
        let ended = Log<APIResponse>()
        var clients: [TestClient] = []
        for _ in 0..<4 {
            let client = try TestClient.of("fault")
            client.rateLimiter = RateLimiter(limits, sharedBy: try RedisStore(), key: "clients \(seed)")
            clients.append(client)
        }
        let start = MonotonicTime.now()
        for client in clients {
            for _ in 0..<15 {
                _ = client.begin("status/200", args: [.responseThread(.background)], handler: { ended.append($0) })
            }
        }
        #expect(await ended.first(60).allSatisfy { $0.error == nil })
        // 60 requests: five at once, and the others 10 ms apart.
        #expect(MonotonicTime.now().seconds(since: start) >= 0.55)
        #expect(clients.allSatisfy { $0.rateLimiter?.waitingCount == 0 })
    }

    /// Each key that the script has written; in one script with it, because they may expire at any time.
    @Test func theKeysOfALimitExpire() throws {
        let redis = try RedisConnection(TestServers.url("redis"))
        let keys = ["limit", "line", "ends"].map { "ntapi:1:{keys \(SeededGenerator.ofThisRun)}:\($0)" }
        let limits = [SharedPermits.Limit(interval: 1000, burst: 1)]
        let ask = SharedPermits.Ask(limiter: 1, wanted: 2, limits: limits)
        let lua = """
            local function permits() \(StoreScript.permits.lua) end
            permits()
            return {redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[2]), redis.call('PTTL', KEYS[3])}
            """
        let left = try redis.run(lua, keys, ask.arguments).compactMap { Int64($0) }
        #expect((1...1001).contains(left[0]) && left[1...].allSatisfy { (1...60_001).contains($0) }, "\(left)")
    }
}
