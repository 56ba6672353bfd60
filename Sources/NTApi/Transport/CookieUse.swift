/// Which cookies a session takes from servers.
public enum CookieAcceptPolicy: String, Sendable, CaseIterable {
    case always
    /// Those that are stored already, or set by the program, are still sent.
    case never
    /// Those from the site of the request's own URL, and not from other sites that a redirect leads to.
    case onlyFromMainDocument = "only_from_main_document"
}

/// How the exchanges of a request use a session's cookies.
struct CookieUse: Sendable {
    let engine: CookieEngine
    let policy: CookieAcceptPolicy
    let sends: Bool
    /// Hears, on the network thread, that a server has set a cookie.
    let changed: @Sendable () -> Void
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

    /// The use by the next exchange, which a redirect leads to another host.
    func following(from host: String, to next: String) -> CookieUse {
        var use = self
        let main = mainHost ?? host
        use.mainHost = main
        if policy == .onlyFromMainDocument { use.accepts = Site.isSame(main, next) }
        return use
    }
}
