/// What may delay or repeat the exchanges of a request: its retry policy and a rate limiter.
///
/// At least one of the two is set. A request without either has no `Pacing`.
final class Pacing: Sendable {
    /// Nil makes one attempt.
    let retry: RetryPolicy?
    let limiter: RateLimiter?

    private init(_ retry: RetryPolicy?, _ limiter: RateLimiter?) {
        self.retry = retry
        self.limiter = limiter
    }

    static func make(_ retry: RetryPolicy?, _ limiter: RateLimiter?) -> Pacing? {
        let retry = retry.flatMap { $0.attempts > 1 ? $0 : nil }
        return retry == nil && limiter == nil ? nil : Pacing(retry, limiter)
    }
}

extension APIRequest {
    var pacing: Pacing? { built.request?.pacing }
}
