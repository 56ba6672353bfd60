/// The cookies of a program on disk, in the format of curl's cookie files.
///
/// The file is only ever replaced as a whole, so that whoever reads it, and whenever a process is killed, finds it whole.
/// Processes that write take turns by a lock on a file beside it, which the system ends with the process that holds it.
struct CookieFile: Sendable {
    let folder: String
    private var path: String { "\(folder)/cookies.txt" }

    /// Nil when there is no file.
    var stamp: FileStamp? { FileStamp(path) }

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
