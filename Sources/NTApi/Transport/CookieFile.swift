import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The cookies of a program on disk, in the format of curl's cookie files.
///
/// The file is only ever replaced as a whole, so that whoever reads it, and whenever a process is killed, finds it whole.
/// Processes that write take turns by a lock on a file beside it, which the system ends with the process that holds it.
struct CookieFile: Sendable {
    /// Tells one state of the file from another.
    struct Stamp: Equatable {
        private let device: UInt64
        private let node: UInt64
        private let size: Int64
        private let seconds: Int
        private let nanoseconds: Int

        fileprivate init(_ status: stat) {
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

    let folder: String
    private var path: String { "\(folder)/cookies.txt" }

    /// Nil when there is no file.
    var stamp: Stamp? {
        var status = stat()
        return stat(path, &status) == 0 ? Stamp(status) : nil
    }

    /// - Throws: why the file cannot be read; one that is not there is empty.
    func read() throws(SystemError) -> CookieMerge.Cookies {
        guard let bytes = try SystemFile.read(path) else { return [:] }
        var cookies: CookieMerge.Cookies = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            // What is not as it should be was not written by this library, and is left out.
            guard let text = String(validating: line, as: UTF8.self), let cookie = Cookie(line: text) else { continue }
            cookies[cookie.key] = cookie
        }
        return cookies
    }

    /// Replaces the file. Only with the lock.
    func write(_ cookies: CookieMerge.Cookies) throws(SystemError) {
        let lines = cookies.values.map(\.line).sorted()
        let text = "# Netscape HTTP Cookie File\n# Written by ntapi; it is replaced as a whole.\n\n"
        try SystemFile.replace(path, with: Array((text + lines.joined(separator: "\n") + "\n").utf8))
    }

    /// Calls the body while no other process writes.
    func withLock(_ body: () throws(SystemError) -> Void) throws(SystemError) {
        try SystemFile.makeFolder(folder)
        try SystemFile.withLock("\(folder)/cookies.lock", patience: 2, body)
    }
}
