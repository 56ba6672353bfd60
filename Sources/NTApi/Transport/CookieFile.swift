/// The cookies of a program on disk, in the format of curl's cookie files.
///
/// The file is only replaced as a whole, so that readers always find it complete, even after a kill. Writers exclude
/// each other with a lock on a second file, which the system releases when the process ends.
struct CookieFile: Sendable {
    let folder: String
    private var path: String { "\(folder)/cookies.txt" }

    /// Nil when there is no file.
    var stamp: FileStamp? { FileStamp(path) }

    /// - Throws: why the file cannot be read. A missing file is empty.
    func read() throws(SystemError) -> CookieMerge.Cookies {
        guard let bytes = try SystemFile.read(path) else { return [:] }
        var cookies: CookieMerge.Cookies = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            // Skip malformed lines, which this library did not write.
            guard let text = String(validating: line, as: UTF8.self), let cookie = Cookie(line: text) else { continue }
            cookies[cookie.key] = cookie
        }
        return cookies
    }

    /// Replaces the file. The caller must hold the lock.
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

/// Merges the cookies of this process with those in the file, where other processes write theirs. Pure.
///
/// Changes of this process since it last read the file win. For everything else the file counts.
struct CookieMerge {
    typealias Cookies = [Cookie.Key: Cookie]

    /// The new content of the file.
    private(set) var merged: Cookies
    /// Cookies that others have set, for this process to set.
    private(set) var toSet: [Cookie] = []
    /// Cookies that others have deleted, for this process to delete.
    private(set) var toDelete: [Cookie] = []

    /// - Parameters:
    ///   - base: the file as this process last read it.
    ///   - ours: the cookies of this process, including session cookies.
    ///   - file: the file as it is now.
    ///   - now: seconds since 1970.
    init(base: Cookies, ours: Cookies, file: Cookies, now: Double) {
        let kept = ours.filter { $0.value.expires != nil && !$0.value.isExpired(now) }
        merged = file.filter { !$0.value.isExpired(now) }
        for (key, cookie) in kept where base[key] != cookie { merged[key] = cookie }
        // Deleted here. One that has expired here may have been renewed by another process.
        for (key, cookie) in base where kept[key] == nil && !ours.hasSessionCookie(key) && !cookie.isExpired(now) {
            merged[key] = nil
        }
        for (key, cookie) in merged where ours[key] != cookie { toSet.append(cookie) }
        for (key, cookie) in kept where merged[key] == nil { toDelete.append(cookie) }
        // A session cookie is newer than one of the same key in the file, unless another process has changed that.
        for (key, cookie) in ours where cookie.expires == nil && file[key] == base[key] {
            merged[key] = nil
            toSet.removeAll { $0.key == key }
        }
    }
}

extension [Cookie.Key: Cookie] {
    fileprivate func hasSessionCookie(_ key: Cookie.Key) -> Bool { self[key].map { $0.expires == nil } ?? false }
}

// A line of a cookie file, in the old browser format that curl still uses.
extension Cookie {
    private static let httpOnlyPrefix = "#HttpOnly_"

    /// The fields: domain, include subdomains, path, https only, expires, name, value.
    init?(line: String) {
        var text = line[...]
        let isHTTPOnly = text.hasPrefix(Self.httpOnlyPrefix)
        if isHTTPOnly { text = text.dropFirst(Self.httpOnlyPrefix.count) }
        let fields = text.split(separator: "\t", maxSplits: 6, omittingEmptySubsequences: false).map(String.init)
        guard fields.count >= 6, text.utf8.first != UInt8(ascii: "#"), let expires = Int64(fields[4]) else {
            return nil
        }
        self.init(
            name: fields[5], value: fields.count > 6 ? fields[6] : "", domain: fields[0], path: fields[2],
            expires: expires == 0 ? nil : Double(expires), isSecure: fields[3] == "TRUE", isHTTPOnly: isHTTPOnly)
        includesSubdomains = fields[1] == "TRUE"
        // Servers send more kinds of names and values than a program may set.
        let isOneLine = !line.utf8.contains { $0 < 0x20 && $0 != 0x09 }
        guard isOneLine, !name.isEmpty, !self.domain.isEmpty, path.hasPrefix("/") else { return nil }
    }

    var line: String {
        let seconds = expires.map { max(1, Int64(clamping: $0)) } ?? 0
        let prefix = (isHTTPOnly ? Self.httpOnlyPrefix : "") + (includesSubdomains ? "." : "")
        let fields = [
            prefix + domain, includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", "\(seconds)",
            name,
            value,
        ]
        return fields.joined(separator: "\t")
    }
}

extension Int64 {
    /// The nearest integer; 0 for NaN.
    fileprivate init(clamping value: Double) {
        self = Int64(exactly: value.rounded(.down)) ?? (value.isNaN ? 0 : value < 0 ? .min : .max)
    }
}
