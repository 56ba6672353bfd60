import Testing

@testable import NTApi

/// In every order of events, there is one refresh for all requests, and each request gets one answer.
@Suite struct TokenPermitsTests {
    private typealias Permits = TokenPermits<Int>
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private let now = TokenPermitsTests.start
    private let error = APIError(code: .authentication, message: "no")

    private func fail(_ text: String = "another outcome was expected") { Issue.record("\(text)") }

    private func later(_ seconds: Double) -> MonotonicTime { now.advanced(bySeconds: seconds) }

    private func permits(_ token: String? = "t1", lifetime: Double? = nil) -> Permits {
        var permits = Permits()
        if let token { _ = permits.set(token, lifetime: lifetime, now) }
        return permits
    }

    // MARK: One after the other

    @Test func aGoodTokenIsSent() {
        var permits = permits()
        #expect(permits.grant(now) == Permits.Grant(token: "t1", generation: 1))
        #expect(permits.admit(1, now) == .send(Permits.Grant(token: "t1", generation: 1), start: nil))
    }

    @Test func withoutATokenTheFirstAsksAndAllWait() {
        var permits = permits(nil)
        #expect(permits.grant(now) == nil)
        let start = Permits.Start(identifier: 1, token: nil, asker: 1, isAboutAnswer: false)
        #expect(permits.admit(1, now) == .wait(start: start))
        for waiter in 2...100 { #expect(permits.admit(waiter, now) == .wait(start: nil)) }
        let release = permits.succeeded(1, "t1", lifetime: nil, now)
        #expect(release.outcomes.map(\.waiter) == Array(1...100) && release.start == nil)
        #expect(release.outcomes.allSatisfy { $0.outcome == .send(Permits.Grant(token: "t1", generation: 1)) })
        #expect(permits.waiterCount == 0 && !permits.isRefreshing)
    }

    @Test func oneRefreshForAHundredRejections() {
        var permits = permits()
        var starts = 0
        for waiter in 1...100 {
            guard case .wait(let start) = permits.rejected(waiter, 1, .init(), now) else { return fail() }
            if start != nil { starts += 1 }
        }
        #expect(starts == 1)
        #expect(permits.admit(101, now) == .wait(start: nil))
        #expect(permits.succeeded(1, "t2", lifetime: nil, now).outcomes.count == 101)
    }

    @Test func whoWasSentWithAnOldTokenNeedsNoRefresh() {
        var permits = permits()
        _ = permits.rejected(1, 1, .init(), now)
        _ = permits.succeeded(1, "t2", lifetime: nil, now)
        #expect(permits.rejected(2, 1, .init(), now) == .replay(Permits.Grant(token: "t2", generation: 2)))
        #expect(permits.rejected(2, 1, .init(wasReplayed: true), now) == .deliver)
        // The new token is rejected, too.
        let start = Permits.Start(identifier: 2, token: "t2", asker: 2, isAboutAnswer: true, isRejected: true)
        #expect(permits.rejected(2, 2, .init(wasReplayed: true), now) == .wait(start: start))
    }

    @Test func aRejectionAfterTheRefreshIsDelivered() {
        var permits = permits()
        _ = permits.rejected(1, 1, .init(), now)
        _ = permits.succeeded(1, "t2", lifetime: nil, now)
        #expect(permits.rejected(1, 2, .init(wasRefreshed: true), now) == .deliver)
        #expect(!permits.isRefreshing && permits.grant(now)?.token == "t2")
    }

    @Test func aFailureIsToldToAllAndRemembered() {
        var permits = permits()
        _ = permits.rejected(1, 1, .init(), now)
        _ = permits.admit(2, now)
        let release = permits.failed(1, error, now)
        #expect(release.outcomes.map(\.waiter) == [1, 2])
        #expect(release.outcomes.allSatisfy { $0.outcome == .fail(error) })
        #expect(permits.admit(3, later(0.9)) == .fail(error))
        #expect(permits.rejected(4, 1, .init(), later(0.9)) == .fail(error))
        let start = Permits.Start(identifier: 2, token: "t1", asker: 5, isAboutAnswer: false, isRejected: true)
        #expect(permits.admit(5, later(1)) == .wait(start: start))
        #expect(permits.admit(6, later(1)) == .wait(start: nil))
    }

    @Test func aTokenFromElsewhereEndsTheWait() {
        var permits = permits()
        _ = permits.rejected(1, 1, .init(), now)
        _ = permits.failed(1, error, now)
        _ = permits.set("t2", lifetime: nil, now)
        #expect(permits.grant(now)?.token == "t2")
        _ = permits.rejected(2, 2, .init(), now)
        let release = permits.set("t3", lifetime: nil, now)
        #expect(release.outcomes.map(\.waiter) == [2])
        // The token of the running refresh is not newer.
        #expect(permits.succeeded(2, "t2b", lifetime: nil, now).outcomes.isEmpty)
        #expect(permits.current == "t3")
        _ = permits.set(nil, lifetime: nil, now)
        #expect(permits.current == nil && permits.grant(now) == nil)
    }

    @Test func aTokenIsRefreshedAheadOfItsEnd() {
        var permits = permits("t1", lifetime: 100)
        #expect(permits.grant(later(89)) != nil && permits.grant(later(90)) == nil)
        let grant = Permits.Grant(token: "t1", generation: 1)
        let start = Permits.Start(identifier: 1, token: "t1", asker: 1, isAboutAnswer: false)
        #expect(permits.admit(1, later(91)) == .send(grant, start: start))
        #expect(permits.admit(2, later(92)) == .send(grant, start: nil))
        // Requests with a good token do not fail. No new refresh begins at once.
        #expect(permits.failed(1, error, later(93)).outcomes.isEmpty)
        #expect(permits.admit(3, later(93.5)) == .send(grant, start: nil))
        guard case .send(grant, start: .some) = permits.admit(4, later(94)) else { return fail() }
        #expect(permits.admit(5, later(100)) == .wait(start: nil))
        let release = permits.succeeded(2, "t2", lifetime: 1000, later(101))
        #expect(release.outcomes.map(\.waiter) == [5])
        #expect(permits.grant(later(101 + 939)) != nil && permits.grant(later(101 + 941)) == nil)
    }

    @Test func aLateAnswerIsTakenUnlessThereIsANewerToken() {
        var permits = permits()
        _ = permits.rejected(1, 1, .init(), now)
        #expect(permits.timedOut(1, error, now).outcomes.map(\.waiter) == [1])
        _ = permits.admit(2, later(1))
        let release = permits.succeeded(1, "t2", lifetime: nil, later(2))
        #expect(release.outcomes.map(\.waiter) == [2] && permits.current == "t2")
        #expect(permits.succeeded(2, "t3", lifetime: nil, later(3)).outcomes.isEmpty)
        #expect(permits.current == "t2")
        // A request that has failed stays failed.
        _ = permits.rejected(3, 2, .init(), later(4))
        _ = permits.failed(3, error, later(4))
        #expect(permits.succeeded(3, "t4", lifetime: nil, later(4)).outcomes.isEmpty)
        #expect(permits.current == "t2")
    }

    @Test func eachAnswerIsAskedAboutUntilOneMeansIt() {
        var permits = permits()
        for waiter in 1...3 { _ = permits.rejected(waiter, 1, .init(), now) }
        _ = permits.admit(4, now)
        var release = permits.declined(1, error, now)
        #expect(release.outcomes.map(\.waiter) == [1] && release.outcomes[0].outcome == .deliver)
        #expect(
            release.start == Permits.Start(identifier: 2, token: "t1", asker: 2, isAboutAnswer: true, isRejected: true))
        permits.leave(2)
        release = permits.declined(2, error, now)
        #expect(release.outcomes.isEmpty && release.start?.asker == 3)
        release = permits.declined(3, error, now)
        // The token was not the reason for the rejection.
        #expect(release.outcomes.map(\.waiter) == [3, 4] && release.start == nil)
        #expect(release.outcomes.last?.outcome == .send(Permits.Grant(token: "t1", generation: 1)))
        #expect(permits.grant(now) != nil)
    }

