// The defaults that say how often requests are sent, and how fast.
extension SettingsReader {
    func retry() throws(APIError) -> RetryPolicy? {
        try value("retry") { (json) throws(APIError) in try RetryPolicy(json) }
    }

    /// - Parameter previous: the one that there was, with those that wait: it stays as long as the default says the same.
    func rateLimiter(previous: RateLimiter?) throws(APIError) -> RateLimiter? {
        guard let limit = try value("rateLimit", { (json) throws(APIError) in try RateLimit(json) }) else { return nil }
        return previous?.limit == limit ? previous : RateLimiter(limit)
    }

    private func value<Value>(
        _ key: String, _ read: (JSON) throws(APIError) -> Value
    ) throws(APIError) -> Value? {
        guard let json = defaults[key] else { return nil }
        do throws(APIError) {
            return try read(json)
        } catch {
            throw .invalidRequest("the default \(key) is \(json.text): \(error.message)")
        }
    }
}
