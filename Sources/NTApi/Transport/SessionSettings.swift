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