    @Test func aRefreshThatHasNoTokenToGive() {
        var permits = permits(nil)
        _ = permits.admit(1, now)
        _ = permits.admit(2, now)
        let release = permits.declined(1, error, now)
        #expect(release.outcomes.map(\.waiter) == [1, 2] && release.outcomes[0].outcome == .fail(error))
    }

    @Test func aRequestThatCannotBeSentAgainSparesTheNextOne() {
        var permits = permits()
        permits.rejectedForGood(1)
        guard case .wait(.some) = permits.admit(2, now) else { return fail() }
        permits.leave(2)
        let isOver = permits.abandon()
        #expect(isOver)
        #expect(!permits.isRefreshing)
        #expect(permits.succeeded(1, "t2", lifetime: nil, now).outcomes.isEmpty)
        #expect(permits.current == "t2")
        _ = permits.rejected(3, 2, .init(), now)
        let isAbandoned = permits.abandon()
        #expect(!isAbandoned)
        #expect(permits.forget() == [3])
        #expect(!permits.isRefreshing)
    }

    // MARK: In any order

    /// Requests, servers and refreshes in a random order.
    private struct Simulation {
        struct Request {
            enum Phase {
                case new, waiting
                case sent(UInt64)
                case over
            }
            var phase = Phase.new
            var history = Permits.History()
            var wasRejected = false
            var sends = 0
            var outcomes = 0
        }

