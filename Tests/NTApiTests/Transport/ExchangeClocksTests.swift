import Testing

@testable import NTApi

@Suite struct ExchangeClocksTests {
    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000).advanced(bySeconds: seconds)
    }
    private func clocks(_ timeouts: Timeouts, deadline: Double = 1000) -> ExchangeClocks {
        ExchangeClocks(begun: at(0), timeouts: timeouts, deadline: at(deadline))
    }

    @Test func onlyQueueAndTotalRunInTheQueue() {
        var clocks = clocks(Timeouts(queue: 50, connect: 1, idle: 1, attempt: 1))
        #expect(clocks.expired(at(49)) == nil)
        #expect(clocks.nextDeadline == at(50))
        #expect(clocks.expired(at(50)) == .queue)
        clocks.started(at(49))
        #expect(clocks.queued(until: at(60)) == 49)
        #expect(clocks.nextDeadline == at(50))
        #expect(clocks.expired(at(50)) == .connect)
    }

    @Test func connectEndsWithTheConnection() {
        var clocks = clocks(Timeouts(connect: 2, idle: 5, attempt: 9))
        clocks.started(at(0))
        clocks.connected(at(1))
        #expect(clocks.expired(at(4.9)) == nil)
        clocks.bytesMoved(at(4.9))
        #expect(clocks.nextDeadline == at(9))
        #expect(clocks.expired(at(9)) == .attempt)
        // An event that is older than the latest one has no effect.
        clocks.bytesMoved(at(1))
        #expect(clocks.nextDeadline == at(9))
    }

    @Test func idleBoundsConnectingToo() {
        var clocks = clocks(Timeouts(connect: 30, idle: 5))
        clocks.started(at(0))
        #expect(clocks.expired(at(5)) == .idle)
    }

    @Test func totalAlwaysRuns() {
        var clocks = clocks(Timeouts(connect: nil, idle: nil, total: 5), deadline: 3)
        #expect(clocks.expired(at(3)) == .total)
        clocks.started(at(1))
        clocks.connected(at(1))
        clocks.bytesMoved(at(2.9))
        #expect(clocks.nextDeadline == at(3))
        // The deadline was set when the request began. The error names the whole limit, not the rest of it.
        #expect(clocks.limit(of: .total) == 5)
    }

    @Test(arguments: [0, -1, Double.nan, -Double.infinity]) func takesNonsenseForNow(_ seconds: Double) {
        var clocks = clocks(Timeouts(idle: seconds))
        clocks.started(at(1))
        #expect(clocks.expired(at(1)) == .idle)
    }

    @Test(arguments: [Double.infinity, 1e300]) func takesTheEndlessForNever(_ seconds: Double) {
        var clocks = clocks(Timeouts(connect: seconds, idle: seconds))
        clocks.started(at(1))
        #expect(clocks.nextDeadline == at(1000))
    }
}
