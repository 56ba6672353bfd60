/// How to make a session: a client with its own settings, cookies and limits.
///
///     var configuration = SessionConfiguration.ephemeral
///     configuration.requestTimeout = 10
///     configuration.additionalHeaders = ["X-Api-Key": key]
///     let client = APIClient(baseURL: "https://api.example.com", configuration: configuration)
///
/// It is a value: the client has a copy, and later changes to this one do not matter. A nil setting is looked up in the
/// defaults of the client's class, then globally.
public struct SessionConfiguration: Sendable, RedactedMirror {
    /// What a session stores, and for how long.
    public enum Kind: Sendable, Hashable {
        /// Cookies are kept on disk, below the XDG data directory.
        case `default`
        /// Nothing is written to disk.
        case ephemeral
        /// Transfers survive the process. The identifier must be unique in the program.
        case background(identifier: String)

        package var words: String {
            switch self {
            case .default: "default"
            case .ephemeral: "ephemeral"
            case .background(let identifier): "background(identifier: \(quoted(identifier)))"
            }
        }
    }

    /// What the session stores, and for how long.
    public let kind: Kind
    /// The settings by the names of the defaults.
    var values: [String: JSON] = [:]
    /// The session's cache, which several sessions may share. With nil, the default, the session makes the cache of its
    /// kind.
    ///
    /// Background sessions do not use it.
    public var cache: HTTPCache?
    /// Where the session looks for credentials before it asks the program; nil for nowhere.
    ///
    /// By default ``CredentialStorage/shared``. An ephemeral configuration has a storage in memory, which its clients
    /// share.
    public var credentialStorage: CredentialStorage?
    /// The interceptors of the session, the outermost first.
    public var interceptors: [Interceptor] = []

    private init(_ kind: Kind) {
        self.kind = kind
        credentialStorage = Self.credentialStorage(of: kind)
    }

    /// The default for a kind of configuration.
    package static func credentialStorage(of kind: Kind) -> CredentialStorage {
        kind == .ephemeral ? CredentialStorage() : .shared
    }

    /// A session with cookies and cache on disk.
    public static var `default`: SessionConfiguration { SessionConfiguration(.default) }

    /// A session that writes nothing to disk.
    public static var ephemeral: SessionConfiguration { SessionConfiguration(.ephemeral) }

    /// - Parameter identifier: must be unique in the program. It identifies the transfers later.
    public static func background(_ identifier: String) -> SessionConfiguration {
        SessionConfiguration(.background(identifier: identifier))
    }

    /// The identifier of a background session.
    public var identifier: String? {
        if case .background(let identifier) = kind { identifier } else { nil }
    }

    /// A setting or a default of the program, by name.
    public subscript(name: String) -> JSON? {
        get { values[DefaultName.canonical(name)] }
        set { values[DefaultName.canonical(name)] = newValue }
    }

    /// A level of defaults with these settings.
    var settings: Defaults {
        let place = Defaults.configuration()
        for (name, value) in values { place[name] = value }
        return place
    }

    /// The kind, and the settings with their secrets redacted.
    public var description: String {
        let kind =
            switch kind {
            case .default: "default"
            case .ephemeral: "ephemeral"
            case .background(let identifier): "background \(quoted(identifier))"
            }
        let settings = values.sorted { $0.key < $1.key }.map { name, value in
            "\(name): \(Secrets.redact(setting: name, value))"
        }
        return ([kind] + settings).joined(separator: ", ")
    }
}

// The settings with their types. Each is a default of the same name; nil is not set.
extension SessionConfiguration {
    // MARK: Requests

    /// Headers for every request that does not set them. Headers with secret names are never sent to another origin.
    public var additionalHeaders: [String: String]? {
        get {
            self["additionalHeaders"]?.object.map { members in
                Dictionary(members.map { ($0.key, $0.value.string ?? "") }, uniquingKeysWith: { $1 })
            }
        }
        set {
            self["additionalHeaders"] = newValue.map { headers in
                JSON(headers.sorted { $0.key < $1.key }.map { ($0.key, JSON($0.value)) })
            }
        }
    }

