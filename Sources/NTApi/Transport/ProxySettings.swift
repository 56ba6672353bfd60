#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
