import Testing

@testable import NTApi

/// Shared rate limits and tokens in a Redis server.
@Suite struct RedisLimitTests {
    /// The script and the value in Swift give the same answers at the same times.
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
                // The clock may also be set back.
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

    /// The same for tokens. Processes come and go; they may know more or less than the store.
    @Test func theScriptOfTokensAndTheValueAgree() throws {
        let redis = try RedisConnection(TestServers.url("redis"))
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        for round in 0..<20 {
            let keys = ["ntapi:1:{\(seed) \(round)}:token"]
            var token = SharedToken()
            var now: Int64 = 1_700_000_000_000_000
            var fences: [Int64] = [0, now + 3]
            for step in 0..<150 {
                now += [0, 1, .random(in: 0...3_000_000, using: &random)].randomElement(using: &random) ?? 0
                if Int.random(in: 0..<50, using: &random) == 0 { now -= 2_000_000 }
                let ask = ask(fences, &random)
                let process = Int64.random(in: 1...4, using: &random)
                let timed = replaced(
                    StoreScript.token.lua, "redis.call('TIME')", "{'\(now / 1_000_000)', '\(now % 1_000_000)'}")
                let found = try redis.run(timed, keys, ask.arguments(process))
                let expected = token.answer(ask, of: process, now)
                // Store and read the token, as a file does.
                token = try SharedToken(JSON(parsing: token.json.text))
                #expect(found == expected.values, "NTAPI_SEED=\(seed), round \(round), step \(step)")
                if case .token(let fence, _, _) = expected { fences.append(fence) }
            }
        }
    }

    /// The same for turns. The server's time stands still, so the test removes what has expired.
    @Test func theScriptOfTurnsAndTheValueAgree() throws {
        let redis = try RedisConnection(TestServers.url("redis"))
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let keys = ["turn", "removed"].map { "ntapi:1:{\(seed)}:\($0)" }
        var turn = SharedTurn()
        var (now, end): (Int64, Int64) = (0, 0)
        for step in 0..<500 {
            now += [0, 1, .random(in: 0...2_000_000, using: &random)].randomElement(using: &random) ?? 0
            if now >= end { _ = try redis.run("redis.call('DEL', KEYS[1]) return {1}", keys, []) }
            let time = Int64.random(in: 1_000_000...3_000_000, using: &random)
            let ask: SharedTurn.Ask =
                [.take(time), .take(time), .leave, .pass(time)].randomElement(using: &random) ?? .leave
            let process = Int64.random(in: 1...3, using: &random)
            let isFree = now >= end
            let found = try redis.run(StoreScript.turn.lua, keys, ask.arguments(process))
            let expected = turn.answer(ask, of: process, now)
            let takes = if case .take = ask { true } else { false }
            #expect(found == [expected.rawValue] + (takes ? ["0"] : []), "NTAPI_SEED=\(seed), step \(step)")
            let read = try #require(SharedTurn.Ask.read(ask.arguments(process)))
            #expect(read.ask == ask && read.number == process)
            switch ask {
            case .take(let time): if isFree { end = now + time }
            case .leave, .pass: end = turn.end
            }
        }
    }

