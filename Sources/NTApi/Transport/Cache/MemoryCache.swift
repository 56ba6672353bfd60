/// A stored response: one of the variants of a URL.
struct CachedResponse: Sendable {
    /// A request header that the response depends on: its name in lower case, and a digest of its value; nil if it was
    /// missing.
    struct Selector: Sendable, Equatable {
        var name: String
        var digest: String?
    }

    /// Where the body is on disk.
    struct BodyFile: Sendable, Equatable {
        var name: String
        var length: Int64
        var checksum: UInt64
    }

    var head: ResponseHead
    /// When the request was sent and when its answer arrived, in seconds since 1970.
    var requestTime: Double
    var responseTime: Double
    /// The headers named by `Vary`, and the credentials of the request.
    var selectors: [Selector] = []
    /// Empty when the body is only on disk.
    var body = Bytes.empty
    /// Nil while the body is only in memory.
    var file: BodyFile?
    /// Whether it is or will soon be on disk.
    var isOnDisk = false
    /// Whether it is or will soon be in the store of a ``SharedCache``.
    var isShared = false

    /// The approximate size in memory, in bytes.
    var size: Int {
        body.count + head.headers.reduce(512) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
    }

    /// A digest of the credentials of the request; nil without any.
    var credential: String? { selectors.first { $0.name.isEmpty }?.digest }

    /// Whether it replaces another one: both answer the same request.
    func replaces(_ other: CachedResponse) -> Bool { selectors == other.selectors }
}

/// The key for the responses of a URL.
struct CacheKey: Sendable, Hashable {
    /// Without the fragment, and with the port.
    let url: String
    /// Separates clients that must not share responses; "" for most clients.
    let partition: String

    init(_ parts: URLParts, partition: String) {
        let query = parts.query.map { "?\($0)" } ?? ""
        url = "\(parts.scheme)://\(parts.host):\(parts.port)\(parts.path)\(query)"
        self.partition = partition
    }

    /// The name on disk. A digest, because a URL may contain secrets.
    var digest: String { partition.isEmpty ? digestOfURL : "\(digestOfURL)-\(SHA256.hex(partition))" }

    var digestOfURL: String { SHA256.hex(url) }
}

extension [CachedResponse] {
    /// The most variants that are stored for one URL.
    static let maximumVariants = 8

    /// Puts a variant first, and removes the one that answered the same request.
    mutating func put(_ response: CachedResponse) {
        removeAll { response.replaces($0) }
        insert(response, at: 0)
        if count > Self.maximumVariants { removeLast(count - Self.maximumVariants) }
    }
}

/// Responses in memory by key. When the memory is full, the least recently used one is removed.
struct MemoryCache {
    private struct Entry {
        var variants: [CachedResponse]
        var size: Int
        var token: IndexedHeap<UInt64, CacheKey>.Token
        /// When a use was last recorded on disk, in seconds since 1970.
        var told: Double
    }

    private var entries: [CacheKey: Entry] = [:]
    /// The keys by their last use.
    private var uses = IndexedHeap<UInt64, CacheKey>()
    private var clock: UInt64 = 0
    /// The size of all responses in bytes.
    private(set) var usage = 0
    var capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// A response larger than this fraction of the capacity is not stored: it would displace too many others.
    static let largestPart = 4

    /// The variants of a URL, the newest first.
    mutating func variants(_ key: CacheKey) -> [CachedResponse] {
        guard let entry = entries[key] else { return [] }
        clock += 1
        uses.update(entry.token, key: clock)
        return entry.variants
    }

    /// How often the use of a popular response is recorded on disk, in seconds.
    static let untold = 60.0

    /// Whether the caller should record on disk that a response is used.
    ///
    /// Popular responses are read from memory. Without these records they would look unused on disk, and be removed
    /// first.
    mutating func owesUse(of key: CacheKey, now: Double) -> Bool {
        guard let entry = entries[key], abs(now - entry.told) >= Self.untold, entry.variants.contains(where: \.isOnDisk)
        else { return false }
        entries[key]?.told = now
        return true
    }

    /// - Returns: the removed responses, so that they are released outside of the caller's lock.
    mutating func put(_ response: CachedResponse, _ key: CacheKey) -> [CachedResponse] {
        var variants = entries[key]?.variants ?? []
        var gone = remove(key)
        guard response.size <= capacity / Self.largestPart else {
            variants.removeAll { response.replaces($0) }
            if !variants.isEmpty { insert(variants, key) }
            return gone
        }
        variants.put(response)
        insert(variants, key)
        gone += trim()
        return gone
    }

    private mutating func insert(_ variants: [CachedResponse], _ key: CacheKey) {
        clock += 1
        let size = variants.reduce(0) { $0 + $1.size }
        let told = variants.map(\.responseTime).max() ?? 0
        entries[key] = Entry(variants: variants, size: size, token: uses.insert(key, key: clock), told: told)
        usage += size
    }

    mutating func remove(_ key: CacheKey) -> [CachedResponse] {
        guard let entry = entries.removeValue(forKey: key) else { return [] }
        uses.remove(entry.token)
        usage -= entry.size
        return entry.variants
    }

    mutating func removeAll() -> [CachedResponse] {
        let gone = entries.values.flatMap(\.variants)
        self = MemoryCache(capacity: capacity)
        return gone
    }

    /// Removes responses until the rest fits.
    mutating func trim() -> [CachedResponse] {
        var gone: [CachedResponse] = []
        while usage > capacity, let oldest = uses.first?.element { gone += remove(oldest) }
        return gone
    }

    /// The keys of a URL in all partitions.
    func keys(of url: String) -> [CacheKey] { entries.keys.filter { $0.url == url } }
}
