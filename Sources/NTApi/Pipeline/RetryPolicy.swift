/// When a failed request is repeated automatically, and after how long.
///
///     client.args = [.retry(.standard)]
///     client.perform("orders", args: [.json(order), .idempotencyKey(), .retry(RetryPolicy(attempts: 6, base: 1))])
///
/// Only safe repeats are made: of a request with an idempotent method (RFC 9110, 9.2.2) or an idempotency key, and of a
/// request that certainly never reached the server. All attempts share one deadline, the resource timeout.
public struct RetryPolicy: Sendable, Hashable, CustomStringConvertible {
    /// The largest number of attempts, including the first; 1 means no repeat.
    public var attempts: Int
    /// Seconds. The wait before the second attempt is random, between 0 and this value. The upper bound doubles with
    /// each attempt.
    public var base: Double
    /// The longest random wait, in seconds.
    public var cap: Double
    /// Seconds. If a server's Retry-After asks for a longer wait, the answer is delivered at once.
    public var maximumRetryAfter: Double
    /// The statuses, from 400, that lead to another attempt.
    public var statuses: Set<Int>
    /// Whether a failed or broken connection, or a timeout other than the total one, leads to another attempt.
    public var networkErrors: Bool

    /// The statuses of a failure that may pass, which are also those of a retryable error: 408 Request Timeout, 425 Too
    /// Early, 429 Too Many Requests, 500 Internal Server Error, 502 Bad Gateway, 503 Service Unavailable and 504 Gateway
    /// Timeout.
    public static let standardStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Four attempts.
    public static let standard = RetryPolicy()

    /// One attempt: for a request of a client that has a retry policy.
    public static let never = RetryPolicy(attempts: 1)

    /// Makes a policy; by default four attempts with growing waits.
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

    /// The upper bound of the random wait after this many attempts, in seconds. Full jitter: the wait is between 0 and
    /// this.
    func ceiling(after attempts: Int) -> Double {
        // With more doublings the cap is reached, or the base is 0.
        let doublings = min(max(attempts - 1, 0), 62)
        return min(cap, base * Double(UInt64(1) << UInt64(doublings)))
    }

    /// Why the policy is invalid; nil when it is valid.
    package var problem: String? {
        if !(1...1000).contains(attempts) { return "attempts is \(attempts): it must be from 1 to 1000" }
        for (name, seconds) in [("base", base), ("cap", cap), ("maximumRetryAfter", maximumRetryAfter)]
        where !(seconds >= 0) {
            return "\(name) is \(seconds): it must be 0 or more seconds"
        }
        guard let other = statuses.first(where: { !(400...999).contains($0) }) else { return nil }
        return "\(other) is among the statuses: they must be from 400 to 999"
    }
}

// A policy as JSON: `true`, `false`, or an object with the members that differ from the defaults.
extension RetryPolicy {
    private enum Name {
        static let all = ["attempts", "base", "cap", "maximum_retry_after", "statuses", "network_errors"]
    }

    /// Reads a policy. `true` is the standard policy, `false` never tries again.
    ///
    /// - Throws: what is wrong, as text to follow the name of the setting or arg.
    package init(_ json: JSON) throws(APIError) {
        self = .standard
        if let isOn = json.bool {
            if !isOn { self = .never }
            return
        }
        let wanted = "must be true, false, or an object with \(Name.all.map(quoted).joined(separator: ", "))"
        guard json.kind == .object else { throw .invalidRequest("it \(wanted)") }
        if let unknown = json.keys.first(where: { !Name.all.contains($0) }) {
            throw .invalidRequest("\(quoted(unknown)) is not part of a retry policy, which \(wanted)")
        }
        let fields = JSONFields(json: json) { .invalidRequest("\($0): \($1)") }
        if let count = try fields.optionalInteger("attempts") { attempts = Int(clamping: count) }
        if let seconds = try fields.optionalNumber("base") { base = seconds }
        if let seconds = try fields.optionalNumber("cap") { cap = seconds }
        if let seconds = try fields.optionalNumber("maximum_retry_after") { maximumRetryAfter = seconds }
        if let isOn = try fields.optionalBool("network_errors") { networkErrors = isOn }
        if let values = try fields.optionalArray("statuses") {
            let numbers = values.compactMap(\.int)
            guard numbers.count == values.count else { throw fields.error("statuses", "they must be whole numbers") }
            statuses = Set(numbers)
        }
        if let problem { throw .invalidRequest(problem) }
    }

    /// The form that the initializer reads. An infinite wait becomes the largest number that JSON can represent.
    package var json: JSON {
        func number(_ seconds: Double) -> JSON { JSON(min(seconds, Double.greatestFiniteMagnitude)) }
        return JSON([
            ("attempts", JSON(attempts)), ("base", number(base)), ("cap", number(cap)),
            ("maximum_retry_after", number(maximumRetryAfter)), ("statuses", JSON(statuses.sorted().map { JSON($0) })),
            ("network_errors", JSON(networkErrors)),
        ])
    }
}

