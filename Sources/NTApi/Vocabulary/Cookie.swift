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
        guard isHost, !isSecure || url.scheme == "https" || Self.secureHosts.contains(url.host) else { return false }
        guard url.path != path else { return true }
        return url.path.hasPrefix(path.hasSuffix("/") ? path : "\(path)/")
    }

    /// As in browsers, nobody can listen on the way to these.
    private static let secureHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

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

/// Which cookies a session accepts from servers.
public enum CookieAcceptPolicy: String, Sendable, CaseIterable {
    /// All.
    case always
    /// None. Stored cookies and those set by the program are still sent.
    case never
    /// Those from the site of the request's own URL, not from other sites after a redirect.
    case onlyFromMainDocument = "only_from_main_document"
}
