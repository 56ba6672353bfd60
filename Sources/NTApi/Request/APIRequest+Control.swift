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

    /// Starts a request that was created suspended, or continues one that was suspended.
    ///
    /// - Returns: false when it is not suspended or was cancelled.
    @discardableResult public func resume() -> Bool {
        resume(on: nil)
    }

    /// - Parameter transport: nil is a network thread.
    @discardableResult func resume(on transport: (any Transport)?) -> Bool {
        guard generation == Fork.generation else { return false }
        let http = httpRequest
        let (now, calendar) = (now, clock.calendarSeconds)
        let (action, suspension, format) = shared.withLock { shared in
            let action = shared.flow.gate.resume()
            switch action {
            case .start:
                shared.flow.history.begin(http, now, calendar: calendar)
                shared.transport = transport
            case .releaseExchange, .nothing: shared.goOn(now)
            case .tooLate: break
            }
            let suspension = action == .releaseExchange ? shared.suspension() : nil
            return (action, suspension, shared.handlers.isRead ? shared.handlers.format : nil)
        }
        switch action {
        case .start: break
        // Its wait may last as long as before the suspension.
        case .releaseExchange:
            watchWait()
            suspension?.apply()
            return true
        case .nothing:
            watchWait()
            updateLimiter()
            return true
        case .tooLate: return false
        }
        runtime.requests.insert(self)
        // The client may have been closed since the request was made, or may be closing now. `close` first sets a mark
        // and then cancels the requests it finds, so either it or this line cancels. Cancel before the exchange begins,
        // as a short one could end first.
        if client.hasCancelled, built.request != nil { cancel() }
        start(format)
        return true
    }

    /// Seconds that it may continue when the process exits. None when it is suspended, or when its reader may be gone.
    package var exitTimeout: Double {
        guard isOfThisProcess else { return 0 }
        let mayBeAbandoned = shared.withLock { shared in
            shared.flow.gate.isSuspended || shared.handlers.announcesHead || shared.handlers.format != .bytes
        }
        return mayBeAbandoned ? 0 : client.settings.exitTimeout
    }

    /// Suspends a running request until `resume`: no byte is sent or received, and no timeout runs. Returns at once.
    ///
    /// Handlers may still be called for what was received before. The connection stays open. A server may close it
    /// meanwhile, and then the request fails when it is resumed.
    ///
    /// - Returns: false when it does not run or is suspended already.
    @discardableResult public func suspend() -> Bool {
        guard generation == Fork.generation else { return false }
        let now = now
        let (action, suspension) = shared.withLock { shared in
            let action = shared.flow.gate.suspend()
            if action != .tooLate { shared.suspendedAt = now }
            return (action, action == .holdExchange ? shared.suspension() : nil)
        }
        switch action {
        case .holdExchange: suspension?.apply()
        case .nothing: updateLimiter()
        case .tooLate: break
        }
        return action != .tooLate
    }

    /// The exchange that runs, if there is one.
    private var running: (transport: any Transport, exchange: Exchange)? { shared.withLock { $0.running } }

    /// Changes the exchange that runs.
    func change(_ change: ExchangeChange) {
        guard let (transport, exchange) = running else { return }
        if case .route(let route) = change, let recording = exchange.observer as? RecordingObserver {
            return transport.change(exchange, .route(recording.listened(route)))
        }
        transport.change(exchange, change)
    }

    /// Ends the exchange that runs: its answer is not needed.
    func dropExchange() {
        if let (transport, exchange) = running { transport.cancel(exchange) }
    }

    /// Ends the request with the error `request cancelled`, unless its outcome is final. Returns at once.
    ///
    /// Also ends a request that was never resumed, and calls its handler.
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
        // Leave the line before anybody learns of the end, so that nobody finds the request still waiting.
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

    var phase: DeliveryGate.Phase { gate { $0.phase } }

    /// Waits until the handler has returned, and runs the calling thread's mailbox meanwhile.
    ///
    /// - Parameter timeout: seconds; nil waits for ever.
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
        // A callback has forked: the child has nothing to wait for.
        guard isOfThisProcess else { return .refused }
        shared.withLock { shared in
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
    var running: (transport: any Transport, exchange: Exchange)? {
        if let transport, let exchange { (transport, exchange) } else { nil }
    }

    /// Why the number: one thread suspends while another resumes, and they may reach the network in the opposite order.
    /// The exchange acts on the highest number only. It is named here because another one may run by then.
    fileprivate mutating func suspension() -> Suspension? {
        guard let (transport, exchange) = running else { return nil }
        suspensions &+= 1
        return Suspension(
            transport: transport, exchange: exchange,
            change: .suspend(flow.gate.isSuspended, number: suspensions))
    }

    /// When the request's time is over. Time does not pass while it is suspended.
    func deadline(_ now: @autoclosure () -> MonotonicTime) -> MonotonicTime {
        guard flow.gate.isSuspended else { return flow.history.deadline }
        return flow.history.deadline.advanced(bySeconds: now().seconds(since: suspendedAt))
    }

    /// Moves the deadlines by the length of the suspension: no time has passed for the request.
    fileprivate mutating func goOn(_ now: MonotonicTime) {
        let since = suspendedAt
        flow.history.deadline = flow.history.deadline.advanced(bySeconds: now.seconds(since: since))
        wait?.goOn(now, suspendedAt: since)
    }
}
