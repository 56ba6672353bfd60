// The body of a response that goes elsewhere than into the response: to a handler, piece by piece, or into a file.
extension APIRequest: BodySink {
    /// Whether it has to be asked where the body goes.
    func routesBody(_ handlers: Handlers, _ clientKinds: RequestDecision.Kinds) -> Bool {
        handlers.wantsData || (try? built.get())?.download != nil
            || handlers.decisionKinds.union(clientKinds).contains(.response)
    }

    // MARK: On the network thread

    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute {
        // What an error has to say belongs into the response, and of a redirect nobody wants to see the body.
        guard head.status < 300 || ((try? options.isOn(.ignoreHTTPErrors)) == true && !isFollowed(head)) else {
            return .memory
        }
        shared.withLock { $0.head = head }
        let path = (try? built.get())?.download
        guard asks(for: .response) else { return route(to: path) }
        ask(.response, head, deliveries) { answer, _ in
            self.decisionIsOver()
            var path = path
            if case .download(let chosen) = answer { path = chosen }
            self.change(.route(self.route(to: path)))
        }
        return .undecided
    }

    /// - Parameter path: the file that the body is to become.
    private func route(to path: String?) -> BodyRoute {
        guard let path else { return shared.withLock { $0.handlers.wantsData } ? .sink(self) : .memory }
        do throws(APIError) {
            try DownloadFile.check(path)
            let file = try DownloadFile(for: path)
            shared.withLock { $0.download = file }
            return .sink(file)
        } catch {
            return .refused(error)
        }
    }

    private func isFollowed(_ head: ResponseHead) -> Bool {
        head.redirectLocation != nil && httpRequest.map { $0.settings.maximumRedirects > 0 } ?? false
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
        switch shared.withLock({ $0.machine.dataArrived(bytes) }) {
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

    private func postData(_ deliveries: DeliveryBatch) {
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
        let (bytes, handler) = takeData()
        if let bytes, let handler { Delivery.run(self) { handler(ResponseData(bytes: bytes)) } }
        dataReturned()
    }

    private func takeDataEvent() -> AnyObject? {
        let makeEvent = shared.withLock { $0.handlers.makeEvent }
        let event = takeData().bytes.flatMap { makeEvent?(.data(ResponseData(bytes: $0))) }
        dataReturned()
        return event
    }

    private func takeData() -> (bytes: Bytes?, handler: DataHandler?) {
        let (taken, handler) = shared.withLock { ($0.machine.takeData(), $0.handlers.data) }
        // The network goes on while the handler works.
        if taken.wasFull { change(.release(.sink)) }
        return (taken.bytes, handler)
    }

    private func dataReturned() {
        switch shared.withLock({ $0.machine.dataReturned() }) {
        case .nothing: break
        case .postData: onWorker { self.postData($0) }
        case .deliverResponse: onWorker { self.postResponse($0) }
        }
    }

    // MARK: On a worker

    /// Gives a downloaded file its name, or removes what there is of it.
    func finishDownload(_ content: inout ResponseContent) {
        let (file, head) = shared.withLock { shared in
            defer { shared.download = nil }
            return (shared.download, shared.head)
        }
        guard let file else { return }
        guard content.error == nil else { return file.discard() }
        do throws(APIError) {
            try file.finish(announced: head.flatMap(Self.announcedFileSize))
            content.file = file.destination
        } catch {
            file.discard()
            content.error = error
            content.error?.httpStatus = content.status
        }
    }

    // With a content encoding the length is that of the encoded bytes, which libcurl has checked.
    private static func announcedFileSize(_ head: ResponseHead) -> Int64? {
        guard head.headers["Content-Encoding"] == nil, case .bytes(let count) = head.announcedLength else { return nil }
        return count
    }
}
