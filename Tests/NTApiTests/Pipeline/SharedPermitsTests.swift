import Testing

@testable import NTApi

/// Rate limits that several processes share, tested without processes and without a store.
@Suite struct SharedPermitsTests {
    private typealias Limit = SharedPermits.Limit
    private typealias Ask = SharedPermits.Ask

    private static let second: Int64 = 1_000_000
    private let start: Int64 = 1_700_000_000_000_000

    /// Ten requests a second.
    private let ten = Limit(interval: second / 10, burst: 1)

    private func ask(
        _ limiter: Int64, _ wanted: Int64 = 1, _ limits: [Limit], spare: Int64 = 0, pause: Int64 = 0,
        returned: Int64 = 0
    ) -> Ask {
        Ask(limiter: limiter, wanted: wanted, spare: spare, returned: returned, pause: pause, limits: limits)
    }

    /// Whether there were never more permits than a limit allows. Apart from the burst, any n permits take at least as
    /// long as n evenly spaced ones.
    private func keeps(_ limit: Limit, _ grants: [Int64]) -> Bool {
        var latest = Int64.min
        return grants.enumerated().allSatisfy { index, moment in
            let lead = moment - Int64(index) * limit.interval
            defer { latest = max(latest, lead) }
            return latest == .min || lead >= latest - (limit.burst - 1) * limit.interval
        }
    }

    @Test func evenlyAndInTurn() {
        var permits = SharedPermits()
        #expect(permits.take(ask(1, 5, [ten]), start) == .init(granted: 1, wait: 100_000))
        // The second process gets the next permit, and the first one gets the one after it.
        #expect(permits.take(ask(2, 1, [ten]), start + 1) == .init(granted: 0, wait: 199_999))
        #expect(permits.take(ask(1, 4, [ten]), start + 100_000) == .init(granted: 1, wait: 200_000))
        #expect(permits.take(ask(1, 3, [ten]), start + 200_000) == .init(granted: 0, wait: 100_000))
        #expect(permits.take(ask(2, 1, [ten]), start + 200_000) == .init(granted: 1, wait: 0))
        #expect(permits.take(ask(1, 3, [ten]), start + 300_000) == .init(granted: 1, wait: 100_000))
    }

    @Test func aBurstAndSeveralLimits() {
        var permits = SharedPermits()
        let limits = [Limit(interval: 100_000, burst: 3), Limit(interval: 4 * Self.second, burst: 4)]
        #expect(permits.take(ask(1, 9, limits), start) == .init(granted: 3, wait: 100_000))
        // Its permit comes in 3.9 s, but it asks again after a second.
        #expect(permits.take(ask(1, 6, limits), start + 100_000) == .init(granted: 1, wait: Self.second))
        #expect(permits.take(ask(1, 5, limits), start + 3_999_999) == .init(granted: 0, wait: 1))
        #expect(permits.take(ask(1, 5, limits), start + 4_000_000) == .init(granted: 1, wait: Self.second))
    }

    @Test func whoWaitsLongHearsThatAnotherHasEnded() {
        var permits = SharedPermits()
        let rare = [Limit(interval: 60 * Self.second, burst: 1)]
        #expect(permits.take(ask(1, 1, rare), start).granted == 1)
        #expect(permits.take(ask(2, 1, rare), start + 1) == .init(granted: 0, wait: Self.second))
        // The second process has ended. The third one learns this in time, and gets the second one's permit.
        for second in 0..<60 {
            #expect(permits.take(ask(3, 1, rare), start + Int64(second) * Self.second + 2).granted == 0)
        }
        #expect(permits.take(ask(3, 1, rare), start + 60 * Self.second) == .init(granted: 1, wait: 0))
    }

    @Test func aReplyFitsItsQuestion() {
        let ask = ask(1, 2, [ten], spare: 1)
        for (granted, wait) in [(0, 1), (1, 1), (2, 0), (3, 0)] as [(Int64, Int64)] {
            #expect(ask.fits(.init(granted: granted, wait: wait)))
        }
        for (granted, wait) in [(0, 0), (1, 0), (2, 1), (4, 0), (1 << 52, 0)] as [(Int64, Int64)] {
            #expect(!ask.fits(.init(granted: granted, wait: wait)))
        }
    }

    @Test func whoLeavesOrDoesNotComeHoldsUpNobody() {
        var permits = SharedPermits()
        #expect(permits.take(ask(1, 1, [ten]), start).granted == 1)
        #expect(permits.take(ask(2, 1, [ten]), start).wait == 100_000)
        #expect(permits.take(ask(3, 1, [ten]), start + 1).wait == 199_999)
        // The second one leaves, so the third one is next.
        #expect(permits.take(ask(2, 0, [ten]), start + 2) == .init(granted: 0, wait: 0))
        #expect(permits.take(ask(4, 1, [ten]), start + 50_000).wait == 150_000)
        // The third one has ended. Its permit is kept for a while; after that, nobody waits for it.
        #expect(permits.take(ask(4, 1, [ten]), start + 150_000).granted == 0)
        #expect(permits.take(ask(4, 1, [ten]), start + 699_999).granted == 0)
        #expect(permits.take(ask(4, 1, [ten]), start + 700_000).granted == 1)
    }

