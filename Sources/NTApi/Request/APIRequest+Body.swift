// A body that does not go into the response: it goes to a handler, piece by piece, or into a file.
extension APIRequest: BodySink {
    // MARK: On the network thread

    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute {
        entered(inChild: .undecided) { () throws(Forked) in try headArrived(head, deliveries) }
    }

    private func headArrived(_ head: ResponseHead, _ deliveries: DeliveryBatch) throws(Forked) -> BodyRoute {
        let clientKinds = clientDecisionKinds
        let (awaited, changed) = try shared.withLock { shared -> (CacheExchange?, RequestFlow.Transition?) in
            let routes = shared.link.exchange?.routesBody ?? true
            return (shared.flow.awaited, routes ? shared.flow.headArrived(head, clientKinds) : nil)
        }
        awaited?.headArrived(head)
        guard let transition = changed else { return .memory }
        // Effects may call the program, so a worker performs them.
        guard transition.effects.isEmpty else {
            onWorker { (deliveries) throws(Forked) in try self.carryOut(transition, deliveries) }
            return .undecided
        }
        if case .route = transition.next, try flow({ $0.file == nil }) { return try route(head) }
        try carryOut(transition, at: .atOnce, deliveries)
        return .undecided
    }

    /// The destination of the body is decided.
    func routeBody(_ head: ResponseHead) throws(Forked) {
        guard let jobs = try fileJobs() else { return try change(.route(route(head))) }
        jobs.run { () throws(Forked) in
            let route =
                if let background = self.background {
                    try self.routeDurably(background, head)
                } else {
                    try self.route(head)
                }
            try self.change(.route(route))
        }
    }

    /// Runs what touches the file of a download, one after the other; nil when the body does not go to a file.
    private func fileJobs() throws(Forked) -> SerialJobs? {
        try shared.withLock { shared in
            guard shared.flow.file != nil else { return nil }
            let jobs = shared.link.fileJobs ?? SerialJobs(on: runtime.workers)
            shared.link.fileJobs = jobs
            return jobs
        }
    }

    /// The program wants the body in a file.
    func becomeDownload(_ place: DownloadPlace) throws(APIError) {
        if background != nil { throw .noOtherFileInBackground }
        let target = try DownloadTarget(place)
        let facts = facts
        entered { () throws(Forked) in try flow { $0.becomesFile(Download(target), facts) } }
    }

    func route(_ head: ResponseHead) throws(Forked) -> BodyRoute {
        let (owner, announces) = try flow { $0.bodyOwner() }
        let route: BodyRoute
        switch owner {
        case .nobody: route = .memory
        case .observer: route = .sink(self)
        case .file(let download): route = try open(download, head)
        case .handler(let stream):
            switch stream?.reads(head) ?? .success(true) {
            case .success(let reads): route = reads ? .sink(self) : .memory
            case .failure(let error): return .refused(error)
            }
        }
        if announces, try flow({ $0.bodyBegins() }) {
            if try handlers(\.isPulled) { try wakeWaiters() } else { onWorker(postData) }
        }
        return route
    }

