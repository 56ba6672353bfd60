/// The cookies of a session: those that servers have set, and those that the program sets.
///
/// Default and background sessions share the one of the program, which is kept on disk; each ephemeral session has its own
/// in memory. Cookies go out and come in with the requests; this is for looking at them, and for changing them.
///
/// Safe to use from many threads.
public final class CookieStorage: Sendable {
    let engine: CookieEngine
    /// Nil for one in memory.
    private let keeper: CookieKeeper?

    /// In memory; nil when there is none left.
    init?() {
        guard let engine = CookieEngine() else { return nil }
        self.engine = engine
        keeper = nil
    }

    /// On disk; nil when there is no memory.
    init?(folder: String) {
        guard let engine = CookieEngine() else { return nil }
        self.engine = engine
        keeper = CookieKeeper(engine, CookieFile(folder: folder))
    }

    // They live as long as the process, so that clients may come and go.
    private static let known = Lock<[String: CookieStorage]>([:], survivesFork: true)

    /// The one of the program that is kept on disk, read again when another process has changed it.
    ///
    /// - Parameter name: the program's; nil is that of its file.
    static func onDisk(of name: String?) -> CookieStorage? {
        guard let folder = DataFolder.path(of: name) else {
            APILog.warn("the user has no home directory: cookies are kept in memory only")
            return CookieStorage()
        }
        let storage = known.withLock { $0[folder] } ?? make(folder)
        storage?.refresh()
        return storage
    }

    private static func make(_ folder: String) -> CookieStorage? {
        guard let made = CookieStorage(folder: folder) else { return nil }
        let first = known.withLock { known in
            let first = known[folder]
            if first == nil { known[folder] = made }
            return first
        }
        if first == nil { Runtime.atExit { made.saveQuietly() } }
        return first ?? made
    }

    static func saveAll() {
        for storage in known.withLock({ Array($0.values) }) { storage.saveQuietly() }
    }

    /// Every cookie that has not expired.
    public var cookies: [Cookie] { engine.cookies(wallClockSeconds()) }

    /// The cookies that would be sent with a request for a URL.
    ///
    /// - Throws: `invalid request` when it is not an http or https URL.
    public func cookies(for url: String) throws(APIError) -> [Cookie] {
        let parts = try URLParts(url)
        return cookies.filter { $0.isFor(parts) }
    }

    /// Sets a cookie, in the place of one with the same name, domain and path. One that has expired deletes that.
    ///
    /// - Throws: `invalid request` when it could not be sent.
    public func set(_ cookie: Cookie) throws(APIError) {
        if let mistake = cookie.mistake { throw .invalidRequest("the cookie cannot be set: \(mistake)") }
        if cookie.isExpired(wallClockSeconds()) { return delete(cookie) }
        if let objection = Site.objectionToCookies(for: cookie.domain, includingSubdomains: cookie.includesSubdomains) {
            throw .invalidRequest("the cookie \(quoted(cookie.name)) cannot be set: \(objection)")
        }
        guard engine.set(cookie) else {
            throw .invalidRequest(
                "the cookie \(quoted(cookie.name)) cannot be set: a name that begins with __Secure- needs a secure one, "
                    + "__Host- one for the path / and no subdomains, too")
        }
        changed()
    }

    /// Deletes the cookie with this name, domain and path, if there is one.
    public func delete(_ cookie: Cookie) {
        delete(name: cookie.name, domain: cookie.domain, path: cookie.path)
    }

    /// Deletes a cookie, if there is one.
    ///
    /// - Parameters:
    ///   - domain: nil is all.
    ///   - path: nil is all.
    public func delete(name: String, domain: String? = nil, path: String? = nil) {
        let domain = domain.map { Cookie(name: "", value: "", domain: $0).domain }
        let matches = engine.delete {
            $0.name == name && (domain == nil || $0.domain == domain) && (path == nil || $0.path == path)
        }
        if matches { changed() }
    }

    /// Deletes every cookie.
    public func removeAll() {
        engine.removeAll()
        changed()
    }

    /// Writes what has changed to disk now. It is done anyway, after half a second, when a client is drained or closed, and
    /// when the process exits. Blocks while the file is written.
    ///
    /// - Throws: `generic` when the file cannot be written: the message says why. What changed is written the next time.
    public func save() throws(APIError) {
        guard let problem = keeper?.save() else { return }
        throw APIError(domain: .request, code: .generic, message: "the cookies were not written: \(problem)")
    }

    /// The same, where nobody is there to be told: the first time it is logged.
    func saveQuietly() { _ = keeper?.save() }

    /// Takes over what other processes have written.
    func refresh() { keeper?.refresh() }

    var hasChanges: Bool { keeper?.hasChanges ?? false }

    /// From the network thread, too.
    func changed() { keeper?.changed() }
}