    @Test func aPauseAndWhatIsGivenBack() {
        var permits = SharedPermits()
        let limits = [Limit(interval: 100_000, burst: 3)]
        #expect(permits.take(ask(1, 3, limits), start).granted == 3)
        #expect(permits.take(ask(1, 2, limits, returned: 2), start).granted == 2)
        #expect(permits.take(ask(1, 0, limits, pause: Self.second, returned: 2), start) == .init(granted: 0, wait: 0))
        #expect(permits.take(ask(2, 2, limits, returned: 9), start + 1) == .init(granted: 0, wait: 999_999))
        // After the pause, one request starts, and the others follow evenly.
        #expect(permits.take(ask(2, 2, limits), start + Self.second) == .init(granted: 1, wait: 100_000))
    }

    @Test func spareOnesAreForThoseWhoWaitFirst() {
        var permits = SharedPermits()
        let limits = [Limit(interval: 100_000, burst: 5)]
        #expect(permits.take(ask(1, 1, limits, spare: 2), start) == .init(granted: 3, wait: 0))
        #expect(permits.take(ask(1, 1, limits, spare: 9), start) == .init(granted: 2, wait: 0))
        #expect(permits.take(ask(2, 1, limits, spare: 4), start) == .init(granted: 0, wait: 100_000))
        #expect(permits.take(ask(3, 0, limits), start + 300_000) == .init(granted: 0, wait: 0))
        // Three permits are free. One of them is for the second process, which waits.
        #expect(permits.take(ask(3, 1, limits, spare: 4), start + 300_000) == .init(granted: 2, wait: 0))
        #expect(permits.take(ask(2, 1, limits, spare: 4), start + 300_000) == .init(granted: 1, wait: 0))
    }

    @Test func aClockThatIsSetBackStopsNobodyForLong() {
        var permits = SharedPermits()
        let limits = [Limit(interval: 100_000, burst: 2)]
        #expect(permits.take(ask(1, 2, limits), start + 3600 * Self.second).granted == 2)
        #expect(permits.take(ask(1, 1, limits), start) == .init(granted: 0, wait: 100_000))
        // The pause and the processes that have waited are forgotten.
        _ = permits.take(ask(2, 0, limits, pause: 60 * Self.second), start)
        #expect(permits.take(ask(3, 1, limits), start) == .init(granted: 0, wait: 60 * Self.second))
        #expect(permits.take(ask(4, 1, limits), start - 2 * Self.second).wait <= 100_000)
        // A pause that is over does not come back.
        _ = permits.take(ask(2, 0, limits, pause: Self.second), start)
        _ = permits.take(ask(2, 0, limits), start + 3600 * Self.second)
        #expect(permits.take(ask(4, 1, limits), start).wait <= 100_000)
    }

    @Test func onlyNumbersThatTheScriptTakes() {
        let ask = ask(3, 4, [ten, Limit(interval: 7, burst: 9)], spare: 2, pause: 5, returned: 6)
        #expect(Ask(ask.arguments) == ask)
        for wrong in [
            [], [1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 5], [1, 1, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 1, 0],
            [-1, 1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 1 << 40, 1 << 40], [1, .max, 0, 0, 0, 1, 1],
        ] as [[Int64]] {
            #expect(Ask(wrong.map { "\($0)" }) == nil, "\(wrong)")
        }
        #expect((try? SharedPermits.Reply.read(["1", "2"]).get()) == .init(granted: 1, wait: 2))
        for wrong in [[], [1], [1, 2, 3], [-1, 0], [.max, 0]] as [[Int64]] {
            #expect((try? SharedPermits.Reply.read(wrong.map { "\($0)" }).get()) == nil)
        }
    }

    /// A process of the simulation: its waiting requests, and how long a call to the store and back takes.
    private struct Process {
        var limit: SharedLimit
        var waiting = 0
        var started = 0
        let way: Int64

