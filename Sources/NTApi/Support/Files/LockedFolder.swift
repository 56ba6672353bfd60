import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A folder that belongs to one process at a time. Each file in it is complete or does not exist.
///
/// Only the user can read the folder and its files (0700 and 0600). Every call waits for the disk. Calls may come from
/// any thread. When two calls write the same name at once, either may win.
final class LockedFolder: Sendable {
    let path: String
    private let descriptor: Int32
    private let lock: FileLock

    /// Opens and locks a folder. Creates it if it is missing.
    ///
    /// - Parameter isOurs: whether a file may have this name. Unfinished files of other names are not removed.
    /// - Throws: `invalid request`, naming the process, when another process or this one has locked the folder;
    ///   `generic`, naming the path, when the system refuses an operation.
    init(_ path: String, isOurs: (String) -> Bool = { _ in true }) throws(APIError) {
        try Self.make(path)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("open the folder", path, errno) }
        do throws(APIError) {
            lock = try Self.lock(path)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        for name in try names()
        where name.hasSuffix(Self.unfinished) && isOurs(String(name.dropLast(Self.unfinished.count))) {
            unlinkat(descriptor, name, 0)
        }
    }

    deinit { close(descriptor) }

    /// Releases the folder.
    func unlock() { lock.unlock() }

    /// The names of all files.
    func names() throws(APIError) -> [String] {
        guard let stream = opendir(path) else { throw .file("read the folder", path, errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
                    String(cString: $0)
                }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    /// The content of a file.
    ///
    /// - Returns: nil when there is no such file.
    func content(of name: String) throws(APIError) -> [UInt8]? {
        // O_NONBLOCK: if the file is a pipe, do not wait for a writer.
        let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw problem("open", name)
        }
        defer { close(file) }
        var content: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw problem("read", name) }
            guard count > 0 else { return content }
            content += piece[..<count]
        }
    }

    /// Writes a file, or replaces the one with the same name. The file is durable when this returns, and never partly
    /// written.
    func store(_ content: [UInt8], as name: String) throws(APIError) {
        try checkLock()
        let temporary = name + Self.unfinished
        let file = openat(descriptor, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw problem("make", temporary) }
        do throws(APIError) {
            defer { close(file) }
            try fill(file, content, temporary)
            let status = ntapi_system_sync(file)
            guard status == 0 else { throw problem("write", temporary, status) }
        } catch {
            unlinkat(descriptor, temporary, 0)
            throw error
        }
        try rename(temporary, to: name)
    }

    /// Durable when this returns.
    func rename(_ name: String, to new: String) throws(APIError) {
        try checkLock()
        guard renameat(descriptor, name, descriptor, new) == 0 else { throw problem("rename", name) }
        try sync()
    }

    /// Durable when this returns. It is no error if the file does not exist.
    func remove(_ name: String) throws(APIError) {
        try checkLock()
        guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw problem("remove", name) }
        try sync()
    }

    /// Change nothing without the lock: the folder may belong to another process now.
    private func checkLock() throws(APIError) {
        guard !lock.isHeld else { return }
        throw .invalidRequest("the folder \(path) was closed, or belongs to the process that this one was forked from")
    }

    private func sync() throws(APIError) {
        let status = ntapi_system_sync(descriptor)
        guard status == 0 else { throw .file("write the folder", path, status) }
    }

    private func fill(_ file: Int32, _ content: [UInt8], _ name: String) throws(APIError) {
        var rest = content[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw problem("write", name, count == 0 ? EIO : errno) }
            rest = rest.dropFirst(count)
        }
    }

    private func problem(_ what: String, _ name: String, _ number: Int32 = errno) -> APIError {
        .file(what, "\(path)/\(name)", number)
    }

    private static let unfinished = ".new"

    private static func lock(_ path: String) throws(APIError) -> FileLock {
        let file = path + "/lock"
        do throws(FileLock.Problem) {
            let lock = try FileLock(file)
            // For the error of another process.
            let number = Array("\(getpid())\n".utf8)
            ftruncate(lock.descriptor, 0)
            _ = pwrite(lock.descriptor, number, number.count, 0)
            return lock
        } catch {
            let reason: String
            switch error {
            case .open(let number): throw .file("open", file, number)
            case .lock(let number): throw .file("lock", file, number)
            case .notAFile: throw .file("lock", file, EINVAL)
            case .heldHere:
                reason = "it is already open in this process: close the client that uses it, or use that client"
            case .heldElsewhere:
                let name = holder(file).map { "process \($0)" } ?? "another process"
                reason = "\(name) has it open: only one process at a time can"
            }
            throw .invalidRequest("the folder \(path) is locked; \(reason)")
        }
    }

    /// The process that has written its number into the file; nil when there is none.
    private static func holder(_ file: String) -> pid_t? {
        guard let text = try? SystemFile.read(file) else { return nil }
        return pid_t(String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }

    /// Makes the folder and its parents.
    private static func make(_ path: String) throws(APIError) {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw .invalidRequest("\(quoted(path)) is not the absolute path of a folder")
        }
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
            throw .file("make the folder", path, errno)
        }
        try make(String(path[..<slash]))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .file("make the folder", path, errno) }
    }
}

extension APIError {
    /// The system refused an operation on a file.
    static func file(_ what: String, _ path: String, _ number: Int32) -> APIError {
        APIError(domain: .request, code: .generic, message: "cannot \(what) \(path): \(systemErrorText(number))")
    }
}
