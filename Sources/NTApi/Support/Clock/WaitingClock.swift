/// The time by which requests wait between what they do on the network: the system's, or one that a test moves.
///
/// The engine's own timers, which watch sockets, stay with the system's time.
protocol WaitingClock: Sendable {
    /// Now, as it never jumps back.
    var now: MonotonicTime { get }

    /// Now, in seconds since 1970-01-01 00:00 UTC.
    var calendarSeconds: Double { get }

    /// Runs a job on a worker at a moment; at once when that has passed.
    @discardableResult func schedule(
        _ purpose: WaitPurpose, at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void
    ) -> ScheduledJob

    /// A moment of this clock as one of the system's, for who waits by that one.
    func onSystemClock(_ moment: MonotonicTime) -> MonotonicTime
}

/// Why somebody waits for a moment.
enum WaitPurpose: Sendable {
    /// To go on then: between two attempts, say. A test sees it as a sleeper.
    case pause
    /// To give up then, unless what is waited for comes before.
    case limit
}

/// A job for a moment, which can be called off.
struct ScheduledJob: Sendable {
    private let callOff: @Sendable () -> Void

    init(callOff: @escaping @Sendable () -> Void) { self.callOff = callOff }

    /// Does nothing when its moment has come.
    func cancel() { callOff() }
}
