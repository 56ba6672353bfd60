/// When a request is sent again by itself, and after how long.
///
///     client.args = [.retry(.standard)]
///     client.perform("orders", args: [.json(order), .idempotencyKey(), .retry(RetryPolicy(attempts: 6, base: 1))])
///
/// Only what may be sent twice is: a request with an idempotent method (RFC 9110, 9.2.2) or with an idempotency key, and one
/// that surely never reached the server. All attempts together have one deadline, the resource timeout.
public struct RetryPolicy: Sendable, Hashable, CustomStringConvertible {
    /// How often the request is sent at most, the first time counted; 1 is never again.
    public var attempts: Int
    /// Seconds: the wait before the second attempt is by lot from 0 to this, and each wait from 0 to twice as much as before.
    public var base: Double
    /// Seconds: no wait by lot is longer.
    public var cap: Double
    /// Seconds: a server's Retry-After that asks for more is not waited for; the answer is delivered at once.
    public var maximumRetryAfter: Double
    /// The statuses that another attempt may change, from 400 up.
    public var statuses: Set<Int>
    /// Whether a connection that failed or broke, or a timeout other than the total one, is followed by another attempt.
    public var networkErrors: Bool

    /// 408 Request Timeout, 429 Too Many Requests, 500 Internal Server Error, 502 Bad Gateway, 503 Service Unavailable and
    /// 504 Gateway Timeout.
    public static let standardStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// Four attempts.
    public static let standard = RetryPolicy()

    /// One attempt: for a request whose client has another policy.
    public static let never = RetryPolicy(attempts: 1)

    public init(
        attempts: Int = 4, base: Double = 0.5, cap: Double = 30, maximumRetryAfter: Double = 60,
        statuses: Set<Int> = standardStatuses, networkErrors: Bool = true
    ) {
        self.attempts = attempts
        self.base = base
        self.cap = cap
        self.maximumRetryAfter = maximumRetryAfter
        self.statuses = statuses
        self.networkErrors = networkErrors
    }

    public var description: String {
        guard attempts != 1 else { return "never" }
        let statuses = statuses.sorted().map { "\($0)" }.joined(separator: ", ")
        return "attempts: \(attempts), base: \(base), cap: \(cap), maximumRetryAfter: \(maximumRetryAfter), "
            + "statuses: [\(statuses)], networkErrors: \(networkErrors)"
    }

    /// The longest wait by lot before the next attempt, in seconds, when so many were made: full jitter draws from 0 to this.
    func ceiling(after attempts: Int) -> Double {
        // Beyond this the cap has long been reached, or the base is 0.
        let doublings = min(max(attempts - 1, 0), 62)
        return min(cap, base * Double(UInt64(1) << UInt64(doublings)))
    }

    /// What about it cannot be followed; nil when all is well.
    package var problem: String? {
        if !(1...1000).contains(attempts) { return "attempts is \(attempts): a number from 1 to 1000 is needed" }
        for (name, seconds) in [("base", base), ("cap", cap), ("maximumRetryAfter", maximumRetryAfter)]
        where !(seconds >= 0) {
            return "\(name) is \(seconds): a number of seconds from 0 is needed"
        }
        guard let other = statuses.first(where: { !(400...999).contains($0) }) else { return nil }
        return "\(other) is among the statuses: they go from 400 to 999"
    }
}
