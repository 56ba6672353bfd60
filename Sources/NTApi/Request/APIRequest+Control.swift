extension APIRequest {
    /// What `wait` found.
    public enum WaitResult: Sendable {
        case completed
        case timedOut
        /// It would never end: the request was not resumed, the caller is its own handler, or it belongs to the process
        /// that forked this one.
        case refused
    }

    /// Starts a request that was created suspended, or lets one go on that was suspended since.
    ///
    /// - Returns: false when it is not suspended, or was cancelled.
    @discardableResult public func resume() -> Bool {
        resume(on: nil)
    }

    /// - Parameter transport: nil is a network thread.
    @discardableResult func resume(on transport: (any Transport)?) -> Bool {
        guard generation == Fork.generation else { return false }
        let http = httpRequest
        let (now, calendar) = (now, clock.calendarSeconds)
        let (action, told, format) = shared.withLock { shared in
            let action = shared.flow.gate.resume()
            switch action {
            case .start:
                shared.flow.history.begin(http, now, calendar: calendar)
                shared.transport = transport
            case .releaseExchange, .nothing: shared.goOn(now)
            case .tooLate: break
            }
            let told = action == .releaseExchange ? shared.suspension() : nil
            return (action, told, shared.handlers.isRead ? shared.handlers.format : nil)
        }
        switch action {
        case .start: break
        // What it waits for may last as long as before it was suspended.
        case .releaseExchange:
            watchWait()
            told?.tell()
            return true
        case .nothing:
            watchWait()
            settleTurn()
            return true
        case .tooLate: return false
        }
        runtime.requests.insert(self)
        // Closed since it was made, or just now: `close` marks first and cancels what it finds, so one of the two sees it.
        // Before the exchange begins, which might be over before it is cancelled.
        if client.hasCancelled, case .success = built { cancel() }
        start(format)
        return true
    }

    /// Seconds that it may go on when the process exits: none where it is suspended, or read by somebody who has left.
    package var exitTimeout: Double {
        guard isOfThisProcess else { return 0 }
        let stands = shared.withLock { shared in
            shared.flow.gate.isSuspended || shared.handlers.announcesHead || shared.handlers.format != .bytes
        }
        return stands ? 0 : client.settings.exitTimeout
    }

    /// Suspends a request that runs, until `resume`: no byte is sent or received, and no timeout runs. Does not wait.
    ///
    /// Handlers may still be called for what was received before. The connection is kept; a server may lose patience
    /// with it, and then the request fails once it is resumed.
    ///
    /// - Returns: false when it does not run, or is suspended.
    @discardableResult public func suspend() -> Bool {
        guard generation == Fork.generation else { return false }
        let now = now
        let (action, told) = shared.withLock { shared in
            let action = shared.flow.gate.suspend()
            if action != .tooLate { shared.suspendedAt = now }
            return (action, action == .holdExchange ? shared.suspension() : nil)
        }
        switch action {
        case .holdExchange: told?.tell()
        case .nothing: settleTurn()
        case .tooLate: break
        }
        return action != .tooLate
    }

    /// The exchange that runs, if there is one.
    private var running: (transport: any Transport, exchange: Exchange)? { shared.withLock { $0.running } }

    /// Tells the exchange that runs.
    func change(_ change: ExchangeChange) {
        guard let (transport, exchange) = running else { return }
        if case .route(let route) = change, let recording = exchange.observer as? RecordingObserver {
            return transport.change(exchange, .route(recording.listened(route)))
        }
        transport.change(exchange, change)
    }

    /// Ends the exchange that runs: nobody has a use for it.
    func dropExchange() {
        if let (transport, exchange) = running { transport.cancel(exchange) }
    }

    /// Ends the request with the error `request cancelled`, unless its outcome stands already. Does not wait.
    ///
    /// A request that was never resumed ends too, and its handler is called.
    ///
    /// - Returns: false when it was too late.
    @discardableResult public func cancel() -> Bool {
        guard generation == Fork.generation else { return false }
        let (now, calendar) = (now, clock.calendarSeconds)
        let (action, isLeft, wait, running) = shared.withLock { shared in
            let action = shared.flow.gate.cancel()
            if action == .end { shared.flow.history.begin(nil, now, calendar: calendar) }
            guard action == .nothing || action == .cancelExchange else {
                return (action, false, FlowWait?.none, shared.running)
            }
            return (action, shared.flow.leave(), shared.wait.take(), shared.running)
        }
        // Whoever hears of the end finds that it waits no longer.
        dismiss(wait)
        switch action {
        case .tooLate: return false
        case .nothing: if isLeft { onWorker { self.finishCancelled($0) } }
        case .conclude: onWorker { self.concludeRead($0) }
        case .cancelExchange: if let (transport, exchange) = running { transport.cancel(exchange) }
        case .end:
            runtime.requests.insert(self)
            onWorker { deliveries in
                self.giveUpFound()
                self.finish(self.ending(with: .cancelled), deliveries)
            }
        }
        return true
    }

    var phase: DeliveryGate.Phase { shared.withLock { $0.flow.gate.phase } }

    /// Waits until the handler has returned; runs the calling thread's mailbox meanwhile.
    ///
    /// - Parameter timeout: seconds; nil is for ever.
    @discardableResult public func wait(timeout: Double? = nil) -> WaitResult {
        guard generation == Fork.generation, !Delivery.isRunning(self) else { return .refused }
        let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
        return wait(until: deadline, running: .current)
    }

    @discardableResult func wait(until deadline: MonotonicTime, running mailbox: @autoclosure () -> Mailbox)
        -> WaitResult
    {
        guard phase != .done else { return .completed }
        let mailbox = mailbox()
        let phase = shared.withLock { shared in
            if shared.flow.gate.phase != .suspended { shared.waiters.append(mailbox) }
            return shared.flow.gate.phase
        }
        guard phase != .suspended else { return .refused }
        let isDone = runtime.workers.whileBlocked {
            mailbox.runUntil(deadline, ignoresStop: true) { self.phase == .done }
        }
        // A callback has forked: there is nothing to wait for.
        guard isOfThisProcess else { return .refused }
        shared.withLock { shared in
            if let index = shared.waiters.firstIndex(where: { $0 === mailbox }) { shared.waiters.remove(at: index) }
        }
        return isDone ? .completed : .timedOut
    }
}

