/// How many requests may start in a period of time; see ``RateLimiter``.
public struct RateLimit: Sendable, Hashable, CustomStringConvertible {
    /// The number of requests, above 0.
    public var requests: Double
    /// The length of the period in seconds, above 0. The requests are spread evenly over it.
    public var seconds: Double
    /// How many may start at once after a pause. With more than 1, a server that counts exactly may see nearly
    /// `requests + burst` in one period.
    public var burst: Int
    /// The longest pause that a server may ask of all requests, in seconds; 0 is none. It asks by a 429 or 503 with
    /// Retry-After, or by RateLimit or X-RateLimit headers when nothing is left of its limit.
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
