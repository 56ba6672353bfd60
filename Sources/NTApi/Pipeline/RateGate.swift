/// Who may go when, under a limit of so many in so many seconds: a pure value, told the time.
///
/// A token bucket, kept as one moment (the generic cell rate algorithm of ATM networks): `arrival` is when the next one would
/// come if all came evenly. One may be ahead of that by as much as a burst allows. Whole nanoseconds, so that nothing is
/// lost by rounding however many go.
///
/// The shell (`RateLimiter`) calls it under its lock and acts after releasing it. Those that wait go by priority, and in
/// order among the same; one that is held keeps its place and lets others pass.
struct RateGate<Waiter: Hashable & Sendable>: Sendable {
    enum Admission: Equatable, Sendable {
        case go
        case wait
        /// It would have to wait for so many seconds, which is too long; it is not in line.
        case tooLate(seconds: Double)
    }

    /// The least goes first.
    private struct Place: Comparable {
        var priority: Double
        var number: UInt64

        static func < (left: Place, right: Place) -> Bool {
            (right.priority, left.number) < (left.priority, right.number)
        }
    }

    private struct Waiting {
        var place: Place
        /// Nil while it is held.
        var token: IndexedHeap<Place, Waiter>.Token?
    }

    private let interval: UInt64
    /// How far one may be ahead.
    private let tolerance: UInt64
    private var arrival = MonotonicTime(nanoseconds: 0)
    private var line = IndexedHeap<Place, Waiter>()
    private var waiting: [Waiter: Waiting] = [:]
    private var lastNumber: UInt64 = 0

    /// - Parameters:
    ///   - interval: between two, in nanoseconds.
    ///   - burst: how many may go at once; at least 1.
    init(interval: UInt64, burst: Int) {
        self.interval = interval
        tolerance = interval.multiplied(burst - 1)
    }

    /// How many wait, those that are held counted.
    var waiterCount: Int { waiting.count }

    /// When the first in line may go; nil when nobody waits for that.
    var nextMoment: MonotonicTime? { line.isEmpty ? nil : moment(ahead: 0) }

    /// The short way, for nearly all: nobody waits, and one may go.
    mutating func takes(_ now: MonotonicTime) -> Bool { line.isEmpty && take(now) }

    /// One wants to go.
    ///
    /// - Parameter deadline: when it is no use any more.
    mutating func admit(_ waiter: Waiter, priority: Double, deadline: MonotonicTime, _ now: MonotonicTime) -> Admission
    {
        if takes(now) { return .go }
        lastNumber &+= 1
        let place = Place(priority: priority.isNaN ? 0 : priority, number: lastNumber)
        let ahead = waiting.values.count { $0.token != nil && $0.place < place }
        let moment = max(moment(ahead: ahead), now)
        guard moment < deadline else { return .tooLate(seconds: moment.seconds(since: now)) }
        waiting[waiter] = Waiting(place: place, token: line.insert(waiter, key: place))
        return .wait
    }

    /// Those whose time has come, in order.
    mutating func advance(_ now: MonotonicTime) -> [Waiter] {
        var ready: [Waiter] = []
        while !line.isEmpty, take(now), let waiter = line.popFirst() {
            waiting[waiter] = nil
            ready.append(waiter)
        }
        return ready
    }

    /// It was cancelled, or its time is over.
    mutating func leave(_ waiter: Waiter) {
        if let token = waiting.removeValue(forKey: waiter)?.token { line.remove(token) }
    }

    /// It is suspended: others pass.
    mutating func hold(_ waiter: Waiter) {
        guard let token = waiting[waiter]?.token else { return }
        line.remove(token)
        waiting[waiter]?.token = nil
    }

    /// It goes on waiting, in its old place.
    mutating func release(_ waiter: Waiter) {
        guard let known = waiting[waiter], known.token == nil else { return }
        waiting[waiter]?.token = line.insert(waiter, key: known.place)
    }

    /// Nobody waits any more.
    ///
    /// - Returns: those that did.
    mutating func forget() -> [Waiter] {
        defer {
            line = IndexedHeap()
            waiting = [:]
        }
        return Array(waiting.keys)
    }

    /// Nobody goes before this moment; then one goes, and the others follow evenly.
    mutating func pause(until moment: MonotonicTime) { arrival = max(arrival, moment.advanced(tolerance)) }

    private mutating func take(_ now: MonotonicTime) -> Bool {
        guard arrival <= now.advanced(tolerance) else { return false }
        arrival = max(arrival, now).advanced(interval)
        return true
    }

    /// When the one goes that has so many before it.
    private func moment(ahead: Int) -> MonotonicTime {
        let last = arrival.advanced(interval.multiplied(ahead))
        return MonotonicTime(nanoseconds: last.nanoseconds - min(tolerance, last.nanoseconds))
    }
}

extension MonotonicTime {
    /// The end of time where that cannot be represented.
    fileprivate func advanced(_ nanoseconds: UInt64) -> MonotonicTime {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return overflow ? .distantFuture : MonotonicTime(nanoseconds: sum)
    }
}

extension UInt64 {
    fileprivate func multiplied(_ count: Int) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: UInt64(clamping: count))
        return overflow ? .max : product
    }
}
