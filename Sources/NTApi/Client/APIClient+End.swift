import Synchronization

// How a client ends: its requests finish or are cancelled, and then its session is invalid.
extension APIClient {
    enum Life: UInt8, AtomicRepresentable {
        case open
        /// No new requests; existing ones continue.
        case finishing
        /// Existing requests are cancelled.
        case closed
        /// Every handler has returned.
        case invalid
    }

    /// Whether `close`, `finishAndInvalidate` or `invalidateAndCancel` was called.
    public var isClosed: Bool { life.load(ordering: .acquiring) != .open }

    /// Whether a request may be made now. While existing requests finish, a token refresh may still be needed.
    var mayBegin: Bool {
        switch life.load(ordering: .acquiring) {
        case .open: return true
        case .finishing: return authenticator.map { Authenticator.refreshing === $0 } ?? false
        case .closed, .invalid: return false
        }
    }

    /// Whether existing requests are cancelled, too.
    var hasCancelled: Bool { life.load(ordering: .acquiring).rawValue >= Life.closed.rawValue }

    /// Cancels every request of the client; new ones may be begun. A request that was not resumed yet ends when it is
    /// resumed.
    public func cancelAll() { Runtime.current.requests.cancelAll(of: self) }

    /// Refuses new requests and lets existing ones finish. Then the session is invalid: ``sessionInvalidated()``.
    ///
    /// Does not wait: see `drain`. A request that was made before may still be resumed; the session ends after it, or
    /// when it is released.
    public func finishAndInvalidate() {
        guard advance(to: .finishing) else { return }
        endIfIdle()
    }

    /// Cancels all requests and refuses new ones. Then the session is invalid: ``sessionInvalidated()``.
    ///
    /// Waits until the files of the cache are written, but not for handlers: see `drain`.
    ///
    /// A background session gives up all its transfers, including restored ones that are not resumed yet.
    public func invalidateAndCancel() {
        let restored = restoredRequests()
        advance(to: .closed)
        for request in restored { request.cancel() }
        end()
    }

    /// The same as `invalidateAndCancel`, except for background sessions. Does not wait for handlers: see `drain`.
    ///
    /// A background session keeps its unfinished transfers for the next process or client that opens it. Their handlers
    /// get the error `detached`. After these have returned, the session can be opened again. To give up a transfer,
    /// cancel it first.
    public func close() {
        advance(to: .closed)
        background?.detach()
        end()
    }

    private func end() {
        cancelAll()
        authenticator?.clientIsClosed(self)
        finishStoring()
        EnvironmentRecorder.ifAny.map { recorder in Runtime.current.workers.whileBlocked { recorder.save() } }
        if let cookies, cookies.hasChanges { Runtime.current.workers.run { cookies.saveQuietly() } }
        endIfIdle()
    }

    /// Waits for the cache's files, because the program may remove the folder now.
    private func finishStoring() {
        guard let cache else { return }
        Runtime.current.workers.whileBlocked { cache.saveQuietly() }
    }

    /// - Returns: false when the client has already reached this state.
    @discardableResult private func advance(to next: Life) -> Bool {
        while true {
            let now = life.load(ordering: .acquiring)
            guard now.rawValue < next.rawValue else { return false }
            if life.compareExchange(expected: now, desired: next, ordering: .acquiringAndReleasing).exchanged {
                return true
            }
        }
    }

    private func endIfIdle() {
        if Runtime.current.requests.beginEnd(of: self) { lastRequestIsOver() }
    }

    var isInvalid: Bool { life.load(ordering: .acquiring) == .invalid }

    /// Called under the registry's lock.
    ///
    /// - Returns: false when it was invalid before.
    func becomesInvalid() -> Bool { advance(to: .invalid) }

    /// The client is now invalid, and none of its handlers runs.
    func lastRequestIsOver() {
        let runtime = Runtime.current
        background?.detach()
        authenticator?.clientIsClosed(self)
        let connections = ownConnections
        guard !isBeingFreed else {
            runtime.requests.forgetEnd(of: self)
            runtime.workers.run { [cookies] in Self.release(cookies, connections) }
            return
        }
        // Without cookies, connections and a hook there is no reason to start a thread.
        guard cookies != nil || connections != nil || hookKinds.contains(.sessionInvalidated) else {
            return runtime.requests.forgetEnd(of: self)
        }
        runtime.workers.run { () throws(Forked) in
            Self.release(self.cookies, connections)
            try runtime.requests.callEndHook(of: self) {
                if self.hookKinds.contains(.sessionInvalidated) { self.sessionInvalidated() }
            }
        }
    }

    private static func release(_ cookies: CookieStorage?, _ connections: OwnConnections?) {
        cookies?.saveQuietly()
        Runtime.current.workers.whileBlocked { connections?.close() }
    }

    /// Whether a subclass closes the client in its `deinit`. Then nothing may keep it, and its hook is not called.
    private var isBeingFreed: Bool {
        weak let me = self
        return me == nil
    }

    /// Waits until every begun request of the client has called its handler and, if the session has ended, its hook has
    /// returned. Meanwhile it runs the calling thread's mailbox. If 16 handlers wait inside one another, it returns at
    /// once.
    ///
    /// - Parameter timeout: seconds; nil waits for ever.
    /// - Returns: how many requests are left.
    @discardableResult public func drain(timeout: Double? = nil) -> Int {
        let left = Self.drain(timeout: timeout, of: self)
        if left == 0 {
            cookies?.saveQuietly()
            cache?.saveQuietly()
        }
        return left
    }

    /// The same for code that must not block its thread. It runs no mailbox of the caller.
    @discardableResult public func drain(timeout: Double? = nil) async -> Int {
        await Self.onWorker { self.drain(timeout: timeout) }
    }

    /// Waits until every begun request of the process has called its handler. Meanwhile it runs the calling thread's
    /// mailbox. If 16 handlers wait inside one another, it returns at once.
    ///
    /// - Parameter timeout: seconds; nil waits for ever.
    /// - Returns: how many requests are left.
    @discardableResult public static func drainAll(timeout: Double? = nil) -> Int {
        let left = drain(timeout: timeout, of: nil)
        if left == 0 {
            CookieStorage.saveAll()
            DiskCache.saveAll()
        }
        return left
    }

    /// The same for code that must not block its thread. It runs no mailbox of the caller.
    @discardableResult public static func drainAll(timeout: Double? = nil) async -> Int {
        await onWorker { drainAll(timeout: timeout) }
    }

    private static func onWorker(_ body: @escaping @Sendable () -> Int) async -> Int {
        await withCheckedContinuation { continuation in runOnWorker { continuation.resume(returning: body()) } }
    }

    /// The process ends, as in `Runtime.exit`.
    package static func stopWaitingForCalls() { Runtime.ifAny?.stopWaitingForCalls() }

    /// The program's stores end with the process.
    package static func waitForStores() { SharedCache.waitForAll() }

    package static func runOnWorker(_ job: @escaping @Sendable () -> Void) { Runtime.current.workers.run(job) }

    private static func drain(timeout: Double?, of client: APIClient?) -> Int {
        let runtime = Runtime.current
        let scope = Delivery.scope(ofWaitFor: nil)
        // The requests may need the callbacks that this wait does not run.
        if case .only = scope { return runtime.requests.wait(until: .now(), of: client, running: scope) }
        let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
        return runtime.workers.whileBlocked { runtime.requests.wait(until: deadline, of: client) }
    }
}
