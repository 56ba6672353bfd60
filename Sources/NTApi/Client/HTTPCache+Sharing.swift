extension HTTPCache {
    /// Shares responses with other processes, by a store. Call it before the cache is used.
    ///
    ///     try cache.share(by: store, key: "partner")
    ///
    /// All caches with the same key of the same store have these responses, in any language. A request that finds no fresh
    /// response in its own process looks there. When several processes need the same response, one loads or revalidates
    /// it; the others use a stale one if they may, or wait for it.
    ///
    /// Only what a shared cache may have is stored there: no responses to requests with credentials or cookies, none that
    /// are `private` or set a cookie, and none above 1 MB. If the store encrypts (``SharedStore/cipher``), it has those
    /// with credentials, too, also `private` ones: each only for requests with the same credentials. A response expires
    /// when it can no longer be used or validated.
    ///
    /// - Parameters:
    ///   - key: what the responses are called in the store: 1 to 200 bytes, no braces and no control characters.
    ///   - options: how long the store may take. While it fails, each process uses its own cache. A process that has loaded
    ///     nothing within the lease is replaced; after two leases, a request waits no longer.
    /// - Throws: why the key or the options are wrong.
    public func share(
        by store: any SharedStore, key: String, _ options: StoreOptions = StoreOptions()
    ) throws(APIError) {
        let access = StoreAccess(store, key: key, options)
        if let problem = access.problem { throw .invalidRequest("the shared cache: \(problem)") }
        guard options.onFailure == nil || options.onFailure == .local else {
            throw .invalidRequest("the shared cache: while the store fails, it is local, not open or closed")
        }
        let shared = SharedCache(access) { $0.usefulSeconds($1) }
        share(shared) { Runtime.current.clock }
        shared.beKnown()
    }
}
