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
