extension APIRequest {
    /// How `wait` ended.
    public enum WaitResult: Sendable {
        /// The handler has returned.
        case completed
        /// The time is over first.
        case timedOut
        /// Waiting would never end: the request was not resumed, the caller is its handler, or it belongs to the
        /// process that forked this one.
        case refused
    }

    /// The program will resume the new request itself.
    package func willStartLater() { runtime.requests.expect(self) }

    /// Starts a request that was created suspended, or continues one that was suspended.
    ///
    /// - Returns: false when it is not suspended or was cancelled.
    @discardableResult public func resume() -> Bool {
        resume(on: nil)
    }

    /// - Parameter transport: nil is a network thread.
    @discardableResult func resume(on transport: (any Transport)?) -> Bool {
        entered(inChild: false) { () throws(Forked) in try resumed(on: transport) }
    }

    func resumed(on transport: (any Transport)?) throws(Forked) -> Bool {
        let http = httpRequest
        let (now, calendar) = (now, clock.calendarSeconds)
        let hooks = hookKinds
        let readsErrors = options.allowAnyStatus
        let (action, suspension, format) = try shared.withLock { shared in
            let since = shared.flow.suspendedAt
            let action = shared.flow.resume(
                http, shared.handlers.readers(hooks, readsErrors: readsErrors), asks: shared.handlers.decisionKinds,
                now, calendar: calendar)
            switch action {
            case .start: shared.link.transport = transport
            case .releaseExchange, .nothing: shared.waits.current?.goOn(now, suspendedAt: since)
            case .tooLate: break
            }
            let suspension = action == .releaseExchange ? shared.suspension() : nil
            return (action, suspension, shared.handlers.isRead ? shared.handlers.format : nil)
        }
        switch action {
        case .start: break
        // Its wait may last as long as before the suspension.
        case .releaseExchange:
            try watchWait()
            suspension?.apply()
            return true
        case .nothing:
            try watchWait()
            try updateLimiter()
            return true
        case .tooLate: return false
        }
        let wasCancelled = try runtime.requests.insert(self)
        // The client may have been closed since the request was made, or may be closing now. `close` first sets a mark
        // and then cancels the requests it finds, so either it or this line cancels. Cancel before the exchange begins,
        // as a short one could end first.
        if wasCancelled || client.hasCancelled, built.request != nil { cancel() }
        try start(format)
        return true
    }

    /// Seconds that it may continue when the process exits. None when it is suspended, or when its reader may be gone.
    package var exitTimeout: Double {
        let mayBeAbandoned = shared.withLock(inChild: true) { shared in
            shared.flow.isSuspended || shared.handlers.announcesHead || shared.handlers.format != .bytes
        }
        return mayBeAbandoned ? 0 : client.settings.exitTimeout
    }

    /// Suspends a running request until `resume`: no byte is sent or received, and no timeout runs. Returns at once.
    ///
    /// Handlers may still be called for what was received before. The connection stays open. A server may close it
    /// meanwhile, and then the request fails when it is resumed.
    ///
    /// - Returns: false when it does not run or is suspended already.
    @discardableResult public func suspend() -> Bool { entered(inChild: false, suspended) }

    private func suspended() throws(Forked) -> Bool {
        let now = now
        let (action, suspension) = try shared.withLock { shared in
            let action = shared.flow.suspend(now)
            return (action, action == .holdExchange ? shared.suspension() : nil)
        }
        switch action {
        case .holdExchange: suspension?.apply()
        case .nothing: try updateLimiter()
        case .tooLate: break
        }
        return action != .tooLate
    }

    /// The exchange that runs, if there is one.
    var running: (transport: any Transport, exchange: Exchange)? {
        get throws(Forked) { try shared.withLock { $0.link.running } }
    }

    /// Changes the exchange that runs.
    func change(_ change: ExchangeChange) throws(Forked) {
        guard let (transport, exchange) = try running else { return }
        if case .route(let route) = change, let recording = exchange.observer as? RecordingObserver {
            return transport.change(exchange, .route(recording.listened(route)))
        }
        transport.change(exchange, change)
    }

    /// Ends the exchange that runs: its answer is not needed.
    func dropExchange() throws(Forked) {
        if let (transport, exchange) = try running { transport.cancel(exchange) }
    }

    /// Ends the request with the error `request cancelled`, unless its outcome is final. Returns at once.
    ///
    /// Also ends a request that was never resumed, and calls its handler.
    ///
    /// - Returns: false when it was too late.
    @discardableResult public func cancel() -> Bool { entered(inChild: false, cancelled) }

    private func cancelled() throws(Forked) -> Bool {
        let (now, calendar) = (now, clock.calendarSeconds)
        let (action, isLeft, wait, running) = try shared.withLock { shared in
            let (action, isLeft) = shared.flow.cancel(now, calendar: calendar)
            let ends = action == .nothing || action == .cancelExchange
            return (action, isLeft, ends ? shared.waits.current.take() : nil, shared.link.running)
        }
        // Leave the line before anybody learns of the end, so that nobody finds the request still waiting.
        dismiss(wait)
        switch action {
        case .tooLate: return false
        case .nothing: if isLeft { concludeOnWorker(.cancelled) }
        case .bodyIsRead: onWorker(bodyIsRead)
        case .cancelExchange: if let (transport, exchange) = running { transport.cancel(exchange) }
        case .end:
            try runtime.requests.insert(self)
            onWorker { (deliveries) throws(Forked) in
                try self.giveUpFound()
                try self.conclude(.cancelled, at: .worker, deliveries)
            }
        }
        return true
    }

    var phase: DeliveryGate.Phase { get throws(Forked) { try flow { $0.phase } } }

    /// Waits until the handler has returned, and runs the calling thread's mailbox meanwhile.
    ///
    /// - Parameter timeout: seconds; nil waits for ever.
    @available(*, noasync, message: "wait blocks the thread: use await client.response(…) instead of begin and wait")
    @discardableResult public func wait(timeout: Double? = nil) -> WaitResult {
        guard !Delivery.isRunning(self) else { return .refused }
        let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
        return entered(inChild: .refused) { () throws(Forked) in try wait(until: deadline, running: .current) }
    }

    @discardableResult func wait(
        until deadline: MonotonicTime, running mailbox: @autoclosure () -> Mailbox
    ) throws(Forked) -> WaitResult {
        guard try phase != .done else { return .completed }
        let mailbox = mailbox()
        let phase = try shared.withLock { shared in
            if shared.flow.phase != .suspended { shared.waiters.append(mailbox) }
            return shared.flow.phase
        }
        guard phase != .suspended else { return .refused }
        let isDone = try runtime.workers.whileBlocked { () throws(Forked) in
            try mailbox.runUntil(deadline, ignoresStop: true, running: Delivery.scope(ofWaitFor: self)) {
                () throws(Forked) in
                try self.phase == .done
            }
        }
        try shared.withLock { shared in
            if let index = shared.waiters.firstIndex(where: { $0 === mailbox }) { shared.waiters.remove(at: index) }
        }
        return isDone ? .completed : .timedOut
    }
}

/// A suspension or its end, for the exchange that runs: made under the request's lock, applied without it.
private struct Suspension {
    let transport: any Transport
    let exchange: Exchange
    let change: ExchangeChange

    func apply() { transport.change(exchange, change) }
}

extension APIRequest.Shared {
    /// The exchange is named here, because another one may run when this is applied.
    fileprivate mutating func suspension() -> Suspension? {
        guard let (transport, exchange) = link.running else { return nil }
        return Suspension(transport: transport, exchange: exchange, change: flow.suspension())
    }
}
