#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How an exchange is to be made: what args and defaults say beside the message itself.
///
/// One reference to values that are shared until they are changed: nearly every request of a client has the same, and is
/// handed from hand to hand.
@dynamicMemberLookup struct TransferSettings: Sendable {
    struct Values: Sendable {
        var timeouts = Timeouts()
        var httpVersion = HTTPVersion.negotiated
        var allowsInvalidCertificate = false
        var trust = CertificateTrust.verified
        /// A PEM file that takes the place of the system's store.
        var caFile: String?
        /// What the environment said when the client was made, or the setting. Never left to libcurl to look up.
        var proxy = ProxySettings.none
        /// Decoded bytes.
        var maximumResponseSize: Int64?
        var maximumRedirects = 20
        var maximumConnectionsPerHost = 64
        var decompresses = true
        var cachePolicy = CachePolicy.protocol
        /// Nil unless the client says anything of it.
        var session: SessionSettings?
    }

    private final class Shared: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private static let standard = Shared(Values())
    private var shared: Shared
    /// Nil for nearly every client.
    var context: SessionContext?

    init() { shared = Self.standard }

    init(_ values: Values, _ context: SessionContext? = nil) {
        shared = Shared(values)
        self.context = context
    }

    var values: Values { shared.values }

    /// The same values, to be kept longer than the client.
    var withoutContext: TransferSettings {
        var settings = self
        settings.context = nil
        return settings
    }

    /// Whether both refer to the same values: true for the requests of one client, as a rule.
    func isIdentical(to other: TransferSettings) -> Bool { shared === other.shared }

    @inline(__always) subscript<Value>(dynamicMember member: WritableKeyPath<Values, Value>) -> Value {
        get { shared.values[keyPath: member] }
        set {
            var values = shared.values
            values[keyPath: member] = newValue
            shared = Shared(values)
        }
    }
}

/// What is made of the certificate that a server shows.
enum CertificateTrust: Sendable, Equatable {
    /// It is checked, as ever.
    case verified
    /// It is looked at: the exchange ends before anything is sent.
    case inspected
    /// The program trusts this one, in PEM, and no other: the exchange ends before anything is sent to another.
    case pinned(String)
}

/// A version of HTTP to ask for.
public enum HTTPVersion: String, Sendable, CaseIterable {
    /// The newest that both sides speak.
    case negotiated = ""
    case http10 = "1.0"
    case http11 = "1.1"
    /// Offered, not required.
    case http2 = "2"
}

/// The limits of the five clocks in seconds; nil is none.
public struct Timeouts: Sendable, Equatable {
    var queue: Double?
    var connect: Double? = 30
    var idle: Double? = 60
    var attempt: Double?
    var total: Double? = 7 * 86_400

    public subscript(clock: TimeoutClock) -> Double? {
        get {
            switch clock {
            case .queue: queue
            case .connect: connect
            case .idle: idle
            case .attempt: attempt
            case .total: total
            }
        }
        set {
            switch clock {
            case .queue: queue = newValue
            case .connect: connect = newValue
            case .idle: idle = newValue
            case .attempt: attempt = newValue
            case .total: total = newValue
            }
        }
    }

    /// What is wrong with one of them; nil when nothing is. None is also what is infinite.
    mutating func problem() -> String? {
        for clock in TimeoutClock.allCases {
            guard let seconds = self[clock] else { continue }
            guard seconds > 0 else { return "the \(clock.rawValue) timeout is \(seconds) s: it must be above 0" }
            if seconds.isInfinite { self[clock] = nil }
        }
        return nil
    }
}

/// How a cache may be used (RFC 9111); takes effect with a client that has a cache.
public enum CachePolicy: String, Sendable, CaseIterable {
    case `protocol`
    case reloadIgnoringCache = "reload_ignoring_cache"
    case returnCachedElseLoad = "return_cached_else_load"
    case returnCachedDontLoad = "return_cached_dont_load"
    case reloadRevalidating = "reload_revalidating"
    /// The cache is neither read nor written.
    case noStore = "no_store"

    /// What tells the caches on the way the same.
    var cacheControl: String? {
        switch self {
        case .reloadIgnoringCache: "no-cache"
        case .reloadRevalidating: "max-age=0"
        case .protocol, .returnCachedElseLoad, .returnCachedDontLoad, .noStore: nil
        }
    }
}

