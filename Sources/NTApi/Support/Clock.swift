import CNTApiSystem

/// The clock for the waits of requests between exchanges: the system's, or one that a test controls.
///
/// The engine's timers, which watch sockets, always use the system's clock.
protocol WaitingClock: Sendable {
    /// The time now, on a clock that never jumps.
    var now: MonotonicTime { get }

    /// The time now, in seconds since 1970-01-01 00:00 UTC.
    var calendarSeconds: Double { get }

    /// Runs a job on a worker at a moment, or at once when the moment has passed.
    @discardableResult func schedule(
        _ purpose: WaitPurpose, at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void
    ) -> ScheduledJob

}

/// Why something waits until a moment.
enum WaitPurpose: Sendable {
    /// To continue at that moment, for example between two attempts. A test counts it as a sleeper.
    case pause
    /// To give up at that moment, unless the awaited event comes first.
    case limit
}

/// A scheduled job, which can be cancelled.
struct ScheduledJob: Sendable {
    private let callOff: @Sendable () -> Void

    init(callOff: @escaping @Sendable () -> Void) { self.callOff = callOff }

    /// Does nothing after the job has started.
    func cancel() { callOff() }
}

/// A moment of the clock that never jumps, in nanoseconds.
struct MonotonicTime: Sendable, Comparable, Hashable {
    var nanoseconds: UInt64

    static func now() -> MonotonicTime { MonotonicTime(nanoseconds: ntapi_system_monotonic_nanoseconds()) }

    static let distantFuture = MonotonicTime(nanoseconds: .max)

    static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// This moment plus a number of seconds; the distant future when that cannot be represented.
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