        func time(_ now: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(now) * 1000) }
    }

    private enum Event {
        case requests(Int)
        case asks(SharedLimit.Ask)
        case hears(SharedLimit.Ask, SharedPermits.Reply)
        case looks
        case dies
    }

    /// Hundreds of processes, near the store and far from it. Each has its own clock, and some of them end.
    @Test func manyProcessesKeepTheLimitAndTheirTurns() {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let rates = [RateLimit(requests: 200, burst: 5), RateLimit(requests: 1900, seconds: 10, burst: 100)]
        let limits = rates.map {
            Limit(interval: Int64($0.seconds / $0.requests * 1e6 + 0.999), burst: Int64($0.burst))
        }
        var processes = (0..<100).map { number in
            Process(limit: SharedLimit(rates, StoreOptions()), way: number.isMultiple(of: 2) ? 50 : 20_000)
        }
        var store = SharedPermits()
        var grants: [Int64] = []
        var events = IndexedHeap<Moment, (Int, Event)>()
        var number = 0
        func later(_ moment: Int64, _ process: Int, _ event: Event) {
            number += 1
            _ = events.insert((process, event), key: Moment(time: moment, number: number))
        }
        // The processes always want more than the limit allows. Twenty end while they may wait or have permits.
        for process in processes.indices {
            later(start + .random(in: 0...9999, using: &random), process, .requests(40))
        }
        for process in 80..<100 { later(start + .random(in: 0...5_000_000, using: &random), process, .dies) }
        var dead: Set<Int> = []
        var halfway: [Int] = []
        while let key = events.firstKey, key.time < start + 60 * Self.second, let (index, event) = events.popFirst() {
            guard !dead.contains(index) else { continue }
            let now = key.time
            switch event {
            case .requests(let count): processes[index].waiting += count
            case .asks(let ask):
                let reply = store.take(ask.permits, now)
                grants += Array(repeating: now, count: Int(reply.granted))
                later(now + processes[index].way, index, .hears(ask, reply))
                continue
            case .hears(let ask, let reply):
                let count = processes[index].limit.answered(ask, .success(reply), processes[index].time(now))
                processes[index].waiting -= count
                processes[index].started += count
                if halfway.isEmpty, grants.count >= 40 * 40 { halfway = processes.prefix(80).map(\.started) }
            case .looks: break
            case .dies: dead.insert(index)
            }
            let time = processes[index].time(now)
            processes[index].limit.look(time)
            if let ask = processes[index].limit.next(processes[index].waiting, time) {
                later(now + processes[index].way, index, .asks(ask))
            }
            if let next = processes[index].limit.nextMoment(processes[index].waiting)?.moment, next > time {
                later(Int64((next.nanoseconds + 999) / 1000), index, .looks)
            }
        }
        #expect(limits.allSatisfy { keeps($0, grants) }, "NTAPI_SEED=\(seed)")
        let alive = processes.prefix(80)
        #expect(alive.allSatisfy { $0.waiting == 0 && $0.started == 40 }, "NTAPI_SEED=\(seed)")
        // While all want more than they get, those far from the store get as much as those near it.
        #expect(halfway.min() ?? 0 >= 12, "NTAPI_SEED=\(seed): \(halfway)")
    }

    /// Processes that take batches may exceed the limit by the permits that they keep. They ask the store less often.
    @Test func batchesExceedTheLimitByWhatIsKept() {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let (count, batch) = (8, 10)
        let rate = RateLimit(requests: 200, burst: 40)
        let limit = Limit(interval: 5000, burst: 40)
        for busy in [false, true] {
            var processes = (0..<count).map { _ in
                Process(limit: SharedLimit([rate], StoreOptions(batch: batch)), way: 0)
            }
            var (store, starts, questions) = (SharedPermits(), [Int64](), 0)
            var now = start
            while now < start + 20 * Self.second {
                now += .random(in: 0...(busy ? 5000 : 20_000), using: &random)
                let index = Int.random(in: 0..<count, using: &random)
                let time = processes[index].time(now)
                processes[index].waiting += 1
                var started = processes[index].limit.takeKept(processes[index].waiting, time)
                processes[index].waiting -= started
                while let ask = processes[index].limit.next(processes[index].waiting, time) {
                    questions += 1
                    let granted = processes[index].limit.answered(ask, .success(store.take(ask.permits, now)), time)
                    let used = min(granted, processes[index].waiting)
                    processes[index].limit.keep(granted - used, time)
                    processes[index].waiting -= used
                    started += used
                }
                starts += Array(repeating: now, count: started)
            }
            let bound = Limit(interval: limit.interval, burst: limit.burst + Int64(count * (batch - 1)))
            #expect(keeps(bound, starts), "NTAPI_SEED=\(seed)")
            #expect(starts.count > (busy ? 3500 : 1500), "NTAPI_SEED=\(seed)")
            if !busy { #expect(questions * 3 < starts.count, "NTAPI_SEED=\(seed): \(questions) of \(starts.count)") }
        }
    }
}

/// When something happens in a simulation. At the same time, what was added first happens first.
struct Moment: Comparable {
    let time: Int64
    let number: Int

    static func < (left: Moment, right: Moment) -> Bool { (left.time, left.number) < (right.time, right.number) }
}
