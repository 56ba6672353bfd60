import Testing

@testable import NTApi

@Suite struct RatePermitsTests {
    private typealias Permits = RatePermits<Int>
    private let now = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func later(_ seconds: Double) -> MonotonicTime { now.advanced(bySeconds: seconds) }

    private func permits(_ requests: Double, _ seconds: Double = 1, burst: Int = 1) throws -> Permits {
        let limit = RateLimit(requests: requests, seconds: seconds, burst: burst)
        return Permits([(try #require(limit.interval), burst)])
    }

    private func admit(
        _ permits: inout Permits, _ waiter: Int, priority: Double = 0.5, by deadline: Double = 1000,
        at seconds: Double = 0
    ) -> Permits.Admission {
        permits.admit(waiter, priority: priority, deadline: later(deadline), later(seconds))
    }

    @Test func evenly() throws {
        var permits = try permits(10)
        #expect(admit(&permits, 1) == .go)
        #expect(admit(&permits, 2) == .wait && admit(&permits, 3) == .wait && permits.waiterCount == 2)
        #expect(permits.nextMoment == later(0.1))
        #expect(permits.advance(later(0.0999)) == [])
        #expect(permits.advance(later(0.1)) == [2])
        #expect(permits.nextMoment == later(0.2))
        #expect(permits.advance(later(0.5)) == [3] && permits.nextMoment == nil && permits.waiterCount == 0)
        // Without a burst, unused turns do not add up.
        #expect(admit(&permits, 4, at: 0.59) == .wait)
        #expect(permits.advance(later(0.6)) == [4])
    }

    @Test func aBurst() throws {
        var permits = try permits(1, 2, burst: 3)
        #expect((1...3).allSatisfy { admit(&permits, $0) == .go } && admit(&permits, 4) == .wait)
        #expect(permits.advance(later(1.9)) == [] && permits.advance(later(2)) == [4])
        // The burst is full again after three intervals, and does not grow later.
        for round in [8.0, 1000.0] {
            #expect((5...7).allSatisfy { admit(&permits, $0, by: 2000, at: round) == .go })
            #expect(admit(&permits, 8, by: 2000, at: round) == .wait)
            permits.leave(8)
        }
    }

    @Test func lateTimersLoseNothing() throws {
        var permits = try permits(1, burst: 2)
        #expect(admit(&permits, 1) == .go && admit(&permits, 2) == .go)
        #expect((3...9).allSatisfy { admit(&permits, $0) == .wait })
        // When it is checked rarely, several go at once, but never more than the limit in total.
        #expect(permits.advance(later(1)) == [3])
        #expect(permits.advance(later(5)) == [4, 5])
        #expect(permits.advance(later(5)) == [])
    }

    @Test func thePriorityFirstThenInOrder() throws {
        var permits = try permits(1)
        #expect(admit(&permits, 1) == .go)
        #expect(admit(&permits, 2, priority: 0.5) == .wait && admit(&permits, 3, priority: 1) == .wait)
        #expect(admit(&permits, 4, priority: 0) == .wait && admit(&permits, 5, priority: 0.5) == .wait)
        #expect(admit(&permits, 6, priority: 1) == .wait && admit(&permits, 7, priority: .nan) == .wait)
        var order: [Int] = []
        for second in 1...6 { order += permits.advance(later(Double(second))) }
        #expect(order == [3, 6, 2, 5, 4, 7])
    }

    @Test func nobodyPassesThoseThatWait() throws {
        var permits = try permits(1)
        #expect(admit(&permits, 1) == .go && admit(&permits, 2) == .wait)
        // The time has come for the second one, but nobody has checked yet.
        #expect(admit(&permits, 3, at: 1.5) == .wait)
        #expect(permits.advance(later(1.5)) == [2])
    }

    @Test func whatWouldComeTooLateIsToldAtOnce() throws {
        var permits = try permits(1)
        #expect(admit(&permits, 1) == .go)
        #expect(admit(&permits, 2, by: 1) == .tooLate(seconds: 1))
        #expect(admit(&permits, 3, by: 1.5) == .wait)
        #expect(admit(&permits, 4, by: 1.5) == .tooLate(seconds: 2) && admit(&permits, 5, by: 2.5) == .wait)
        // It would go before the two that wait.
        #expect(admit(&permits, 6, priority: 1, by: 1.5) == .wait)
        #expect(permits.waiterCount == 3)
    }

    @Test func whoLeavesMakesRoom() throws {
        var permits = try permits(1)
        #expect(admit(&permits, 1) == .go && admit(&permits, 2) == .wait && admit(&permits, 3) == .wait)
        permits.leave(2)
        permits.leave(2)
        #expect(permits.advance(later(1)) == [3] && permits.nextMoment == nil)
    }

    @Test func whoIsHeldKeepsItsPlace() throws {
        var permits = try permits(1)
        #expect(admit(&permits, 1) == .go && (2...4).allSatisfy { admit(&permits, $0) == .wait })
        permits.hold(2)
        permits.hold(2)
        #expect(permits.advance(later(1)) == [3])
        permits.release(2)
        permits.release(2)
        #expect(permits.advance(later(2)) == [2] && permits.advance(later(3)) == [4])
        permits.hold(9)
        permits.release(9)
        #expect(permits.waiterCount == 0)
    }

    @Test func onlyHeldOnesWaitForNothing() throws {
        var permits = try permits(1)
        #expect(admit(&permits, 1) == .go && admit(&permits, 2) == .wait)
        permits.hold(2)
        #expect(permits.nextMoment == nil && admit(&permits, 3, at: 1) == .go)
        permits.leave(2)
        #expect(permits.waiterCount == 0)
    }

    /// A permit that is given back goes to the next one. It does not shorten a pause.
    @Test func whatIsGivenBack() throws {
        var permits = try permits(1, 60)
        #expect(admit(&permits, 1) == .go && admit(&permits, 2) == .wait)
        permits.giveBack()
        #expect(permits.advance(now) == [2] && admit(&permits, 3) == .wait && permits.nextMoment == later(60))
        permits.pause(until: later(30))
        permits.giveBack()
        #expect(permits.nextMoment == later(30))
        // None was taken, so giving one back adds none.
        permits = try self.permits(1, 60)
        permits.giveBack()
        #expect(admit(&permits, 1) == .go && admit(&permits, 2) == .wait)
    }

    @Test func aPauseHoldsUpAll() throws {
        var permits = try permits(10, burst: 5)
        #expect(admit(&permits, 1) == .go)
        permits.pause(until: later(3))
        #expect(
            (2...3).allSatisfy { admit(&permits, $0) == .wait } && admit(&permits, 4, by: 3) == .tooLate(seconds: 3.2))
        #expect(permits.nextMoment == later(3) && permits.advance(later(2.99)) == [])
        // There is no burst after the pause, because the server has just complained.
        #expect(permits.advance(later(3)) == [2] && permits.advance(later(3.1)) == [3])
        // A shorter pause changes nothing.
        permits.pause(until: later(10))
        permits.pause(until: later(5))
        #expect(admit(&permits, 5, at: 4) == .wait && permits.nextMoment == later(10))
    }

    @Test(arguments: [
        (0.0, 1.0, 1), (-1, 1, 1), (1, 0, 1), (1, -1, 1), (1, 1, 0), (.nan, 1, 1), (1, .nan, 1), (1, .infinity, 1),
        (.infinity, 1, 1), (1, 1e300, 1), (10, 1, .min), (10, 1, -1),
    ]) func limitsThatMakeNoSense(_ requests: Double, _ seconds: Double, _ burst: Int) {
        #expect(RateLimit(requests: requests, seconds: seconds, burst: burst).problem != nil)
        #expect(RateLimiter(requests: requests, seconds: seconds, burst: burst).problem != nil)
    }

    @Test func limitsAsJSON() throws {
        let limit = RateLimit(requests: 10, seconds: 60, burst: 3, maximumPause: 5)
        #expect(try RateLimit(limit.json) == limit && RateLimit(["requests": 2]) == RateLimit(requests: 2))
        #expect("\(limit)" == "10 requests in 60 s, burst 3" && "\(RateLimit(requests: 0.5))" == "0.5 requests in 1 s")
        #expect(thrown { _ = try RateLimit(["seconds": 2]) }?.message == "requests: it is missing")
        #expect(
            thrown { _ = try RateLimit(["requests": 2, "x": 1]) }?.message.hasASCIIPrefix("it must be an object with")
                == true)
        #expect(
            thrown { _ = try RateLimit(["requests": -2]) }?.message.hasASCIIPrefix("-2.0 requests in 1.0 s") == true)
    }