/// Decides whether a request is sent again after an attempt. Pure.
///
/// Time and random numbers are passed in, so that every case can be tested exactly.
enum RetryDecision: Equatable, Sendable {
    /// Deliver the outcome: it is a success, another attempt would end the same way, or the policy does not cover it.
    case stand
    /// Another attempt might help, but is not made. The text is the reason, which is appended to the error's message.
    case giveUp(String)
    case retry(afterSeconds: Double)

    /// How an attempt ended, and facts about repeating it.
    struct Attempt: Sendable {
        /// The number of this attempt, from 1.
        var number = 1
        /// The status of a complete answer; nil without one.
        var status: Int?
        /// The seconds of the answer's Retry-After.
        var retryAfter: Double?
        /// The network error.
        var error: APIError?
        var method = "GET"
        /// Whether sending it twice is the same as sending it once.
        var mayBeRepeated = true
        /// Whether the body comes from a stream that cannot go back to its start.
        var hasSpentBody = false
        /// Whether the program has received a part of the answer.
        var wasDelivered = false
    }

    /// - Parameters:
    ///   - fraction: a random number from 0 to 1.
    ///   - secondsLeft: the time until the deadline of the whole request.
    ///   - wish: how many seconds the program wants to wait. This overrides the policy.
    static func decide(
        _ policy: RetryPolicy, _ attempt: Attempt, fraction: Double, secondsLeft: Double, wish: Double? = nil
    ) -> RetryDecision {
        guard policy.attempts > 1, wish != nil || mayHelp(policy, attempt) else { return .stand }
        // The deadline of the request has passed, and the message says so.
        if attempt.error?.clock == .total { return .stand }
        if let reason = obstacle(attempt) { return .giveUp("not sent again: \(reason)") }
        guard attempt.number < policy.attempts else { return .giveUp("sent \(attempt.number) times") }
        if wish == nil, let asked = attempt.retryAfter, asked > policy.maximumRetryAfter {
            return .giveUp(
                "not sent again: the server asks to wait \(seconds(asked)), but the policy allows "
                    + seconds(policy.maximumRetryAfter))
        }
        let drawn = policy.ceiling(after: attempt.number) * min(max(fraction, 0), 1)
        let wait = wish ?? max(drawn, attempt.retryAfter ?? 0)
        guard wait < secondsLeft else {
            return .giveUp(
                "not sent again: the wait of \(seconds(wait)) would end after the total timeout, in "
                    + seconds(secondsLeft))
        }
        return .retry(afterSeconds: wait)
    }

    /// Whether to ask the program: another attempt is possible and safe.
    static func isOpen(_ policy: RetryPolicy, _ attempt: Attempt) -> Bool {
        guard attempt.number < policy.attempts, obstacle(attempt) == nil else { return false }
        return attempt.error.map { $0.domain == .network && ($0.isRetryable || attempt.mayBeRepeated) } ?? true
    }

    /// An error says whether it may be temporary and whether a repeat is safe. If the server may have processed the
    /// request, it is not repeated. For a status the policy decides.
    private static func mayHelp(_ policy: RetryPolicy, _ attempt: Attempt) -> Bool {
        if let error = attempt.error { return policy.networkErrors && error.domain == .network && error.isRetryable }
        return attempt.status.map { policy.statuses.contains($0) } ?? false
    }

    private static func obstacle(_ attempt: Attempt) -> String? {
        if attempt.wasDelivered { return "a part of the body has been delivered" }
        if attempt.status != nil, attempt.error == nil, !attempt.mayBeRepeated {
            return "a \(attempt.method) is not idempotent, and has no idempotency key"
        }
        if attempt.hasSpentBody { return "the body is a stream that cannot be sent twice" }
        return nil
    }

    private static func seconds(_ seconds: Double) -> String {
        seconds < 1e15 ? "\(decimal(seconds)) s" : "for ever"
    }
}

/// Status codes (RFC 9110, 15).
enum HTTPStatus {
    private static let reasons: [Int: String] = [
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
        402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
        407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
        411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content", 425: "Too Early", 426: "Upgrade Required",
        428: "Precondition Required",
        429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
    ]

    /// "404 Not Found", or "499" for a status without a name.
    static func text(_ status: Int) -> String { reasons[status].map { "\(status) \($0)" } ?? "\(status)" }

    /// Whether the same request may succeed later: the one table, of retryable errors and of the standard retry policy.
    ///
    /// The server was too busy, too slow or broken at that moment. Every other status is about the request itself.
    static func isPassing(_ status: Int) -> Bool { RetryPolicy.standardStatuses.contains(status) }
}
