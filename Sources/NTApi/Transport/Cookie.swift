/// One cookie of a storage (RFC 6265).
public struct Cookie: Sendable, Hashable, CustomStringConvertible {
    public var name: String
    public var value: String
    /// The host that it is for, in lower case, without a dot before it.
    public var domain: String
    /// Whether it is for the hosts below the domain, too.
    public var includesSubdomains: Bool
    /// The path below which it is sent.
    public var path: String
    /// Seconds since 1970-01-01 00:00 UTC; nil is the end of the session: such a cookie is never written to disk.
    public var expires: Double?
    /// Whether it is sent over https only.
    public var isSecure: Bool
    /// Whether scripts in a browser may not see it.
    public var isHTTPOnly: Bool

    /// - Parameters:
    ///   - domain: a host; with a dot before it, the hosts below it too.
    ///   - expires: seconds since 1970-01-01 00:00 UTC; nil is the end of the session.
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

    /// Name, domain and path; not the value, which is as good as a password.
    public var description: String { "\(name)=\(Secrets.redacted); domain=\(domain); path=\(path)" }

    /// What a cookie replaces another one by.
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
        if name.isEmpty || isBad(name, "=; ,") { return "the name \(quoted(name)) has what no cookie's name may have" }
        if isBad(value, ";") { return "the value has a semicolon or control character" }
        if domain.isEmpty || isBad(domain, " /:;") && !domain.hasPrefix("[") {
            return "the domain \(quoted(domain)) is not the name of a host"
        }
        if !path.hasPrefix("/") || isBad(path, ";") { return "the path \(quoted(path)) does not begin with a slash" }
        if name.utf8.count + value.utf8.count > 4096 { return "name and value have more than 4,096 bytes" }
        if let expires, expires.isNaN { return "the time it expires is no number" }
        return nil
    }
}

// A line of a cookie file, as browsers once wrote it and curl still does.
extension Cookie {
    private static let httpOnlyPrefix = "#HttpOnly_"

    /// Domain, whether hosts below it get it, path, whether over https only, when it expires, name, value.
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
        // A server's names and values are more varied than those that a program may set.
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
    /// The nearest one; 0 for what is no number.
    fileprivate init(clamping value: Double) {
        self = Int64(exactly: value.rounded(.down)) ?? (value.isNaN ? 0 : value < 0 ? .min : .max)
    }
}
