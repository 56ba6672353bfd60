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
