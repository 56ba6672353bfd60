// Delivers callbacks and events to the threads that were asked for. No lock is held while user code runs.
extension APIRequest {
    // MARK: Progress

    func post(_ direction: DeliveryGate.Direction, _ deliveries: DeliveryBatch) throws(Forked) {
        let destination = direction == .upload ? uploadProgressDestination : downloadProgressDestination
        let runOrphaned: Job.Body = { () throws(Forked) in
            try self.warnThatThreadEnded()
            try self.deliverProgress(direction)
        }
        let event = DeliveryBatch.Event(
            take: { () throws(Forked) in try self.takeProgressEvent(direction) }, runOrphaned: runOrphaned)
        if try isEvent(direction.kind), destination.send(event, deliveries) { return }
        let job = Job({ () throws(Forked) in try self.deliverProgress(direction) }, orphaned: runOrphaned, of: self)
        try destination.send(job, deliveries)
    }

    private func deliverProgress(_ direction: DeliveryGate.Direction) throws(Forked) {
        try callProgressHandler(direction)
        try progressReturned(direction)
    }

    // A separate function, so that this frame holds no reference to the handler when the request ends on another
    // thread.
    @inline(never) private func callProgressHandler(_ direction: DeliveryGate.Direction) throws(Forked) {
        let (progress, handler, _) = try takeProgress(direction)
        guard let progress else { return }
        try callHook(direction, progress)
        if let handler { try Delivery.run(self) { handler(progress) } }
    }

    private func callHook(_ direction: DeliveryGate.Direction, _ progress: TransferProgress) throws(Forked) {
        guard hookKinds.contains(direction.hook) else { return }
        try Delivery.run(self) {
            switch direction {
            case .upload: client.uploadProgressed(self, progress)
            case .download: client.downloadProgressed(self, progress)
            }
        }
    }

    private func takeProgressEvent(_ direction: DeliveryGate.Direction) throws(Forked) -> AnyObject? {
        let (progress, _, makeEvent) = try takeProgress(direction)
        if let progress { try callHook(direction, progress) }
        let event = progress.flatMap { makeEvent?(.progress(direction.kind, $0)) }
        try progressReturned(direction)
        return event
    }

    /// Takes no handler when there is nothing to deliver: nobody waits for this thread then, and the request may end on
    /// another one, which has to release the handlers.
    private func takeProgress(
        _ direction: DeliveryGate.Direction
    ) throws(Forked) -> (TransferProgress?, ProgressHandler?, EventMaker?) {
        try shared.withLock { shared in
            guard let progress = shared.flow.takeProgress(direction) else { return (nil, nil, nil) }
            return (progress, shared.handlers[direction], shared.handlers.makeEvent)
        }
    }

