// The way of a request: start on the calling thread, exchange on the network thread, conclude there or on a worker, deliver
// where the handler wants to be.
extension APIRequest: ExchangeObserver {
    /// On the thread that resumes.
    func start() {
        if !isRevalidation { RequestLog.started(self) }
        guard isOfThisProcess else { return }
        if hookKinds.contains(.requestStarted) { Delivery.run(self) { client.requestStarted(self) } }
        guard isOfThisProcess else { return }
        if let background { return start(background) }
        switch built {
        case .success(let built): if !beginFirstExchange(firstRequest(built)) { onWorker { self.finishCancelled($0) } }
        case .failure(let error): onWorker { self.finish(self.journeyEnd(error: error), $0) }
        }
    }

    func firstRequest(_ built: BuiltRequest) -> HTTPRequest {
        guard let target = built.download else { return startReading(built) }
        return shared.withLock { shared in
            var download = Download(target)
            defer { shared.download = download }
            return download.begin(built.http)
        }
    }

    /// On the calling thread, and for a redirect where the answer is concluded. Under a rate limit, when it is its turn.
    ///
    /// - Returns: false when the request was cancelled meanwhile.
    func beginExchange(_ http: HTTPRequest) -> Bool {
        guard let use = http.settings.context?.cache else { return send(http) }
        return begin(http, use)
    }

    /// Over the network, when the rate limit lets it.
    ///
    /// - Parameters:
    ///   - http: what a redirect would lead away from.
    ///   - conditional: what is sent in its place, to ask whether a stored response still holds.
    /// - Returns: false when the request was cancelled meanwhile.
    func send(_ http: HTTPRequest, conditional: HTTPRequest? = nil) -> Bool {
        guard let limiter = pacing?.limiter else { return sendNow(http, conditional) }
        return send(http, conditional, under: limiter)
    }

    /// - Returns: false when the request was cancelled meanwhile.
    func sendNow(_ http: HTTPRequest, _ conditional: HTTPRequest?) -> Bool {
        let pacing = pacing
        let clientKinds = clientDecisionKinds
        let storesCredentials = client.credentialStorage?.mayHaveCredentials == true
        let transferHooks = hookKinds.intersection(.ofTransfers)
        let recording = recording(of: http)
        let begun = shared.withLock { shared -> (exchange: Exchange, transport: any Transport)? in
            guard shared.machine.exchangeBegins() else { return nil }
            shared.journey.current = http
            let routesBody = routesBody(shared, clientKinds) || transferHooks.contains(.dataReceived)
            shared.quietStatuses = shared.journey.quietStatuses
            if let pacing {
                shared.quietStatuses.formUnion(pacing.quietStatuses(http, attempts: shared.journey.attempts))
            }
            if storesCredentials || http.mayBeChallenged(shared.handlers.decisionKinds.union(clientKinds)) {
                shared.quietStatuses.formUnion([401, 407])
            }
            let exchange = Exchange(
                request: recording?.request ?? conditional ?? http, priority: shared.priority,
                deadline: deadline(shared),
                reportsProgress: shared.handlers.wantsProgress || routesBody || !transferHooks.isEmpty,
                routesBody: routesBody,
                hearsHeads: hearsHeads, quietStatuses: shared.quietStatuses,
                asksToStart: background != nil && !http.mayBeRepeated,
                holds: shared.machine.isSuspended ? .suspended : [],
                observer: recording ?? self)
            let transport = shared.transport ?? self.transport(for: http)
            shared.transport = transport
            shared.exchange = exchange
            return (exchange, transport)
        }
        guard let begun else { return false }
        // A stub writes no head: this is what it is given.
        if stub != nil { RequestLog.sent(self, begun.exchange.request, head: "") }
        begun.transport.begin(begun.exchange)
        return true
    }

