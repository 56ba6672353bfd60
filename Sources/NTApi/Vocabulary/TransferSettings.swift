#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How to make an exchange: the settings from args and defaults, without the message itself.
///
/// One reference to shared values (copy on write). Nearly all requests of a client have the same settings, which are
/// passed around often.
@dynamicMemberLookup struct TransferSettings: Sendable {
    struct Values: Sendable {
        var timeouts = Timeouts()
        var httpVersion = HTTPVersion.negotiated
        var allowsInvalidCertificate = false
        var trust = CertificateTrust.verified
        /// A PEM file to use instead of the system's store.
        var caFile: String?
        /// The setting, or the environment's proxies when the client was made. libcurl never looks them up.
        var proxy = ProxySettings.none
        /// Decoded bytes.
        var maximumResponseSize: Int64?
        /// Whether a body of lines or events may have any size, because the limit is for each of them. Bodies in memory,
        /// as those of errors, still have the limit.
        var deliversAnySize = false
        var maximumRedirects = 20
        var maximumConnectionsPerHost = 64
        var decompresses = true
        var cachePolicy = CachePolicy.protocol
        /// Whether it is a plain exchange: ``APIOption/plainExchange``.
        var isPlain = false
        /// Nil unless the client has such settings.
        var session: SessionSettings?
    }

    private final class Shared: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private static let standard = Shared(Values())
    private var shared: Shared
    /// The client's live objects, which the transport knows: ``context``. Settings only carry them. Nil for nearly every
    /// client.
    var carried: (any AnyObject & Sendable)?

    init() { shared = Self.standard }

    init(_ values: Values, carrying carried: (any AnyObject & Sendable)? = nil) {
        shared = Shared(values)
        self.carried = carried
    }

    var values: Values { shared.values }

    /// Whether both refer to the same values, as the requests of one client usually do.
    func isIdentical(to other: TransferSettings) -> Bool { shared === other.shared }

    @inline(__always) subscript<Value>(dynamicMember member: WritableKeyPath<Values, Value>) -> Value {
        get { shared.values[keyPath: member] }
        set {
            var values = shared.values
            values[keyPath: member] = newValue
            shared = Shared(values)
        }
    }

    /// The most bytes that a body may have in memory, or where it is delivered as it arrives.
    func maximumSize(inMemory: Bool) -> Int64? {
        inMemory || !self.deliversAnySize ? self.maximumResponseSize : nil
    }

    /// Why the client's connection policy forbids a request to an origin, as far as the URL says.
    func objection(to origin: Origin) -> APIError? {
        guard let rules = self.session?.identity.rules else { return nil }
        if let objection = rules.objection(to: origin) { return .notAllowed(origin, "it: \(objection)") }
        guard rules.judgesAddresses, self.proxy.url(scheme: origin.scheme, host: origin.host) != nil else { return nil }
        return .notAllowed(origin, "a proxy, which finds the address itself: set proxy to \"\"")
    }

    /// Accepts only this certificate, in PEM.
    mutating func pin(to certificate: String) {
        self.trust = .pinned(certificate)
        self.httpVersion = .http11
    }
}

/// How to check the server's certificate.
enum CertificateTrust: Sendable, Equatable {
    /// The usual check.
    case verified
    /// Inspect it only: the exchange ends before anything is sent.
    case inspected
    /// The program trusts only this certificate, in PEM. With another one, the exchange ends before anything is sent.
    case pinned(String)
}

/// A version of HTTP to ask for.
public enum HTTPVersion: String, Sendable, CaseIterable {
    /// The newest that both sides speak.
    case negotiated = ""
    /// HTTP/1.0.
    case http10 = "1.0"
    /// HTTP/1.1.
    case http11 = "1.1"
    /// Offered, not required.
    case http2 = "2"
}

/// Rarely used settings of a client's connections and credentials. Most clients have none.
///
/// One reference, so that copying and comparing settings stays cheap.
final class SessionSettings: Sendable, Equatable {
    let identity: ConnectionIdentity
    /// The credential for a server that asks for one.
    let credential: Credential?
    /// The origins that may see the client's certificate.
    let certificateOrigins: [Origin]

    init(identity: ConnectionIdentity, credential: Credential?, certificateOrigins: [Origin] = []) {
        self.identity = identity
        self.credential = credential
        self.certificateOrigins = certificateOrigins
    }

    static func == (left: SessionSettings, right: SessionSettings) -> Bool {
        left === right
            || left.identity == right.identity && left.credential == right.credential
                && left.certificateOrigins == right.certificateOrigins
    }
}

