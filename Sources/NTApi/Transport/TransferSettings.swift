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
        var maximumRedirects = 20
        var maximumConnectionsPerHost = 64
        var decompresses = true
        var cachePolicy = CachePolicy.protocol
        /// Nil unless the client has such settings.
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

    /// The same values without the context, which may outlive the client.
    var withoutContext: TransferSettings {
        var settings = self
        settings.context = nil
        return settings
    }

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

/// The limits of the five clocks in seconds; nil for no limit.
public struct Timeouts: Sendable, Equatable {
    var queue: Double?
    var connect: Double? = 30
    var idle: Double? = 60
    var attempt: Double?
    var total: Double? = 7 * 86_400

    /// The limit of a clock in seconds; nil for none.
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

    /// Why a timeout is invalid; nil when all are valid. Infinity becomes none.
    mutating func problem() -> String? {
        for clock in TimeoutClock.allCases {
            guard let seconds = self[clock] else { continue }
            guard seconds > 0 else { return "the \(clock.rawValue) timeout is \(seconds) s: it must be above 0" }
            if seconds.isInfinite { self[clock] = nil }
        }
        return nil
    }
}

/// How a cache may be used (RFC 9111). Only for clients that have a cache.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// Follows RFC 9111: a fresh stored answer is used, a stale one is revalidated. The default.
    case `protocol`
    /// The cache is not read; the answer is stored.
    case reloadIgnoringCache = "reload_ignoring_cache"
    /// A stored answer of any age is used; without one the server is asked.
    case returnCachedElseLoad = "return_cached_else_load"
    /// A stored answer of any age is used; without one the request fails with `not cached`.
    case returnCachedDontLoad = "return_cached_dont_load"
    /// A stored answer is used after the server has confirmed it.
    case reloadRevalidating = "reload_revalidating"
    /// The cache is neither read nor written.
    case noStore = "no_store"

    /// The Cache-Control that asks caches between client and server for the same.
    var cacheControl: String? {
        switch self {
        case .reloadIgnoringCache: "no-cache"
        case .reloadRevalidating: "max-age=0"
        case .protocol, .returnCachedElseLoad, .returnCachedDontLoad, .noStore: nil
        }
    }
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

/// A client's live objects. They end with the client and its requests, so a pooled handle must not keep them.
final class SessionContext: Sendable {
    /// Connections of this client alone, or shared with clients of the same identity.
    let connections: OwnConnections?
    let cookies: CookieUse?
    let cache: CacheUse?

    init(connections: OwnConnections?, cookies: CookieUse?, cache: CacheUse? = nil) {
        self.connections = connections
        self.cookies = cookies
        self.cache = cache
    }

    /// The context for the next exchange after a redirect to another host.
    func following(from host: String, to next: String) -> SessionContext {
        guard let cookies else { return self }
        return SessionContext(connections: connections, cookies: cookies.following(from: host, to: next), cache: cache)
    }
}

extension TransferSettings {
    /// Sets a user for the proxy, with separate connections.
    mutating func authenticate(toProxy url: String, as credential: Credential) {
        var identity = self.session?.identity ?? ConnectionIdentity()
        identity.proxy = credential
        identity.proxyURL = url
        self.session = SessionSettings(
            identity: identity, credential: self.session?.credential,
            certificateOrigins: self.session?.certificateOrigins ?? [])
        context = SessionContext(
            connections: context?.connections?.opened(as: identity) ?? .of(identity), cookies: context?.cookies,
            cache: context?.cache)
    }

    /// Accepts only this certificate, in PEM.
    mutating func pin(to certificate: String) {
        self.trust = .pinned(certificate)
        self.httpVersion = .http11
    }
}

/// Which proxy to use for which URL. A snapshot, because the program may change its environment while requests run.
struct ProxySettings: Sendable, Equatable {
    var http: String?
    var https: String?
    /// Hosts that are reached directly, in the format of NO_PROXY.
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
    var proxy: Credential?
    /// The proxy's URL, if the proxy has credentials.
    var proxyURL: String?

    /// Whether libcurl might reuse a connection of another identity. libcurl compares TLS versions, but not key files
    /// or the user of a proxy's tunnel. It ignores case in pins, and reuses any connection when no interface is set.
    var needsOwnConnections: Bool {
        clientCertificate != nil || pinnedKeys != nil || networkInterface != nil || proxy != nil || proxyURL != nil
            || !allowsCellularAccess
    }
}

/// A version of TLS.
public enum TLSVersion: String, Sendable, CaseIterable {
    /// TLS 1.2.
    case tls12 = "1.2"
    /// TLS 1.3.
    case tls13 = "1.3"
}
