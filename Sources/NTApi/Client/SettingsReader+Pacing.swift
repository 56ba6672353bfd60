// The defaults that say how often requests are sent, and how fast.
extension SettingsReader {
    func retry() throws(APIError) -> RetryPolicy? {
        guard let value = defaults["retry"] else { return nil }
        do throws(APIError) {
            return try RetryPolicy(value)
        } catch {
            throw .invalidRequest("the default retry is \(value.text): \(error.message)")
        }
    }

    /// - Parameter previous: the one that there was, with those that wait: it stays as long as the default says the same.
    func rateLimiter(previous: RateLimiter?) throws(APIError) -> RateLimiter? {
        guard let value = defaults["rateLimit"] else { return nil }
        let members = ["requests", "seconds", "burst", "maximum_pause"]
        let wanted = "an object with \(members.map(quoted).joined(separator: ", "))"
        guard value.kind == .object, value.keys.allSatisfy(members.contains) else {
            throw problem("rateLimit", value, wanted)
        }
        let fields = JSONFields(json: value) { .invalidRequest("the default rateLimit: \($0): \($1)") }
        let limiter = RateLimiter(
            requests: try fields.number("requests"), seconds: try fields.optionalNumber("seconds") ?? 1,
            burst: Int(clamping: try fields.optionalInteger("burst") ?? 1),
            maximumPause: try fields.optionalNumber("maximum_pause") ?? 60)
        if let problem = limiter.problem { throw .invalidRequest("the default rateLimit: \(problem.message)") }
        return previous.flatMap { $0.isLike(limiter) ? $0 : nil } ?? limiter
    }
}

extension RateLimiter {
    fileprivate func isLike(_ other: RateLimiter) -> Bool {
        (requests, seconds, burst, maximumPause) == (other.requests, other.seconds, other.burst, other.maximumPause)
    }
}
