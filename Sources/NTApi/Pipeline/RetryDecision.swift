/// Whether a request is sent once more when an attempt has ended: a pure decision.
///
/// Time and chance come in from outside, so that every case can be tested exactly.
enum RetryDecision: Equatable, Sendable {
    /// The outcome stands: all went well, or another attempt would end the same way, or nobody has asked for one.
    case stand
    /// Another attempt might have helped, but there is none, for a reason that the error's message is to end with.
    case giveUp(String)
    case retry(afterSeconds: Double)

    /// How an attempt ended, and what there is to know about making another.
    struct Attempt: Sendable {
        /// How many were made, this one counted.
        var number = 1
        /// The status of a whole answer; nil without one.
        var status: Int?
        /// The seconds that the answer's Retry-After asks for.
        var retryAfter: Double?
        /// What went wrong on the network.
        var error: APIError?
        var method = "GET"
        /// Whether sending it twice is the same as sending it once.
        var mayBeRepeated = true
        /// Whether the body comes from a stream that cannot go back to its start.
        var hasSpentBody = false
        /// Whether the program has got a part of the answer.
        var wasDelivered = false
    }

    /// - Parameters:
    ///   - fraction: by lot, from 0 to 1.
    ///   - secondsLeft: until the deadline of the whole request.
    ///   - wish: the seconds that the program wants to wait, which knows better than the policy whether it may help.
    static func decide(
        _ policy: RetryPolicy, _ attempt: Attempt, fraction: Double, secondsLeft: Double, wish: Double? = nil
    ) -> RetryDecision {
        guard policy.attempts > 1, wish != nil || mayHelp(policy, attempt) else { return .stand }
        // The request is over, and its message says so.
        if attempt.error?.clock == .total { return .stand }
        if let reason = obstacle(attempt) { return .giveUp("not sent again: \(reason)") }
        guard attempt.number < policy.attempts else { return .giveUp("sent \(attempt.number) times") }
        if wish == nil, let asked = attempt.retryAfter, asked > policy.maximumRetryAfter {
            return .giveUp(
                "not sent again: the server asks to wait \(seconds(asked)), and the policy allows "
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

    /// Whether the program may be asked for its own judgement: another attempt could be made, and would be safe.
    static func isOpen(_ policy: RetryPolicy, _ attempt: Attempt) -> Bool {
        guard attempt.number < policy.attempts, obstacle(attempt) == nil else { return false }
        return attempt.error.map { $0.domain == .network && ($0.isRetryable || attempt.mayBeRepeated) } ?? true
    }

    /// An error says of itself whether it may pass, and whether it is safe: what the server may have acted on is not sent
    /// twice by chance (an ambiguous send). Of a status the policy says so.
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