        var permits = Permits()
        var generator: SeededGenerator
        var now = TokenPermitsTests.start
        var requests: [Request] = []
        /// The running refresh, and the refreshes that have timed out.
        var running: UInt64?
        var late: [UInt64] = []
        var failedAt: MonotonicTime?
        var violations: [String] = []
        var history: [String] = []
        let error = APIError(code: .authentication, message: "no")

        init(seed: UInt64) { generator = SeededGenerator(seed) }

        mutating func run() {
            for _ in 0..<300 { step() }
            // Every request ends.
            var rounds = 0
            while requests.contains(where: { if case .over = $0.phase { false } else { true } }), rounds < 10_000 {
                rounds += 1
                if let running { end(running, Int.random(in: 0..<3, using: &generator)) }
                for index in requests.indices { answer(index) }
                for index in requests.indices { begin(index) }
                now = now.advanced(bySeconds: 0.4)
            }
            if rounds == 10_000 { violate("somebody waits for ever") }
            if permits.waiterCount != 0 { violate("somebody is left") }
        }

        private mutating func step() {
            now = now.advanced(bySeconds: Double.random(in: 0...0.3, using: &generator))
            let index = Int.random(in: 0...max(0, requests.count - 1), using: &generator)
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<5:
                requests.append(Request())
                begin(requests.count - 1)
            case 5..<13: answer(index)
            case 13..<17: if let running { end(running, Int.random(in: 0..<5, using: &generator)) }
            case 17: if let first = late.first { end(first, 0) }
            case 18: cancel(index)
            default:
                let token = Bool.random(using: &generator) ? "set" : nil
                note("set \(token ?? "none")")
                if token != nil { (running, late, failedAt) = (nil, [], nil) } else { failedAt = nil }
                take(permits.set(token, lifetime: Double.random(in: 0...9, using: &generator), now))
            }
            if !permits.isRefreshing, permits.waiterCount > 0 { violate("they wait for nothing") }
            if permits.isRefreshing != (running != nil) { violate("a refresh that nobody knows of") }
        }

        private mutating func begin(_ index: Int) {
            guard requests.indices.contains(index), case .new = requests[index].phase else { return }
            switch permits.admit(index, now) {
            case .send(let grant, let start):
                if let start { began(start) }
                send(index, grant)
            case .wait(let start):
                if let start { began(start) }
                requests[index].phase = .waiting
            case .fail: requests[index].phase = .over
            }
            note("#\(index) begins: \(requests[index].phase)")
        }

