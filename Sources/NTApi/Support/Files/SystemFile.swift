import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why the system refused an operation.
struct SystemError: Error, CustomStringConvertible {
    let what: String
    let number: Int32

    var description: String { "\(what): \(String(cString: strerror(number)))" }
}

/// Files, through the system's own calls. All of these may block, so the network thread never calls them.
enum SystemFile {
    /// Why a file cannot be read; nil when it can.
    static func reasonUnreadable(_ path: String) -> String? {
        access(path, R_OK) == 0 ? nil : String(cString: strerror(errno))
    }

    /// The bytes of a file; nil when there is no such file.
    static func read(_ path: String) throws(SystemError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw SystemError(what: "cannot read \(path)", number: errno)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = systemRead(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += chunk[..<count]
            } else if errno != EINTR {
                throw SystemError(what: "cannot read \(path)", number: errno)
            }
        }
    }

    /// Replaces a file. Nobody ever sees it partly written, and only the owner can read it.
    ///
    /// The bytes are on the disk before the file is renamed. So even after a power cut, there is the old or the new
    /// file.
    static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) in
            try replace(path, with: UnsafeRawBufferPointer(bytes), by: "\(path).new", isDurable: true)
        }
    }

    /// - Parameters:
    ///   - temporary: a name in the same folder that nobody else writes to at the same time.
    ///   - isDurable: whether the file must survive a power cut. The call then waits for the disk.
    static func replace(
        _ path: String, with bytes: UnsafeRawBufferPointer, by temporary: String, isDurable: Bool
    ) throws(SystemError) {
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError(what: "cannot write \(temporary)", number: errno) }
        var problem: Int32 = fchmod(descriptor, 0o600) == 0 ? 0 : errno
        var sent = 0
        while problem == 0, sent < bytes.count {
            let count = write(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
            if count >= 0 { sent += count } else if errno != EINTR { problem = errno }
        }
        if problem == 0, isDurable { problem = ntapi_system_sync(descriptor) }
        close(descriptor)
        if problem == 0, rename(temporary, path) != 0 { problem = errno }
        guard problem != 0 else {
            if isDurable { syncFolder(of: path) }
            return
        }
        unlink(temporary)
        throw SystemError(what: "cannot write \(path)", number: problem)
    }

    /// Copies a file with its permissions to a new one. Removes the copy if that fails.
    ///
    /// - Returns: 0, or the system's error number.
    static func copy(_ path: String, to copy: String, isDurable: Bool) -> Int32 {
        let source = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard source >= 0 else { return errno }
        defer { close(source) }
        var status = stat()
        guard fstat(source, &status) == 0 else { return errno }
        let target = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o777)
        guard target >= 0 else { return errno }
        var problem = copyBytes(source, target)
        if problem == 0, isDurable { problem = ntapi_system_sync(target) }
        if close(target) != 0, problem == 0 { problem = errno }
        if problem != 0 { unlink(copy) }
        return problem
    }

    private static func copyBytes(_ source: Int32, _ target: Int32) -> Int32 {
        var chunk = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = systemRead(source, &chunk, chunk.count)
            if count == 0 { return 0 }
            if count < 0, errno != EINTR { return errno }
            var sent = 0
            while sent < count {
                let written = chunk.withUnsafeBytes { write(target, $0.baseAddress.map { $0 + sent }, count - sent) }
                if written >= 0 { sent += written } else if errno != EINTR { return errno }
            }
        }
    }

    /// Makes a rename durable. If this fails, a power cut may undo the rename.
    static func syncFolder(of path: String) {
        let folder = open(FileName.split(path).folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        _ = ntapi_system_sync(folder)
        close(folder)
    }

    /// Makes a folder and its parents, readable by the owner only.
    static func makeFolder(_ path: String) throws(SystemError) {
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        let above = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        guard errno == ENOENT, !above.isEmpty else { throw SystemError(what: "cannot make \(path)", number: errno) }
        try makeFolder(above)
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        throw SystemError(what: "cannot make \(path)", number: errno)
    }

    /// Calls the body while nobody else, in this process or another, runs a body for the same file. The lock ends with
    /// the process in any case.
    ///
    /// - Parameter patience: how many seconds to wait for the others. They need milliseconds, unless they are stopped.
    static func withLock(
        _ path: String, patience: Double, _ body: () throws(SystemError) -> Void
    ) throws(SystemError) {
        let lock = try lock(path, patience: patience)
        defer { lock.unlock() }
        try body()
    }

    private static func lock(_ path: String, patience: Double) throws(SystemError) -> FileLock {
        let deadline = MonotonicTime.now().advanced(bySeconds: patience)
        while true {
            do throws(FileLock.Problem) {
                return try FileLock(path)
            } catch {
                switch error {
                case .open(let number): throw SystemError(what: "cannot make \(path)", number: number)
                case .lock(let number): throw SystemError(what: "cannot lock \(path)", number: number)
                case .notAFile: throw SystemError(what: "cannot lock \(path)", number: EINVAL)
                case .heldHere, .heldElsewhere:
                    guard MonotonicTime.now() < deadline else {
                        throw SystemError(what: "cannot lock \(path)", number: EAGAIN)
                    }
                    usleep(2000)
                }
            }
        }
    }

    private static func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
        #if canImport(Glibc)
            Glibc.read(descriptor, buffer, count)
        #else
            Darwin.read(descriptor, buffer, count)
        #endif
    }
}

/// Distinguishes the versions of a file that is only ever replaced as a whole.
struct FileStamp: Equatable {
    private let device: UInt64
    private let node: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Nil when there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        node = UInt64(truncatingIfNeeded: status.st_ino)
        size = Int64(status.st_size)
        #if canImport(Glibc)
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        #else
            (seconds, nanoseconds) = (status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec)
        #endif
    }
}

/// The names of files: parts of a path, and names made from texts that people choose.
enum FileName {
    /// The folder and the name of a path.
    static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let folder = String(path[..<slash])
        return (folder.isEmpty ? "/" : folder, String(path[path.utf8.index(after: slash)...]))
    }

    /// The longest name in bytes. File systems allow 255; the rest is left for suffixes.
    static let maximumLength = 200

    /// Encodes a text as a file name: letters, digits, `-`, `_` and `.` stay, except a leading `.`; other bytes become
    /// `%XX`.
    ///
    /// Different texts get different names, and no name leads out of its folder.
    /// - Parameter what: the text in a message.
    /// - Throws: `invalid request` when it is empty or too long.
    static func encode(_ text: String, _ what: String) throws(APIError) -> String {
        guard !text.isEmpty else {
            throw .invalidRequest("\(what) is empty: give it a name such as com.example.app.photos")
        }
        var name = ""
        for (index, byte) in text.utf8.enumerated() {
            let isPlain =
                byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            if isPlain || byte == UInt8(ascii: ".") && index > 0 {
                name.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                name += byte < 16 ? "%0" : "%"
                name += String(byte, radix: 16, uppercase: true)
            }
        }
        guard name.utf8.count <= maximumLength else {
            throw .invalidRequest(
                "\(what) is too long: as the name of a file it has \(name.utf8.count) bytes, of \(maximumLength)")
        }
        return name
    }
}
