/// A job for a moment, which can be called off.
final class EngineTimer: Sendable {
    let moment: MonotonicTime
    let job: @Sendable () -> Void
    // Safe to share: touched on the loop's own thread alone.
    nonisolated(unsafe) var token: IndexedHeap<MonotonicTime, LoopTimer>.Token?
    /// The command to cancel it overtook the one to set it.
    nonisolated(unsafe) var isCancelled = false

    init(at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void) {
        self.moment = moment
        self.job = job
    }
}
