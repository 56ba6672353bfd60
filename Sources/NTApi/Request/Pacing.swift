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

    /// The answers that may be followed by another attempt, so that nobody is to see their bodies as the request's.
    func quietStatuses(_ http: HTTPRequest, attempts: Int) -> Set<Int> {
        guard let retry, attempts < retry.attempts, http.mayBeRepeated else { return [] }
        return retry.statuses
    }
}

extension APIRequest {
    var pacing: Pacing? { built.request?.pacing }
}
