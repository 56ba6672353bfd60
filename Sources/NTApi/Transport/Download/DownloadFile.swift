import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes a body to a temporary file in the destination's folder, and renames it when the body is complete.
///
/// Everything here waits for the disk, so it runs on workers. When several downloads want the same temporary file, the
/// first one gets it.
final class DownloadFile: Sendable {
    private struct State {
        /// Bytes in the temporary file.
        var size: Int64
        /// The same, with those that are still to be written.
        var expectedSize: Int64
        var problem: APIError?
    }

    let destination: String
    let temporary: String
    private let lock: FileLock
    private let state: Lock<State>

    /// Makes a temporary file.
    ///
    /// - Parameter isPrivate: whether only the user may read it.
    convenience init(for destination: String, isPrivate: Bool = false) throws(APIError) {
        let (path, lock) = try Self.create(for: destination, isPrivate ? 0o600 : 0o666)
        try self.init(destination, path, lock, 0)
    }

    private static func create(for destination: String, _ mode: mode_t) throws(APIError) -> (String, FileLock) {
        var reason = ""
        for _ in 0..<16 {
            let path = TemporaryName.part(of: destination)
            do throws(FileLock.Problem) {
                return (path, try FileLock(path, O_WRONLY | O_CREAT | O_EXCL, mode: mode))
            } catch {
                reason = Self.reason(error)
                guard case .open(EEXIST) = error else { break }
            }
        }
        throw error(destination, "cannot be made: \(reason)")
    }

    private static func reason(_ problem: FileLock.Problem) -> String {
        switch problem {
        case .open(let number), .lock(let number): systemErrorText(number)
        case .notAFile: "it is not a regular file"
        case .heldHere, .heldElsewhere: "it is being written by another download: wait for its end"
        }
    }

    /// Removes a temporary file that nobody writes. Only removes our own files, recognized by folder and name.
    ///
    /// - Parameter resume: the resume data that referred to it, perhaps with another destination.
    static func removeTemporary(_ path: String, for destination: String, _ resume: ResumeData?) {
        guard isTemporary(path, for: destination, resume) else { return }
        // Fails for a file that is being written.
        guard let lock = try? FileLock(path, O_WRONLY), isOurs(lock.descriptor, isRemoved: true) else { return }
        unlink(path)
        lock.unlock()
    }

    /// Whether the path is a temporary file of the destination, or of that of the resume data.
    static func isTemporary(_ path: String, for destination: String, _ resume: ResumeData?) -> Bool {
        TemporaryName.isPart(path, of: destination)
            || resume.map { TemporaryName.isPart(path, of: $0.destination) } == true
    }

