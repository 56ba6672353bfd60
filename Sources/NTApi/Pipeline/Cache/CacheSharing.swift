// What processes may share (RFC 9111, 3), and for how long.
extension CacheRequest {
    /// Whether other processes may have its response: nothing in the request says who its user is, or only credentials,
    /// by which responses are kept apart in a store that keeps secrets. An authenticator's token has to be shared, too.
    var isShareable: Bool {
        guard keepsSecrets || credential == nil, http.token.map({ TokenOwner.isShared($0.owner) }) ?? true,
            http.settings.session?.identity.clientCertificate == nil
        else {
            return false
        }
        guard let cookies = http.settings.context?.cookies, cookies.sends else { return true }
        return !cookies.engine.hasCookies(for: http)
    }

    /// What to do with a stored response, or without one.
    func verdict(_ stored: CachedResponse?, _ now: Double) -> SharedCache.Verdict {
        switch CacheDecision.decide(self, stored, now: now) {
        case .use, .useWhileRevalidating: .use
        case .fail: .load
        case .validate, .load: isForAll(stored) ? .loadForAll : .load
        }
    }

    /// Whether other processes can use the answer that the server gives to this request.
    ///
    /// - Parameter stored: what the server's answer replaces.
    func isForAll(_ stored: CachedResponse?) -> Bool {
        guard role == .usual, !isHead, isShareable, [.protocol, .returnCachedElseLoad].contains(policy),
            !control.noCache, control.maxAge != 0
        else { return false }
        guard let stored else { return true }
        let known = CacheControl(stored.head.headers)
        return !known.noCache && CacheFreshness(stored, known, now: stored.responseTime).lifetime > 0
    }
}

extension CachedResponse {
    /// Whether other processes may have it.
    ///
    /// - Parameter head: as it came from the server.
    func mayBeShared(_ head: ResponseHead, _ request: CacheRequest, now: Double) -> Bool {
        let control = CacheControl(self.head.headers)
        // With a credential, each process has it as a part of that user's cache.
        return request.isShareable && (!control.isPrivate || request.credential != nil) && !control.noStore
            && !control.isShorterForAll && head.headers["Set-Cookie"] == nil
            && size <= SharedCache.largest && usefulSeconds(now) > 0
    }

    /// Whether other processes can use it without asking the server.
    func isFresh(_ now: Double) -> Bool {
        let control = CacheControl(head.headers)
        return !control.noCache && CacheFreshness(self, control, now: now).isFresh
    }

    /// For how many seconds it can be used or validated.
    func usefulSeconds(_ now: Double) -> Double {
        let control = CacheControl(head.headers)
        let freshness = CacheFreshness(self, control, now: now)
        guard freshness.age < .max else { return 0 }
        let stale = max(control.staleWhileRevalidate ?? 0, control.staleIfError ?? 0)
        // What the server can confirm is kept as long again, for an hour at least.
        let lifetime = min(freshness.lifetime, Self.longestUse)
        let confirmable = hasValidator ? max(lifetime, 3600) : 0
        let end = lifetime + max(control.mustRevalidate ? 0 : stale, confirmable)
        return Double(min(end - freshness.age, Self.longestUse))
    }

    private static let longestUse: Int64 = 30 * 86_400
}