    /// By which the exchange has to be over: on the network's clock, where it goes there.
    private func deadline(_ shared: Shared) -> MonotonicTime {
        guard let manualClock else { return shared.deadline(.now()) }
        let deadline = shared.deadline(manualClock.now)
        return stub == nil ? manualClock.onSystemClock(deadline) : deadline
    }

    private func transport(for http: HTTPRequest) -> any Transport {
        guard let stub else { return runtime.engine.transport(for: http.settings) }
        return StubTransport(stub, clock: clock, workers: runtime.workers)
    }

    // MARK: On the network thread

    func exchangeDidSend(_ bytes: Int64, of total: Int64?) {
        report(.upload, TransferProgress(bytes: bytes, total: total))
    }

    func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?) {
        report(.download, TransferProgress(bytes: bytes, total: total), decoded: decoded)
    }

    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        if awaitsNotes(result) { return }
        if concludeAtOnce(result, deliveries) { return }
        // The user's code may be asked, or the work may take its time.
        deliveries.add(Job { self.deliver { self.conclude(result, $0) } })
    }

    private func report(_ direction: RequestMachine.Direction, _ progress: TransferProgress, decoded: Int64 = 0) {
        let isHooked = hookKinds.contains(direction.hook)
        let posts = shared.withLock { shared in
            var progress = progress
            switch direction {
            case .upload: shared.sent = progress
            case .download:
                if shared.receivedBefore > 0 { progress.add(shared.receivedBefore) }
                shared.received = progress
                shared.decoded = decoded + shared.receivedBefore
            }
            return (isHooked || shared.handlers.wants(direction)) && shared.machine.progressed(direction, progress)
        }
        // An executor is code of the user, and this may be the network thread: it is reached by way of a worker.
        if posts { onWorker { self.post(direction, $0) } }
    }

    // MARK: Conclusion

    /// Ends the request where its answer has arrived, when that is plain sailing: no code of the user's is in the way.
    ///
    /// - Returns: false when it is a case for a worker.
    private func concludeAtOnce(_ result: ExchangeResult, _ deliveries: DeliveryBatch) -> Bool {
        guard hookKinds.isDisjoint(with: .ofResponses.union(.ofTransfers)), logFlags.isDisjoint(with: [.debug, .info]),
            background == nil, let answer = ResponseClassifier.plainAnswer(result, options)
        else { return false }
        var store: (() -> Void)?
        let action = shared.withLock { shared -> RequestMachine.EndAction? in
            guard !shared.machine.isCancelled, !shared.handlers.wantsProgress, shared.head == nil,
                shared.stream == nil, shared.handlers.interpreter == nil,
                shared.journey.credentials?.mayRefresh(answer.status) != true,
                shared.journey.challenges?.hasUnproven != true
            else { return nil }
            if let caching = shared.caching {
                guard !shared.handlers.decisionKinds.union(client.decisionKinds).contains(.cache), !isRevalidation,
                    let outcome = caching.plainOutcome(of: result)
                else { return nil }
                shared.caching = nil
                store = outcome
            }
            shared.exchange = nil
            shared.machine.exchangeEnded()
            shared.journey.queued += result.metrics.queued
            shared.setCounts(result.metrics)
            shared.content = ResponseContent.Box(shared.journey, result, answer.json, now)
            return shared.machine.ended(successfully: true)
        }
        guard let action else { return false }
        store?()
        if action == .deliverResponse { postResponse(deliveries) }
        return true
    }

    /// On a worker, or on the thread of a caller that waits.
    func conclude(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        let now = now
        var result = result
        let (caching, decision) = shared.withLock { shared in
            if let body = shared.observed.take() { result.body = body }
            shared.exchange = nil
            shared.machine.exchangeEnded()
            if result.wasConnected { background?.hasConnected() }
            shared.journey.queued += result.metrics.queued
            shared.journey.end(result, now)
            return (shared.caching.take(), shared.decision)
        }
        // What was asked about a response that ended in the meantime, by a clock of its own, does not matter any more.
        decision?.answer(.proceed)
        RequestLog.received(self, result)
        if let caching { return settle(caching, result, deliveries) }
        proceed(result, deliveries)
    }

    /// What the cache has to do with the answer is done.
    func proceed(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        if !awaitsReading(result, deliveries) { goOn(after: result, deliveries) }
    }

    /// On a worker, or on the thread of a caller that waits.
    func goOn(after result: ExchangeResult, _ deliveries: DeliveryBatch) {
        storeProvenCredentials(result)
        guard isOfThisProcess else { return }
        let (journey, isCancelled) = shared.withLock { ($0.journey, $0.machine.isCancelled) }
        guard !isCancelled, let http = journey.current else { return finishCancelled(deliveries) }
        holdUpOthers(after: result)
        if let next = shared.withLock({ $0.download?.next(http, result.error) }) {
            if !beginExchange(next) { finishCancelled(deliveries) }
            return
        }
        var refusal: APIError?
        if result.error == nil, let head = result.head {
            switch RedirectPolicy.decide(http, head, followed: journey.redirectsOfConnection) {
            case .none: break
            case .refuse(let error): refusal = error
            case .follow(let next):
                guard asks(for: .redirect) else { return follow(next, head, deliveries) }
                return askForRedirect(to: next, head, result, deliveries)
            }
        }
        if refusal == nil {
            if waitsForCredentials(result, http, deliveries) { return }
            if answersChallenge(result, http, deliveries) { return }
        }
        if refusal == nil, connectsAgain(after: result, deliveries) || triesAgain(after: result, http, deliveries) {
            return
        }
        complete(result, refusal: refusal, deliveries)
    }

    private func follow(_ next: HTTPRequest, _ head: ResponseHead, _ deliveries: DeliveryBatch) {
        guard !shared.withLock({ $0.machine.isCancelled }) else { return finishCancelled(deliveries) }
        RequestLog.redirected(self, head.status, to: next)
        guard isOfThisProcess else { return }
        shared.withLock { shared in
            shared.journey.redirects += 1
            shared.journey.redirectsOfConnection += 1
            // Another origin is not shown the token, and may say of it what it likes.
            if let credentials = shared.journey.credentials, next.headers[credentials.settings.header] == nil {
                shared.journey.credentials?.generation = nil
            }
            if next.digest == nil, next.headers["Authorization"] == nil { shared.journey.challenges?.server = .init() }
        }
        if !beginExchange(next) { finishCancelled(deliveries) }
    }

    private func askForRedirect(
        to next: HTTPRequest, _ head: ResponseHead, _ result: ExchangeResult, _ deliveries: DeliveryBatch
    ) {
        leaveTransport()
        ask(.redirect, head, redirectedRequest: next, deliveries) { answer, deliveries in
            self.decisionIsOver()
            switch answer {
            case .follow(let other): self.follow(other, head, deliveries)
            case .refuse: self.complete(result, refusal: nil, deliveries)
            case .proceed, .download, .credential, .trust, .retry, .store: self.follow(next, head, deliveries)
            }
        }
    }

    /// The request waits for something else than the network: a caller that drove the exchange goes its way meanwhile.
    func leaveTransport() { shared.withLock { $0.transport = nil } }

    /// The exchange was the last.
    ///
    /// - Parameter reason: why there is no other attempt, where one might have helped.
    func complete(
        _ result: ExchangeResult, refusal: APIError?, because reason: String? = nil, _ deliveries: DeliveryBatch
    ) {
        guard !shared.withLock({ $0.machine.isCancelled }) else { return finishCancelled(deliveries) }
        // Nobody sees it, so that no code of the program's has to judge it.
        if isRevalidation { return finish(ResponseContent(shared.withLock { $0.journey }, now), deliveries) }
        var content = content(of: result, refusal: refusal)
        guard isOfThisProcess else { return }
        if let reason { content.error?.message += "; \(reason)" }
        if result.isCut, content.error == nil { content.error = .cut(content.status) }
        finishDownload(&content)
        if content.error == nil { completeProgress(result.metrics) }
        finish(content, deliveries)
    }

    func content(of result: ExchangeResult, refusal: APIError?) -> ResponseContent {
        let journey = shared.withLock { $0.journey }
        return ResponseClassifier(request: self, journey: journey).content(of: result, refusal: refusal)
    }

    // A total that was never announced is known at the end.
    private func completeProgress(_ metrics: ExchangeMetrics) {
        if metrics.bytesSent > 0 {
            report(.upload, TransferProgress(bytes: metrics.bytesSent, total: metrics.bytesSent))
        }
        // What came from the cache came over no wire, and yet is there.
        let received = metrics.source == .cache ? metrics.bytesDecoded : metrics.bytesReceived
        if received > 0 {
            let progress = TransferProgress(bytes: received, total: received)
            report(.download, progress, decoded: metrics.bytesDecoded)
        }
    }

    var cancelledResponse: APIResponse {
        APIResponse(request: self, ResponseContent.Box(journeyEnd(error: .cancelled)))
    }

    /// It ends between two exchanges.
    func finish(failing error: APIError, _ deliveries: DeliveryBatch) {
        var content = journeyEnd(error: error)
        finishDownload(&content)
        finish(content, deliveries)
    }

    func journeyEnd(error: APIError) -> ResponseContent {
        ResponseContent(shared.withLock { $0.journey }, error: error, now)
    }

    func finishCancelled(_ deliveries: DeliveryBatch) { finish(failing: .cancelled, deliveries) }

    /// The outcome stands. Called once.
    func finish(_ content: ResponseContent, _ deliveries: DeliveryBatch) {
        let clientMaps = hookKinds.contains(.mapError)
        var (action, box, maps) = shared.withLock { shared -> (RequestMachine.EndAction, ResponseContent.Box, Bool) in
            // A cancel that came while the response was looked at has won.
            var content = content
            // What has its file in place, or has left one to go on from, would leave that behind unknown.
            if shared.machine.isCancelled, content.error != .cancelled, content.file == nil,
                content.temporaryFile == nil
            {
                let left = content
                content = ResponseContent(shared.journey, error: .cancelled, now)
                content.resumeData = left.resumeData
                content.unfinishedFile = left.unfinishedFile
            }
            if let background {
                content = background.completed(content, hasBegun: shared.journey.current != nil)
            }
            let maps = content.error != nil && (clientMaps || shared.handlers.interpreter != nil)
            if maps || background != nil { shared.machine.holdDelivery() }
            let box = ResponseContent.Box(content)
            if !maps { shared.content = box }
            return (shared.machine.ended(successfully: content.error == nil), box, maps)
        }
        // The error as it is: the process that delivers it asks its own hook.
        if let background { keepOutcome(background, box.content) }
        if maps {
            // A cancel comes too late from now on, so the hooks are asked about this error and no other.
            box = ResponseContent.Box(mapError(box.content, clientMaps: clientMaps))
            guard isOfThisProcess else { return }
            shared.withLock { $0.content = box }
        }
        if maps || background != nil { action = shared.withLock { $0.machine.releaseDelivery() } }
        let response = APIResponse(request: self, box)
        if !isRevalidation { RequestLog.completed(response) }
        guard isOfThisProcess else { return }
        if hookKinds.contains(.metricsCollected) {
            Delivery.run(self) { client.metricsCollected(self, response.requestMetrics) }
        }
        guard isOfThisProcess else { return }
        if hookKinds.contains(.requestCompleted) {
            Delivery.run(self) { client.requestCompleted(self, response) }
        }
        guard isOfThisProcess else { return }
        switch action {
        case .deliverResponse: postResponse(deliveries)
        case .awaitProgress: boundProgressWait()
        }
    }

    /// Shows the error that stands to the client and then to the service, each of which may replace it.
    private func mapError(_ content: ResponseContent, clientMaps: Bool) -> ResponseContent {
        var content = content
        if clientMaps { replaceError(&content) { client.mapError($0, $1) } }
        guard isOfThisProcess else { return content }
        if let interpreter = shared.withLock({ $0.handlers.interpreter }) {
            replaceError(&content) { interpreter.mapError($0, $1) }
        }
        return content
    }

    private func replaceError(_ content: inout ResponseContent, _ map: (APIError, APIResponse) -> APIError) {
        guard let error = content.error else { return }
        let response = APIResponse(request: self, ResponseContent.Box(content, isJudged: true))
        var mapped = error
        Delivery.run(self) { mapped = map(error, response) }
        mapped.httpStatus = mapped.httpStatus ?? error.httpStatus
        mapped.retryAfter = mapped.retryAfter ?? error.retryAfter
        content.error = mapped
    }

    /// How long the response waits for progress that was reported before it, in seconds.
    private static let progressPatience = 5.0

    // When progress goes to a thread that never runs its mailbox, the response on another thread must not be lost with it.
    private func boundProgressWait() {
        let isBehind =
            !uploadProgressDestination.isInOrder(with: responseDestination)
            || !downloadProgressDestination.isInOrder(with: responseDestination)
        guard isBehind else { return }
        runtime.engine.schedule(at: .now().advanced(bySeconds: Self.progressPatience)) {
            guard self.shared.withLock({ $0.machine.progressWaitIsOver() }) == .deliverResponse else { return }
            self.log(.warn, "progress was dropped: its thread has not run its mailbox for \(Self.progressPatience) s")
            self.deliver { self.postResponse($0) }
        }
    }

    // MARK: Elsewhere

    /// Runs something on a worker, and hands over what it has for other threads.
    func onWorker(_ body: @escaping @Sendable (DeliveryBatch) -> Void) {
        runtime.workers.run { self.deliver(body) }
    }

    func deliver(_ body: (DeliveryBatch) -> Void) {
        let deliveries = DeliveryBatch()
        body(deliveries)
        if isOfThisProcess { deliveries.flush(to: runtime.workers) }
    }
}

