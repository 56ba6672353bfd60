import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The files of a cache on disk, which other processes read, write and remove at the same time.
///
/// For each URL a record, and for each of its variants a body. All are made under another name and then renamed, so that
/// nobody sees half of one; a body is there before a record tells of it. No lock is needed: of two processes that write a
/// record one is the last, and what the other had is asked for again. What is damaged or gone is a miss. Every call waits for
/// the disk.
struct CacheFolder: Sendable {
    /// A file, and what is to be known to tidy up.
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

    /// Far more than heads can be.
    private static let largestRecord: Int64 = 16 << 20

    func body(_ file: CachedResponse.BodyFile) -> Bytes? {
        guard let bytes = read(file.name, atMost: file.length), bytes.count == file.length,
            withExtendedLifetime(bytes, { Self.checksum($0.buffer) }) == file.checksum
        else { return nil }
        return bytes
    }

    func write(_ record: CacheRecord) throws(SystemError) {
        try record.json.utf8().withUnsafeBufferPointer { (content) throws(SystemError) in
            try write(UnsafeRawBufferPointer(content), CacheFileName.record(record.digest))
        }
    }

    /// Writes the body of a response, unless one of these is the same.
    ///
    /// - Returns: where it is, and how much was written.
    func write(
        _ body: Bytes, of digest: String, unlessIn known: [CachedResponse]
    ) throws(SystemError) -> (file: CachedResponse.BodyFile, written: Int64) {
        var file = CachedResponse.BodyFile(
            name: CacheFileName.newBody(of: digest), length: Int64(body.count), checksum: Self.checksum(body.buffer))
        if let same = known.compactMap(\.file).first(where: { $0.length == file.length && $0.checksum == file.checksum }
        ) {
            file.name = same.name
            return (file, 0)
        }
        try write(body.buffer, file.name)
        return (file, file.length)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ name: String) throws(SystemError) {
        // What a power cut takes can be had again; the checksum finds it.
        try SystemFile.replace(
            "\(path)/\(name)", with: bytes, by: "\(path)/\(CacheFileName.newTemporary())", isDurable: false)
    }

    /// That there is none is no matter.
    func remove(_ name: String) { unlink("\(path)/\(name)") }

    /// It was used just now.
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

    /// - Returns: nil when there is none, or more in it than expected.
    private func read(_ name: String, atMost limit: Int64) -> Bytes? {
        // Should it be a pipe, nobody waits for a writer.
        let descriptor = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) <= limit,
            let bytes = Bytes(reading: descriptor, Int(status.st_size))
        else { return nil }
        return bytes
    }

    /// FNV-1a, eight bytes at a time: finds accidents, not attacks. Who may write here is the user.
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

extension Bytes {
    /// Nil when the file cannot be read, has fewer bytes, or there is no memory.
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