        /// The server accepts or rejects the token.
        private mutating func answer(_ index: Int) {
            guard requests.indices.contains(index), case .sent(let generation) = requests[index].phase else { return }
            guard Bool.random(using: &generator) else {
                requests[index].phase = .over
                return
            }
            note("#\(index) rejected")
            let known = requests[index].history
            switch permits.rejected(index, generation, known, now) {
            case .replay(let grant):
                if known.wasReplayed || grant.generation <= generation { violate("replayed with the same") }
                requests[index].history.wasReplayed = true
                send(index, grant)
            case .wait(let start):
                if known.wasRefreshed { violate("#\(index) is refreshed twice") }
                if let start { began(start) }
                requests[index].wasRejected = true
                requests[index].phase = .waiting
            case .deliver:
                if !known.wasRefreshed, !known.wasReplayed { violate("#\(index) had no second chance") }
                requests[index].phase = .over
            case .fail: requests[index].phase = .over
            }
        }

        private mutating func began(_ start: Permits.Start) {
            note("refresh \(start.identifier)")
            if running != nil { violate("two refreshes at once") }
            if let failedAt, now.seconds(since: failedAt) < 1 { violate("a storm") }
            running = start.identifier
        }

        private mutating func end(_ identifier: UInt64, _ how: Int) {
            note("refresh \(identifier) ends: \(how)")
            let isLate = identifier != running
            switch how {
            case 0:
                let before = permits.current
                let release = permits.succeeded(identifier, "t\(identifier)", lifetime: how == 0 ? 5 : nil, now)
                if permits.current != before || !release.outcomes.isEmpty { (running, late, failedAt) = (nil, [], nil) }
                if isLate { late.removeAll { $0 == identifier } } else { running = nil }
                take(release)
            case 1:
                if !isLate { running = nil }
                if !isLate { failedAt = now }
                take(permits.failed(identifier, error, now))
            case 2:
                let release = permits.declined(identifier, error, now)
                if !isLate { running = nil }
                if release.outcomes.contains(where: { $0.outcome == .fail(error) }) { failedAt = now }
                take(release)
            case 3:
                if !isLate {
                    running = nil
                    late.append(identifier)
                    failedAt = now
                }
                take(permits.timedOut(identifier, error, now))
            default:
                if permits.waiterCount == 0 {
                    guard permits.abandon() else { return violate("nobody waits, and it goes on") }
                    late.append(identifier)
                    running = nil
                } else if permits.abandon() {
                    violate("abandoned while somebody waits")
                }
            }
        }

        private mutating func take(_ release: Permits.Release) {
            for (index, outcome) in release.outcomes {
                guard case .waiting = requests[index].phase else {
                    violate("#\(index) is told, and does not wait")
                    continue
                }
                switch outcome {
                case .send(let grant):
                    if requests[index].wasRejected { requests[index].history.wasRefreshed = true }
                    send(index, grant)
                case .deliver:
                    if !requests[index].wasRejected { violate("#\(index) has nothing to deliver") }
                    requests[index].phase = .over
                case .fail: requests[index].phase = .over
                }
            }
            if let start = release.start { began(start) }
        }

        private mutating func send(_ index: Int, _ grant: Permits.Grant) {
            requests[index].sends += 1
            if requests[index].sends > 3 { violate("#\(index) is sent for ever") }
            requests[index].phase = .sent(grant.generation)
        }

        private mutating func cancel(_ index: Int) {
            guard requests.indices.contains(index), case .waiting = requests[index].phase else { return }
            note("#\(index) cancelled")
            permits.leave(index)
            requests[index].phase = .over
        }

        private mutating func note(_ text: String) { history.append(text) }

        private mutating func violate(_ text: String) { violations.append("\(text), after: \(history.suffix(12))") }
    }

    @Test func everySchedule() {
        let seed = SeededGenerator.ofThisRun
        for number in 0..<2000 as Range<UInt64> {
            var simulation = Simulation(seed: seed &+ number)
            simulation.run()
            if let first = simulation.violations.first {
                return fail("NTAPI_SEED=\(seed) (run \(number)): \(first)")
            }
        }
    }
}
