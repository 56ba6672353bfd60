import Testing

@testable import NTApi

@Suite struct RateGateTests {
    private typealias Gate = RateGate<Int>
    private let now = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func later(_ seconds: Double) -> MonotonicTime { now.advanced(bySeconds: seconds) }

    private func gate(_ requests: Double, _ seconds: Double = 1, burst: Int = 1) throws -> Gate {
        let limit = RateLimit(requests: requests, seconds: seconds, burst: burst)
        return Gate(interval: try #require(limit.interval), burst: burst)
    }

    private func admit(
        _ gate: inout Gate, _ waiter: Int, priority: Double = 0.5, by deadline: Double = 1000, at seconds: Double = 0
    ) -> Gate.Admission {
        gate.admit(waiter, priority: priority, deadline: later(deadline), later(seconds))
    }

    @Test func evenly() throws {
        var gate = try gate(10)
        #expect(admit(&gate, 1) == .go)
        #expect(admit(&gate, 2) == .wait && admit(&gate, 3) == .wait && gate.waiterCount == 2)
        #expect(gate.nextMoment == later(0.1))
        #expect(gate.advance(later(0.0999)) == [])
        #expect(gate.advance(later(0.1)) == [2])
        #expect(gate.nextMoment == later(0.2))
        #expect(gate.advance(later(0.5)) == [3] && gate.nextMoment == nil && gate.waiterCount == 0)
        // What was not used does not add up, without a burst.
        #expect(admit(&gate, 4, at: 0.59) == .wait)
        #expect(gate.advance(later(0.6)) == [4])
    }

    @Test func aBurst() throws {
        var gate = try gate(1, 2, burst: 3)
        #expect((1...3).allSatisfy { admit(&gate, $0) == .go } && admit(&gate, 4) == .wait)
        #expect(gate.advance(later(1.9)) == [] && gate.advance(later(2)) == [4])
        // Full again after three intervals, and no fuller later.
        for round in [8.0, 1000.0] {
            #expect((5...7).allSatisfy { admit(&gate, $0, by: 2000, at: round) == .go })
            #expect(admit(&gate, 8, by: 2000, at: round) == .wait)
            gate.leave(8)
        }
    }

    @Test func lateTimersLoseNothing() throws {
        var gate = try gate(1, burst: 2)
        #expect(admit(&gate, 1) == .go && admit(&gate, 2) == .go)
        #expect((3...9).allSatisfy { admit(&gate, $0) == .wait })
        // Looked at seldom, it lets a burst go; never more in all than the limit says.
        #expect(gate.advance(later(1)) == [3])
        #expect(gate.advance(later(5)) == [4, 5])
        #expect(gate.advance(later(5)) == [])
    }

    @Test func thePriorityFirstThenInOrder() throws {
        var gate = try gate(1)
        #expect(admit(&gate, 1) == .go)
        #expect(admit(&gate, 2, priority: 0.5) == .wait && admit(&gate, 3, priority: 1) == .wait)
        #expect(admit(&gate, 4, priority: 0) == .wait && admit(&gate, 5, priority: 0.5) == .wait)
        #expect(admit(&gate, 6, priority: 1) == .wait && admit(&gate, 7, priority: .nan) == .wait)
        var order: [Int] = []
        for second in 1...6 { order += gate.advance(later(Double(second))) }
        #expect(order == [3, 6, 2, 5, 4, 7])
    }

    @Test func nobodyPassesThoseThatWait() throws {
        var gate = try gate(1)
        #expect(admit(&gate, 1) == .go && admit(&gate, 2) == .wait)
        // Its time has come, but nobody has looked yet.
        #expect(admit(&gate, 3, at: 1.5) == .wait)
        #expect(gate.advance(later(1.5)) == [2])
    }

    @Test func whatWouldComeTooLateIsToldAtOnce() throws {
        var gate = try gate(1)
        #expect(admit(&gate, 1) == .go)
        #expect(admit(&gate, 2, by: 1) == .tooLate(seconds: 1))
        #expect(admit(&gate, 3, by: 1.5) == .wait)
        #expect(admit(&gate, 4, by: 1.5) == .tooLate(seconds: 2) && admit(&gate, 5, by: 2.5) == .wait)
        // Before the two that wait.
        #expect(admit(&gate, 6, priority: 1, by: 1.5) == .wait)
        #expect(gate.waiterCount == 3)
    }

    @Test func whoLeavesMakesRoom() throws {
        var gate = try gate(1)
        #expect(admit(&gate, 1) == .go && admit(&gate, 2) == .wait && admit(&gate, 3) == .wait)
        gate.leave(2)
        gate.leave(2)
        #expect(gate.advance(later(1)) == [3] && gate.nextMoment == nil)
    }

    @Test func whoIsHeldKeepsItsPlace() throws {
        var gate = try gate(1)
        #expect(admit(&gate, 1) == .go && (2...4).allSatisfy { admit(&gate, $0) == .wait })
        gate.hold(2)
        gate.hold(2)
        #expect(gate.advance(later(1)) == [3])
        gate.release(2)
        gate.release(2)
        #expect(gate.advance(later(2)) == [2] && gate.advance(later(3)) == [4])
        gate.hold(9)
        gate.release(9)
        #expect(gate.waiterCount == 0)
    }

    @Test func onlyHeldOnesWaitForNothing() throws {
        var gate = try gate(1)
        #expect(admit(&gate, 1) == .go && admit(&gate, 2) == .wait)
        gate.hold(2)
        #expect(gate.nextMoment == nil && admit(&gate, 3, at: 1) == .go)
        gate.leave(2)
        #expect(gate.waiterCount == 0)
    }

    @Test func aPauseHoldsUpAll() throws {
        var gate = try gate(10, burst: 5)
        #expect(admit(&gate, 1) == .go)
        gate.pause(until: later(3))
        #expect((2...3).allSatisfy { admit(&gate, $0) == .wait } && admit(&gate, 4, by: 3) == .tooLate(seconds: 3.2))
        #expect(gate.nextMoment == later(3) && gate.advance(later(2.99)) == [])
        // No burst when it is over: the server has just complained.
        #expect(gate.advance(later(3)) == [2] && gate.advance(later(3.1)) == [3])
        // A shorter one changes nothing.
        gate.pause(until: later(10))
        gate.pause(until: later(5))
        #expect(admit(&gate, 5, at: 4) == .wait && gate.nextMoment == later(10))
    }

    @Test(arguments: [
        (0.0, 1.0, 1), (-1, 1, 1), (1, 0, 1), (1, -1, 1), (1, 1, 0), (.nan, 1, 1), (1, .nan, 1), (1, .infinity, 1),
        (.infinity, 1, 1), (1, 1e300, 1),
    ]) func limitsThatMakeNoSense(_ requests: Double, _ seconds: Double, _ burst: Int) {
        #expect(RateLimit(requests: requests, seconds: seconds, burst: burst).problem != nil)
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
        var gate = try gate(1, 366 * 86_400, burst: 1_000_000_000)
        gate.pause(until: .distantFuture)
        _ = gate.admit(1, priority: 0.5, deadline: later(1), now)
        _ = gate.admit(2, priority: 0.5, deadline: .distantFuture, now)
        var slow = try self.gate(1, 366 * 86_400)
        #expect(admit(&slow, 1) == .go && admit(&slow, 2, by: .infinity) == .wait)
        slow.pause(until: .distantFuture)
        #expect(slow.advance(later(1e6)) == [])
    }

    /// In any second there are never more than the limit and a burst, whatever comes.
    @Test func neverMoreThanAllowed() throws {
        var random = SeededGenerator(SeededGenerator.ofThisRun)
        for _ in 0..<50 {
            let (requests, burst) = (
                Double(Int.random(in: 1...20, using: &random)), Int.random(in: 1...10, using: &random)
            )
            var gate = try gate(requests, burst: burst)
            var gone: [Double] = []
            var time = 0.0
            for waiter in 0..<300 {
                time += Double.random(in: 0...0.2, using: &random)
                if admit(&gate, waiter, by: .infinity, at: time) == .go { gone.append(time) }
                gone += gate.advance(later(time)).map { _ in time }
            }
            for (index, start) in gone.enumerated() {
                let inOneSecond = gone[index...].count { $0 < start + 1 }
                #expect(inOneSecond <= Int(requests) + burst, "seed \(SeededGenerator.ofThisRun)")
            }
        }
    }
}