    /// The User-Agent header.
    public var userAgent: String? {
        get { text("userAgent") }
        set { self["userAgent"] = newValue.map { JSON($0) } }
    }

    /// Whether the session asks for compressed bodies and decompresses them.
    public var decompression: Bool? {
        get { self["decompression"]?.bool }
        set { self["decompression"] = newValue.map { JSON($0) } }
    }

    /// The largest decompressed body, in bytes.
    public var maximumResponseSize: Int? {
        get { self["maximumResponseSize"]?.int }
        set { self["maximumResponseSize"] = newValue.map { JSON($0) } }
    }

    /// How many redirects are followed; 0 follows none.
    public var maximumRedirects: Int? {
        get { self["maximumRedirects"]?.int }
        set { self["maximumRedirects"] = newValue.map { JSON($0) } }
    }

    /// How the cache may be used, unless a request says otherwise.
    public var cachePolicy: CachePolicy? {
        get { text("cachePolicy").flatMap(CachePolicy.init) }
        set { self["cachePolicy"] = newValue.map { JSON($0.rawValue) } }
    }

    // MARK: Attempts

    /// The retry policy for requests without their own; nil, the default, sends each request once.
    public var retry: RetryPolicy? {
        get { self["retry"].flatMap { try? RetryPolicy($0) } }
        set { self["retry"] = newValue?.json }
    }

    /// When the client stops sending requests to a server that fails; nil, the default, never does.
    public var circuitBreaker: CircuitBreakerPolicy? {
        get { self["circuitBreaker"].flatMap { try? CircuitBreakerPolicy.read($0) } }
        set { self["circuitBreaker"] = newValue?.json }
    }

    /// How many requests of the session may start in a period of time; see ``RateLimiter``, which clients can share.
    public var rateLimit: RateLimit? {
        get { self["rateLimit"].flatMap { try? RateLimit($0) } }
        set { self["rateLimit"] = newValue?.json }
    }

    // MARK: Cache

    /// Whether there is a cache; true by default.
    public var usesCache: Bool? {
        get { self["usesCache"]?.bool }
        set { self["usesCache"] = newValue.map { JSON($0) } }
    }

    /// Bytes of memory for the session's own cache; 16 MiB by default.
    public var cacheMemoryCapacity: Int? {
        get { self["cacheMemoryCapacity"]?.int }
        set { self["cacheMemoryCapacity"] = newValue.map { JSON($0) } }
    }

    /// Bytes of disk for the cache of a default session; 128 MiB by default, 0 for memory only.
    public var cacheDiskCapacity: Int? {
        get { self["cacheDiskCapacity"]?.int }
        set { self["cacheDiskCapacity"] = newValue.map { JSON($0) } }
    }

    /// The absolute path of the folder for the cache of a default session; by default the program's folder below the
    /// XDG cache directory.
    public var cacheFolder: String? {
        get { text("cacheFolder") }
        set { self["cacheFolder"] = newValue.map { JSON($0) } }
    }

    /// The absolute path of the folder for the records of a background session; by default below the XDG state directory.
    public var backgroundFolder: String? {
        get { text("backgroundFolder") }
        set { self["backgroundFolder"] = newValue.map { JSON($0) } }
    }

    // MARK: Cookies

    /// Which cookies are accepted; by default those from the site of the request's URL.
    public var cookieAcceptPolicy: CookieAcceptPolicy? {
        get { text("cookieAcceptPolicy").flatMap(CookieAcceptPolicy.init) }
        set { self["cookieAcceptPolicy"] = newValue.map { JSON($0.rawValue) } }
    }

    /// Whether stored cookies are sent; true by default.
    public var sendsCookies: Bool? {
        get { self["sendsCookies"]?.bool }
        set { self["sendsCookies"] = newValue.map { JSON($0) } }
    }

