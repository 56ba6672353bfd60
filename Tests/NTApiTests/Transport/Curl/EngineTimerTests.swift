import Testing

@testable import NTApi

/// Jobs that the network thread runs at given times.
@Suite struct EngineTimerTests {
    private let engine = TestEngine()
    private let ran = Log<Int>()

    @discardableResult private func schedule(_ number: Int, in seconds: Double) -> ScheduledJob {
        engine.engine.schedule(at: .now().advanced(bySeconds: seconds)) { [ran] in ran.append(number) }
    }

    /// The thread sleeps until the first job is due. An earlier job has to wake the thread.
    @Test func anEarlierOneWakesTheThread() async throws {
        schedule(1, in: 3600)
        schedule(2, in: 0.2)
        #expect(try await ran.element(0) == 2)
        schedule(3, in: 0.1)
        #expect(try await ran.element(1) == 3)
    }

    @Test func aMomentInThePastIsNow() async throws {
        schedule(1, in: -1)
        #expect(try await ran.element(0) == 1)
    }

    @Test func aCancelledOneDoesNotRun() async throws {
        let last = schedule(1, in: 0.3)
        let first = schedule(2, in: 0.1)
        first.cancel()
        #expect(try await ran.element(0) == 1)
        last.cancel()
        #expect(ran.all == [1])
    }

    /// The job is released at once, with everything that it holds.
    @Test func aCancelledOneIsReleased() {
        final class Held: Sendable {}
        var held: Held? = Held()
        weak let weakHeld = held
        let job = engine.engine.schedule(at: .now().advanced(bySeconds: 3600)) { [held] in _ = held }
        held = nil
        #expect(weakHeld != nil)
        job.cancel()
        #expect(weakHeld == nil)
    }

    @Test func allRunWhenTheEngineStops() async throws {
        for number in 0..<5 { schedule(number, in: 3600) }
        schedule(5, in: 3600).cancel()
        #expect(engine.engine.stop(timeout: patience))
        _ = try await ran.element(4)
        schedule(6, in: 3600)
        _ = try await ran.element(5)
        #expect(ran.all.sorted() == [0, 1, 2, 3, 4, 6])
    }
}