    /// Whether nobody else can have put the file there to have another one written or removed: our files have one name.
    private static func isOurs(_ descriptor: Int32, isRemoved: Bool) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink <= 1 && (!isRemoved || status.st_uid == geteuid())
    }

    /// Continues a temporary file. Cuts off bytes beyond the offset.
    convenience init(
        for destination: String, continuing temporary: String, at offset: Int64, isPrivate: Bool = false
    ) throws(APIError) {
        let lock: FileLock
        do throws(FileLock.Problem) {
            lock = try FileLock(temporary, O_WRONLY | O_CREAT, mode: isPrivate ? 0o600 : 0o666)
        } catch {
            throw Self.error(temporary, "cannot be resumed: \(Self.reason(error))")
        }
        guard Self.isOurs(lock.descriptor, isRemoved: false) else {
            throw Self.error(temporary, "cannot be resumed: the file has other names, too")
        }
        try self.init(destination, temporary, lock, offset)
    }

    private init(
        _ destination: String, _ temporary: String, _ lock: FileLock, _ offset: Int64
    ) throws(APIError) {
        self.destination = destination
        self.temporary = temporary
        self.lock = lock
        state = Lock(leaf: State(size: offset, expectedSize: offset))
        var status = stat()
        guard fstat(lock.descriptor, &status) == 0, offset <= status.st_size,
            ftruncate(lock.descriptor, off_t(offset)) == 0,
            lseek(lock.descriptor, off_t(offset), SEEK_SET) == offset
        else {
            let reason = "cannot be resumed at byte \(offset): \(systemErrorText(errno))"
            lock.unlock()
            throw Self.error(temporary, reason)
        }
    }

    // The file is no longer needed. In a forked child it belongs to the parent, which may still write it.
    deinit {
        if lock.isHeld { discard() }
    }

    /// The size of the temporary file in bytes.
    var size: Int64 { state.withLock { $0.size } }

    /// Its size when all is written that was announced; nil when that is done, or failed.
    var expectedSize: Int64? {
        state.withLock { $0.problem == nil && $0.size < $0.expectedSize ? $0.expectedSize : nil }
    }

    /// Why bytes could not be written; nothing is written after that.
    var problem: APIError? { state.withLock { $0.problem } }

    /// Bytes have arrived, which somebody will write.
    func announce(_ count: Int) { state.withLock { $0.expectedSize += Int64(count) } }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard problem == nil else { return }
        let descriptor = lock.descriptor
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                let error = Self.error(destination, "cannot be written: \(systemErrorText(errno))")
                return state.withLock { $0.problem = error }
            }
            state.withLock { $0.size += Int64(count) }
            rest = rest.dropFirst(count)
        }
    }

    /// The body is complete. Renames the file. If that is impossible, the temporary file is kept.
    ///
    /// - Parameters:
    ///   - expected: its length, if known.
    ///   - isDurable: whether it must be on the disk when this returns.
    func finish(expected: Int64?, isDurable: Bool = false) throws(APIError) {
        if let expected, size != expected {
            throw Self.error(destination, "is incomplete: \(size) of \(expected) bytes arrived")
        }
        var problem: Int32 = isDurable ? ntapi_system_sync(lock.descriptor) : 0
        if problem == 0 { problem = lock.flush() }
        guard problem == 0 else {
            // It is not known which bytes are there.
            discard()
            throw Self.error(destination, "cannot be written: \(systemErrorText(problem))")
        }
        // Still locked: another download of the same file must not cut it off meanwhile.
        problem = rename(temporary, destination) == 0 ? 0 : errno
        if problem == EXDEV { problem = moveToOtherFileSystem(isDurable) }
        lock.unlock()
        guard problem == 0 else {
            throw Self.error(destination, "cannot be renamed: \(systemErrorText(problem))")
        }
        if isDurable { SystemFile.syncFolder(of: destination) }
    }

    /// Copies the file beside its destination, and renames the copy.
    ///
    /// - Returns: 0, or the system's error number; the temporary file is then as before.
    private func moveToOtherFileSystem(_ isDurable: Bool) -> Int32 {
        let copy = TemporaryName.part(of: destination)
        var problem = SystemFile.copy(temporary, to: copy, isDurable: isDurable)
        if problem == 0, rename(copy, destination) != 0 { problem = errno }
        unlink(problem == 0 ? temporary : copy)
        return problem
    }

    /// Keeps the temporary file, to resume the download later.
    func keep() { lock.unlock() }

    /// Removes the temporary file.
    func discard() {
        unlink(temporary)
        lock.unlock()
    }

    /// The size of a temporary file; 0 when there is none.
    static func size(of temporary: String) -> Int64 {
        var status = stat()
        return lstat(temporary, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : 0
    }

    /// Checks a destination as far as possible before the body comes.
    ///
    /// - Returns: its absolute path, because the program may change its working directory before the body comes.
    static func check(_ path: String) throws(APIError) -> String {
        guard !path.utf8.contains(0) else {
            throw .invalidRequest("the path of the download \(quoted(path)) has a NUL")
        }
        let (folder, name) = FileName.split(path)
        guard !name.isEmpty, name != ".", name != ".." else {
            throw .invalidRequest("the path of the download \(quoted(path)) does not name a file")
        }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw .invalidRequest("the path of the download \(quoted(path)) is not a regular file")
        }
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, access(folder, W_OK | X_OK) == 0 else {
            let reason = status.st_mode & S_IFMT == S_IFDIR ? systemErrorText(errno) : "no such folder"
            throw .invalidRequest("the folder \(quoted(folder)) of the download cannot be written to: \(reason)")
        }
        return try absolute(path, "download")
    }

    /// An absolute path, which stays valid in any working directory.
    static func absolute(_ path: String, _ what: String) throws(APIError) -> String {
        guard path.utf8.first != UInt8(ascii: "/") else { return path }
        guard let here = getcwd(nil, 0) else {
            throw .invalidRequest("the path of the \(what) \(quoted(path)) is relative to a folder that is gone")
        }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }

    static func error(_ path: String, _ reason: String) -> APIError {
        APIError(domain: .request, code: .generic, message: "the download \(quoted(path)) \(reason)")
    }
}

/// The file of a download without a destination. It is removed with this object or when the process exits, unless it
/// was released.
final class TemporaryFile: Sendable {
    let path: String
    private let generation = Fork.generation

    /// The existing files. A forked child does not remove its parent's.
    private struct Known {
        var generation = Fork.generation
        var paths: Set<String> = []
        var isArranged = false
    }

    private static let known = Lock(Known(), survivesFork: true)

    /// Takes over an existing file.
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
        // If the program has moved the file away, there is nothing to remove.
        unlink(path)
    }

    /// Gives up the file without removing it.
    ///
    /// - Returns: false when it was already released or removed.
    @discardableResult func release() -> Bool { Self.known.withLock { $0.paths.remove(path) != nil } }

    private static func removeAll() {
        let paths = known.withLock { known in
            defer { known.paths = [] }
            return known.generation == Fork.generation ? known.paths : []
        }
        for path in paths { unlink(path) }
    }
}
