import CNTApiSystem

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

/// A moment of the clock that never jumps, in nanoseconds.
struct MonotonicTime: Sendable, Comparable, Hashable {
    var nanoseconds: UInt64

    static func now() -> MonotonicTime { MonotonicTime(nanoseconds: ntapi_system_monotonic_nanoseconds()) }

    static let distantFuture = MonotonicTime(nanoseconds: .max)

    static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// This moment and so many seconds; the distant future where that cannot be represented.
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

    /// Milliseconds until a later moment, rounded up so that a wait never ends before it; at most a day.
    func milliseconds(until later: MonotonicTime) -> Int32 {
        guard later > self else { return 0 }
        let milliseconds = (later.nanoseconds - nanoseconds) / 1_000_000 + 1
        return Int32(min(milliseconds, 86_400_000))
    }
}

/// The moment of the calendar, in seconds since 1970-01-01 00:00 UTC.
func wallClockSeconds() -> Double { ntapi_system_calendar_seconds() }
