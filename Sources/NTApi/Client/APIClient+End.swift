import Synchronization

// A client's end: what runs is finished or cancelled, and then its session is invalid.
extension APIClient {
    enum Life: UInt8, AtomicRepresentable {
        case open
        /// Begins nothing new; what there is goes on.
        case finishing
        /// What there is has been cancelled.
        case closed
        /// Every handler has returned.
        case invalid
    }

    /// Whether `close`, `finishAndInvalidate` or `invalidateAndCancel` was called.
    public var isClosed: Bool { life.load(ordering: .acquiring) != .open }

    /// Whether a request may be made now. Those that are finished may still need a token.
    var mayBegin: Bool {
        switch life.load(ordering: .acquiring) {
        case .open: return true
        case .finishing: return authenticator.map { Authenticator.refreshing === $0 } ?? false
        case .closed, .invalid: return false
        }
    }

    /// Whether what was made before is cancelled, too.
    var hasCancelled: Bool { life.load(ordering: .acquiring).rawValue >= Life.closed.rawValue }

    /// Cancels every request of the client; new ones may be begun.
    public func cancelAll() { Runtime.current.requests.cancelAll { $0.client === self } }

    /// Refuses new requests, and lets those that were made go on; then the session is invalid: ``sessionInvalidated()``.
    ///
    /// Does not wait: see `drain`. A request that was made before and is suspended may be resumed until then.
    public func finishAndInvalidate() {
        guard advance(to: .finishing) else { return }
        endIfIdle()
    }

    /// Cancels what runs and refuses new requests; then the session is invalid: ``sessionInvalidated()``. Does not wait: see
    /// `drain`.
    ///
    /// Of a background session all transfers are given up, those that were restored and not resumed yet, too.
    public func invalidateAndCancel() {
        let restored = restoredRequests()
        advance(to: .closed)
        for request in restored { request.cancel() }
        end()
    }

    /// The same as `invalidateAndCancel`, save for background sessions. Does not wait: see `drain`.
    ///
    /// What a background session has not finished is kept, for whoever opens it next: the handlers get the error `detached`.
    /// The session can be opened again when those have returned. To give up a transfer, cancel it before.
    public func close() {
        advance(to: .closed)
        background?.detach()
        end()
    }

    private func end() {
        cancelAll()
        authenticator?.clientIsClosed()
        if let cookies, cookies.hasChanges { Runtime.current.workers.run { cookies.saveQuietly() } }
        endIfIdle()
    }

    /// - Returns: false when its end has come as far before.
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

    /// Under the registry's lock.
    ///
    /// - Returns: false when it was before.
    func becomesInvalid() -> Bool { advance(to: .invalid) }

    /// It has become invalid: no handler of it runs.
    func lastRequestIsOver() {
        let runtime = Runtime.current
        background?.detach()
        authenticator?.clientIsClosed()
        let connections = ownConnections
        // With nothing to write or close and nobody to tell there is no reason to start a thread.
        guard cookies != nil || connections != nil || hookKinds.contains(.sessionInvalidated) else {
            return runtime.requests.forgetEnd(of: self)
        }
        runtime.workers.run {
            self.cookies?.saveQuietly()
            runtime.workers.whileBlocked { connections?.close() }
            runtime.requests.tellEnd(of: self) {
                if self.hookKinds.contains(.sessionInvalidated) { self.sessionInvalidated() }
            }
        }
    }

    /// Waits until every begun request of the client has called its handler, and the hook has been told of the session's
    /// end, if it has ended; runs the calling thread's mailbox meanwhile.
    ///
    /// - Parameter timeout: seconds; nil is for ever.
    /// - Returns: how many are left.
    @discardableResult public func drain(timeout: Double? = nil) -> Int {
        defer {
            cookies?.saveQuietly()
            cache?.saveQuietly()
        }
        return Self.drain(timeout: timeout, of: self)
    }

    /// Waits until every begun request of the process has called its handler; runs the calling thread's mailbox meanwhile.
    ///
    /// - Parameter timeout: seconds; nil is for ever.
    /// - Returns: how many are left.
    @discardableResult public static func drainAll(timeout: Double? = nil) -> Int {
        defer {
            CookieStorage.saveAll()
            DiskCache.saveAll()
        }
        return drain(timeout: timeout, of: nil)
    }

    private static func drain(timeout: Double?, of client: APIClient?) -> Int {
        let runtime = Runtime.current
        let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
        return runtime.workers.whileBlocked { runtime.requests.wait(until: deadline, of: client) }
    }
}
