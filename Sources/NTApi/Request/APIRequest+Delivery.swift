// Callbacks and events on their way to the thread that asked for them. No lock is held while user code runs.
extension APIRequest {
    // MARK: Progress

    /// On a worker.
    func post(_ direction: RequestMachine.Direction) {
        let destination = progressDestinations[direction.rawValue]
        if isEvent(direction.kind), destination.postEvent({ self.takeProgressEvent(direction) }) { return }
        let isThere = destination.run(on: runtime.workers) { self.deliverProgress(direction) }
        if !isThere { warnThatThreadEnded() }
    }

    private func deliverProgress(_ direction: RequestMachine.Direction) {
        let (progress, handler) = takeProgress(direction)
        if let progress, let handler { Delivery.run(self) { handler(progress) } }
        progressReturned(direction)
    }

    private func takeProgressEvent(_ direction: RequestMachine.Direction) -> AnyObject? {
        let makeEvent = shared.withLock { $0.handlers.makeEvent }
        let event = takeProgress(direction).0.flatMap { makeEvent?(.progress(direction.kind, $0)) }
        progressReturned(direction)
        return event
    }

    private func takeProgress(
        _ direction: RequestMachine.Direction
    ) -> (TransferProgress?, ProgressHandler?) {
        shared.withLock { ($0.machine.takeProgress(direction), $0.handlers.progress[direction]) }
    }

    private func progressReturned(_ direction: RequestMachine.Direction) {
        switch shared.withLock({ $0.machine.progressReturned(direction) }) {
        case .nothing: break
        case .postProgress: runtime.workers.run { self.post(direction) }
        case .deliverResponse: runtime.workers.run { self.postResponse() }
        }
    }

    // MARK: Response

    /// On a worker, once.
    func postResponse() {
        if isEvent(.response), responseDestination.postEvent({ self.takeResponseEvent() }) { return }
        // Nobody waits for a call: there is no thread to go to.
        guard shared.withLock({ $0.handlers.response != nil }) else { return handlerReturned() }
        let isThere = responseDestination.run(on: runtime.workers) { self.deliverResponse() }
        if !isThere { warnThatThreadEnded() }
    }

    private func deliverResponse() {
        if let response, let handler = shared.withLock({ $0.handlers.response }) {
            Delivery.run(self) { handler(response) }
        }
        handlerReturned()
    }

    private func takeResponseEvent() -> AnyObject? {
        let makeEvent = shared.withLock { $0.handlers.makeEvent }
        let event = response.flatMap { makeEvent?(.response($0)) }
        handlerReturned()
        return event
    }

    private func handlerReturned() {
        // The handlers go now, outside the lock, and with them what they hold: a C caller's destroy runs here.
        Delivery.run(self) {
            let handlers = shared.withLock { shared in
                defer { shared.handlers = Handlers() }
                return shared.handlers
            }
            withExtendedLifetime(handlers) {}
        }
        let waiters = shared.withLock { shared in
            shared.machine.handlerReturned()
            defer { shared.waiters = [] }
            return shared.waiters
        }
        for waiter in waiters { waiter.wake() }
        runtime.requests.remove(self)
    }

    private func isEvent(_ kind: HandlerKinds) -> Bool { shared.withLock { $0.handlers.eventKinds.contains(kind) } }

    private func warnThatThreadEnded() {
        log(.warn, "the thread that was to run a callback has ended: it runs on a background worker")
    }
}

extension Destination {
    /// - Returns: false when there is no mailbox, or its thread has ended.
    fileprivate func postEvent(_ event: @escaping @Sendable () -> AnyObject?) -> Bool {
        guard case .mailbox(let reference) = self, let mailbox = reference.mailbox else { return false }
        return mailbox.postEvent(event)
    }
}
