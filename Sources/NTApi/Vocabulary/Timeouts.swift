/// The limits of the five clocks in seconds; nil for no limit.
public struct Timeouts: Sendable, Equatable {
    var queue: Double?
    var connect: Double? = 30
    var idle: Double? = 60
    var attempt: Double?
    var total: Double? = 7 * 86_400

    /// The limit of a clock in seconds; nil for none.
    public subscript(clock: TimeoutClock) -> Double? {
        get {
            switch clock {
            case .queue: queue
            case .connect: connect
            case .idle: idle
            case .attempt: attempt
            case .total: total
            }
        }
        set {
            switch clock {
            case .queue: queue = newValue
            case .connect: connect = newValue
            case .idle: idle = newValue
            case .attempt: attempt = newValue
            case .total: total = newValue
            }
        }
    }

    /// Why a timeout is invalid; nil when all are valid. Infinity becomes none.
    mutating func problem() -> String? {
        for clock in TimeoutClock.allCases {
            guard let seconds = self[clock] else { continue }
            guard seconds > 0 else { return "the \(clock.rawValue) timeout is \(seconds) s: it must be above 0" }
            if seconds.isInfinite { self[clock] = nil }
        }
        return nil
    }
}
