/// A private HTTP cache after RFC 9111: responses that need not be asked for again, in memory and maybe on disk.
///
/// Each session has one of its kind; sessions share one when their configurations are given it. Safe to use from many
/// threads.
///
///     var configuration = SessionConfiguration.ephemeral
///     configuration.cache = HTTPCache(memoryCapacity: 1 << 20)
public final class HTTPCache: Sendable {
    private struct State {
        var memory: MemoryCache
        /// What is being brought up to date.
        var revalidations: Set<CacheKey> = []
    }

    /// How many bytes of memory are used unless it is said.
    public static let standardMemoryCapacity = 16 << 20
    /// How many bytes of disk are used unless it is said.
    public static let standardDiskCapacity = 128 << 20

    // Held for a moment only, also by the network thread.
    private let state: Lock<State>
    private let disk: DiskCache?
    private let clock: @Sendable () -> Double

    /// How many bytes responses may take in memory.
    public let memoryCapacity: Int

    /// A cache in memory.
    ///
    /// - Parameter memoryCapacity: in bytes. A response that takes more than a quarter is not kept.
    public convenience init(memoryCapacity: Int = HTTPCache.standardMemoryCapacity) {
        self.init(memoryCapacity, disk: nil, wallClockSeconds)
    }

    /// A cache on disk and in memory, which other processes may use, too.
    ///
    /// - Parameters:
    ///   - memoryCapacity: in bytes. A response that takes more than a quarter is kept on disk only.
    ///   - diskCapacity: in bytes. A response that takes more than a quarter is not kept on disk.
    ///   - folder: its absolute path, for the cache alone. It is made when something is stored.
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
            throw .invalidRequest("\(quoted(folder)) is no absolute path of a folder for a cache")
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

    /// How many bytes responses may take on disk; 0 for a cache in memory.
    ///
    /// Processes that write at the same time may take an eighth more, each, for a moment.
    public var diskCapacity: Int { disk.map { Int($0.capacity) } ?? 0 }

    /// About how many bytes responses take in memory now.
    public var currentMemoryUsage: Int { state.withLock { $0.memory.usage } }

    /// How many bytes responses take on disk now, those of other processes included. Waits for the disk.
    public var currentDiskUsage: Int { disk.map { Int(clamping: $0.usage) } ?? 0 }

    /// Forgets every response. Waits for the disk.
    ///
    /// What other processes have in memory they keep.
    public func removeAll() {
        let gone = state.withLock { $0.memory.removeAll() }
        withExtendedLifetime(gone) {}
        disk?.removeAll()
    }

    /// Forgets the responses for a URL, if there are any. Waits for the disk.
    ///
    /// - Throws: `invalid request` when it is not an http or https URL.
    public func remove(_ url: String) throws(APIError) {
        let key = CacheKey(try URLParts(url), partition: "")
        let gone = state.withLock { state in state.memory.keys(of: key.url).flatMap { state.memory.remove($0) } }
        withExtendedLifetime(gone) {}
        disk?.removeAll(named: key.digestOfURL)
    }

    /// Waits until what was stored is on disk. It is done anyway soon, when a client is drained, and when the process exits.
    ///
    /// - Throws: `generic` when something that was stored since the last call is not on disk: the message says why.
    public func save() throws(APIError) {
        guard let problem = disk?.save() else { return }
        throw APIError(domain: .request, code: .generic, message: "the cache was not written: \(problem)")
    }

    /// The same, where nobody is there to be told.
    func saveQuietly() { disk?.wait() }

    // MARK: For requests

    var now: Double { clock() }

    var isOnDisk: Bool { disk != nil }

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

    /// Puts a response in the place of the one that answered the same request. Does not wait.
    ///
    /// - Parameter mayReplace: whether there may be one on disk.
    func store(_ response: CachedResponse, _ key: CacheKey, _ storage: CacheStorage, mayReplace: Bool = true) {
        switch storage {
        case .none: if mayReplace { remove(key) }
        case .memory:
            // What is on disk is older.
            if mayReplace { disk?.remove(key) }
            keep(response, key)
        case .disk:
            var response = response
            response.isOnDisk = disk != nil
            keep(response, key)
            disk?.put(response, key)
        }
    }

    /// More is known of a stored response.
    func update(_ response: CachedResponse, _ key: CacheKey) {
        keep(response, key)
        if response.isOnDisk { disk?.put(response, key) }
    }

    func remove(_ key: CacheKey) {
        let gone = state.withLock { $0.memory.remove(key) }
        withExtendedLifetime(gone) {}
        disk?.remove(key)
    }

    private func keep(_ response: CachedResponse, _ key: CacheKey) {
        let gone = state.withLock { $0.memory.put(response, key) }
        withExtendedLifetime(gone) {}
    }

    /// - Returns: false when it is being brought up to date already.
    func beginRevalidation(_ key: CacheKey) -> Bool { state.withLock { $0.revalidations.insert(key).inserted } }

    func endRevalidation(_ key: CacheKey) { state.withLock { _ = $0.revalidations.remove(key) } }
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

/// How the exchanges of a client use a cache.
struct CacheUse: Sendable {
    let cache: HTTPCache
    /// What the client is to a server that others are not: they are not answered with what was said to it.
    let partition: String

    init(_ cache: HTTPCache, _ settings: TransferSettings.Values) {
        self.cache = cache
        guard let identity = settings.session?.identity else {
            partition = settings.caFile ?? ""
            return
        }
        let parts = [
            settings.caFile, identity.clientCertificate, identity.clientKey, identity.pinnedKeys,
            identity.networkInterface, identity.proxyURL, identity.proxy?.user,
        ]
        partition = parts.contains { $0 != nil } ? parts.map { $0 ?? "" }.joined(separator: "\n") : ""
    }
}
