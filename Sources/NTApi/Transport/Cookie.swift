/// One cookie of a storage (RFC 6265).
public struct Cookie: Sendable, Hashable, RedactedMirror {
    /// The name.
    public var name: String
    /// The value, which is secret.
    public var value: String
    /// The cookie's host, in lower case, without a leading dot.
    public var domain: String
    /// Whether it is also sent to subdomains.
    public var includesSubdomains: Bool
    /// The path below which it is sent.
    public var path: String
    /// Seconds since 1970-01-01 00:00 UTC. With nil the cookie ends with the session and is never written to disk.
    public var expires: Double?
    /// Whether it is only sent over https.
    public var isSecure: Bool
    /// Whether it is hidden from scripts in a browser.
    public var isHTTPOnly: Bool

    /// - Parameters:
    ///   - domain: a host; with a leading dot, also its subdomains.
    ///   - expires: seconds since 1970-01-01 00:00 UTC; nil for a cookie that ends with the session.
    public init(
        name: String, value: String, domain: String, path: String = "/", expires: Double? = nil,
        isSecure: Bool = false, isHTTPOnly: Bool = false, includesSubdomains: Bool = false
    ) {
        let hasDot = domain.utf8.first == UInt8(ascii: ".")
        self.name = name
        self.value = value
        self.domain = (hasDot ? String(domain.dropFirst()) : domain).lowercasedASCII()
        self.includesSubdomains = includesSubdomains || hasDot
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
    }

    /// Name, domain and path. Not the value, which is like a password.
    public var description: String { printable("\(name)=\(Secrets.redacted); domain=\(domain); path=\(path)") }

    /// Cookies with equal keys replace each other.
    struct Key: Hashable {
        var name: String
        var domain: String
        var path: String
        var includesSubdomains: Bool
    }

    var key: Key { Key(name: name, domain: domain, path: path, includesSubdomains: includesSubdomains) }

    func isExpired(_ now: Double) -> Bool { expires.map { $0 <= now } ?? false }

    /// Whether it is sent with a request for a URL (RFC 6265, 5.4).
    func isFor(_ url: URLParts) -> Bool {
        let isHost = url.host == domain || (includesSubdomains && url.host.hasSuffix(".\(domain)"))
        guard isHost, !isSecure || url.scheme == "https" else { return false }
        guard url.path != path else { return true }
        return url.path.hasPrefix(path.hasSuffix("/") ? path : "\(path)/")
    }

    /// Why it cannot be stored; nil when it can.
    var mistake: String? {
        func isBad(_ text: String, _ others: String) -> Bool {
            text.utf8.contains { $0 < 0x20 || $0 == 0x7F || others.utf8.contains($0) }
        }
        if name.isEmpty || isBad(name, "=; ,") { return "the name \(quoted(name)) has a character that is not allowed" }
        if isBad(value, ";") { return "the value has a semicolon or control character" }
        if domain.isEmpty || isBad(domain, " /:;") && !domain.hasPrefix("[") {
            return "the domain \(quoted(domain)) is not the name of a host"
        }
        if !path.hasPrefix("/") || isBad(path, ";") { return "the path \(quoted(path)) does not begin with a slash" }
        if name.utf8.count + value.utf8.count > 4096 { return "name and value have more than 4,096 bytes" }
        if let expires, expires.isNaN { return "the expiry time is not a number" }
        return nil
    }
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
        for key in base.keys where kept[key] == nil { merged[key] = nil }
        for (key, cookie) in merged where ours[key] != cookie { toSet.append(cookie) }
        for (key, cookie) in kept where merged[key] == nil { toDelete.append(cookie) }
        // A session cookie is newer than one of the same key in the file.
        for (key, cookie) in ours where cookie.expires == nil {
            merged[key] = nil
            toSet.removeAll { $0.key == key }
        }
    }
}

/// Which cookies a session accepts from servers.
public enum CookieAcceptPolicy: String, Sendable, CaseIterable {
    /// All.
    case always
    /// None. Stored cookies and those set by the program are still sent.
    case never
    /// Those from the site of the request's own URL, not from other sites after a redirect.
    case onlyFromMainDocument = "only_from_main_document"
}

/// How the exchanges of a request use a session's cookies.
struct CookieUse: Sendable {
    let engine: CookieEngine
    let policy: CookieAcceptPolicy
    let sends: Bool
    /// Called on the network thread when a server has set a cookie.
    let changed: @Sendable () -> Void
    /// The host of the request's own URL, once it was redirected to another one.
    private var mainHost: String?
    private(set) var accepts: Bool

    init(
        _ engine: CookieEngine, policy: CookieAcceptPolicy, sends: Bool, changed: @escaping @Sendable () -> Void
    ) {
        self.engine = engine
        self.policy = policy
        self.sends = sends
        self.changed = changed
        accepts = policy != .never
    }

    /// The settings for the next exchange after a redirect to another host.
    func following(from host: String, to next: String) -> CookieUse {
        var use = self
        let main = mainHost ?? host
        use.mainHost = main
        if policy == .onlyFromMainDocument { use.accepts = Site.isSame(main, next) }
        return use
    }
}
