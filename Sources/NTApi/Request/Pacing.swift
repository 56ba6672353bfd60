/// What stands between a request and its exchanges beside the network: other attempts, and the limit of its client.
///
/// Either is there: a request that is sent once, and at once, has none.
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
