/// A failed attempt, and what the request's retry policy would do: see ``RequestDecision/retry``.
public struct RetryProposal: Sendable {
    /// The number of attempts so far.
    public let attempt: Int
    /// The seconds until the next attempt; nil when the policy makes none.
    public let wait: Double?
    /// The failed attempt's response, with its error, body and JSON.
    public let response: APIResponse
}