    /// The same for records, on a server and in memory.
    @Test func theScriptOfRecordsAndTheValueAgree() throws {
        let redis = try RedisConnection(TestServers.url("redis"))
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let (clock, answers) = (ManualClock(), Lock<StoreReply?>(nil))
        let memory = MemoryStore(clock: clock)
        let call = { StoreCall { result in answers.withLock { $0 = try? result.get() } } }
        let keys = ["responses", "removed", "new:1", "turn"].map { "ntapi:1:{\(seed) records}:\($0)" }
        let take = SharedTurn.Ask.take(1).arguments(1)
        var lastRemovals: [Int64] = [0]
        for step in 0..<500 {
            // The time of both, on the server and in memory.
            let microseconds = Int64(clock.calendarSeconds * 1e6)
            let time = "{'\(microseconds / 1_000_000)', '\(microseconds % 1_000_000)'}"
            let removal = try redis.run("return {redis.call('GET', KEYS[1]) or '0'}", [keys[1]], [])
            memory.run(.turn, keys: [keys[3], keys[1]], arguments: take, call())
            #expect(answers.withLock { $0?.texts.last } == removal.first, "NTAPI_SEED=\(seed), step \(step)")
            lastRemovals.append(Int64(removal.first ?? "") ?? 0)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let text = "\(step)"
                _ = try redis.run("redis.call('SET', KEYS[1], ARGV[1]) return {1}", [keys[2]], [text])
                memory.set(keys[2], Array(text.utf8), seconds: 1e6, call())
            case 1: clock.advance(by: [0, 0.001].randomElement(using: &random) ?? 0)
            default:
                let lastRemoval = lastRemovals.suffix(3).randomElement(using: &random) ?? 0
                let isRemoval = Int.random(in: 0..<3, using: &random) == 0
                let ask: SharedRecord.Ask = isRemoval ? .remove : .store(lastRemoval: lastRemoval, time: 1_000_000)
                #expect(SharedRecord.Ask(ask.arguments) == ask)
                let used = Array(keys[0..<(isRemoval ? 2 : 3)])
                let found = try redis.run(
                    replaced(StoreScript.record.lua, "redis.call('TIME')", time), used, ask.arguments)
                memory.run(.record, keys: used, arguments: ask.arguments, call())
                #expect(answers.withLock { $0?.texts } == found, "NTAPI_SEED=\(seed), step \(step)")
            }
            let record = try redis.run("return {redis.call('GET', KEYS[1]) or 'none'}", [keys[0]], [])
            memory.get(keys[0], call())
            let value = answers.withLock { $0?.value }.map { String(decoding: $0, as: UTF8.self) } ?? "none"
            #expect(record == [value], "NTAPI_SEED=\(seed), step \(step)")
        }
    }

    private func ask(_ fences: [Int64], _ random: inout SeededGenerator) -> SharedToken.Ask {
        let fence = (fences.suffix(3) + [0]).randomElement(using: &random) ?? 0
        let name = Int.random(in: 0..<1000, using: &random)
        let text = Bool.random(using: &random) ? "r\(name)" : ""
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
            return .take(
                fence: fence, isRejected: Bool.random(using: &random), turn: .random(in: 1...4_000_000, using: &random),
                refreshToken: text)
        case 5: return .keep(turn: .random(in: 1...4_000_000, using: &random))
        case 6, 7:
            let lifetime: Int64? = Bool.random(using: &random) ? .random(in: 0...5_000_000, using: &random) : nil
            let token = SharedToken.Token(text: "ü\(name)", lifetime: lifetime, refreshToken: text)
            guard Int.random(in: 0..<8, using: &random) == 0 else { return .put(fence: fence, token) }
            return .set(token)
        case 8:
            let failure = SharedToken.Failure(
                message: text, status: .random(in: 0...500, using: &random), isRetryable: Bool.random(using: &random))
            return .fail(fence: fence, failure)
        default: return .leave(isGood: Bool.random(using: &random))
        }
    }

    private func replaced(_ text: String, _ part: String, _ other: String) -> String {
        guard let range = text.firstRange(of: part) else { return "" }
        return String(text[..<range.lowerBound]) + other + String(text[range.upperBound...])
    }

    /// Clients share a limit as processes would: the server sees no more requests than it allows.
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

    /// Reads the expiry of each key in the script that writes it, because the keys may expire at any time.
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

    /// A program can get a token without a refresh token again. With one, perhaps it cannot.
    @Test func theKeyOfATokenExpiresUnlessItHasARefreshToken() throws {
        let redis = try RedisConnection(TestServers.url("redis"))
        let lua = """
            local function token() \(StoreScript.token.lua) end
            token()
            return {redis.call('PTTL', KEYS[1])}
            """
        let take = SharedToken.Ask.take(fence: 0, isRejected: false, turn: 5_000_000, refreshToken: "")
        for (index, (ask, left)) in [
            (take, 65_000), (.put(fence: 0, .init(text: "a", lifetime: 7_000_000, refreshToken: "")), 67_000),
            (.put(fence: 0, .init(text: "a", lifetime: 7_000_000, refreshToken: "r")), -1),
            (.put(fence: 0, .init(text: "a", refreshToken: "")), -1),
        ].enumerated() {
            let keys = ["ntapi:1:{keys \(SeededGenerator.ofThisRun) \(index)}:token"]
            let found = try #require(try redis.run(lua, keys, ask.arguments(1)).first.flatMap { Int($0) })
            // A millisecond may have passed since the script began.
            #expect(left < 0 ? found == left : (left - 1...left + 1).contains(found))
        }
    }
}
