// The body of a response that goes elsewhere than into the response: to a handler, piece by piece, or into a file.
extension APIRequest: BodySink {
    /// Whether it has to be asked where the body goes.
    func routesBody(_ shared: Shared, _ clientKinds: RequestDecision.Kinds) -> Bool {
        shared.handlers.wantsData || shared.download != nil
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
        let isWanted = head.status < 300 || shared.withLock { $0.download?.concerns(head.status) ?? false }
        guard isWanted || ((try? options.isOn(.ignoreHTTPErrors)) == true && !isFollowed(head)) else { return .memory }
        shared.withLock { $0.head = head }
        guard asks(for: .response), !shared.withLock({ $0.isDecided }) else {
            guard let background, shared.withLock({ $0.download != nil }) else { return route(head) }
            // The disk is waited for, so not here.
            onWorker { _ in self.change(.route(self.routeDurably(background, head))) }
            return .undecided
        }
        let exchange = shared.withLock { $0.exchange }
        ask(.response, head, deliveries) { answer, _ in
            self.decisionIsOver()
            // The exchange may have ended meanwhile, by a clock of its own, and another one be under way.
            guard self.shared.withLock({ $0.exchange === exchange }) else { return }
            guard case .download(let place) = answer else {
                let route = self.background.map { self.routeDurably($0, head) } ?? self.route(head)
                return self.change(.route(route))
            }
            do throws(APIError) {
                if self.background != nil { throw .noOtherFileInBackground }
                let target = try DownloadTarget(place)
                self.shared.withLock { $0.download = Download(target) }
                self.change(.route(self.route(head)))
            } catch {
                self.change(.route(.refused(error)))
            }
        }
        return .undecided
    }

    func route(_ head: ResponseHead) -> BodyRoute {
        let route = shared.withLock { shared -> Result<BodyRoute, APIError> in
            if shared.machine.isCancelled { return .success(.memory) }
            if shared.download == nil {
                guard shared.handlers.takesBody else {
                    guard isObserved(shared) else { return .success(.memory) }
                    shared.observed = Bytes()
                    return .success(.sink(self))
                }
                return (shared.stream?.reads(head) ?? .success(true)).map { $0 ? .sink(self) : .memory }
            }
            defer { shared.receivedBefore = shared.download?.offset ?? 0 }
            return Result { () throws(APIError) in try shared.download?.route(head) ?? .memory }
        }
        switch route {
        case .success(let route):
            let posts = shared.withLock { $0.handlers.announcesHead && $0.machine.bodyBegins() }
            if posts { onWorker { self.postData($0) } }
            return route
        case .failure(let error): return .refused(error)
        }
    }

    private func isFollowed(_ head: ResponseHead) -> Bool {
        head.redirectLocation != nil && httpRequest.map { $0.settings.maximumRedirects > 0 } ?? false
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
        let arrival = shared.withLock { shared in
            let arrival = shared.machine.dataArrived(bytes)
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
        let (taken, stream) = shared.withLock { ($0.machine.takeData(lends: lends), $0.stream) }
        // The network goes on while the handler works.
        if taken.wasFull { change(.release(.sink)) }
        return taken.bytes.map { BodyPiece(self, stream, $0, isLast: taken.isLast, receipt) }
    }

    func dataReturned() {
        // A piece that a forked child lets go of is the parent's.
        guard generation == Fork.generation else { return }
        switch shared.withLock({ $0.machine.dataReturned() }) {
        case .nothing: break
        case .postData: onWorker { self.postData($0) }
        case .deliverResponse: onWorker { self.postResponse($0) }
        case .conclude: onWorker { self.concludeRead($0) }
        }
    }

    // MARK: On a worker

    /// Gives a downloaded file its name, or says what can be gone on from.
    func finishDownload(_ content: inout ResponseContent) {
        let (download, journey) = shared.withLock { shared in
            defer { shared.download = nil }
            return (shared.download, shared.journey)
        }
        guard let download, let http = httpRequest else { return }
        if download.isComplete, content.error?.domain == .http { content.error = nil }
        guard content.error == nil else { return keep(download, http, journey, &content) }
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
        _ download: Download, _ http: HTTPRequest, _ journey: RequestJourney, _ content: inout ResponseContent
    ) {
        content.resumeData = download.resumeData(http, journey)
        if let resumeData = content.resumeData {
            if download.isTemporary, !download.isTaken {
                content.unfinishedFile = TemporaryFile(resumeData.temporaryFile)
            }
            return download.file?.keep() ?? ()
        }
        download.file?.discard()
    }
}
