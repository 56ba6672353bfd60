/// Decides when each exchange gets its permit under a rate limit. A pure value: the caller passes the time.
///
/// A permit allows one exchange to be sent.
///
/// A token bucket, stored as one moment (the generic cell rate algorithm of ATM networks): `arrival` is when the next
/// request would come if all came evenly. A request may be ahead of it by as much as the burst allows. Whole
/// nanoseconds avoid rounding errors. With several limits, a request starts when all of them allow it, and counts for all.
///
/// `RateLimiter` calls it under its lock and acts after releasing it. Waiters are ordered by priority, then by arrival.
/// A held waiter keeps its place and lets others pass.
struct RatePermits<Waiter: Hashable & Sendable>: Sendable {
    enum Admission: Equatable, Sendable {
        case go
        case wait
        /// The wait of this many seconds would be too long. The request was not queued.
        case tooLate(seconds: Double)
    }

    /// The smallest is first.
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

    private struct Bucket {
        let interval: UInt64
        /// How far a request may be ahead of `arrival`.
        let tolerance: UInt64
        var arrival = MonotonicTime(nanoseconds: 0)
        /// Of a pause. What is given back does not shorten it.
        var earliest = MonotonicTime(nanoseconds: 0)

        init(interval: UInt64, burst: Int) {
            self.interval = interval
            tolerance = interval.multiplied(max(1, burst) - 1)
        }

        func allows(_ now: MonotonicTime) -> Bool { arrival <= now.advanced(tolerance) }

        mutating func take(_ count: Int, _ now: MonotonicTime) {
            arrival = max(arrival, now).advanced(interval.multiplied(count))
        }

        mutating func giveBack() {
            let before = MonotonicTime(nanoseconds: arrival.nanoseconds - min(interval, arrival.nanoseconds))
            arrival = max(before, earliest)
        }

        /// When a waiter with this many before it may start.
        func moment(ahead: Int) -> MonotonicTime {
            let last = arrival.advanced(interval.multiplied(ahead))
            return MonotonicTime(nanoseconds: last.nanoseconds - min(tolerance, last.nanoseconds))
        }
    }

    private var buckets: [Bucket]
    private var line = IndexedHeap<Place, Waiter>()
    private var waiting: [Waiter: Waiting] = [:]
    private var lastNumber: UInt64 = 0

    /// - Parameter limits: of each, the nanoseconds between two requests, and how many may start at once; less than 1
    ///   counts as 1.
    init(_ limits: [(interval: UInt64, burst: Int)]) {
        buckets = limits.map { Bucket(interval: $0.interval, burst: $0.burst) }
    }

    /// How many requests wait, including held ones.
    var waiterCount: Int { waiting.count }

    /// How many of them may start, if there are permits.
    var lineCount: Int { line.count }

    /// When the first waiter may start; nil when nobody waits.
    var nextMoment: MonotonicTime? { line.isEmpty ? nil : moment(ahead: 0) }

    /// The fast path: nobody waits, and the request may start at once.
    mutating func takes(_ now: MonotonicTime) -> Bool { line.isEmpty && take(now) }

    /// A request wants to start.
    ///
    /// - Parameter deadline: the request is not queued when it would start later.
    mutating func admit(_ waiter: Waiter, priority: Double, deadline: MonotonicTime, _ now: MonotonicTime) -> Admission
    {
        if takes(now) { return .go }
        let place = nextPlace(priority)
        let ahead = waiting.values.count { $0.token != nil && $0.place < place }
        let moment = max(moment(ahead: ahead), now)
        guard moment < deadline else { return .tooLate(seconds: moment.seconds(since: now)) }
        waiting[waiter] = Waiting(place: place, token: line.insert(waiter, key: place))
        return .wait
    }

    /// A request waits, whatever the limits say: others decide when it starts.
    mutating func join(_ waiter: Waiter, priority: Double) {
        let place = nextPlace(priority)
        waiting[waiter] = Waiting(place: place, token: line.insert(waiter, key: place))
    }

    private mutating func nextPlace(_ priority: Double) -> Place {
        lastNumber &+= 1
        return Place(priority: priority.isNaN ? 0 : priority, number: lastNumber)
    }

    /// Removes the waiters that may start now, and returns them in order.
    mutating func advance(_ now: MonotonicTime) -> [Waiter] {
        var ready: [Waiter] = []
        while !line.isEmpty, take(now), let waiter = popFirst() { ready.append(waiter) }
        return ready
    }

    /// Removes the first waiters, as many as there are up to a number: others have given the permits. They count here, too.
    mutating func start(_ count: Int, _ now: MonotonicTime) -> [Waiter] {
        for index in buckets.indices { buckets[index].take(count, now) }
        return (0..<min(count, line.count)).compactMap { _ in popFirst() }
    }

    /// Nobody uses a permit that was given.
    mutating func giveBack() { for index in buckets.indices { buckets[index].giveBack() } }

    private mutating func popFirst() -> Waiter? {
        let waiter = line.popFirst()
        if let waiter { waiting[waiter] = nil }
        return waiter
    }

    /// The waiter was cancelled, or its deadline has passed.
    mutating func leave(_ waiter: Waiter) {
        if let token = waiting.removeValue(forKey: waiter)?.token { line.remove(token) }
    }

    /// The waiter is suspended, and others pass it.
    mutating func hold(_ waiter: Waiter) {
        guard let token = waiting[waiter]?.token else { return }
        line.remove(token)
        waiting[waiter]?.token = nil
    }

    /// The waiter continues to wait in its old place.
    mutating func release(_ waiter: Waiter) {
        guard let known = waiting[waiter], known.token == nil else { return }
        waiting[waiter]?.token = line.insert(waiter, key: known.place)
    }

    /// Removes all waiters.
    ///
    /// - Returns: the removed waiters.
    mutating func forget() -> [Waiter] {
        defer {
            line = IndexedHeap()
            waiting = [:]
        }
        return Array(waiting.keys)
    }

    /// No request starts before this moment. Then one starts, and the others follow evenly.
    mutating func pause(until moment: MonotonicTime) {
        for index in buckets.indices {
            buckets[index].earliest = max(buckets[index].earliest, moment.advanced(buckets[index].tolerance))
            buckets[index].arrival = max(buckets[index].arrival, buckets[index].earliest)
        }
    }

    private mutating func take(_ now: MonotonicTime) -> Bool {
        guard buckets.allSatisfy({ $0.allows(now) }) else { return false }
        for index in buckets.indices { buckets[index].take(1, now) }
        return true
    }

    /// When a waiter with this many before it may start.
    private func moment(ahead: Int) -> MonotonicTime {
        buckets.lazy.map { $0.moment(ahead: ahead) }.max() ?? MonotonicTime(nanoseconds: 0)
    }
}

extension MonotonicTime {
    /// This moment plus the nanoseconds; the distant future on overflow.
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
