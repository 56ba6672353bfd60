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

    /// The context of a plain exchange: without cookies and cache.
    var plain: SessionContext { SessionContext(connections: connections, cookies: nil) }

    /// The context for the next exchange after a redirect to another host.
    func following(from host: String, to next: String) -> SessionContext {
        guard let cookies else { return self }
        return SessionContext(connections: connections, cookies: cookies.following(from: host, to: next), cache: cache)
    }
}

extension TransferSettings {
    /// Nil for nearly every client.
    var context: SessionContext? {
        // Settings carry nothing else.
        get { carried.map { unsafeDowncast($0, to: SessionContext.self) } }
        set { carried = newValue }
    }

    init(_ values: Values, _ context: SessionContext?) { self.init(values, carrying: context) }

    /// The same values without the context, which may outlive the client.
    var withoutContext: TransferSettings {
        var settings = self
        settings.context = nil
        return settings
    }

    /// Sets a user for the proxy, with separate connections.
    mutating func authenticate(toProxy url: String, as credential: Credential) {
        // libcurl would prefer a user in the URL.
        self.proxy.removeUser(of: url)
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
}

/// How the exchanges of a request use a session's cookies.
struct CookieUse: Sendable {
    let engine: CookieEngine
    let policy: CookieAcceptPolicy
    let sends: Bool
    /// Called on the network thread when a server has set a cookie.
    private let changed: @Sendable () -> Void
    /// The host of the request's own URL, once it was redirected to another one.
    private var mainHost: String?
    private(set) var accepts: Bool

    init(
        _ engine: CookieEngine, policy: CookieAcceptPolicy, sends: Bool, changed: @escaping @Sendable () -> Void
    ) {
        self.engine = engine
        self.policy = policy
        self.sends = sends
        self.changed = changed
        accepts = policy != .never
    }

    /// A server has set cookies, with these headers.
    func received(_ headers: [String]) {
        engine.received(headers)
        changed()
    }

    /// The settings for the next exchange after a redirect to another host.
    func following(from host: String, to next: String) -> CookieUse {
        var use = self
        let main = mainHost ?? host
        use.mainHost = main
        if policy == .onlyFromMainDocument { use.accepts = Site.isSame(main, next) }
        return use
    }
}