    /// The folder below the XDG data directory in which cookies are stored; by default the name of the program's file.
    public var applicationName: String? {
        get { text("applicationName") }
        set { self["applicationName"] = newValue.map { JSON($0) } }
    }

    // MARK: Timeouts, in seconds

    /// How many seconds may pass without a byte: the idle clock.
    public var requestTimeout: Double? {
        get { self["requestTimeout"]?.double }
        set { self["requestTimeout"] = newValue.map { JSON($0) } }
    }

    /// How many seconds the whole request may take: the total clock.
    public var resourceTimeout: Double? {
        get { self["resourceTimeout"]?.double }
        set { self["resourceTimeout"] = newValue.map { JSON($0) } }
    }

    /// How many seconds a running request may continue when the process exits; 0 cancels it at once.
    public var exitTimeout: Double? {
        get { self["exitTimeout"]?.double }
        set { self["exitTimeout"] = newValue.map { JSON($0) } }
    }

    /// How many seconds name look-up, connection and TLS handshake may take.
    public var connectTimeout: Double? {
        get { self["connectTimeout"]?.double }
        set { self["connectTimeout"] = newValue.map { JSON($0) } }
    }

    /// How many seconds a request may wait for a connection to the host.
    public var queueTimeout: Double? {
        get { self["queueTimeout"]?.double }
        set { self["queueTimeout"] = newValue.map { JSON($0) } }
    }

    /// How many seconds one exchange may take; a redirect starts another.
    public var attemptTimeout: Double? {
        get { self["attemptTimeout"]?.double }
        set { self["attemptTimeout"] = newValue.map { JSON($0) } }
    }

    // MARK: Connections

    /// The most connections to one host.
    public var maximumConnectionsPerHost: Int? {
        get { self["maximumConnectionsPerHost"]?.int }
        set { self["maximumConnectionsPerHost"] = newValue.map { JSON($0) } }
    }

    /// The most connections to all hosts, including idle ones.
    public var maximumConnections: Int? {
        get { self["maximumConnections"]?.int }
        set { self["maximumConnections"] = newValue.map { JSON($0) } }
    }

    /// The version of HTTP to ask for; by default the newest that both sides support.
    public var httpVersion: HTTPVersion? {
        get { text("httpVersion").flatMap(HTTPVersion.init) }
        set { self["httpVersion"] = newValue.map { JSON($0.rawValue) } }
    }

    /// The interface or local address for connections: `eth0`, `127.0.0.2`, `if!eth0`, `host!127.0.0.2`.
    public var networkInterface: String? {
        get { text("networkInterface") }
        set { self["networkInterface"] = newValue.map { JSON($0) } }
    }

    /// Whether connections may use a mobile interface; true by default. If not, requests without another route fail
    /// with `no internet`, and nothing is sent.
    ///
    /// A mobile interface is one with `DEVTYPE=wwan` on Linux. This also applies to connections to a proxy.
    public var allowsCellularAccess: Bool? {
        get { self["allowsCellularAccess"]?.bool }
        set { self["allowsCellularAccess"] = newValue.map { JSON($0) } }
    }

    /// Where the session's requests may go; nil, the default, is everywhere.
    public var connectionPolicy: ConnectionPolicy? {
        get { self["connectionPolicy"].flatMap { try? ConnectionPolicy($0) } }
        set { self["connectionPolicy"] = newValue?.json }
    }

    /// The absolute path of a Unix socket that all requests of the session go to, whatever host their URLs name. Each
    /// has a connection of its own.
    public var unixSocket: String? {
        get { text("unixSocket") }
        set { self["unixSocket"] = newValue.map { JSON($0) } }
    }

    /// Addresses of hosts, which are not looked up: `HOST:PORT:ADDRESS`, with more addresses after commas.
    public var resolve: [String]? {
        get { self["resolve"]?.array?.compactMap(\.string) }
        set { self["resolve"] = newValue.map { JSON($0.map { JSON($0) }) } }
    }