    /// Opens the file of a download.
    private func open(_ download: Download, _ head: ResponseHead) throws(Forked) -> BodyRoute {
        var download = download
        let sent = try flow { $0.current }
        let opened = runtime.workers.whileBlocked {
            Result { () throws(APIError) in try download.open(for: head, of: sent) }
        }
        try flow { $0.opened(download) }
        switch opened {
        case .success(let file?):
            guard let jobs = try fileJobs() else { return .memory }
            return .sink(
                FileSink(file, runtime.workers, jobs) { () throws(Forked) in try self.change(.release(.sink)) })
        case .success(nil): return .memory
        case .failure(let error): return .refused(error)
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
        entered(inChild: .full) { () throws(Forked) in try dataArrived(bytes, deliveries) }
    }

    private func dataArrived(
        _ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch
    ) throws(Forked) -> SinkAnswer {
        switch try flow({ $0.dataArrived(bytes) }) {
        case .taken: return .taken
        case .takenFirst:
            try postData(deliveries)
            return .taken
        case .full: return .full
        case .unwanted: return .failed(.cancelled)
        case .outOfMemory:
            return .failed(APIError(domain: .network, code: .generic, message: "out of memory for the body"))
        }
    }

    // MARK: On the handler's thread

    func postData(_ deliveries: DeliveryBatch) throws(Forked) {
        let runOrphaned: Job.Body = { () throws(Forked) in
            try self.warnThatThreadEnded()
            try self.deliverData()
        }
        let (isPulled, isEvent) = try handlers { ($0.isPulled, $0.eventKinds.contains(.data)) }
        if isPulled { return try wakeWaiters() }
        if isEvent {
            let event = DeliveryBatch.Event(take: takeDataEvent, runOrphaned: runOrphaned)
            if dataDestination.send(event, deliveries) { return }
        }
        try dataDestination.send(Job(deliverData, orphaned: runOrphaned, of: self), deliveries)
    }

    @Sendable private func deliverData() throws(Forked) {
        let receipt = DataReceipt(self)
        defer { withExtendedLifetime(receipt) {} }
        try callDataHandler(receipt)
    }

    /// Shows the client's hook a stored response, which no network delivered.
    func showStored(_ result: ExchangeResult, _ deliveries: DeliveryBatch) throws(Forked) {
        let isWanted = try handlers(\.wantsData)
        guard isWanted || hookKinds.contains(.dataReceived), result.error == nil,
            result.head.map({ $0.status < 300 }) ?? false
        else { return }
        _ = try dataArrived(result.body.buffer, deliveries)
    }

    // A separate function, so that this frame holds no reference to the handler when the request ends on another
    // thread.
    @inline(never) private func callDataHandler(_ receipt: DataReceipt) throws(Forked) {
        let taken = try takePiece(receipt, asEvent: false)
        guard let piece = taken.piece else { return }
        try callHook(piece)
        guard let handler = taken.handler, !isCancelled else { return }
        switch handler {
        case .data(let handler): try Delivery.run(self) { handler(piece.data) }
        case .json(let handler):
            while case .json(let value) = piece.next() { try Delivery.run(self) { handler(value) } }
        case .event(let handler):
            while case .event(let event) = piece.next() { try Delivery.run(self) { handler(event) } }
        case .reader(let reader): reader.receive(piece)
        case .caller: break
        }
    }

    // An event counts as handled when its taker releases it. Otherwise pieces would pile up outside the mailbox.
    @Sendable private func takeDataEvent() throws(Forked) -> AnyObject? {
        let taken = try takePiece(DataReceipt(self), asEvent: true)
        guard let piece = taken.piece else { return nil }
        try callHook(piece)
        return taken.makeEvent?(.data(piece))
    }

    /// A piece for the caller that pulls; nil when none has come.
    func takePulled() throws(Forked) -> BodyPiece? {
        guard try flow({ $0.hasData }), let piece = try takePiece(DataReceipt(self), asEvent: true).piece else {
            return nil
        }
        try callHook(piece)
        return piece
    }

    private func callHook(_ piece: BodyPiece) throws(Forked) {
        // An empty first piece announces the head, an empty last one the end.
        guard hookKinds.contains(.dataReceived), piece.data.count > 0 else { return }
        try Delivery.run(self) { client.dataReceived(self, piece.data) }
    }

    private struct TakenPiece {
        var piece: BodyPiece?
        var handler: BodyHandler?
        var makeEvent: EventMaker?
    }

    private func takePiece(_ receipt: DataReceipt, asEvent: Bool) throws(Forked) -> TakenPiece {
        let (data, stream, handler, makeEvent) = try shared.withLock { shared in
            let outlivesJob = asEvent || shared.handlers.body?.isReader == true
            let data = shared.flow.takeData(outlivesJob: outlivesJob)
            // As for progress: no handler when there is nothing to deliver.
            guard data.bytes != nil else { return (data, RequestStream?.none, BodyHandler?.none, EventMaker?.none) }
            return (data, shared.flow.stream, shared.handlers.body, shared.handlers.makeEvent)
        }
        // The network may go on while the handler works.
        if data.wasFull { try change(.release(.sink)) }
        let piece = data.bytes.map { BodyPiece(self, stream, $0, isLast: data.isLast, receipt) }
        return TakenPiece(piece: piece, handler: handler, makeEvent: makeEvent)
    }

    func dataReturned() {
        entered { () throws(Forked) in
            let (action, isPulled) = try shared.withLock { ($0.flow.dataReturned(), $0.handlers.isPulled) }
            switch action {
            case .nothing: break
            case .postData: if !isPulled { onWorker(postData) }
            // Nobody is called, so any thread will do.
            case .deliverResponse: if isPulled { try deliverResponse() } else { onWorker(postResponse) }
            case .bodyIsRead: onWorker(bodyIsRead)
            }
        }
    }

    // MARK: On a worker

    /// Renames a downloaded file to its destination, or makes resume data.
    func finishDownload(_ content: inout ResponseContent, _ deliveries: DeliveryBatch) throws(Forked) {
        let remains = try flow { $0.takeStages() }
        remains.end()
        for effect in remains.effects { try perform(effect, deliveries) }
        guard let download = remains.download else { return }
        // Nothing is missing, whatever the body says, and whatever the client makes of it.
        if download.isComplete, content.status == 416, [.http, .json, .service].contains(content.error?.domain) {
            content.error = nil
        }
        guard content.error == nil else { return keep(remains, &content) }
        // The answer of an interceptor stays in the response.
        guard download.file != nil || download.isComplete else { return }
        do throws(APIError) {
            try runtime.workers.whileBlocked(download.finish)
            if download.isTemporary {
                content.temporaryFile = TemporaryFile(download.destination)
            } else {
                content.file = download.destination
            }
        } catch {
            var error = error
            error.httpStatus = content.status
            content.error = error
            keep(remains, &content)
        }
    }

    private func keep(_ remains: RequestFlow.Remains, _ content: inout ResponseContent) {
        guard let download = remains.download, let http = httpRequest else { return }
        content.resumeData = download.resumeData(http, remains.history)
        if let resumeData = content.resumeData {
            if download.isTemporary, !remains.isTaken {
                content.unfinishedFile = TemporaryFile(resumeData.temporaryFile)
            }
            return download.file?.keep() ?? ()
        }
        download.file?.discard()
    }
}
