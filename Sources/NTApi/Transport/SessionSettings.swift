/// What a client says of its connections and credentials beyond what nearly every client says: most have none of this.
///
/// One reference, so that settings are copied and compared as quickly as without it.
final class SessionSettings: Sendable, Equatable {
    let identity: ConnectionIdentity
    /// For the server, when it asks for one.
    let credential: UserCredential?

    init(identity: ConnectionIdentity, credential: UserCredential?) {
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
    mutating func authenticate(toProxy url: String, as credential: UserCredential) {
        var identity = self.session?.identity ?? ConnectionIdentity()
        identity.proxy = credential
        identity.proxyURL = url
        self.session = SessionSettings(identity: identity, credential: self.session?.credential)
        context = SessionContext(connections: .of(identity), cookies: context?.cookies, cache: context?.cache)
    }

    /// Only this certificate, in PEM, will do.
    mutating func pin(to certificate: String) {
        self.trust = .pinned(certificate)
        self.httpVersion = .http11
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
    var proxy: UserCredential?
    /// The proxy, where it has credentials, its own or in the URL.
    var proxyURL: String?

    /// Whether libcurl might take a connection with another one of these for the right one. It compares TLS versions, but
    /// neither key files nor the user of a proxy's tunnel, pins without regard to case, and takes any connection where no
    /// interface was asked for.
    var needsOwnConnections: Bool {
        clientCertificate != nil || pinnedKeys != nil || networkInterface != nil || proxy != nil || proxyURL != nil
    }
}

/// A version of TLS.
public enum TLSVersion: String, Sendable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"
}

/// A network thread, and with it connections and handles, of which other clients get nothing, as long as this exists.
///
/// libcurl uses a connection again for whatever it takes to be the same. What it does not look at must be kept apart.
final class OwnConnections: Sendable {
    let identity: ConnectionIdentity
    /// How many there may be to all servers together; nil is no limit.
    let maximum: Int?
    /// Whether they are one client's alone, because it limits their number.
    let isOfOne: Bool
    // One mutex for all, because a forked child goes on using it.
    private let slot: Lock<(generation: Int, thread: NetworkThread)?>

    init(_ identity: ConnectionIdentity, maximum: Int?, isOfOne: Bool = true) {
        self.identity = identity
        self.maximum = maximum
        self.isOfOne = isOfOne
        slot = Lock(nil, sharing: .clients)
    }

    /// The thread, started when it is asked for. It ends with this object, and so do its connections.
    func thread(_ make: () -> NetworkThread) -> NetworkThread {
        let generation = Fork.generation
        if let known = slot.withLock({ $0 }), known.generation == generation { return known.thread }
        let made = make()
        return slot.withLock { slot in
            if let known = slot, known.generation == generation { return known.thread }
            // The parent's thread does not exist in a forked child: to free it would be to touch it.
            if let inherited = slot { _ = Unmanaged.passRetained(inherited.thread) }
            slot = (generation, made)
            return made
        }
    }

    // MARK: Shared by identity

    private struct Reference {
        weak var connections: OwnConnections?
    }

    private static let known = Lock<[ConnectionIdentity: Reference]>([:], survivesFork: true)

    /// Those of everyone with this identity, so that a hundred clients with one certificate need one thread.
    static func of(_ identity: ConnectionIdentity) -> OwnConnections {
        known.withLock { known in
            if let alive = known[identity]?.connections { return alive }
            known = known.filter { $0.value.connections != nil }
            let made = OwnConnections(identity, maximum: nil, isOfOne: false)
            known[identity] = Reference(connections: made)
            return made
        }
    }
}
