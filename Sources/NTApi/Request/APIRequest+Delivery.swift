// Delivers callbacks and events to the threads that were asked for. No lock is held while user code runs.
extension APIRequest {
    // MARK: Progress

    func post(_ direction: DeliveryGate.Direction, _ deliveries: DeliveryBatch) {
        let destination = direction == .upload ? uploadProgressDestination : downloadProgressDestination
        let runOrphaned: @Sendable () -> Void = {
            self.warnThatThreadEnded()
            self.deliverProgress(direction)
        }
        let event = DeliveryBatch.Event(take: { self.takeProgressEvent(direction) }, runOrphaned: runOrphaned)
        if isEvent(direction.kind), destination.send(event, deliveries) { return }
        destination.send(Job({ self.deliverProgress(direction) }, orphaned: runOrphaned), deliveries)
    }

    private func deliverProgress(_ direction: DeliveryGate.Direction) {
        callProgressHandler(direction)
        guard isOfThisProcess else { return }
        progressReturned(direction)
    }

    // A separate function, so that this frame holds no reference to the handler when the request ends on another
    // thread.
    @inline(never) private func callProgressHandler(_ direction: DeliveryGate.Direction) {
        let (progress, handler, _) = takeProgress(direction)
        guard let progress, callHook(direction, progress), let handler else { return }
        Delivery.run(self) { handler(progress) }
    }

    /// - Returns: false in a child that the hook has forked.
    private func callHook(_ direction: DeliveryGate.Direction, _ progress: TransferProgress) -> Bool {
        guard hookKinds.contains(direction.hook) else { return true }
        Delivery.run(self) {
            switch direction {
            case .upload: client.uploadProgressed(self, progress)
            case .download: client.downloadProgressed(self, progress)
            }
        }
        return isOfThisProcess
    }

    private func takeProgressEvent(_ direction: DeliveryGate.Direction) -> AnyObject? {
        let (progress, _, makeEvent) = takeProgress(direction)
        if let progress, !callHook(direction, progress) { return nil }
        let event = progress.flatMap { makeEvent?(.progress(direction.kind, $0)) }
        progressReturned(direction)
        return event
    }

    private func takeProgress(
        _ direction: DeliveryGate.Direction
    ) -> (TransferProgress?, ProgressHandler?, EventMaker?) {
        shared.withLock { ($0.flow.gate.takeProgress(direction), $0.handlers[direction], $0.handlers.makeEvent) }
    }

    private func progressReturned(_ direction: DeliveryGate.Direction) {
        switch gate({ $0.progressReturned(direction) }) {
        case .nothing: break
        case .postProgress: onWorker { self.post(direction, $0) }
        case .deliverResponse: onWorker { self.postResponse($0) }
        }
    }

    // MARK: Response

    /// How the response reaches the program.
    enum ResponseWay {
        case handler
        /// The program takes it from a mailbox.
        case event
        /// Nobody is called, so no thread is needed.
        case nowhere
    }

    /// Delivers the response. Called once.
    func postResponse(_ deliveries: DeliveryBatch) {
        postResponse(handlers(\.responseWay), deliveries)
    }

    func postResponse(_ way: ResponseWay, _ deliveries: DeliveryBatch) {
        switch way {
        case .nowhere:
            // This may be the network thread, where no code of the program runs.
            guard !hasOthers else { return deliveries.add(Job { self.deliverResponse() }) }
            var handlers = Handlers()
            takeHandlers(&handlers)
            return handlerReturned(&handlers)
        case .handler: break
        case .event:
            let event = DeliveryBatch.Event(take: { self.takeResponseEvent() }, runOrphaned: { self.deliverOrphaned() })
            if responseDestination.send(event, deliveries) { return }
        }
        responseDestination.send(
            Job({ self.deliverResponse() }, orphaned: { self.deliverOrphaned() }), deliveries)
    }

    private func deliverResponse() {
        var handlers = Handlers()
        takeHandlers(&handlers)
        guard releaseOthers(&handlers) else { return Fork.leak(handlers) }
        let isHeard: Bool
        if handlers.response != nil, let response = handlers.answer {
            isHeard = true
            beginDelivery()
            Delivery.run(self) { handlers.response?.call(APIResponse(request: self, response)) }
        } else {
            // A response event that nobody took is not acknowledged: the next process delivers the background transfer
            // again.
            isHeard = !handlers.eventKinds.contains(.response)
        }
        handlerReturned(&handlers, acknowledges: isHeard)
    }

    private func deliverOrphaned() {
        warnThatThreadEnded()
        deliverResponse()
    }

    private func takeResponseEvent() -> AnyObject? {
        var handlers = Handlers()
        takeHandlers(&handlers)
        guard releaseOthers(&handlers) else {
            Fork.leak(handlers)
            return nil
        }
        let event = handlers.answer.flatMap { handlers.makeEvent?(.response(APIResponse(request: self, $0))) }
        // The program may have taken many events at once, so it calls `beginDelivery` and `acknowledge` itself.
        handlerReturned(&handlers, acknowledges: false)
        return event
    }

    /// Takes the handlers out of the request for its last callback, with the response content.
    private func takeHandlers(_ handlers: inout Handlers) {
        shared.withLock { shared in
            swap(&handlers, &shared.handlers)
            handlers.answer = shared.content
        }
    }

    /// Whether more than the response handler is to be released.
    private var hasOthers: Bool { built.request?.callsProgram == true || handlers(\.hasOthers) }

    /// Releases what is not called any more, so that the response handler is the last of the request's callbacks: the
    /// destroy functions of a C caller run here.
    ///
    /// - Returns: false in a child that one of them has forked.
    private func releaseOthers(_ handlers: inout Handlers) -> Bool {
        guard handlers.hasOthers || built.request?.callsProgram == true else { return true }
        Delivery.run(self) {
            handlers.releaseOthers()
            built.request?.release()
        }
        return isOfThisProcess
    }

    /// - Parameter handlers: released here, with all that they hold: a C caller's destroy function runs here.
    private func handlerReturned(_ handlers: inout Handlers, acknowledges: Bool = true) {
        // In a child that the handler has forked, they belong to the parent.
        guard isOfThisProcess else { return Fork.leak(handlers) }
        Delivery.run(self) { handlers = Handlers() }
        guard isOfThisProcess else { return }
        if acknowledges, background != nil { acknowledge() }
        // A response that the program keeps must not keep a caller's loop open.
        let (waiters, transport) = shared.withLock { shared in
            shared.flow.gate.handlerReturned()
            defer { shared.waiters = [] }
            return (shared.waiters, shared.transport.take())
        }
        withExtendedLifetime(transport) {}
        for waiter in waiters { waiter.wake() }
        if runtime.requests.remove(self) { client.lastRequestIsOver() }
    }

    func isEvent(_ kind: HandlerKinds) -> Bool { handlers { $0.eventKinds.contains(kind) } }

    func warnThatThreadEnded() {
        log(.warn, "the thread of a handler has ended: the handler runs on a background worker")
    }
}
