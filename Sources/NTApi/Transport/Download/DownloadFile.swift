import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A body on its way to a file: in a temporary file beside the destination, moved there when it is whole.
///
/// Written on the transport's thread: the system takes the bytes into its memory, which costs less than to hand them to
/// another thread would. Of several downloads that want the same temporary file, the first has it.
final class DownloadFile: BodySink, @unchecked Sendable {
    // Safe to share: one thread writes, and hands it over (through a lock) when it is done.
    let destination: String
    let temporary: String
    private var descriptor: Int32
    /// How many bytes are in the temporary file.
    private(set) var size: Int64
    private let generation = Fork.generation

    /// Makes a temporary file.
    ///
    /// - Parameter isPrivate: whether it is for nobody but the user to read.
    convenience init(for destination: String, isPrivate: Bool = false) throws(APIError) {
        for _ in 0..<16 {
            let path = Self.newTemporary(for: destination)
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isPrivate ? 0o600 : 0o666)
            if descriptor >= 0 {
                try self.init(destination, path, descriptor, 0)
                return
            }
            guard errno == EEXIST else { break }
        }
        throw Self.error(destination, "cannot be made: \(systemErrorText(errno))")
    }

    /// A path for a temporary file, which nobody else comes to.
    static func newTemporary(for destination: String) -> String {
        let (folder, name) = split(destination)
        // A file name may have 255 bytes; what is cut off is only to be recognised by people.
        let start = String(decoding: name.utf8.prefix(200), as: UTF8.self)
        return "\(folder)/.\(start).\(String(UInt64.random(in: .min ... .max), radix: 36)).part"
    }

    /// Removes a temporary file that nobody can go on with: only one of ours, in its folder, by its name.
    ///
    /// - Parameter resume: how it was to be gone on with, perhaps for another destination than the first one.
    static func removeTemporary(_ path: String, for destination: String, _ resume: ResumeData?) {
        var status = stat()
        guard isTemporary(path, for: destination, resume), lstat(path, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid()
        else { return }
        unlink(path)
    }

    /// Whether a path is one that `newTemporary` makes for a destination, or for that of resume data.
    static func isTemporary(_ path: String, for destination: String, _ resume: ResumeData?) -> Bool {
        let (folder, name) = split(path)
        return [destination, resume?.destination].contains { destination in
            guard let destination, case (let home, let end) = split(destination), folder == home else { return false }
            let start = ".\(String(decoding: end.utf8.prefix(200), as: UTF8.self))."
            guard name.hasASCIIPrefix(start), name.hasSuffix(".part") else { return false }
            let number = name.utf8.dropFirst(start.utf8.count).dropLast(".part".utf8.count)
            return !number.isEmpty && number.allSatisfy { $0.isASCIIDigit || ("a"..."z").contains(Unicode.Scalar($0)) }
        }
    }

    /// Goes on with a temporary file; what it has beyond the offset is cut off.
    convenience init(
        for destination: String, continuing temporary: String, at offset: Int64, isPrivate: Bool = false
    ) throws(APIError) {
        // Without O_NOFOLLOW, resume data from elsewhere could point at any file by way of a link that is put there.
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = open(temporary, flags, isPrivate ? 0o600 : 0o666)
        guard descriptor >= 0 else {
            throw Self.error(temporary, "cannot be gone on with: \(systemErrorText(errno))")
        }
        try self.init(destination, temporary, descriptor, offset)
    }

    private init(
        _ destination: String, _ temporary: String, _ descriptor: Int32, _ offset: Int64
    ) throws(APIError) {
        self.destination = destination
        self.temporary = temporary
        self.descriptor = descriptor
        size = offset
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refuse("is no regular file")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw refuse("is being written by another download: wait for its end")
        }
        guard offset <= status.st_size, ftruncate(descriptor, off_t(offset)) == 0,
            lseek(descriptor, off_t(offset), SEEK_SET) == offset
        else { throw refuse("cannot be gone on with at byte \(offset): \(systemErrorText(errno))") }
    }

    private func refuse(_ reason: String) -> APIError {
        close(descriptor)
        descriptor = -1
        return Self.error(temporary, reason)
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
    /// - Parameters:
    ///   - expected: its length, as far as it is known.
    ///   - isDurable: whether it is to be on the disk when this returns. Waits for that: not for the network thread.
    func finish(expected: Int64?, isDurable: Bool = false) throws(APIError) {
        if let expected, size != expected {
            throw Self.error(destination, "is not whole: \(size) of \(expected) bytes came")
        }
        if isDurable {
            let status = ntapi_system_sync(descriptor)
            guard status == 0 else {
                throw Self.error(destination, "cannot be written: \(systemErrorText(status))")
            }
        }
        // A full disk at the other end of a network may be told of only here.
        guard shut() else { throw Self.error(destination, "cannot be written: \(systemErrorText(errno))") }
        guard rename(temporary, destination) == 0 else {
            throw Self.error(destination, "cannot be moved to its place: \(systemErrorText(errno))")
        }
        if isDurable { Self.syncFolder(of: destination) }
    }

    /// The file is there under its name; should this fail, it may not be so after a power cut.
    private static func syncFolder(of path: String) {
        let folder = open(split(path).folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        _ = ntapi_system_sync(folder)
        close(folder)
    }

    /// The temporary file stays, to be gone on with.
    func keep() { _ = shut() }

    /// Nobody wants it any more.
    func discard() {
        unlink(temporary)
        _ = shut()
    }

    private func shut() -> Bool {
        guard descriptor >= 0 else { return true }
        defer { descriptor = -1 }
        return close(descriptor) == 0
    }

    /// How long a temporary file is; 0 when there is none.
    static func size(of temporary: String) -> Int64 {
        var status = stat()
        return lstat(temporary, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : 0
    }

    /// Checks a destination, as far as that can be done before the body comes.
    ///
    /// - Returns: its absolute path: the host program may change its folder before the body comes.
    static func check(_ path: String) throws(APIError) -> String {
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
        return try absolute(path, "download")
    }

    /// A path that holds wherever the program, or another one, runs.
    static func absolute(_ path: String, _ what: String) throws(APIError) -> String {
        guard path.utf8.first != UInt8(ascii: "/") else { return path }
        guard let here = getcwd(nil, 0) else {
            throw .invalidRequest("the path of the \(what) \(quoted(path)) is relative to a folder that is gone")
        }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }

    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let folder = String(path[..<slash])
        return (folder.isEmpty ? "/" : folder, String(path[path.utf8.index(after: slash)...]))
    }

    static func error(_ path: String, _ reason: String) -> APIError {
        APIError(domain: .request, code: .generic, message: "the download \(quoted(path)) \(reason)")
    }
}

/// A file of a download without a destination: removed with this object, or when the process exits, unless it was released.
final class TemporaryFile: Sendable {
    let path: String
    private let generation = Fork.generation

    /// Those that are there. A forked child removes none of its parent's.
    private struct Known {
        var generation = Fork.generation
        var paths: Set<String> = []
        var isArranged = false
    }

    private static let known = Lock(Known(), survivesFork: true)

    /// Takes over a file, which is there.
    init(_ path: String) {
        self.path = path
        let isFirst = Self.known.withLock { known in
            if known.generation != generation { known = Known(isArranged: known.isArranged) }
            known.paths.insert(path)
            defer { known.isArranged = true }
            return !known.isArranged
        }
        if isFirst { ExitJobs.add { Self.removeAll() } }
    }

    deinit {
        guard generation == Fork.generation, release() else { return }
        // One that the program has moved elsewhere is not there any more.
        unlink(path)
    }

    /// It stays: somebody else will look after it.
    ///
    /// - Returns: false when it was released before, or removed.
    @discardableResult func release() -> Bool { Self.known.withLock { $0.paths.remove(path) != nil } }

    private static func removeAll() {
        let paths = known.withLock { known in
            defer { known.paths = [] }
            return known.generation == Fork.generation ? known.paths : []
        }
        for path in paths { unlink(path) }
    }

    /// A new name in the folder for temporary files, which nobody else comes to.
    static func newPath() -> String {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let name = "ntapi-\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        return folder.utf8.first == UInt8(ascii: "/") ? "\(folder)/\(name)" : "/tmp/\(name)"
    }
}