    @Test func theEndOfTimeIsNoTrap() throws {
        var permits = try permits(1, 366 * 86_400, burst: 1_000_000_000)
        permits.pause(until: .distantFuture)
        _ = permits.admit(1, priority: 0.5, deadline: later(1), now)
        _ = permits.admit(2, priority: 0.5, deadline: .distantFuture, now)
        var slow = try self.permits(1, 366 * 86_400)
        #expect(admit(&slow, 1) == .go && admit(&slow, 2, by: .infinity) == .wait)
        slow.pause(until: .distantFuture)
        #expect(slow.advance(later(1e6)) == [])
    }

    /// In any order of events, no second has more than the limit and a burst.
    @Test func neverMoreThanAllowed() throws {
        var random = SeededGenerator(SeededGenerator.ofThisRun)
        for _ in 0..<50 {
            let (requests, burst) = (
                Double(Int.random(in: 1...20, using: &random)), Int.random(in: 1...10, using: &random)
            )
            var permits = try permits(requests, burst: burst)
            var gone: [Double] = []
            var time = 0.0
            for waiter in 0..<300 {
                time += Double.random(in: 0...0.2, using: &random)
                if admit(&permits, waiter, by: .infinity, at: time) == .go { gone.append(time) }
                gone += permits.advance(later(time)).map { _ in time }
            }
            for (index, start) in gone.enumerated() {
                let inOneSecond = gone[index...].count { $0 < start + 1 }
                #expect(inOneSecond <= Int(requests) + burst, "seed \(SeededGenerator.ofThisRun)")
            }
        }
    }
}