    private func progressReturned(_ direction: DeliveryGate.Direction) throws(Forked) {
        switch try flow({ $0.progressReturned(direction) }) {
        case .nothing: break
        case .postProgress: onWorker { (deliveries) throws(Forked) in try self.post(direction, deliveries) }
        case .deliverResponse: onWorker(postResponse)
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
    func postResponse(_ deliveries: DeliveryBatch) throws(Forked) {
        try postResponse(handlers(\.responseWay), deliveries)
    }

    func postResponse(_ way: ResponseWay, _ deliveries: DeliveryBatch) throws(Forked) {
        switch way {
        case .nowhere:
            // This may be the network thread, where no code of the program runs.
            guard try !hasOthers else { return deliveries.add(Job(deliverResponse)) }
            return try takingHandlers { (handlers) throws(Forked) in try handlerReturned(&handlers) }
        case .handler: break
        case .event:
            let event = DeliveryBatch.Event(take: takeResponseEvent, runOrphaned: deliverOrphaned)
            if responseDestination.send(event, deliveries) { return }
        }
        try responseDestination.send(Job(deliverResponse, orphaned: deliverOrphaned, of: self), deliveries)
    }

    @Sendable func deliverResponse() throws(Forked) {
        try takingHandlers { (handlers) throws(Forked) in
            try releaseOthers(&handlers)
            try callResponseHandler(&handlers)
        }
    }

    private func callResponseHandler(_ handlers: inout Handlers) throws(Forked) {
        let isHeard: Bool
        if handlers.response != nil, let response = handlers.answer {
            isHeard = true
            try beginDeliveryHere()
            try Delivery.run(self) { handlers.response?.call(APIResponse(request: self, response)) }
        } else {
            // A response event that nobody took is not acknowledged: the next process delivers the background transfer
            // again.
            isHeard = !handlers.eventKinds.contains(.response)
        }
        try handlerReturned(&handlers, acknowledges: isHeard)
    }

    @Sendable private func deliverOrphaned() throws(Forked) {
        try warnThatThreadEnded()
        try deliverResponse()
    }

    @Sendable private func takeResponseEvent() throws(Forked) -> AnyObject? {
        try takingHandlers { (handlers) throws(Forked) in
            try releaseOthers(&handlers)
            let event = handlers.answer.flatMap { handlers.makeEvent?(.response(APIResponse(request: self, $0))) }
            // The program may have taken many events at once, so it calls `beginDelivery` and `acknowledge` itself.
            try handlerReturned(&handlers, acknowledges: false)
            return event
        }
    }

    /// Takes the handlers out of the request for its last callback, with the response content. In a child they belong
    /// to the parent: they are kept for ever.
    private func takingHandlers<Result>(
        _ body: (inout Handlers) throws(Forked) -> Result
    ) throws(Forked) -> Result {
        var handlers = Handlers()
        try shared.withLock { shared in
            swap(&handlers, &shared.handlers)
            handlers.answer = shared.content
        }
        do throws(Forked) {
            return try body(&handlers)
        } catch {
            Fork.leak(handlers)
            throw error
        }
    }

    /// Whether more than the response handler is to be released.
    private var hasOthers: Bool {
        get throws(Forked) { if built.request?.callsProgram == true { true } else { try handlers(\.hasOthers) } }
    }

    /// Releases what is not called any more, so that the response handler is the last of the request's callbacks: the
    /// destroy functions of a C caller run here.
    private func releaseOthers(_ handlers: inout Handlers) throws(Forked) {
        guard handlers.hasOthers || built.request?.callsProgram == true else { return }
        try Delivery.run(self) {
            handlers.releaseOthers()
            built.request?.release()
        }
    }

    /// - Parameter handlers: released here, with all that they hold: a C caller's destroy function runs here.
    private func handlerReturned(_ handlers: inout Handlers, acknowledges: Bool = true) throws(Forked) {
        try Delivery.run(self) { handlers = Handlers() }
        if acknowledges, background != nil { try acknowledgeHere() }
        // A response that the program keeps must not keep a caller's loop open.
        let (waiters, transport, watch) = try shared.withLock { shared in
            shared.flow.handlerReturned()
            defer { shared.waiters = [] }
            return (shared.waiters, shared.link.transport.take(), shared.waits.takeWatch())
        }
        withExtendedLifetime(transport) {}
        watch?.timer.cancel()
        for waiter in waiters { waiter.wake() }
        if try runtime.requests.remove(self) { client.lastRequestIsOver() }
    }

    /// Lets those who wait for the request look at it again.
    // A mailbox's lock is a leaf, so it may be taken under this one.
    func wakeWaiters() throws(Forked) { try shared.withLock { for waiter in $0.waiters { waiter.wake() } } }

    func isEvent(_ kind: HandlerKinds) throws(Forked) -> Bool { try handlers { $0.eventKinds.contains(kind) } }

    func warnThatThreadEnded() throws(Forked) {
        try log(.warn, "the thread of a handler has ended: the handler runs on a background worker")
    }
}
