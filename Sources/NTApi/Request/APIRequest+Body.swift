// A body that does not go into the response: it goes to a handler, piece by piece, or into a file.
extension APIRequest: BodySink {
    /// Whether the exchange must ask where the body goes.
    func routesBody(_ shared: Shared, _ clientKinds: RequestDecision.Kinds) -> Bool {
        shared.handlers.wantsData || shared.flow.chain?.download != nil
            || shared.handlers.decisionKinds.union(clientKinds).contains(.response)
    }

    // MARK: On the network thread

    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute {
        let clientAsks = clientDecisionKinds.contains(.response)
        let takesErrors = (try? options.isOn(.ignoreHTTPErrors)) == true && !isFollowed(head)
        let transition = shared.withLock { shared -> RequestFlow.Transition? in
            // The body of an error belongs in the response. The body of a redirect is not shown to anybody.
            guard !shared.quietStatuses.contains(head.status),
                head.status < 300 || takesErrors || shared.flow.chain?.download?.download.concerns(head.status) == true
            else { return nil }
            shared.head = head
            let asks = clientAsks || shared.handlers.decisionKinds.contains(.response)
            let isElsewhere = shared.handlers.takesBody || shared.flow.chain?.download != nil
            return shared.flow.headArrived(head, isElsewhere: isElsewhere, asks: asks && !shared.isDecided)
        }
        guard let transition else { return .memory }
        // Opening the file waits for the disk, and effects may call the program: a worker does both.
        var isLong = !transition.effects.isEmpty
        if case .route = transition.next {
            if background == nil, !isLong { return route(head) }
            isLong = true
        }
        if isLong { onWorker { self.carryOut(transition, $0) } } else { carryOut(transition, deliveries) }
        return .undecided
    }

    /// The destination of the body is decided. On a worker.
    func routeBody(_ head: ResponseHead) {
        change(.route(background.map { routeDurably($0, head) } ?? route(head)))
    }

    /// The program wants the body in a file.
    func becomeDownload(_ place: DownloadPlace) throws(APIError) {
        if background != nil { throw .noOtherFileInBackground }
        let target = try DownloadTarget(place)
        var facts = facts
        shared.withLock { shared in
            guard let current = shared.flow.history.current else { return }
            shared.complete(&facts)
            shared.flow.addDownload(Download(target), current, facts)
            shared.isDecided = true
        }
    }

    /// Who receives the arriving body.
    private enum BodyOwner {
        case nobody
        case file(Download)
        /// The handler; lines and events go through the stream.
        case handler(RequestStream?)
        /// The response; the client's hook sees a copy.
        case observer
    }

    func route(_ head: ResponseHead) -> BodyRoute {
        let looksOn = hookKinds.contains(.dataReceived)
        let (owner, announces) = shared.withLock { shared -> (BodyOwner, Bool) in
            guard !shared.flow.gate.isCancelled else { return (.nobody, false) }
            let announces = shared.handlers.announcesHead
            if let download = shared.flow.chain?.download?.download { return (.file(download), announces) }
            if shared.handlers.takesBody { return (.handler(shared.flow.chain?.reconnection?.stream), announces) }
            guard shared.handlers.wantsData || looksOn else { return (.nobody, announces) }
            shared.observed = Bytes()
            return (.observer, announces)
        }
        let route: BodyRoute
        switch owner {
        case .nobody: route = .memory
        case .observer: route = .sink(self)
        case .file(let download): route = open(download, head)
        case .handler(let stream):
            switch stream?.reads(head) ?? .success(true) {
            case .success(let reads): route = reads ? .sink(self) : .memory
            case .failure(let error): return .refused(error)
            }
        }
        if announces, gate({ $0.bodyBegins() }) { onWorker { self.postData($0) } }
        return route
    }

    /// Opens the file of a download.
    private func open(_ download: Download, _ head: ResponseHead) -> BodyRoute {
        var download = download
        let route = Result { () throws(APIError) in try download.route(head) }
        shared.withLock { shared in
            shared.flow.chain?.download?.change(download)
            shared.receivedBefore = download.offset
        }
        switch route {
        case .success(let route): return route
        case .failure(let error): return .refused(error)
        }
    }

    private func isFollowed(_ head: ResponseHead) -> Bool {
        head.redirectLocation != nil && httpRequest.map { $0.settings.maximumRedirects > 0 } ?? false
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
        let arrival = shared.withLock { shared in
            let arrival = shared.flow.gate.dataArrived(bytes)
            // The client's hook sees a copy, and the body stays in the response.
            guard let observed = shared.observed, arrival != .full else { return arrival }
            return observed.append(bytes) ? arrival : .outOfMemory
        }
        switch arrival {
        case .taken: return .taken
        case .takenFirst:
            postData(deliveries)
            return .taken
        case .full: return .full
        case .outOfMemory:
            return .failed(APIError(domain: .network, code: .generic, message: "out of memory for the body"))
        }
    }

    // MARK: On the handler's thread

