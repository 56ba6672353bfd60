// The body of a response that goes elsewhere than into the response: to a handler, piece by piece, or into a file.
extension APIRequest: BodySink {
    /// Whether it has to be asked where the body goes.
    func routesBody(_ shared: Shared, _ clientKinds: RequestDecision.Kinds) -> Bool {
        shared.handlers.wantsData || shared.flow.chain?.download != nil
            || shared.handlers.decisionKinds.union(clientKinds).contains(.response)
    }

    /// Whether somebody looks at the body as it comes.
    private func isObserved(_ shared: Shared) -> Bool {
        shared.handlers.wantsData || hookKinds.contains(.dataReceived)
    }

    // MARK: On the network thread

    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute {
        // What an error has to say belongs into the response, and of a redirect nobody wants to see the body.
        if shared.withLock({ $0.quietStatuses.contains(head.status) }) { return .memory }
        let isWanted =
            head.status < 300 || shared.withLock { $0.flow.chain?.download?.download.concerns(head.status) ?? false }
        guard isWanted || ((try? options.isOn(.ignoreHTTPErrors)) == true && !isFollowed(head)) else { return .memory }
        shared.withLock { $0.head = head }
        guard asks(for: .response), !shared.withLock({ $0.isDecided }) else {
            guard let background, shared.withLock({ $0.flow.chain?.download != nil }) else { return route(head) }
            // The disk is waited for, so not here.
            onWorker { _ in self.change(.route(self.routeDurably(background, head))) }
            return .undecided
        }
        let number = shared.withLock { shared in
            shared.routing &+= 1
            return shared.routing
        }
        ask(Question(.response, head), .routing(number), deliveries)
        return .undecided
    }

    /// The program has said where the body goes. On a worker.
    func routed(_ number: UInt32, _ answer: RequestDecision.Answer) {
        // The exchange may have ended meanwhile, by a clock of its own, and another one be under way.
        guard let head = shared.withLock({ $0.routing == number ? $0.head : nil }) else { return }
        guard case .download(let place) = answer else {
            let route = background.map { routeDurably($0, head) } ?? route(head)
            return change(.route(route))
        }
        do throws(APIError) {
            if background != nil { throw .noOtherFileInBackground }
            try becomeDownload(place)
            change(.route(route(head)))
        } catch {
            change(.route(.refused(error)))
        }
    }

    func becomeDownload(_ place: DownloadPlace) throws(APIError) {
        let target = try DownloadTarget(place)
        var moment = moment
        shared.withLock { shared in
            guard let current = shared.flow.history.current else { return }
            shared.complete(&moment)
            shared.flow.addDownload(Download(target), current, moment)
        }
    }

    func route(_ head: ResponseHead) -> BodyRoute {
        let (isCancelled, download, stream, takesBody) = shared.withLock { shared in
            let chain = shared.flow.chain
            return (
                shared.flow.gate.isCancelled, chain?.download?.download, chain?.reconnection?.stream,
                shared.handlers.takesBody
            )
        }
        guard !isCancelled else { return .memory }
        let route: BodyRoute
        if let download {
            route = open(download, head)
        } else if takesBody {
            switch stream?.reads(head) ?? .success(true) {
            case .success(let reads): route = reads ? .sink(self) : .memory
            case .failure(let error): return .refused(error)
            }
        } else {
            route = shared.withLock { shared in
                guard isObserved(shared) else { return .memory }
                shared.observed = Bytes()
                return .sink(self)
            }
        }
        let posts = shared.withLock { $0.handlers.announcesHead && $0.flow.gate.bodyBegins() }
        if posts { onWorker { self.postData($0) } }
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
            // The client looks on, and the body stays in the response.
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

    /// Shows the client's hook a stored response, which came over no network.
    func showStored(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        guard shared.withLock({ isObserved($0) }), result.error == nil, result.head.map({ $0.status < 300 }) ?? false
        else { return }
        _ = receive(result.body.buffer, deliveries)
    }

    // A function of its own, so that nothing here holds the handler when the request may end elsewhere.
    @inline(never) private func callDataHandler(_ receipt: DataReceipt) {
        let handler = shared.withLock { $0.handlers.body }
        guard let piece = takePiece(receipt, lends: handler?.isReader ?? false), tellClient(piece), let handler,
            !isCancelled
        else { return }
        switch handler {
        case .data(let handler): Delivery.run(self) { handler(piece.data) }
        case .json(let handler):
            while case .json(let value) = piece.next() { Delivery.run(self) { handler(value) } }
        case .event(let handler):
            while case .event(let event) = piece.next() { Delivery.run(self) { handler(event) } }
        case .reader(let reader): reader.receive(piece)
        }
    }

    // An event is handled when whoever took it lets go of it: pieces must not pile up beyond the mailbox either.
    private func takeDataEvent() -> AnyObject? {
        let makeEvent = shared.withLock { $0.handlers.makeEvent }
        guard let piece = takePiece(DataReceipt(self), lends: true), tellClient(piece) else { return nil }
        return makeEvent?(.data(piece))
    }

    /// - Returns: false in a child that the hook has forked.
    private func tellClient(_ piece: BodyPiece) -> Bool {
        // The first piece may tell that the head is there, and the last that there is no more.
        guard hookKinds.contains(.dataReceived), piece.data.count > 0 else { return true }
        Delivery.run(self) { client.dataReceived(self, piece.data) }
        return isOfThisProcess
    }

    private func takePiece(_ receipt: DataReceipt, lends: Bool) -> BodyPiece? {
        let (taken, stream) = shared.withLock { shared in
            (shared.flow.gate.takeData(lends: lends), shared.flow.chain?.reconnection?.stream)
        }
        // The network goes on while the handler works.
        if taken.wasFull { change(.release(.sink)) }
        return taken.bytes.map { BodyPiece(self, stream, $0, isLast: taken.isLast, receipt) }
    }

    func dataReturned() {
        // A piece that a forked child lets go of is the parent's.
        guard generation == Fork.generation else { return }
        switch shared.withLock({ $0.flow.gate.dataReturned() }) {
        case .nothing: break
        case .postData: onWorker { self.postData($0) }
        case .deliverResponse: onWorker { self.postResponse($0) }
        case .conclude: onWorker { self.concludeRead($0) }
        }
    }

    // MARK: On a worker

    /// Gives a downloaded file its name, or says what can be gone on from.
    func finishDownload(_ content: inout ResponseContent) {
        let (chain, history) = shared.withLock { ($0.flow.takeChain(), $0.flow.history) }
        for run in chain?.waiting ?? [] { run.end() }
        guard let download = chain?.download?.download, let http = httpRequest else { return }
        if download.isComplete, content.error?.domain == .http { content.error = nil }
        guard content.error == nil else { return keep(download, http, history, &content) }
        // An interceptor's own answer stays in the response.
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
