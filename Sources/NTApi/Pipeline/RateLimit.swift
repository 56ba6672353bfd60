/// How many requests go in how much time; see ``RateLimiter``.
public struct RateLimit: Sendable, Hashable, CustomStringConvertible {
    /// How many, above 0.
    public var requests: Double
    /// In how many seconds, above 0. They go evenly.
    public var seconds: Double
    /// How many may go at once after a while in which none did. With more than 1, nearly `requests + burst` may go in so many
    /// seconds, where a server counts exactly.
    public var burst: Int
    /// For how many seconds at most a 429 or 503 with Retry-After holds up all; 0 never.
    public var maximumPause: Double

    public init(requests: Double, seconds: Double = 1, burst: Int = 1, maximumPause: Double = 60) {
        self.requests = requests
        self.seconds = seconds
        self.burst = burst
        self.maximumPause = maximumPause
    }

    public var description: String {
        "\(decimal(requests)) request\(requests == 1 ? "" : "s") in \(decimal(seconds)) s\(burst > 1 ? ", burst \(burst)" : "")"
    }

    /// Between two, in nanoseconds; nil when the numbers make no sense.
    var interval: UInt64? {
        guard requests > 0, seconds > 0 else { return nil }
        let nanoseconds = (seconds / requests * 1e9).rounded(.up)
        // A year between two is as good as never, and keeps sums far from their end.
        guard nanoseconds >= 1, nanoseconds <= 366 * 86_400e9 else { return nil }
        return UInt64(nanoseconds)
    }

    /// Why nobody could go by it; nil when all is well.
    package var problem: String? {
        if interval == nil { return "\(requests) requests in \(seconds) s: two numbers above 0 are needed" }
        if !(1...1_000_000).contains(burst) { return "burst is \(burst): a number from 1 to 1000000 is needed" }
        return maximumPause >= 0 ? nil : "maximumPause is \(maximumPause): a number of seconds from 0 is needed"
    }
}

// As JSON: an object with the members that are not as usual.
extension RateLimit {
    private static let names = ["requests", "seconds", "burst", "maximum_pause"]

    /// - Throws: what is wrong with it, in words that go behind the name of the setting.
    init(_ json: JSON) throws(APIError) {
        guard json.kind == .object, json.keys.allSatisfy(Self.names.contains) else {
            throw .invalidRequest("an object with \(Self.names.map(quoted).joined(separator: ", ")) is needed")
        }
        let fields = JSONFields(json: json) { .invalidRequest("\($0): \($1)") }
        self.init(requests: try fields.number("requests"))
        if let number = try fields.optionalNumber("seconds") { seconds = number }
        if let number = try fields.optionalInteger("burst") { burst = Int(clamping: number) }
        if let number = try fields.optionalNumber("maximum_pause") { maximumPause = number }
        if let problem { throw .invalidRequest(problem) }
    }

    /// As the initializer reads it.
    var json: JSON {
        [
            "requests": JSON(requests), "seconds": JSON(seconds), "burst": JSON(burst),
            "maximum_pause": JSON(min(maximumPause, .greatestFiniteMagnitude)),
        ]
    }
}

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