    func postData(_ deliveries: DeliveryBatch) {
        let runOrphaned: @Sendable () -> Void = {
            self.warnThatThreadEnded()
            self.deliverData()
        }
        if isEvent(.data) {
            let event = DeliveryBatch.Event(take: { self.takeDataEvent() }, runOrphaned: runOrphaned)
            if dataDestination.send(event, deliveries) { return }
        }
        dataDestination.send(Job({ self.deliverData() }, orphaned: runOrphaned), deliveries)
    }

    private func deliverData() {
        let receipt = DataReceipt(self)
        withExtendedLifetime(receipt) { callDataHandler(receipt) }
    }

    /// Shows the client's hook a stored response, which no network delivered.
    func showStored(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        guard hookKinds.contains(.dataReceived) || handlers(\.wantsData), result.error == nil,
            result.head.map({ $0.status < 300 }) ?? false
        else { return }
        _ = receive(result.body.buffer, deliveries)
    }

    // A separate function, so that this frame holds no reference to the handler when the request ends on another
    // thread.
    @inline(never) private func callDataHandler(_ receipt: DataReceipt) {
        let taken = takePiece(receipt, asEvent: false)
        guard let piece = taken.piece, callHook(piece), let handler = taken.handler, !isCancelled else { return }
        switch handler {
        case .data(let handler): Delivery.run(self) { handler(piece.data) }
        case .json(let handler):
            while case .json(let value) = piece.next() { Delivery.run(self) { handler(value) } }
        case .event(let handler):
            while case .event(let event) = piece.next() { Delivery.run(self) { handler(event) } }
        case .reader(let reader): reader.receive(piece)
        }
    }

    // An event counts as handled when its taker releases it. Otherwise pieces would pile up outside the mailbox.
    private func takeDataEvent() -> AnyObject? {
        let taken = takePiece(DataReceipt(self), asEvent: true)
        guard let piece = taken.piece, callHook(piece) else { return nil }
        return taken.makeEvent?(.data(piece))
    }

    /// - Returns: false in a child that the hook has forked.
    private func callHook(_ piece: BodyPiece) -> Bool {
        // An empty first piece announces the head, an empty last one the end.
        guard hookKinds.contains(.dataReceived), piece.data.count > 0 else { return true }
        Delivery.run(self) { client.dataReceived(self, piece.data) }
        return isOfThisProcess
    }

    private struct TakenPiece {
        var piece: BodyPiece?
        var handler: BodyHandler?
        var makeEvent: EventMaker?
    }

    private func takePiece(_ receipt: DataReceipt, asEvent: Bool) -> TakenPiece {
        let (data, stream, handler, makeEvent) = shared.withLock { shared in
            let handler = shared.handlers.body
            let data = shared.flow.gate.takeData(outlivesJob: asEvent || handler?.isReader == true)
            return (data, shared.flow.chain?.reconnection?.stream, handler, shared.handlers.makeEvent)
        }
        // The network may go on while the handler works.
        if data.wasFull { change(.release(.sink)) }
        let piece = data.bytes.map { BodyPiece(self, stream, $0, isLast: data.isLast, receipt) }
        return TakenPiece(piece: piece, handler: handler, makeEvent: makeEvent)
    }

    func dataReturned() {
        // In a forked child the piece belongs to the parent.
        guard generation == Fork.generation else { return }
        switch gate({ $0.dataReturned() }) {
        case .nothing: break
        case .postData: onWorker { self.postData($0) }
        case .deliverResponse: onWorker { self.postResponse($0) }
        case .conclude: onWorker { self.concludeRead($0) }
        }
    }

    // MARK: On a worker

    /// Renames a downloaded file to its destination, or makes resume data.
    func finishDownload(_ content: inout ResponseContent, _ deliveries: DeliveryBatch) {
        let (chain, history) = shared.withLock { ($0.flow.takeChain(), $0.flow.history) }
        for effect in chain?.owed ?? [] {
            perform(effect, deliveries)
            guard isOfThisProcess else { return }
        }
        guard let download = chain?.download?.download, let http = httpRequest else { return }
        if download.isComplete, content.error?.domain == .http { content.error = nil }
        guard content.error == nil else { return keep(download, http, history, &content) }
        // The answer of an interceptor stays in the response.
        guard download.file != nil || download.isComplete else { return }
        do throws(APIError) {
            try download.finish()
            if download.isTemporary {
                content.temporaryFile = TemporaryFile(download.destination)
            } else {
                content.file = download.destination
            }
        } catch {
            var error = error
            error.httpStatus = content.status
            content.error = error
            download.file?.discard()
        }
    }

    private func keep(
        _ download: Download, _ http: HTTPRequest, _ history: RequestHistory, _ content: inout ResponseContent
    ) {
        content.resumeData = download.resumeData(http, history)
        if let resumeData = content.resumeData {
            if download.isTemporary, !download.isTaken {
                content.unfinishedFile = TemporaryFile(resumeData.temporaryFile)
            }
            return download.file?.keep() ?? ()
        }
        download.file?.discard()
    }
}