/// What a client says of its connections and credentials beyond what nearly every client says: most have none of this.
///
/// One reference, so that settings are copied and compared as quickly as without it.
final class SessionSettings: Sendable, Equatable {
    let identity: ConnectionIdentity
    /// For the server, when it asks for one.
    let credential: Credential?

    init(identity: ConnectionIdentity, credential: Credential?) {
        self.identity = identity
        self.credential = credential
    }

    static func == (left: SessionSettings, right: SessionSettings) -> Bool {
        left === right || left.identity == right.identity && left.credential == right.credential
    }
}

/// What a client has that lives: it ends with the client and its requests, and no handle that waits in a pool may keep it.
final class SessionContext: Sendable {
    /// Connections that are this client's alone, or shared with those that identify themselves in the same way.
    let connections: OwnConnections?
    let cookies: CookieUse?
    let cache: CacheUse?

    init(connections: OwnConnections?, cookies: CookieUse?, cache: CacheUse? = nil) {
        self.connections = connections
        self.cookies = cookies
        self.cache = cache
    }

    /// The context of the next exchange, which a redirect leads to another host.
    func following(from host: String, to next: String) -> SessionContext {
        guard let cookies else { return self }
        return SessionContext(connections: connections, cookies: cookies.following(from: host, to: next), cache: cache)
    }
}

extension TransferSettings {
    /// A user for the proxy, on connections that nobody else uses.
    mutating func authenticate(toProxy url: String, as credential: Credential) {
        var identity = self.session?.identity ?? ConnectionIdentity()
        identity.proxy = credential
        identity.proxyURL = url
        self.session = SessionSettings(identity: identity, credential: self.session?.credential)
        context = SessionContext(
            connections: context?.connections?.opened(as: identity) ?? .of(identity), cookies: context?.cookies,
            cache: context?.cache)
    }

    /// Only this certificate, in PEM, will do.
    mutating func pin(to certificate: String) {
        self.trust = .pinned(certificate)
        self.httpVersion = .http11
    }
}

/// Which proxy to use for which URL. A snapshot: the host program may change its environment while requests run.
struct ProxySettings: Sendable, Equatable {
    var http: String?
    var https: String?
    /// Hosts that are reached directly, as in the environment's NO_PROXY.
    var exceptions: String?

    static let none = ProxySettings()

    /// One proxy for all; "" is none.
    init(url: String) {
        http = url.isEmpty ? nil : url
        https = http
    }

    /// Schemes of a proxy URL that libcurl knows.
    static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    private init() {}

    /// The proxy for URLs of a scheme.
    func url(for scheme: String) -> String? { scheme == "https" ? https : http }

    /// The environment's http_proxy, https_proxy, all_proxy and no_proxy, read as libcurl reads them: HTTP_PROXY in
    /// capitals is ignored, because a CGI server sets it from a request's Proxy header.
    static func fromEnvironment() -> ProxySettings {
        var settings = ProxySettings()
        let all = variable("all_proxy") ?? variable("ALL_PROXY")
        settings.http = variable("http_proxy") ?? all
        settings.https = variable("https_proxy") ?? variable("HTTPS_PROXY") ?? all
        settings.exceptions = variable("no_proxy") ?? variable("NO_PROXY")
        return settings
    }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }
}

/// By what a connection is told from others to the same server: who it was opened as, and what it was checked against.
struct ConnectionIdentity: Sendable, Hashable {
    var tlsMinimum = TLSVersion.tls12
    /// PEM files.
    var clientCertificate: String?
    var clientKey: String?
    var clientKeyPassword: String?
    /// As libcurl takes them: `sha256//…`, several with a semicolon between them.
    var pinnedKeys: String?
    /// A name, an address, or `host!address`.
    var networkInterface: String?
    /// Whether a connection may leave by a mobile interface: one of a client that minds is not one of those that do not.
    var allowsCellularAccess = true
    var proxy: Credential?
    /// The proxy, where it has credentials, its own or in the URL.
    var proxyURL: String?

    /// Whether libcurl might take a connection with another one of these for the right one. It compares TLS versions, but
    /// neither key files nor the user of a proxy's tunnel, pins without regard to case, and takes any connection where no
    /// interface was asked for.
    var needsOwnConnections: Bool {
        clientCertificate != nil || pinnedKeys != nil || networkInterface != nil || proxy != nil || proxyURL != nil
            || !allowsCellularAccess
    }
}

/// A version of TLS.
public enum TLSVersion: String, Sendable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"
}