/// What the exchange that runs is to be told of a suspension: decided under the request's lock, told after it.
private struct Suspension {
    let transport: any Transport
    let exchange: Exchange
    let change: ExchangeChange

    func tell() { transport.change(exchange, change) }
}

extension APIRequest.Shared {
    var running: (transport: any Transport, exchange: Exchange)? {
        if let transport, let exchange { (transport, exchange) } else { nil }
    }

    /// The story behind it: one thread suspends and another resumes, and the one that decided last comes to the network first.
    /// The exchange is named here, as another one may run by then, and the number says which word is the last.
    fileprivate mutating func suspension() -> Suspension? {
        guard let (transport, exchange) = running else { return nil }
        suspensions &+= 1
        return Suspension(
            transport: transport, exchange: exchange,
            change: .suspend(flow.gate.isSuspended, number: suspensions))
    }

    /// When the request is over. While it is suspended no time passes for it.
    func deadline(_ now: @autoclosure () -> MonotonicTime) -> MonotonicTime {
        guard flow.gate.isSuspended else { return flow.history.deadline }
        return flow.history.deadline.advanced(bySeconds: now().seconds(since: suspendedAt))
    }

    /// While it was suspended no time has passed for the request: what is left of it is as long as before.
    fileprivate mutating func goOn(_ now: MonotonicTime) {
        let since = suspendedAt
        flow.history.deadline = flow.history.deadline.advanced(bySeconds: now.seconds(since: since))
        wait?.goOn(now, suspendedAt: since)
    }
}
