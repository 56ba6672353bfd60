/// A server: what connections can be shared between (RFC 6454).
final class Origin: Hashable, Sendable {
    let scheme: String
    let host: String
    let port: Int
    /// Whether it is spoken to over TLS.
    let isSecure: Bool
    // Computed once: a server is looked up with every request.
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

    static func == (left: Origin, right: Origin) -> Bool {
        left === right || (left.scheme == right.scheme && left.host == right.host && left.port == right.port)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