/// Which proxy to use for which URL. A snapshot, because the program may change its environment while requests run.
struct ProxySettings: Sendable, Equatable {
    var http: String?
    var https: String?
    /// Hosts that are reached directly.
    var exceptions = ProxyExceptions()

    static let none = ProxySettings()

    /// One proxy for all; "" is none.
    init(url: String) {
        http = url.isEmpty ? nil : url
        https = http
    }

    /// Schemes of a proxy URL that libcurl knows.
    static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    private init() {}

    /// The proxy for URLs of a scheme and a host; nil for none.
    func url(scheme: String, host: String) -> String? {
        guard let url = scheme == "https" ? https : http, !exceptions.contains(host: host) else { return nil }
        return url
    }

    /// Removes user and password from a proxy's URL.
    mutating func removeUser(of url: String) {
        guard let at = url.utf8.lastIndex(of: UInt8(ascii: "@")) else { return }
        let parts = url.components(between: "://")
        let scheme = parts.count > 1 ? "\(parts[0])://" : ""
        let withoutUser = "\(scheme)\(url[url.utf8.index(after: at)...])"
        if http == url { http = withoutUser }
        if https == url { https = withoutUser }
    }

    /// The environment's http_proxy, https_proxy, all_proxy and no_proxy, read as libcurl reads them: HTTP_PROXY in
    /// capitals is ignored, because a CGI server sets it from a request's Proxy header. An exception that is misspelled
    /// is ignored with a warning: the environment may be made for other programs.
    static func fromEnvironment() -> ProxySettings {
        var settings = ProxySettings()
        let all = variable("all_proxy") ?? variable("ALL_PROXY")
        settings.http = variable("http_proxy") ?? all
        settings.https = variable("https_proxy") ?? variable("HTTPS_PROXY") ?? all
        guard settings != .none, let list = variable("no_proxy") ?? variable("NO_PROXY") else { return settings }
        let separators = list.split { $0 == " " || $0 == "\t" }
        for entry in separators.flatMap({ ProxyExceptions.entries(String($0)) }) where !settings.exceptions.add(entry) {
            guard warned.withLock({ $0.insert(entry).inserted }) else { continue }
            APILog.warn("no_proxy: \(quoted(entry)) is ignored: it must be \(ProxyExceptions.wanted)")
        }
        return settings
    }

    /// The exceptions of the environment that were reported: each client reads them again.
    private static let warned = Lock(Set<String>(), survivesFork: true)

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }
}

/// What distinguishes connections to the same server: the client's identity and the checks of the server.
struct ConnectionIdentity: Sendable, Hashable {
    var tlsMinimum = TLSVersion.tls12
    /// PEM files.
    var clientCertificate: String?
    var clientKey: String?
    var clientKeyPassword: String?
    /// In libcurl's format: `sha256//…`, several separated by semicolons.
    var pinnedKeys: String?
    /// A name, an address, or `host!address`.
    var networkInterface: String?
    /// Whether a connection may use a mobile interface. Clients that allow it and clients that do not share no
    /// connections.
    var allowsCellularAccess = true
    /// Where connections may go. A connection was judged by the rules of the clients that share it.
    var rules: ConnectionRules?
    var route = ConnectionRoute()
    var proxy: Credential?
    /// The proxy's URL, if the proxy has credentials.
    var proxyURL: String?

    /// Whether libcurl might reuse a connection of another identity. libcurl compares TLS versions, but not key files
    /// or the user of a proxy's tunnel. It ignores case in pins, and reuses any connection when no interface is set.
    var needsOwnConnections: Bool {
        clientCertificate != nil || pinnedKeys != nil || networkInterface != nil || proxy != nil || proxyURL != nil
            || !allowsCellularAccess || rules != nil || route != ConnectionRoute()
    }
}

/// How a connection reaches its server, when the program says so. libcurl keeps what it has resolved for all
/// connections together.
struct ConnectionRoute: Sendable, Hashable {
    /// The path of a socket that takes the place of every host.
    var unixSocket: String?
    /// `HOST:PORT:ADDRESS,…`
    var resolve: [String] = []
    /// `HOST:PORT:OTHER_HOST:OTHER_PORT`
    var connectTo: [String] = []
    /// The URL of a server that resolves names (RFC 8484).
    var dnsOverHTTPS: String?
}

/// A version of TLS.
public enum TLSVersion: String, Sendable, CaseIterable {
    /// TLS 1.2.
    case tls12 = "1.2"
    /// TLS 1.3.
    case tls13 = "1.3"
}
