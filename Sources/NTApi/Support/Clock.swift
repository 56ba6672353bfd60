import CNTApiSystem

/// The clock that requests use for their waits between exchanges: the system's, or one that a test moves.
///
/// The engine's timers, which watch sockets, always use the system's time.
protocol WaitingClock: Sendable {
    /// Now, on a clock that never jumps back.
    var now: MonotonicTime { get }

    /// Now, in seconds since 1970-01-01 00:00 UTC.
    var calendarSeconds: Double { get }

    /// Runs a job on a worker at a moment, or at once when the moment has passed.
    @discardableResult func schedule(
        _ purpose: WaitPurpose, at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void
    ) -> ScheduledJob

}

/// Why somebody waits for a moment.
enum WaitPurpose: Sendable {
    /// To continue then: between two attempts, for example. A test counts it as a sleeper.
    case pause
    /// To give up then, unless the awaited event comes first.
    case limit
}

/// A scheduled job, which can be cancelled.
struct ScheduledJob: Sendable {
    private let callOff: @Sendable () -> Void

    init(callOff: @escaping @Sendable () -> Void) { self.callOff = callOff }

    /// Does nothing when its moment has come.
    func cancel() { callOff() }
}

/// A moment of the clock that never jumps, in nanoseconds.
struct MonotonicTime: Sendable, Comparable, Hashable {
    var nanoseconds: UInt64

    static func now() -> MonotonicTime { MonotonicTime(nanoseconds: ntapi_system_monotonic_nanoseconds()) }

    static let distantFuture = MonotonicTime(nanoseconds: .max)

    static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// This moment plus so many seconds; the distant future when that cannot be represented.
    func advanced(bySeconds seconds: Double) -> MonotonicTime {
        guard seconds > 0 else { return self }
        guard let delta = UInt64(exactly: (seconds * 1e9).rounded(.up)) else { return .distantFuture }
        let (sum, overflow) = nanoseconds.addingReportingOverflow(delta)
        return overflow ? .distantFuture : MonotonicTime(nanoseconds: sum)
    }

    /// Seconds from an earlier moment to this one; 0 when it is not earlier.
    func seconds(since earlier: MonotonicTime) -> Double {
        nanoseconds > earlier.nanoseconds ? Double(nanoseconds - earlier.nanoseconds) / 1e9 : 0
    }

    /// Milliseconds until a later moment, at most a day. Rounded up, so that a wait never ends too early.
    func milliseconds(until later: MonotonicTime) -> Int32 {
        guard later > self else { return 0 }
        let milliseconds = (later.nanoseconds - nanoseconds) / 1_000_000 + 1
        return Int32(min(milliseconds, 86_400_000))
    }
}

/// The calendar's time, in seconds since 1970-01-01 00:00 UTC.
func wallClockSeconds() -> Double { ntapi_system_calendar_seconds() }
