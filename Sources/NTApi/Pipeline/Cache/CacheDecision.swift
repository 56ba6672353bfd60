/// Whether a request is answered from the cache (RFC 9111, 4): a pure decision.
enum CacheDecision: Sendable, Equatable {
    /// From the cache, without a word to the server.
    case use
    /// The same, and what is stored is brought up to date afterwards (RFC 5861, 3).
    case useWhileRevalidating
    /// The server is asked whether it still holds.
    case validate
    case load
    /// There is nothing to answer with, and the server may not be asked: 504.
    case fail

    /// - Parameter stored: what was selected for the request.
    static func decide(_ request: CacheRequest, _ stored: CachedResponse?, now: Double) -> CacheDecision {
        let decision = decideByPolicy(request, stored, now: now)
        guard let condition = request.condition else { return decision }
        // The cache adds no condition of its own: the server could not answer both.
        if decision == .use, let stored, condition.answer(from: stored) != nil { return .use }
        return request.mayLoad ? .load : .fail
    }

    private static func decideByPolicy(_ request: CacheRequest, _ stored: CachedResponse?, now: Double) -> CacheDecision
    {
        switch request.policy {
        case .reloadIgnoringCache, .noStore: return .load
        case .returnCachedElseLoad: return stored == nil ? .load : .use
        case .returnCachedDontLoad: return stored == nil ? .fail : .use
        case .reloadRevalidating: return stored?.hasValidator == true ? .validate : .load
        case .protocol: break
        }
        guard let stored else { return request.control.onlyIfCached ? .fail : .load }
        let control = CacheControl(stored.head.headers)
        let decision = decide(request.control, control, CacheFreshness(stored, control, now: now))
        switch decision {
        case .use, .useWhileRevalidating: return decision
        case _ where request.control.onlyIfCached: return .fail
        default: return stored.hasValidator ? .validate : .load
        }
    }

    private static func decide(
        _ request: CacheControl, _ response: CacheControl, _ freshness: CacheFreshness
    ) -> CacheDecision {
        guard !request.noCache, !response.noCache, freshness.age <= request.maxAge ?? .max else { return .validate }
        let left = freshness.isFresh ? freshness.lifetime - freshness.age : 0
        if freshness.isFresh, left >= request.minFresh ?? 0 { return .use }
        guard !response.mustRevalidate, request.minFresh == nil else { return .validate }
        if let maxStale = request.maxStale, freshness.staleness <= maxStale { return .use }
        // Who names an age wants no older one.
        guard request.maxAge == nil, let window = response.staleWhileRevalidate, freshness.staleness < window else {
            return .validate
        }
        return .useWhileRevalidating
    }

    /// Whether a stored response stands in for a server that has failed (RFC 5861, 4).
    static func standsIn(_ stored: CachedResponse, for request: CacheRequest, now: Double) -> Bool {
        let control = CacheControl(stored.head.headers)
        // Who wants an answer of the server's own gets that, whatever it is.
        guard !request.control.noCache, request.policy != .reloadRevalidating, !control.mustRevalidate,
            !control.noCache,
            let window = request.control.staleIfError ?? control.staleIfError
        else { return false }
        return CacheFreshness(stored, control, now: now).staleness < window
    }
}
