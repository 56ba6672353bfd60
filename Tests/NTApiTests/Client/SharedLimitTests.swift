import Testing

@testable import NTApi

/// Rate limiters that keep their limit in a store, with a clock that the test advances.
@Suite struct SharedLimitTests {
    private let clock = ManualClock()

    /// A store that the test answers, or that asks another one.
    private final class TestStore: SharedStore {
        let calls = Log<(numbers: [Int64], call: StoreCall)>()
        let keys = Log<[String]>()
        private let other: MemoryStore?
        private let drops: Bool

        init(_ other: MemoryStore? = nil, drops: Bool = false) { (self.other, self.drops) = (other, drops) }

        func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
            self.keys.append(keys)
            if drops { return }
            guard let other else { return calls.append((arguments.compactMap { Int64($0) }, call)) }
            other.run(script, keys: keys, arguments: arguments, call)
        }
    }

    private func client(_ limiter: RateLimiter) throws -> TestClient {
        let client = try TestClient.of("fault")
        client.clock = clock
        client.rateLimiter = limiter
        return client
    }

    private func limiter(_ store: any SharedStore, _ limits: RateLimit..., options: StoreOptions = StoreOptions())
        -> RateLimiter
    {
        RateLimiter(limits, sharedBy: store, key: "partner", options)
    }

    private func begin(_ client: APIClient, _ count: Int, _ ended: Log<APIResponse>, _ args: [APIArg] = [])
        -> [APIRequest]
    {
        (0..<count).map { _ in
            client.begin("status/200", args: [.responseThread(.background)] + args, handler: { ended.append($0) })
        }
    }

    @Test func twoLimitersShareOneLimit() async throws {
        let store = TestStore(MemoryStore(clock: clock))
        let limits = (limiter(store, RateLimit(requests: 10)), limiter(store, RateLimit(requests: 10)))
        let (one, other) = (try client(limits.0), try client(limits.1))
        let ended = Log<APIResponse>()
        _ = begin(one, 3, ended)
        _ = await ended.first(1)
        _ = begin(other, 2, ended)
        for count in 2...5 {
            try await clock.waitForSleepers(2 - (count > 3 ? 1 : 0))
            clock.advance(by: 0.1)
            #expect(await ended.first(count).count == count)
        }
        #expect(ended.all.allSatisfy { $0.error == nil } && limits.0.waitingCount + limits.1.waitingCount == 0)
        #expect(store.keys.all.allSatisfy { $0 == ["limit", "line", "ends"].map { "ntapi:1:{partner}:\($0)" } })
    }

    @Test func aPauseThatOneHearsHoldsForAll() async throws {
        let store = MemoryStore(clock: clock)
        let (first, second) = (limiter(store, RateLimit(requests: 10)), limiter(store, RateLimit(requests: 10)))
        let (one, other) = (try client(first), try client(second))
        #expect(await one.response("status/200").error == nil)
        first.pause(seconds: 7)
        let ended = Log<APIResponse>()
        _ = begin(one, 1, ended)
        try await clock.waitForSleepers()
        #expect(clock.nextWake == 7)
        _ = begin(other, 1, ended)
        try await clock.waitForSleepers(2)
        clock.advance(by: 7)
        #expect(await ended.first(1).count == 1)
        try await clock.waitForSleepers()
        clock.advance(by: 0.1)
        #expect(await ended.first(2).allSatisfy { $0.error == nil })
    }

    @Test func whatIsNotUsedIsGivenBack() async throws {
        let store = TestStore()
        let limiter = limiter(store, RateLimit(requests: 10, burst: 5))
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        let requests = begin(client, 1, ended)
        let asked = try await store.calls.element(0)
        #expect(asked.numbers.dropFirst() == [1, 0, 0, 0, 100_000, 5])
        #expect(requests[0].cancel())
        _ = await ended.first(1)
        asked.call.reply(["1", "0"])
        asked.call.reply(["1", "0"])
        let second = try await store.calls.element(1)
        #expect(second.numbers.dropFirst() == [0, 0, 1, 0, 100_000, 5] && second.numbers[0] == asked.numbers[0])
        second.call.reply(["0", "0"])
        // A request that is suspended gives its permit to the next one.
        let others = begin(client, 2, ended)
        let third = try await store.calls.element(2)
        #expect(others[0].suspend())
        third.call.reply(["\(third.numbers[1])", "0"])
        if third.numbers[1] == 2 { try await store.calls.element(3).call.reply(["0", "0"]) }
        #expect(await ended.first(2)[1].error == nil && limiter.waitingCount == 1)
        #expect(others[0].cancel())
    }

    @Test func permitsOfABatchServeLaterRequests() async throws {
        let store = TestStore()
        let limiter = limiter(store, RateLimit(requests: 10, burst: 5), options: StoreOptions(batch: 4))
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 1, ended)
        let asked = try await store.calls.element(0)
        #expect(asked.numbers.dropFirst() == [1, 3, 0, 0, 100_000, 5])
        asked.call.reply(["4", "0"])
        _ = await ended.first(1)
        // Two of them are used. The last one is given back after a second.
        _ = begin(client, 2, ended)
        #expect(await ended.first(3).allSatisfy { $0.error == nil } && store.calls.count == 1)
        clock.advance(by: 1)
        _ = begin(client, 1, ended)
        let second = try await store.calls.element(1)
        #expect(second.numbers.dropFirst() == [1, 3, 1, 0, 100_000, 5])
        second.call.reply(["4", "0"])
        _ = await ended.first(4)
        // A pause gives unused permits back at once.
        limiter.pause(seconds: 5)
        let third = try await store.calls.element(2)
        #expect(third.numbers.dropFirst() == [0, 0, 3, 5_000_000, 100_000, 5])
        third.call.reply(["0", "0"])
        _ = begin(client, 1, ended)
        try await store.calls.element(3).call.reply(["1", "0"])
        #expect(await ended.first(5).allSatisfy { $0.error == nil })
    }

    @Test(arguments: [StoreOptions.Substitute.local, .open, .closed]) func aStoreThatFails(
        _ substitute: StoreOptions.Substitute
    ) async throws {
        let store = TestStore()
        let limiter = limiter(store, RateLimit(requests: 10), options: StoreOptions(timeout: 2, onFailure: substitute))
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 2, ended)
        let asked = try await store.calls.element(0)
        asked.call.fail("the test has closed it")
        switch substitute {
        case .local:
            #expect(await ended.first(1)[0].error == nil)
            try await clock.waitForSleepers()
            clock.advance(by: 0.1)
            #expect(await ended.first(2)[1].error == nil)
        case .open: #expect(await ended.first(2).allSatisfy { $0.error == nil })
        case .closed:
            for response in await ended.first(2) {
                #expect(response.error?.code == .storeFailed && response.error?.isRetryable == true)
                #expect(
                    response.error?.message
                        == "the rate limit is kept in a store, which has failed: the test has closed it")
            }
        }
        // A second later, the limiter asks the store again. The request does not wait for this reply.
        clock.advance(by: 1)
        _ = begin(client, 1, ended)
        let probe = try await store.calls.element(1)
        #expect(probe.numbers[1] == 0)
        _ = await ended.first(3)
        probe.call.reply(["0", "0"])
        _ = begin(client, 1, ended)
        let again = try await store.calls.element(2)
        #expect(again.numbers[1] == 1)
        again.call.reply(["1", "0"])
        #expect(await ended.first(4)[3].error == nil)
    }

    @Test func aStoreThatDoesNotReply() async throws {
        let store = TestStore()
        let limiter = limiter(store, RateLimit(requests: 10), options: StoreOptions(timeout: 2, onFailure: .open))
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 1, ended)
        let asked = try await store.calls.element(0)
        #expect(clock.sleepers == 0)
        clock.advance(by: 2)
        #expect(await ended.first(1)[0].error == nil)
        // A permit that comes too late is given back.
        asked.call.reply(["1", "0"])
        clock.advance(by: 1)
        _ = begin(client, 1, ended)
        let probe = try await store.calls.element(1)
        #expect(probe.numbers.dropFirst().prefix(3) == [0, 0, 1])
        probe.call.fail("still")
        #expect(await ended.first(2)[1].error == nil)
    }

    /// A store may keep a thread for each call. So there is a limit for calls without a reply.
    @Test func aStoreThatNeverRepliesIsNotAskedForEver() throws {
        var limit = SharedLimit([RateLimit(requests: 10)], StoreOptions(timeout: 2))
        var now = MonotonicTime(nanoseconds: 1)
        var asked: [SharedLimit.Ask] = []
        for _ in 0..<8 {
            let ask = limit.next(1, now)
            asked.append(try #require(ask))
            now = now.advanced(bySeconds: 2)
            limit.look(now)
            now = now.advanced(bySeconds: 1)
        }
        let isAsked = limit.next(1, now) != nil
        #expect(!isAsked && !limit.isDue(now) && limit.nextMoment(1) == nil)
        let granted = limit.answered(asked[3], .failure(StoreProblem(text: "after all")), now)
        #expect(granted == 0 && limit.isDue(now))
        let isAskedAgain = limit.next(1, now) != nil
        #expect(isAskedAgain)
    }

    /// A pause that the store does not know yet still ends at its time.
    @Test func aPauseIsNotLongerBecauseAStoreFails() async throws {
        let store = TestStore()
        let limiter = limiter(store, RateLimit(requests: 10), options: StoreOptions(timeout: 2, onFailure: .open))
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 1, ended)
        try await store.calls.element(0).call.reply(["1", "0"])
        _ = await ended.first(1)
        limiter.pause(seconds: 10)
        let told = try await store.calls.element(1)
        #expect(told.numbers[4] == 10_000_000)
        told.call.fail("no route")
        clock.advance(by: 4)
        _ = begin(client, 1, ended)
        let again = try await store.calls.element(2)
        #expect(again.numbers[4] == 6_000_000)
        again.call.reply(["0", "0"])
        clock.advance(by: 1)
        _ = begin(client, 1, ended)
        let last = try await store.calls.element(3)
        #expect(last.numbers[3] == 0)
        last.call.reply(["1", "0"])
        #expect(await ended.first(3).count == 3)
    }

    @Test func whoDropsACallOrRepliesWronglyFailsIt() async throws {
        for answer in [nil, ["1"], ["-1", "0"], ["1", "2", "3"], ["1", "x"]] as [[String]?] {
            let store = TestStore(drops: answer == nil)
            let client = try client(limiter(store, RateLimit(requests: 10), options: StoreOptions(onFailure: .closed)))
            let ended = Log<APIResponse>()
            _ = begin(client, 1, ended)
            if let answer { try await store.calls.element(0).call.reply(answer) }
            let error = try #require(await ended.element(0).error)
            let text =
                answer.map { "its reply is not two numbers: [\($0.joined(separator: ", "))]" }
                ?? "the store has dropped the call"
            #expect(error.message == "the rate limit is kept in a store, which has failed: \(text)")
        }
    }

    @Test func requestsKeepTheirOwnTimeouts() async throws {
        let store = TestStore()
        let client = try client(limiter(store, RateLimit(requests: 10), options: StoreOptions(timeout: 60)))
        async let response = client.response("status/200", args: [.timeout(3, .total)])
        _ = try await store.calls.element(0)
        clock.advance(by: 3)
        let error = try #require(await response.error)
        #expect(error.code == .timeout && error.clock == .total)
    }

    @Test func whatIsWrongIsSaid() async throws {
        let store = MemoryStore(clock: clock)
        let ten = RateLimit(requests: 10)
        for (limiter, text) in [
            (RateLimiter(), "there is none"),
            (RateLimiter([], sharedBy: store, key: "a"), "there is none"),
            (RateLimiter([ten], sharedBy: store, key: ""), "the key \"\" must have 1 to 200 bytes"),
            (RateLimiter([ten], sharedBy: store, key: "a{b"), "the key \"a{b\" must have 1 to 200 bytes"),
            (RateLimiter([ten], sharedBy: store, key: "a", StoreOptions(timeout: 0)), "the store's timeout is 0"),
            (RateLimiter([ten, RateLimit(requests: 0)], sharedBy: store, key: "a"), "0.0 requests in 1.0 s"),
            (
                RateLimiter([RateLimit(requests: 1, seconds: 1e7, burst: 1000)], sharedBy: store, key: "a"),
                "a shared burst may take 70 years at most"
            ),
            (RateLimiter([ten], sharedBy: store, key: "a", StoreOptions(batch: 0)), "the store's batch is 0"),
            (
                RateLimiter(
                    [ten, RateLimit(requests: 1, burst: 9)], sharedBy: store, key: "a", StoreOptions(batch: 2)),
                "the store's batch is 2: it must be at most the smallest burst"
            ),
        ] {
            let error = await (try client(limiter)).response("status/200").error
            #expect(error?.code == .invalidRequest && error?.message.contains(text) == true, "\(error?.message ?? "")")
        }
        let (unknown, answers) = (StoreScript(name: "x", lua: ""), Log<Result<[String], StoreProblem>>())
        store.run(unknown, keys: ["a"], arguments: [], StoreCall { answers.append($0.map(\.texts)) })
        store.run(.permits, keys: ["a"], arguments: ["1"], StoreCall { answers.append($0.map(\.texts)) })
        let problems = await answers.first(2).map { result in
            if case .failure(let problem) = result { problem.text } else { "" }
        }
        #expect(
            problems == [
                "a MemoryStore of this version does not know the script x",
                "the keys or arguments are none of the script ntapi.permits.1",
            ])
    }

    @Test func severalLimitsWithoutAStore() async throws {
        let limiter = RateLimiter(RateLimit(requests: 10), RateLimit(requests: 2, seconds: 60, burst: 2))
        let client = try client(limiter)
        let ended = Log<APIResponse>()
        _ = begin(client, 3, ended)
        #expect(await ended.first(1).count == 1)
        try await clock.waitForSleepers()
        #expect(clock.nextWake == 0.1)
        clock.advance(by: 0.1)
        #expect(await ended.first(2).count == 2)
        try await clock.waitForSleepers()
        clock.advance(by: 29.8)
        #expect(ended.count == 2)
        clock.advance(by: 0.1)
        #expect(await ended.first(3).count == 3)
        #expect("\(limiter)" == "10 requests in 1 s, 2 requests in 60 s, burst 2")
    }
}
