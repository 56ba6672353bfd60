/// A server, by its origin (RFC 6454). Requests to one origin can share connections.
final class Origin: Hashable, Sendable {
    let scheme: String
    let host: String
    let port: Int
    /// Whether it uses TLS.
    let isSecure: Bool
    // Computed once, because every request looks up its server.
    private let hash: Int

    init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
        isSecure = scheme == "https"
        var hasher = Hasher()
        hasher.combine(scheme)
        hasher.combine(host)
        hasher.combine(port)
        hash = hasher.finalize()
    }

    /// The origin of a URL; nil when it has none.
    convenience init?(url: String) {
        guard let parts = try? URLParts(url) else { return nil }
        self.init(scheme: parts.scheme, host: parts.host, port: parts.port)
    }

    /// Whether a URL leads to another origin than the one before it. One that cannot be sent leads nowhere.
    static func isAnother(_ url: String, than before: String) -> Bool {
        guard url != before, let origin = Origin(url: url) else { return false }
        return origin != Origin(url: before)
    }

    /// As a URL, with the port.
    var text: String { "\(scheme)://\(host):\(port)" }

    static func == (left: Origin, right: Origin) -> Bool {
        left === right || (left.scheme == right.scheme && left.host == right.host && left.port == right.port)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
