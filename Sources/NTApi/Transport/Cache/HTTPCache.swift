import Synchronization

/// A private HTTP cache (RFC 9111), in memory and optionally on disk.
///
/// Each session has its own by default. Sessions share a cache when their configurations have the same one. Safe to use
/// from many threads.
///
///     var configuration = SessionConfiguration.ephemeral
///     configuration.cache = HTTPCache(memoryCapacity: 1 << 20)
public final class HTTPCache: Sendable, RedactedMirror {
    private struct State {
        var memory: MemoryCache
        /// The keys that are being revalidated.
        var revalidations: Set<CacheKey> = []
        var shared: (cache: SharedCache, clock: @Sendable () -> any WaitingClock)?
    }

    private enum Sharing: UInt8, AtomicRepresentable {
        case none, inPlain, encrypted
    }

    /// The default memory capacity in bytes.
    public static let standardMemoryCapacity = 16 << 20
    /// The default disk capacity in bytes.
    public static let standardDiskCapacity = 128 << 20

    // Held for a moment only, also by the network thread.
    private let state: Lock<State>
    /// How others share it. Apart, because stages ask for it under the lock of their request.
    private let sharing = Atomic<Sharing>(.none)
    private let disk: DiskCache?
    private let clock: @Sendable () -> Double

    /// The memory capacity in bytes.
    public let memoryCapacity: Int

    /// Makes a cache in memory.
    ///
    /// - Parameter memoryCapacity: in bytes. A response that takes more than a quarter is not stored.
    public convenience init(memoryCapacity: Int = HTTPCache.standardMemoryCapacity) {
        self.init(memoryCapacity, disk: nil, wallClockSeconds)
    }

    /// Makes a cache on disk and in memory. Other processes may use the same folder.
    ///
    /// - Parameters:
    ///   - memoryCapacity: in bytes. A response that takes more than a quarter is stored on disk only.
    ///   - diskCapacity: in bytes. A response that takes more than a quarter is not stored on disk.
    ///   - folder: the absolute path of a folder for the cache only. It is made when something is stored.
    /// - Throws: `invalid request` when the path is not absolute.
    public convenience init(
        memoryCapacity: Int = HTTPCache.standardMemoryCapacity, diskCapacity: Int = HTTPCache.standardDiskCapacity,
        folder: String
    ) throws(APIError) {
        try self.init(memoryCapacity, diskCapacity, folder, wallClockSeconds)
    }

    /// - Parameter clock: seconds since 1970.
    convenience init(
        _ memoryCapacity: Int, _ diskCapacity: Int, _ folder: String, _ clock: @escaping @Sendable () -> Double
    ) throws(APIError) {
        guard folder.utf8.first == UInt8(ascii: "/"), !folder.utf8.contains(0) else {
            throw .invalidRequest("\(quoted(folder)) is not the absolute path of a folder for a cache")
        }
        let disk = diskCapacity > 0 ? DiskCache(folder, capacity: Int64(diskCapacity), clock: clock) : nil
        self.init(memoryCapacity, disk: disk, clock)
    }

    init(_ memoryCapacity: Int, disk: DiskCache?, _ clock: @escaping @Sendable () -> Double) {
        self.memoryCapacity = max(0, memoryCapacity)
        self.disk = disk
        self.clock = clock
        state = Lock(State(memory: MemoryCache(capacity: self.memoryCapacity)), sharing: .caches)
    }

    /// The disk capacity in bytes; 0 for a cache in memory.
    ///
    /// While several processes write, each may briefly use an eighth more.
    public var diskCapacity: Int { disk.map { Int($0.capacity) } ?? 0 }

    /// The approximate memory usage in bytes.
    public var currentMemoryUsage: Int { state.withLock { $0.memory.usage } }

    /// The disk usage in bytes, including responses of other processes. Waits for the disk.
    public var currentDiskUsage: Int { disk.map { Int(clamping: $0.usage) } ?? 0 }

    /// Removes every response, but not those in a store. Waits for the disk.
    ///
    /// Other processes keep what they have in memory.
    public func removeAll() {
        let gone = state.withLock { $0.memory.removeAll() }
        withExtendedLifetime(gone) {}
        disk?.removeAll()
    }

    /// Removes the responses for a URL, if there are any. Waits for the disk.
    ///
    /// - Throws: `invalid request` when it is not an http or https URL.
    public func remove(_ url: String) throws(APIError) {
        let key = CacheKey(try URLParts(url), partition: "")
        let (keys, gone) = state.withLock { state in
            let keys = state.memory.keys(of: key.url)
            return (keys, keys.flatMap { state.memory.remove($0) })
        }
        withExtendedLifetime(gone) {}
        if let (shared, clock) = state.withLock({ $0.shared }) {
            for key in Set(keys + [key]) { shared.remove(key.digest, clock()) }
        }
        disk?.removeAll(named: key.digestOfURL)
    }

