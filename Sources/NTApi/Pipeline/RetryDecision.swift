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
        /// The seconds that the answer asks to wait.
        var retryAfter: Double?
        /// Whether the answer asks for another attempt (x-should-retry); nil when it does not say.
        var shouldRetry: Bool?
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
        if wish == nil, attempt.error == nil, attempt.shouldRetry == false {
            return .giveUp("not sent again: the server asks not to (x-should-retry)")
        }
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
    /// request, it is not repeated. For a status the policy decides, unless the server asks for another attempt.
    private static func mayHelp(_ policy: RetryPolicy, _ attempt: Attempt) -> Bool {
        if let error = attempt.error { return policy.networkErrors && error.domain == .network && error.isRetryable }
        guard let status = attempt.status, status >= 400 else { return false }
        return attempt.shouldRetry == true || policy.statuses.contains(status)
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
