/// How a cache may be used (RFC 9111). Only for clients that have a cache.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// Follows RFC 9111: a fresh stored answer is used, a stale one is revalidated. The default.
    case `protocol`
    /// The cache is not read; the answer is stored.
    case reloadIgnoringCache = "reload_ignoring_cache"
    /// A stored answer of any age is used; without one the server is asked.
    case returnCachedElseLoad = "return_cached_else_load"
    /// A stored answer of any age is used; without one the request fails with `not cached`.
    case returnCachedDontLoad = "return_cached_dont_load"
    /// A stored answer is used after the server has confirmed it.
    case reloadRevalidating = "reload_revalidating"
    /// The cache is neither read nor written.
    case noStore = "no_store"

    /// The Cache-Control that asks caches between client and server for the same.
    var cacheControl: String? {
        switch self {
        case .reloadIgnoringCache: "no-cache"
        case .reloadRevalidating: "max-age=0"
        case .protocol, .returnCachedElseLoad, .returnCachedDontLoad, .noStore: nil
        }
    }
}

/// Where a response is kept.
public enum CacheStorage: String, Sendable, CaseIterable {
    /// Nowhere.
    case none
    /// In memory, until the process ends.
    case memory
    /// On disk and in memory.
    case disk
}