    /// Where to connect in place of a host: `HOST:PORT:OTHER_HOST:OTHER_PORT`. The certificate and the header Host are
    /// still those of the URL.
    public var connectTo: [String]? {
        get { self["connectTo"]?.array?.compactMap(\.string) }
        set { self["connectTo"] = newValue.map { JSON($0.map { JSON($0) }) } }
    }

    /// The https URL of a server that resolves the names (DNS over HTTPS, RFC 8484), in place of the system.
    public var dnsOverHTTPS: String? {
        get { text("dnsOverHttps") }
        set { self["dnsOverHttps"] = newValue.map { JSON($0) } }
    }

    // MARK: Proxy

    /// The URL of the proxy, with http, https, socks4, socks4a, socks5 or socks5h; "" for none. With nil the
    /// environment decides.
    public var proxy: String? {
        get { text("proxy") }
        set { self["proxy"] = newValue.map { JSON($0) } }
    }

    /// The user for the proxy.
    public var proxyUser: String? {
        get { text("proxyUser") }
        set { self["proxyUser"] = newValue.map { JSON($0) } }
    }

    /// The password for the proxy.
    public var proxyPassword: String? {
        get { text("proxyPassword") }
        set { self["proxyPassword"] = newValue.map { JSON($0) } }
    }

    /// Hosts that are reached without the proxy: names (with their subdomains), addresses, networks such as
    /// `10.0.0.0/8`.
    public var proxyExceptions: [String]? {
        get { texts("proxyExceptions") }
        set { self["proxyExceptions"] = newValue.map { JSON($0.map { JSON($0) }) } }
    }

    // MARK: Credentials

    /// The user for servers that ask for credentials.
    public var user: String? {
        get { text("user") }
        set { self["user"] = newValue.map { JSON($0) } }
    }

    /// The password for servers that ask for credentials.
    public var password: String? {
        get { text("password") }
        set { self["password"] = newValue.map { JSON($0) } }
    }

    // MARK: TLS

    /// The lowest version of TLS; 1.2 by default.
    public var tlsMinimumVersion: TLSVersion? {
        get { text("tlsMinimumVersion").flatMap(TLSVersion.init) }
        set { self["tlsMinimumVersion"] = newValue.map { JSON($0.rawValue) } }
    }

    /// A PEM file of trusted certificates, used instead of the system's store.
    public var caFile: String? {
        get { text("caFile") }
        set { self["caFile"] = newValue.map { JSON($0) } }
    }

    /// A PEM file with the client's certificate and its chain. Only the client's own origin and
    /// ``clientCertificateOrigins`` see it.
    public var clientCertificate: String? {
        get { text("clientCertificate") }
        set { self["clientCertificate"] = newValue.map { JSON($0) } }
    }

    /// The URLs of other origins that may see the client's certificate. Their paths do not matter.
    public var clientCertificateOrigins: [String]? {
        get { texts("clientCertificateOrigins") }
        set { self["clientCertificateOrigins"] = newValue.map { JSON($0.map { JSON($0) }) } }
    }

    /// A PEM file with the private key; nil when the certificate's file contains it.
    public var clientKey: String? {
        get { text("clientKey") }
        set { self["clientKey"] = newValue.map { JSON($0) } }
    }

    /// The password of the private key; nil when it has none.
    public var clientKeyPassword: String? {
        get { text("clientKeyPassword") }
        set { self["clientKeyPassword"] = newValue.map { JSON($0) } }
    }

    /// The server's public key must be one of these: `sha256//` and the base64 of its SHA-256 sum.
    public var pinnedPublicKeys: [String]? {
        get { texts("pinnedPublicKeys") }
        set { self["pinnedPublicKeys"] = newValue.map { JSON($0.map { JSON($0) }) } }
    }

    private func text(_ name: String) -> String? { self[name]?.string }

    private func texts(_ name: String) -> [String]? {
        self[name]?.array?.compactMap(\.string) ?? text(name).map { [$0] }
    }
}