    /// Waits until stored responses are on disk. Otherwise they are written soon, when a client is drained, and when
    /// the process exits.
    ///
    /// - Throws: `generic` when a write since the last call failed; the message says why.
    public func save() throws(APIError) {
        guard let problem = disk?.save() else { return }
        throw APIError(domain: .request, code: .generic, message: "the cache was not written: \(problem)")
    }

    /// The same without an error, and for the store.
    func saveQuietly() {
        disk?.wait()
        shared?.wait()
    }

    // MARK: For requests

    var now: Double { clock() }

    var isOnDisk: Bool { disk != nil }

    /// What other processes have, too.
    var shared: SharedCache? { state.withLock { $0.shared?.cache } }

    var isShared: Bool { sharing.load(ordering: .relaxed) != .none }

    /// Whether the store encrypts what it has.
    var keepsSecrets: Bool { sharing.load(ordering: .relaxed) == .encrypted }

    /// - Parameter clock: for calls without a request.
    func share(_ cache: SharedCache, _ clock: @escaping @Sendable () -> any WaitingClock) {
        let replaced = state.withLock { exchange(&$0.shared, with: (cache, clock)) }
        withExtendedLifetime(replaced) {}
        sharing.store(cache.keepsSecrets ? .encrypted : .inPlain, ordering: .relaxed)
    }

    /// The responses for a URL that are in memory.
    func variants(_ key: CacheKey) -> [CachedResponse] {
        guard let disk else { return state.withLock { $0.memory.variants(key) } }
        let now = clock()
        let (variants, owesUse) = state.withLock { ($0.memory.variants(key), $0.memory.owesUse(of: key, now: now)) }
        if owesUse { disk.use(key) }
        return variants
    }

    /// The response on disk that `select` chooses, with its body. Waits for the disk.
    func read(_ key: CacheKey, _ select: ([CachedResponse]) -> CachedResponse?) -> CachedResponse? {
        let found = disk?.read(key, select)
        if let found { keep(found, key) }
        return found
    }

    /// Stores a response, and replaces the one that answered the same request. Does not wait.
    ///
    /// - Parameter mayReplace: whether an older one may be on disk.
    func store(_ response: CachedResponse, _ key: CacheKey, _ storage: CacheStorage, mayReplace: Bool = true) {
        switch storage {
        case .none: if mayReplace { remove(key) }
        case .memory:
            // The response on disk is older.
            if mayReplace { disk?.remove(key) }
            keep(response, key)
        case .disk:
            var response = response
            response.isOnDisk = disk != nil
            keep(response, key)
            disk?.put(response, key)
        }
    }

    /// Replaces the head of a stored response.
    func update(_ response: CachedResponse, _ key: CacheKey) {
        keep(response, key)
        if response.isOnDisk { disk?.put(response, key) }
    }

    func remove(_ key: CacheKey) {
        let gone = state.withLock { $0.memory.remove(key) }
        withExtendedLifetime(gone) {}
        disk?.remove(key)
    }

    /// Keeps a response in memory.
    func keep(_ response: CachedResponse, _ key: CacheKey) {
        let gone = state.withLock { $0.memory.put(response, key) }
        withExtendedLifetime(gone) {}
    }

    /// - Returns: false when a revalidation is already running.
    func beginRevalidation(_ key: CacheKey) -> Bool { state.withLock { $0.revalidations.insert(key).inserted } }

    func endRevalidation(_ key: CacheKey) { state.withLock { _ = $0.revalidations.remove(key) } }
}

/// How the exchanges of a client use a cache.
struct CacheUse: Sendable {
    let cache: HTTPCache
    /// The part of the cache for this client, which servers may answer differently from others.
    let partition: String

    init(_ cache: HTTPCache, _ settings: TransferSettings.Values) {
        self.cache = cache
        guard let identity = settings.session?.identity else {
            partition = settings.caFile ?? ""
            return
        }
        let parts = [
            settings.caFile, identity.clientCertificate, identity.clientKey, identity.pinnedKeys,
            identity.networkInterface, identity.proxyURL, identity.proxy?.user, identity.route.unixSocket,
            identity.route.resolve.isEmpty ? nil : identity.route.resolve.joined(separator: "\n"),
            identity.route.connectTo.isEmpty ? nil : identity.route.connectTo.joined(separator: "\n"),
        ]
        partition = parts.contains { $0 != nil } ? parts.map { $0 ?? "" }.joined(separator: "\n") : ""
    }
}
