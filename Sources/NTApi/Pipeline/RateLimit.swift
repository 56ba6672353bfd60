/// How many requests may start in a period of time; see ``RateLimiter``.
public struct RateLimit: Sendable, Hashable, CustomStringConvertible {
    /// The number of requests, above 0.
    public var requests: Double
    /// The length of the period in seconds, above 0. The requests are spread evenly over it.
    public var seconds: Double
    /// How many may start at once after a pause. With more than 1, a server that counts exactly may see nearly
    /// `requests + burst` in one period.
    public var burst: Int
    /// The longest pause for all requests after a 429 or 503 with Retry-After, in seconds; 0 is none.
    public var maximumPause: Double

    /// Makes a limit of this many requests in this many seconds. By default one starts at a time, and pauses take up to
    /// a minute.
    public init(requests: Double, seconds: Double = 1, burst: Int = 1, maximumPause: Double = 60) {
        self.requests = requests
        self.seconds = seconds
        self.burst = burst
        self.maximumPause = maximumPause
    }

    public var description: String {
        "\(decimal(requests)) request\(requests == 1 ? "" : "s") in \(decimal(seconds)) s\(burst > 1 ? ", burst \(burst)" : "")"
    }

    /// Nanoseconds between two requests; nil when the numbers are invalid.
    var interval: UInt64? {
        guard requests > 0, seconds > 0 else { return nil }
        let nanoseconds = (seconds / requests * 1e9).rounded(.up)
        // A year between two requests is effectively never, and keeps sums from overflowing.
        guard nanoseconds >= 1, nanoseconds <= 366 * 86_400e9 else { return nil }
        return UInt64(nanoseconds)
    }

    /// Why the limit is invalid; nil when it is valid.
    package var problem: String? {
        if interval == nil { return "\(requests) requests in \(seconds) s: both numbers must be above 0" }
        if !(1...1_000_000).contains(burst) { return "burst is \(burst): it must be from 1 to 1000000" }
        return maximumPause >= 0 ? nil : "maximumPause is \(maximumPause): it must be 0 or more seconds"
    }
}

// As JSON: an object with the members that differ from the defaults.
extension RateLimit {
    private static let names = ["requests", "seconds", "burst", "maximum_pause"]

    /// - Throws: what is wrong with it, as text to follow the name of the setting.
    init(_ json: JSON) throws(APIError) {
        guard json.kind == .object, json.keys.allSatisfy(Self.names.contains) else {
            throw .invalidRequest("it must be an object with \(Self.names.map(quoted).joined(separator: ", "))")
        }
        let fields = JSONFields(json: json) { .invalidRequest("\($0): \($1)") }
        self.init(requests: try fields.number("requests"))
        if let number = try fields.optionalNumber("seconds") { seconds = number }
        if let number = try fields.optionalInteger("burst") { burst = Int(clamping: number) }
        if let number = try fields.optionalNumber("maximum_pause") { maximumPause = number }
        if let problem { throw .invalidRequest(problem) }
    }

    /// The form that the initializer reads.
    var json: JSON {
        [
            "requests": JSON(requests), "seconds": JSON(seconds), "burst": JSON(burst),
            "maximum_pause": JSON(min(maximumPause, .greatestFiniteMagnitude)),
        ]
    }
}

/// Decides which requests may start under a rate limit. A pure value: the caller passes the time.
///
/// A token bucket, stored as one moment (the generic cell rate algorithm of ATM networks): `arrival` is when the next
/// request would come if all came evenly. A request may be ahead of it by as much as the burst allows. Whole
/// nanoseconds avoid rounding errors.
///
/// `RateLimiter` calls it under its lock and acts after releasing it. Waiters are ordered by priority, then by arrival.
/// A held waiter keeps its place and lets others pass.
struct RateGate<Waiter: Hashable & Sendable>: Sendable {
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

    private let interval: UInt64
    /// How far a request may be ahead of `arrival`.
    private let tolerance: UInt64
    private var arrival = MonotonicTime(nanoseconds: 0)
    private var line = IndexedHeap<Place, Waiter>()
    private var waiting: [Waiter: Waiting] = [:]
    private var lastNumber: UInt64 = 0

    /// - Parameters:
    ///   - interval: nanoseconds between two requests.
    ///   - burst: how many may start at once; at least 1.
    init(interval: UInt64, burst: Int) {
        self.interval = interval
        tolerance = interval.multiplied(burst - 1)
    }

    /// How many requests wait, including held ones.
    var waiterCount: Int { waiting.count }

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
        lastNumber &+= 1
        let place = Place(priority: priority.isNaN ? 0 : priority, number: lastNumber)
        let ahead = waiting.values.count { $0.token != nil && $0.place < place }
        let moment = max(moment(ahead: ahead), now)
        guard moment < deadline else { return .tooLate(seconds: moment.seconds(since: now)) }
        waiting[waiter] = Waiting(place: place, token: line.insert(waiter, key: place))
        return .wait
    }

    /// Removes the waiters that may start now, and returns them in order.
    mutating func advance(_ now: MonotonicTime) -> [Waiter] {
        var ready: [Waiter] = []
        while !line.isEmpty, take(now), let waiter = line.popFirst() {
            waiting[waiter] = nil
            ready.append(waiter)
        }
        return ready
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
    mutating func pause(until moment: MonotonicTime) { arrival = max(arrival, moment.advanced(tolerance)) }

    private mutating func take(_ now: MonotonicTime) -> Bool {
        guard arrival <= now.advanced(tolerance) else { return false }
        arrival = max(arrival, now).advanced(interval)
        return true
    }

    /// When a waiter with this many before it may start.
    private func moment(ahead: Int) -> MonotonicTime {
        let last = arrival.advanced(interval.multiplied(ahead))
        return MonotonicTime(nanoseconds: last.nanoseconds - min(tolerance, last.nanoseconds))
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
