extension CacheStorage {
    /// Where a response to a GET may be stored (RFC 9111, 3), by a cache that is one user's.
    ///
    /// What says nothing of how long it holds, and could not be asked for again, is of use to the policies that return
    /// whatever is there: it is kept in memory, and on disk where such a policy asked for it.
    static func of(_ head: ResponseHead, _ request: CacheRequest, now: Double) -> CacheStorage {
        guard request.role == .usual, !request.isHead, CacheStatus.isKept(head.status) else { return .none }
        let control = CacheControl(head.headers)
        if control.mustUnderstand {
            guard CacheStatus.isUnderstood(head.status) else { return .none }
        } else if control.noStore {
            return .none
        }
        let isExplicit = CacheFreshness.isExplicit(head, control)
        guard isExplicit || control.isPublic || control.isPrivate || CacheStatus.isHeuristic(head.status) else {
            return .none
        }
        let takesAnything = [.returnCachedElseLoad, .returnCachedDontLoad].contains(request.policy)
        if takesAnything || hasValidator(head) || (control.staleIfError ?? 0) > 0 { return .disk }
        let response = CachedResponse(head: head, requestTime: now, responseTime: now)
        if !control.noCache, CacheFreshness(response, control, now: now).lifetime > 0 { return .disk }
        return isExplicit || control.noCache ? .none : .memory
    }

    private static func hasValidator(_ head: ResponseHead) -> Bool {
        head.headers["ETag"] != nil || head.headers["Last-Modified"] != nil
    }
}
