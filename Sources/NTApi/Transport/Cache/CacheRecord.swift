/// What is on disk for a URL, but for the bodies: JSON, read with the care that a file deserves that anybody may have changed.
struct CacheRecord: Sendable {
    /// What the key is called; in the file, so that one that was renamed is not taken for another's.
    var digest: String
    var variants: [CachedResponse]

    /// Counts on when a reader of an older version would be wrong about a newer record.
    private static let version: Int64 = 1

    init(digest: String, variants: [CachedResponse]) {
        self.digest = digest
        self.variants = variants
    }

    var json: JSON {
        let variants = variants.compactMap(\.json)
        return JSON([("version", JSON(Self.version)), ("key", JSON(digest)), ("variants", JSON(variants))])
    }

    /// - Returns: nil when it is damaged, or no record at all.
    init?(parsing content: [UInt8], digest: String) {
        guard let json = try? JSON(parsing: content), json["version"]?.int64 == Self.version,
            json["key"]?.string == digest, let variants = json["variants"]?.array,
            variants.count <= [CachedResponse].maximumVariants
        else { return nil }
        self.digest = digest
        self.variants = variants.compactMap { CachedResponse($0, digest: digest) }
        guard self.variants.count == variants.count else { return nil }
    }
}

extension CachedResponse {
    /// Nil where the body is not on disk, or the head could not be read again.
    fileprivate var json: JSON? {
        guard let file, head.headers.areWellFormed else { return nil }
        let headers = head.headers.map { JSON([JSON($0.name), JSON($0.value)]) }
        let selectors = selectors.map { JSON([JSON($0.name), $0.digest.map { JSON($0) } ?? .null]) }
        return JSON([
            ("status", JSON(Int64(head.status))), ("httpVersion", JSON(head.httpVersion)), ("headers", JSON(headers)),
            ("requestTime", JSON(requestTime)), ("responseTime", JSON(responseTime)), ("selectors", JSON(selectors)),
            ("body", JSON(file.name)), ("length", JSON(file.length)),
            // As text: JSON's whole numbers have a sign.
            ("checksum", JSON(String(file.checksum, radix: 16))),
        ])
    }

    fileprivate init?(_ json: JSON, digest: String) {
        guard let status = json["status"]?.int, (200..<600).contains(status),
            let version = json["httpVersion"]?.double, (1...3).contains(version),
            let requestTime = json["requestTime"]?.double, let responseTime = json["responseTime"]?.double,
            let headers = json["headers"]?.array, let selectors = json["selectors"]?.array,
            let name = json["body"]?.string, CacheFileName.isBody(name, of: digest),
            let length = json["length"]?.int64, length >= 0,
            let checksum = (json["checksum"]?.string).flatMap({ UInt64($0, radix: 16) })
        else { return nil }
        var head = ResponseHead(status: status, headers: HTTPHeaders(), httpVersion: version)
        for pair in headers {
            guard let name = pair[0]?.string, let value = pair[1]?.string else { return nil }
            head.headers.add(name, value)
        }
        // Some of what the server sent goes back to it in conditions.
        guard head.headers.areWellFormed else { return nil }
        var known: [Selector] = []
        for pair in selectors {
            guard let name = pair[0]?.string, let value = pair[1], value.isNull || value.string != nil else {
                return nil
            }
            known.append(Selector(name: name, digest: value.string))
        }
        self.init(
            head: head, requestTime: requestTime, responseTime: responseTime, selectors: known,
            file: BodyFile(name: name, length: length, checksum: checksum), isOnDisk: true)
    }
}

/// The names of the files of a cache: nothing of a URL can be read from them.
enum CacheFileName {
    static let recordEnding = ".json"
    private static let bodyEnding = ".body"
    static let temporaryEnding = ".new"

    static func record(_ digest: String) -> String { digest + recordEnding }

    /// A name that nobody else has.
    static func newBody(of digest: String) -> String { "\(digest).\(unique)\(bodyEnding)" }

    static func newTemporary() -> String { unique + temporaryEnding }

    static func isBody(_ name: String, of digest: String) -> Bool {
        name.hasASCIIPrefix(digest + ".") && name.hasSuffix(bodyEnding) && isOurs(name)
    }

    /// Whether a name may be one of the cache's: what it did not make it leaves alone.
    static func isOurs(_ name: String) -> Bool {
        (name.hasSuffix(recordEnding) || name.hasSuffix(bodyEnding) || name.hasSuffix(temporaryEnding))
            && name.utf8.allSatisfy {
                $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
            }
    }

    /// The digest that the name of a record or body begins with.
    static func digest(_ name: String) -> String { String(name.prefix { $0 != "." }) }

    private static var unique: String { String(UInt64.random(in: .min ... .max), radix: 16) }
}
