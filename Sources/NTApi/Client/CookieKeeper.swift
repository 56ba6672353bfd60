/// Keeps the cookies of an engine in a file: reads what other processes have written, and writes what has changed here.
final class CookieKeeper: Sendable {
    private struct State {
        var isDirty = false
        var isScheduled = false
        var hasWarned = false
    }

    /// What the file was when this process last looked.
    private struct Seen {
        var stamp: FileStamp?
        var cookies: CookieMerge.Cookies = [:]
    }

    private let engine: CookieEngine
    private let file: CookieFile
    // Taken for a moment, by the network thread, too.
    private let state = Lock(State(), sharing: .clients)
    // Held while the file is read and written: `fork` waits for it.
    private let seen = Lock(Seen(), sharing: .cookieFiles)

    /// How many seconds a change may wait for others, to be written with them.
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

    /// Writes what has changed, and takes over what others have written. What is being written already is waited for: the
    /// process may be about to end.
    ///
    /// - Returns: why it failed.
    func save() -> SystemError? {
        // The disk may take its time, and responses wait for workers.
        var problem: SystemError?
        whileBlocked { problem = write() }
        return problem
    }

    private func whileBlocked(_ body: () -> Void) {
        // A client that is made only reads, and is no first use of the library.
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
            if isFirst { APILog.warn("cookies are not kept: \(error)") }
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

    /// Takes over what others have written. Writes nothing.
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
