/// An attempt that has failed, and what the request's retry policy makes of it; see ``RequestDecision/retry``.
public struct RetryProposal: Sendable {
    /// How many attempts were made.
    public let attempt: Int
    /// The seconds to the next one; nil when the policy lets the response stand.
    public let wait: Double?
    /// What came of the attempt, with its error; its body and JSON can be read.
    public let response: APIResponse
}
