#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A body on its way to a file: in a temporary file beside the destination, moved there when it is whole.
///
/// Written on the transport's thread: the system takes the bytes into its memory, which costs less than to hand them to
/// another thread would.
final class DownloadFile: BodySink, @unchecked Sendable {
    // Safe to share: one thread writes, and hands it over (through a lock) when it is done.
    let destination: String
    let temporary: String
    private var descriptor: Int32
    /// How many bytes are in the temporary file.
    private(set) var size: Int64 = 0
    private let generation = Fork.generation

    /// Makes the temporary file.
    init(for destination: String) throws(APIError) {
        self.destination = destination
        (temporary, descriptor) = try Self.makeTemporary(beside: destination)
    }

    // One that came too late to be of use. In a forked child it is the parent's, who may be writing it.
    deinit {
        if descriptor >= 0, generation == Fork.generation { discard() }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                return .failed(Self.error(destination, "cannot be written: \(systemErrorText(errno))"))
            }
            size += Int64(count)
            rest = rest.dropFirst(count)
        }
        return .taken
    }

    /// The body is whole: the file gets its name.
    ///
    /// - Parameter announced: the length that the server told; nil when it did not.
    func finish(announced: Int64?) throws(APIError) {
        if let announced, size != announced {
            throw Self.error(destination, "is not whole: \(size) of \(announced) bytes came")
        }
        guard shut() else { throw Self.error(destination, "cannot be written: \(systemErrorText(errno))") }
        guard rename(temporary, destination) == 0 else {
            throw Self.error(destination, "cannot be moved to its place: \(systemErrorText(errno))")
        }
    }

    /// Nobody wants it any more.
    func discard() {
        _ = shut()
        unlink(temporary)
    }

    /// - Returns: whether everything was written. A full network disk may say so only here.
    private func shut() -> Bool {
        guard descriptor >= 0 else { return true }
        defer { descriptor = -1 }
        return close(descriptor) == 0
    }

    /// What is wrong with a destination, as far as that is known before the body comes.
    static func check(_ path: String) throws(APIError) {
        guard !path.utf8.contains(0) else {
            throw .invalidRequest("the path of the download \(quoted(path)) has a NUL")
        }
        let (folder, name) = split(path)
        guard !name.isEmpty, name != ".", name != ".." else {
            throw .invalidRequest("the path of the download \(quoted(path)) names no file")
        }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw .invalidRequest("the path of the download \(quoted(path)) is there, and no regular file")
        }
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, access(folder, W_OK | X_OK) == 0 else {
            let reason = status.st_mode & S_IFMT == S_IFDIR ? systemErrorText(errno) : "no such folder"
            throw .invalidRequest("the folder \(quoted(folder)) of the download cannot be written to: \(reason)")
        }
    }

    private static func makeTemporary(beside destination: String) throws(APIError) -> (String, Int32) {
        let (folder, name) = split(destination)
        // A file name may have 255 bytes; what is cut off is only to be recognised by people.
        let start = String(decoding: name.utf8.prefix(200), as: UTF8.self)
        for _ in 0..<16 {
            let mark = String(UInt32.random(in: .min ... .max), radix: 36)
            let path = "\(folder)/.\(start).\(mark).part"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            if descriptor >= 0 { return (path, descriptor) }
            guard errno == EEXIST else { break }
        }
        throw error(destination, "cannot be made: \(systemErrorText(errno))")
    }

    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let folder = String(path[..<slash])
        return (folder.isEmpty ? "/" : folder, String(path[path.utf8.index(after: slash)...]))
    }

    private static func error(_ path: String, _ reason: String) -> APIError {
        APIError(domain: .request, code: .generic, message: "the download \(quoted(path)) \(reason)")
    }
}