extension APIError {
    /// The answer stands after all.
    fileprivate static func cut(_ status: Int) -> APIError {
        APIError(
            domain: .network, code: .responseTooLarge,
            message: "only the first \(ExchangeResult.maximumUnwantedBody) bytes of the body were received, because an "
                + "answer with status \(status) is usually followed by another request", httpStatus: status)
    }
}

extension APIRequest.Shared {
    /// What an exchange sent and received in all.
    fileprivate mutating func setCounts(_ metrics: ExchangeMetrics) {
        if metrics.bytesSent > 0 { sent = TransferProgress(bytes: metrics.bytesSent, total: metrics.bytesSent) }
        if metrics.bytesReceived > 0 {
            decoded = metrics.bytesDecoded
            received = TransferProgress(bytes: metrics.bytesReceived, total: metrics.bytesReceived)
        }
    }
}

extension APIRequest.Handlers {
    var wantsProgress: Bool { wants(.upload) || wants(.download) }

    var wantsData: Bool { body != nil || eventKinds.contains(.data) }

    /// Whether the body goes to the handler in place of the response.
    var takesBody: Bool { wantsData && !keepsBody }

    func wants(_ direction: RequestMachine.Direction) -> Bool {
        self[direction] != nil || eventKinds.contains(direction.kind)
    }

    subscript(direction: RequestMachine.Direction) -> APIRequest.ProgressHandler? {
        direction == .upload ? uploadProgress : downloadProgress
    }
}

extension RequestMachine.Direction {
    var hook: APIClient.HookKinds { self == .upload ? .uploadProgressed : .downloadProgressed }

    var kind: HandlerKinds { self == .upload ? .uploadProgress : .downloadProgress }
}
