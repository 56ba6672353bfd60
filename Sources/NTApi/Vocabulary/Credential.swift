/// A user and a password for a server or a proxy. Printing it does not show the password.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// How long an answer to a challenge is remembered.
    public enum Persistence: Sendable, CaseIterable {
        /// For this request alone.
        case none
        /// For the client's other requests to the same protection space, until it fails.
        case forSession
        /// Like `forSession`, and also stored in the client's ``APIClient/credentialStorage`` once the server has
        /// accepted it. Without a storage it is the same as `forSession`.
        case permanent
    }

    /// The user. It must not contain a colon if the scheme is Basic.
    public var user: String
    /// The password, in clear text.
    public var password: String

    /// Makes a credential. It is checked when it is used.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// The user, without the password.
    public var description: String { "\(user):\(Secrets.redacted)" }

    /// For debuggers and `dump`. Does not show the password.
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }

    var hasControlCharacter: Bool { (user + password).utf8.contains { $0 < 0x20 || $0 == 0x7F } }

    /// Whether it can be sent: Basic cannot send a user with a colon (RFC 7617, 2).
    package func fits(_ scheme: ProtectionSpace.AuthenticationScheme) -> Bool {
        !hasControlCharacter && (scheme == .digest || !user.utf8.contains(UInt8(ascii: ":")))
    }
}

/// Where a credential is valid: a server or a proxy, and the part of it that asks (RFC 9110, 11.5).
public struct ProtectionSpace: Sendable, Hashable, CustomStringConvertible {
    /// How the credential is used.
    public enum AuthenticationScheme: String, Sendable, CaseIterable {
        /// Each request sends the password (RFC 7617).
        case basic
        /// Each request sends a digest of the password (RFC 7616).
        case digest
    }

    /// "http" or "https"; for a proxy, the scheme of the connection to it.
    public let scheme: String
    /// In lower case; an IPv6 address in brackets.
    public let host: String
    /// The port, even if it is the scheme's default.
    public let port: Int
    /// The part of the server; nil when the server names none. Always nil for a proxy, which is one space as a whole.
    public let realm: String?
    /// The scheme that the server asks for.
    public let authenticationScheme: AuthenticationScheme
    /// Whether the space belongs to a proxy.
    public let isProxy: Bool

    /// Makes a space. It is checked when it is used.
    public init(
        scheme: String, host: String, port: Int, realm: String? = nil,
        authenticationScheme: AuthenticationScheme = .basic, isProxy: Bool = false
    ) {
        let isBareAddress = host.utf8.contains(UInt8(ascii: ":")) && host.utf8.first != UInt8(ascii: "[")
        let name = isBareAddress ? "[\(host)]" : host
        // Uses the URL parser's normal form, for example punycode.
        let parts = try? URLParts("\(scheme)://\(name):\(port)/")
        let isWhole = parts?.port == port && parts?.path == "/" && parts?.query == nil
        self.scheme = scheme.lowercasedASCII()
        self.host = isWhole ? parts?.host ?? name : name
        self.port = port
        self.realm = isProxy ? nil : realm
        self.authenticationScheme = authenticationScheme
        self.isProxy = isProxy
        isUsable = isWhole
    }

    /// Whether such a server can exist.
    private let isUsable: Bool

    /// Why no server can have this space; nil when one can.
    package var mistake: String? {
        isUsable ? nil : "\(quoted("\(scheme)://\(host):\(port)")) is not the scheme, host and port of a server"
    }

    var origin: Origin { Origin(scheme: scheme, host: host, port: port) }

    /// Makes the space of a proxy from its URL, which may lack scheme and port.
    init(proxy url: String) {
        let scheme = url.split(separator: ":", maxSplits: 1).first.map(String.init) ?? ""
        let hasScheme = url.utf8.dropFirst(scheme.utf8.count).starts(with: "://".utf8)
        let place = hasScheme ? url.utf8.dropFirst(scheme.utf8.count + 3) : url.utf8[...]
        let authority = place.prefix { $0 != UInt8(ascii: "/") }
        let start = authority.lastIndex(of: UInt8(ascii: "@")).map(authority.index(after:)) ?? authority.startIndex
        let bytes = authority[start...]
        let own = hasScheme ? scheme.lowercasedASCII() : "http"
        // libcurl's default port for a proxy.
        var port = own == "https" ? 443 : 1080
        var host = bytes
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), bytes.last != UInt8(ascii: "]"),
            let number = Int(String(Substring(bytes[bytes.index(after: colon)...])))
        {
            port = number
            host = bytes[..<colon]
        }
        self.init(scheme: own, host: String(Substring(host)), port: port, isProxy: true)
    }

    /// Scheme, host, port, authentication scheme and realm, for log lines.
    public var description: String {
        "\(isProxy ? "proxy " : "")\(scheme)://\(host):\(port), \(authenticationScheme.rawValue)"
            + (realm.map { ", realm \(quoted($0))" } ?? "")
    }
}
