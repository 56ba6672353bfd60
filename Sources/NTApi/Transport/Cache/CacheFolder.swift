import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The files of a cache on disk. Other processes may read, write and remove them at the same time.
///
/// Each URL has a record, and each of its variants a body. All files are written under another name and then renamed,
/// so that nobody sees a partial file. A body exists before a record refers to it. No lock is needed: when two
/// processes write a record, the last one wins, and the other response is fetched again. A damaged or missing file is a
/// miss. Every call waits for the disk.
struct CacheFolder: Sendable {
    /// A file, with the facts that tidying needs.
    struct File: Sendable {
        var name: String
        var size: Int64
        /// When it was last used; seconds since 1970.
        var used: Double
    }

    let path: String

    /// - Throws: why it cannot be made.
    func make() throws(SystemError) { try SystemFile.makeFolder(path) }

    func record(_ digest: String) -> CacheRecord? {
        guard let file = read(CacheFileName.record(digest), atMost: Self.largestRecord) else { return nil }
        let content = withExtendedLifetime(file) { Array($0.buffer) }
        guard let record = CacheRecord(parsing: content, digest: digest) else {
            remove(CacheFileName.record(digest))
            return nil
        }
        return record
    }

    /// Far more than the heads of one URL need.
    private static let largestRecord: Int64 = 16 << 20

    func body(_ file: CachedResponse.BodyFile) -> Bytes? {
        guard let bytes = read(file.name, atMost: file.length), file.isOf(bytes) else { return nil }
        return bytes
    }

    func write(_ record: CacheRecord) throws(SystemError) {
        try record.json.utf8().withUnsafeBufferPointer { (content) throws(SystemError) in
            try write(UnsafeRawBufferPointer(content), CacheFileName.record(record.digest))
        }
    }

    /// Writes the body of a response, unless one of these is the same.
    ///
    /// - Returns: the file, and the bytes written.
    func write(
        _ body: Bytes, of digest: String, unlessIn known: [CachedResponse]
    ) throws(SystemError) -> (file: CachedResponse.BodyFile, written: Int64) {
        var file = CachedResponse.BodyFile(of: body, CacheFileName.newBody(of: digest))
        if let same = known.compactMap(\.file).first(where: file.hasSameContent) {
            file.name = same.name
            return (file, 0)
        }
        try write(body.buffer, file.name)
        return (file, file.length)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ name: String) throws(SystemError) {
        // Data lost in a power cut can be fetched again. The checksum detects it.
        try SystemFile.replace(
            "\(path)/\(name)", with: bytes, by: "\(path)/\(CacheFileName.newTemporary())", isDurable: false)
    }

    /// Removes a file. A missing file is no error.
    func remove(_ name: String) { unlink("\(path)/\(name)") }

    /// Records that a file was used now.
    func touch(_ name: String) { utimensat(AT_FDCWD, "\(path)/\(name)", nil, 0) }

    /// The files of the cache.
    func files() -> [File] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var files: [File] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
                    String(cString: $0)
                }
            }
            var status = stat()
            guard CacheFileName.isOurs(name), lstat("\(path)/\(name)", &status) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            #if canImport(Glibc)
                let time = status.st_mtim
            #else
                let time = status.st_mtimespec
            #endif
            let used = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
            files.append(File(name: name, size: Int64(status.st_size), used: used))
        }
        return files
    }

    /// - Returns: nil when there is none, or it is larger than expected.
    private func read(_ name: String, atMost limit: Int64) -> Bytes? {
        // O_NONBLOCK: if the file is a pipe, do not wait for a writer.
        let descriptor = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) <= limit,
            let bytes = Bytes(reading: descriptor, Int(status.st_size))
        else { return nil }
        return bytes
    }

    /// FNV-1a over eight bytes at a time. It detects accidents, not attacks: only the user may write here.
    static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ word: UInt64) {
            hash = (hash ^ word) &* 0x0000_0100_0000_01b3
            hash ^= hash >> 32
        }
        let whole = bytes.count / 8
        for index in 0..<whole { add(bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self).littleEndian) }
        for byte in bytes[(whole * 8)...] { add(UInt64(byte)) }
        return hash
    }
}

extension CachedResponse.BodyFile {
    init(of body: Bytes, _ name: String) {
        let checksum = withExtendedLifetime(body) { CacheFolder.checksum($0.buffer) }
        self.init(name: name, length: Int64(body.count), checksum: checksum)
    }

    func hasSameContent(_ other: Self) -> Bool { other.length == length && other.checksum == checksum }

