/// The cookies of a session: those that servers have set, and those that the program sets.
///
/// Default and background sessions share the program's storage, which is kept on disk. Each ephemeral session has its
/// own in memory. Requests send and store cookies automatically; use this to read and change them.
///
/// Safe to use from many threads.
public final class CookieStorage: Sendable, RedactedMirror {
    let engine: CookieEngine
    /// Nil for a storage in memory.
    private let keeper: CookieKeeper?

    /// Makes a storage in memory; nil when there is no memory left.
    init?() {
        guard let engine = CookieEngine() else { return nil }
        self.engine = engine
        keeper = nil
    }

    /// Makes a storage on disk; nil when there is no memory left.
    init?(folder: String) {
        guard let engine = CookieEngine() else { return nil }
        self.engine = engine
        keeper = CookieKeeper(engine, CookieFile(folder: folder))
    }

    // Storages are never released, so that clients can come and go.
    private static let known = Lock<[String: CookieStorage]>([:], survivesFork: true)

    /// The program's storage on disk. It is read again when another process has changed it.
    ///
    /// - Parameter name: the program's name; nil is the name of its file.
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
        if first == nil { ExitJobs.add { made.saveQuietly() } }
        return first ?? made
    }

    static func saveAll() {
        for storage in known.withLock({ Array($0.values) }) { storage.saveQuietly() }
    }

    /// Every cookie that has not expired.
    public var cookies: [Cookie] { engine.cookies(wallClockSeconds()) }

    /// The cookies that would be sent to a URL.
    ///
    /// - Throws: `invalid request` when it is not an http or https URL.
    public func cookies(for url: String) throws(APIError) -> [Cookie] {
        let parts = try URLParts(url)
        return cookies.filter { $0.isFor(parts) }
    }

    /// Sets a cookie, and replaces one with the same name, domain and path. An expired cookie deletes the old one.
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
                "the cookie \(quoted(cookie.name)) cannot be set: a name that begins with __Secure- needs a secure cookie; "
                    + "__Host- also needs the path / and no subdomains")
        }
        changed()
    }

    /// Deletes the cookie with this name, domain and path, if there is one.
    public func delete(_ cookie: Cookie) {
        delete(name: cookie.name, domain: cookie.domain, path: cookie.path)
    }

    /// Deletes all cookies with a name.
    ///
    /// - Parameters:
    ///   - domain: only those of this domain; nil for all.
    ///   - path: only those of this path; nil for all.
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

    /// Writes changes to disk now. Otherwise they are written after half a second, when a client is drained or closed,
    /// and when the process exits. Blocks while the file is written.
    ///
    /// - Throws: `generic` when the file cannot be written; the message says why. The next write includes the changes.
    public func save() throws(APIError) {
        guard let problem = keeper?.save() else { return }
        throw APIError(domain: .request, code: .generic, message: "the cookies were not written: \(problem)")
    }

    /// The same, but logs the first failure and throws nothing.
    func saveQuietly() { _ = keeper?.save() }

    /// Reads what other processes have written.
    func refresh() { keeper?.refresh() }

    var hasChanges: Bool { keeper?.hasChanges ?? false }

    /// Also called on the network thread.
    func changed() { keeper?.changed() }
}

/// Keeps the cookies of an engine in a file: reads what other processes have written, and writes what has changed here.
final class CookieKeeper: Sendable {
    private struct State {
        var isDirty = false
        var isScheduled = false
        var hasWarned = false
    }

    /// The state of the file when this process last read it.
    private struct Seen {
        var stamp: FileStamp?
        var cookies: CookieMerge.Cookies = [:]
    }

    private let engine: CookieEngine
    private let file: CookieFile
    // Held for a moment only, also by the network thread.
    private let state = Lock(State(), sharing: .clients)
    // Held while the file is read and written, so `fork` waits for it.
    private let seen = Lock(Seen(), sharing: .cookieFiles)

    /// How many seconds a change waits, so that several changes are written together.
    private static let delay = 0.5

    init(_ engine: CookieEngine, _ file: CookieFile) {
        self.engine = engine
        self.file = file
    }

    var hasChanges: Bool { state.withLock { $0.isDirty } }

    /// A cookie was set or deleted.
    func changed() {
        let isFirst = state.withLock { state in
            state.isDirty = true
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isFirst else { return }
        Runtime.current.engine.schedule(at: .now().advanced(bySeconds: Self.delay)) { _ = self.save() }
    }

    /// Writes changes, and reads what others have written. Waits for a write that is already running, because the
    /// process may be about to end.
    ///
    /// - Returns: why it failed.
    func save() -> SystemError? {
        // The disk may be slow, and responses need the workers.
        var problem: SystemError?
        whileBlocked { problem = write() }
        return problem
    }

    private func whileBlocked(_ body: () -> Void) {
        // Making a client only reads cookies, and should not start the runtime.
        guard let runtime = Runtime.ifAny else { return body() }
        runtime.workers.whileBlocked(body)
    }

    private func write() -> SystemError? {
        do throws(SystemError) {
            try seen.withLock { (seen) throws(SystemError) in
                guard takeChange() else { return }
                try file.withLock { () throws(SystemError) in
                    let now = try file.read()
                    let merged = engine.merge(base: seen.cookies, file: now, now: wallClockSeconds())
                    if merged != now { try file.write(merged) }
                    seen = Seen(stamp: file.stamp, cookies: merged)
                }
            }
            return nil
        } catch {
            let isFirst = state.withLock { state in
                state.isDirty = true
                defer { state.hasWarned = true }
                return !state.hasWarned
            }
            if isFirst { APILog.warn("cookies cannot be written: \(error)") }
            return error
        }
    }

    private func takeChange() -> Bool {
        state.withLock { state in
            defer { state.isDirty = false }
            state.isScheduled = false
            return state.isDirty
        }
    }

    /// Reads what others have written. Writes nothing.
    func refresh() {
        whileBlocked { read() }
    }

    private func read() {
        do throws(SystemError) {
            try seen.withLock { (seen) throws(SystemError) in
                let stamp = file.stamp
                guard stamp != seen.stamp else { return }
                let now = try file.read()
                _ = engine.merge(base: seen.cookies, file: now, now: wallClockSeconds())
                seen = Seen(stamp: stamp, cookies: now)
            }
        } catch {
            APILog.warn("cookies cannot be read: \(error)")
        }
    }
}
