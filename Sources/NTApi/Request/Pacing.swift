/// What stands between a request and its exchanges beside the network: other attempts, and the limit of its client.
struct Pacing: Sendable {
    /// Nil makes one attempt.
    var retry: RetryPolicy?
    var limiter: RateLimiter?

    /// Whether the request may have to wait for a moment.
    var mayWait: Bool { limiter != nil || (retry?.attempts ?? 1) > 1 }
}

extension APIRequest {
    var pacing: Pacing { (try? built.get())?.pacing ?? Pacing() }
}