    func isOf(_ body: Bytes) -> Bool { hasSameContent(Self(of: body, name)) }
}

extension Bytes {
    /// Nil when the file cannot be read or is too short, or there is no memory.
    fileprivate convenience init?(reading descriptor: Int32, _ count: Int) {
        self.init()
        guard reserve(count) else { return nil }
        var chunk = [UInt8](repeating: 0, count: min(count, 256 * 1024))
        while self.count < count {
            let got = chunk.withUnsafeMutableBytes { buffer in
                #if canImport(Glibc)
                    Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                #else
                    Darwin.read(descriptor, buffer.baseAddress, buffer.count)
                #endif
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0, chunk.withUnsafeBytes({ append(UnsafeRawBufferPointer(rebasing: $0[..<got])) }) else {
                return nil
            }
        }
    }
}

/// The record of a URL on disk, without the bodies. It is JSON; since anybody may have changed the file, everything in
/// it is checked.
struct CacheRecord: Sendable {
    /// The digest of the key. It is also stored in the file, so that a renamed file is not mistaken for another's.
    var digest: String
    var variants: [CachedResponse]

    /// Increased when an older version would misread a newer record.
    private static let version: Int64 = 1

    init(digest: String, variants: [CachedResponse]) {
        self.digest = digest
        self.variants = variants
    }

    var json: JSON {
        let variants = variants.compactMap(\.json)
        return JSON([("version", JSON(Self.version)), ("key", JSON(digest)), ("variants", JSON(variants))])
    }

    /// - Returns: nil when it is damaged or not a record.
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
    /// Nil when the body is not on disk, or the head could not be read back.
    fileprivate var json: JSON? {
        guard let file, head.headers.areWellFormed else { return nil }
        let selectors = selectors.map { JSON([JSON($0.name), $0.digest.map { JSON($0) } ?? .null]) }
        return JSON([
            ("status", JSON(Int64(head.status))), ("httpVersion", JSON(head.httpVersion)),
            ("headers", JSON(head.headers.map(\.json))),
            ("requestTime", JSON(requestTime)), ("responseTime", JSON(responseTime)), ("selectors", JSON(selectors)),
            ("body", JSON(file.name)), ("length", JSON(file.length)),
            // As text, because JSON's integers are signed.
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
        for line in headers {
            guard let field = HTTPHeaders.Field(line) else { return nil }
            head.headers.add(field)
        }
        // Parts of the head are sent back to the server in conditions.
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

/// The names of the files of a cache. They reveal nothing about the URL.
enum CacheFileName {
    static let recordEnding = ".json"
    private static let bodyEnding = ".body"
    static let temporaryEnding = ".new"

    static func record(_ digest: String) -> String { digest + recordEnding }

    /// A unique name.
    static func newBody(of digest: String) -> String { "\(digest).\(unique)\(bodyEnding)" }

    static func newTemporary() -> String { unique + temporaryEnding }

    /// What makes the name of a body unique.
    static func number(_ name: String) -> String {
        let pieces = name.utf8.split(separator: UInt8(ascii: "."))
        return pieces.count == 3 ? String(Substring(pieces[1])) : name
    }

    static func isBody(_ name: String, of digest: String) -> Bool {
        name.hasASCIIPrefix(digest + ".") && name.hasSuffix(bodyEnding) && isOurs(name)
    }

    /// Whether a name is one that the cache gives. Other files are never touched: a program may have named the folder of
    /// something else.
    static func isOurs(_ name: String) -> Bool {
        let pieces = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard pieces.count >= 2 else { return false }
        switch "." + String(Substring(pieces[pieces.count - 1])) {
        case recordEnding: return pieces.count == 2 && isDigest(pieces[0])
        case bodyEnding: return pieces.count == 3 && isDigest(pieces[0]) && isHex(pieces[1], 1...16)
        case temporaryEnding: return pieces.count == 2 && isHex(pieces[0], 1...16)
        default: return false
        }
    }

    /// One SHA-256 or, for a cache with partitions, two.
    private static func isDigest(_ text: Substring.UTF8View) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.count <= 2 && parts.allSatisfy { isHex($0, 64...64) }
    }

    private static func isHex(_ text: Substring.UTF8View, _ length: ClosedRange<Int>) -> Bool {
        length.contains(text.count)
            && text.allSatisfy { $0.isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    /// The digest that the name of a record or body begins with.
    static func digest(_ name: String) -> String { String(name.prefix { $0 != "." }) }

    private static var unique: String { String(UInt64.random(in: .min ... .max), radix: 16) }
}
