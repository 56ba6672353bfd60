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
