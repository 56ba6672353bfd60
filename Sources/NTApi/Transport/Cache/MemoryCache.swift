/// A response as a cache keeps it: one of the variants that a URL has.
struct CachedResponse: Sendable {
    /// What the response depends on, as it was in the request: a name in lower case and a digest; nil where it was not there.
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
    /// When the request was sent and when its answer was there, in seconds since 1970.
    var requestTime: Double
    var responseTime: Double
    /// What `Vary` names, and the credentials of the request.
    var selectors: [Selector] = []
    /// Empty where it is only on disk.
    var body = Bytes.empty
    /// Nil as long as it is only in memory.
    var file: BodyFile?
    /// Whether it is kept on disk, or soon will be.
    var isOnDisk = false

    /// About how much memory it takes, in bytes.
    var size: Int {
        body.count + head.headers.reduce(512) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
    }

    /// Whether it takes the place of another one: both answer the same request.
    func replaces(_ other: CachedResponse) -> Bool { selectors == other.selectors }
}

/// By what a cache finds the responses for a URL.
struct CacheKey: Sendable, Hashable {
    /// Without the fragment, and with the port.
    let url: String
    /// Tells clients from others whose responses must not be theirs; "" for nearly all.
    let partition: String

    init(_ parts: URLParts, partition: String) {
        let query = parts.query.map { "?\($0)" } ?? ""
        url = "\(parts.scheme)://\(parts.host):\(parts.port)\(parts.path)\(query)"
        self.partition = partition
    }

    /// What it is called on disk: a URL may hold secrets.
    var digest: String { partition.isEmpty ? digestOfURL : "\(digestOfURL)-\(SHA256.hex(partition))" }

    var digestOfURL: String { SHA256.hex(url) }
}

extension [CachedResponse] {
    /// More variants of one URL than these are not kept.
    static let maximumVariants = 8

    /// Puts a variant in front, in the place of the one that answered the same request.
    mutating func put(_ response: CachedResponse) {
        removeAll { response.replaces($0) }
        insert(response, at: 0)
        if count > Self.maximumVariants { removeLast(count - Self.maximumVariants) }
    }
}

/// Responses in memory, by their keys: of those that were not asked for longest the first goes when there is no more room.
struct MemoryCache {
    private struct Entry {
        var variants: [CachedResponse]
        var size: Int
        var token: IndexedHeap<UInt64, CacheKey>.Token
        /// When the disk was told of a use; seconds since 1970.
        var told: Double
    }

    private var entries: [CacheKey: Entry] = [:]
    /// By when they were last used.
    private var uses = IndexedHeap<UInt64, CacheKey>()
    private var clock: UInt64 = 0
    /// In bytes.
    private(set) var usage = 0
    var capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// What takes more than this part of the capacity would drive out too much else.
    static let largestPart = 4

    /// The variants of a URL, the newest in front.
    mutating func variants(_ key: CacheKey) -> [CachedResponse] {
        guard let entry = entries[key] else { return [] }
        clock += 1
        uses.update(entry.token, key: clock)
        return entry.variants
    }

    /// How long the disk hears nothing of a response that is used again and again, in seconds.
    static let untold = 60.0

    /// Whether the disk is to be told that a response is used, which then is done.
    ///
    /// What is hot is read from here. On disk it would look as if nobody wanted it, and go before what nobody wants.
    mutating func owesUse(of key: CacheKey, now: Double) -> Bool {
        guard let entry = entries[key], abs(now - entry.told) >= Self.untold, entry.variants.contains(where: \.isOnDisk)
        else { return false }
        entries[key]?.told = now
        return true
    }

    /// - Returns: what had to go for it, and so outlives the lock of the caller.
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

    /// Until what is left fits.
    mutating func trim() -> [CachedResponse] {
        var gone: [CachedResponse] = []
        while usage > capacity, let oldest = uses.first?.element { gone += remove(oldest) }
        return gone
    }

    /// The keys of a URL, whoever they are for.
    func keys(of url: String) -> [CacheKey] { entries.keys.filter { $0.url == url } }
}
