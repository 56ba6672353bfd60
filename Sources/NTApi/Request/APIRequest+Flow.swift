// The way of a request: start on the calling thread, exchange on the network thread, conclude on a worker, deliver where
// the handler wants to be.
extension APIRequest: ExchangeObserver {
    /// On the thread that resumes.
    func start() {
        let http = httpRequest
        shared.withLock { $0.journey.begin(http) }
        RequestLog.started(self)
        Delivery.run(self) { client.requestStarted(self) }
        switch built {
        case .success(let built): beginExchange(built.http)
        case .failure(let error): runtime.workers.run { self.finish(self.journeyEnd(error: error)) }
        }
    }

    /// On the calling thread, and for a redirect on a worker.
    private func beginExchange(_ http: HTTPRequest) {
        let id = Exchange.nextID()
        let exchange = shared.withLock { shared -> Exchange? in
            guard shared.machine.exchangeBegins(id) else { return nil }
            shared.journey.current = http
            return Exchange(
                id: id, request: http, priority: shared.priority, deadline: shared.journey.deadline,
                reportsProgress: shared.handlers.wantsProgress, observer: self)
        }
        guard let exchange else {
            runtime.workers.run { self.finish(self.journeyEnd(error: .cancelled)) }
            return
        }
        // A cancel may come between the lock and this call, before the engine knows the exchange: the engine's queue
        // then holds the cancel first, so it is said again.
        runtime.engine.begin(exchange)
        if shared.withLock({ $0.machine.isCancelled }) { runtime.engine.cancel(id) }
    }

    // MARK: On the network thread

    func exchangeDidSend(_ bytes: Int64, of total: Int64?) {
        report(.upload, TransferProgress(bytes: bytes, total: total))
    }

    func exchangeDidReceive(_ bytes: Int64, of total: Int64?) {
        report(.download, TransferProgress(bytes: bytes, total: total))
    }

    func exchangeDidEnd(_ result: ExchangeResult) {
        runtime.workers.run { self.conclude(result) }
    }

    private func report(_ direction: RequestMachine.Direction, _ progress: TransferProgress) {
        let posts = shared.withLock { shared in
            switch direction {
            case .upload: shared.sent = progress
            case .download: shared.received = progress
            }
            return shared.handlers.wants(direction) && shared.machine.progressed(direction, progress)
        }
        // An executor is code of the user, and this may be the network thread: it is reached by way of a worker.
        if posts { runtime.workers.run { self.post(direction) } }
    }

    // MARK: On a worker

    private func conclude(_ result: ExchangeResult) {
        let (journey, isCancelled) = shared.withLock { shared in
            shared.machine.exchangeEnded()
            shared.journey.queued += result.metrics.queued
            return (shared.journey, shared.machine.isCancelled)
        }
        if isCancelled { return finish(journeyEnd(error: .cancelled)) }
        guard let http = journey.current else { return finish(journeyEnd(error: .cancelled)) }
        var refusal: APIError?
        if result.error == nil, let head = result.head {
            switch RedirectPolicy.decide(http, head, followed: journey.redirects) {
            case .none: break
            case .refuse(let error): refusal = error
            case .follow(let next):
                RequestLog.redirected(self, head.status, to: next)
                shared.withLock { $0.journey.redirects += 1 }
                return beginExchange(next)
            }
        }
        let content = ResponseClassifier(request: self, journey: journey).content(of: result, refusal: refusal)
        if content.error == nil { completeProgress(result.metrics) }
        finish(content)
    }

    // A total that was never announced is known at the end.
    private func completeProgress(_ metrics: ExchangeMetrics) {
        if metrics.bytesSent > 0 {
            report(.upload, TransferProgress(bytes: metrics.bytesSent, total: metrics.bytesSent))
        }
        if metrics.bytesReceived > 0 {
            report(.download, TransferProgress(bytes: metrics.bytesReceived, total: metrics.bytesReceived))
        }
    }

    var cancelledResponse: APIResponse { APIResponse(request: self, content: journeyEnd(error: .cancelled)) }

    func journeyEnd(error: APIError) -> ResponseContent {
        ResponseContent(journey: shared.withLock { $0.journey }, error: error)
    }

    /// The outcome stands. Called once.
    func finish(_ content: ResponseContent) {
        let (action, content) = shared.withLock { shared -> (RequestMachine.EndAction, ResponseContent) in
            // A cancel that came while the response was looked at has won.
            var content = content
            if shared.machine.isCancelled, content.error != .cancelled {
                content = ResponseContent(journey: shared.journey, error: .cancelled)
            }
            shared.content = content
            return (shared.machine.ended(successfully: content.error == nil), content)
        }
        let response = APIResponse(request: self, content: content)
        RequestLog.completed(response)
        Delivery.run(self) { client.requestCompleted(self, response) }
        switch action {
        case .deliverResponse: postResponse()
        case .awaitProgress: boundProgressWait()
        }
    }

    /// How long the response waits for progress that was reported before it, in seconds.
    private static let progressPatience = 5.0

    // When progress goes to a thread that never runs its mailbox, the response on another thread must not be lost with it.
    private func boundProgressWait() {
        let isBehind = progressDestinations.contains { !$0.isInOrder(with: responseDestination) }
        guard isBehind else { return }
        runtime.engine.schedule(at: .now().advanced(bySeconds: Self.progressPatience)) {
            guard self.shared.withLock({ $0.machine.progressWaitIsOver() }) == .deliverResponse else { return }
            self.log(.warn, "progress was dropped: its thread has not run its mailbox for \(Self.progressPatience) s")
            self.postResponse()
        }
    }
}

extension Exchange {
    private static let lastID = Lock<UInt64>(0, survivesFork: true)

    static func nextID() -> ID {
        ID(
            value: lastID.withLock { last in
                last &+= 1
                return last
            })
    }
}

extension APIRequest.Handlers {
    var wantsProgress: Bool { wants(.upload) || wants(.download) }

    func wants(_ direction: RequestMachine.Direction) -> Bool {
        progress[direction] != nil || eventKinds.contains(direction.kind)
    }
}

extension RequestMachine.Direction {
    var kind: HandlerKinds { self == .upload ? .uploadProgress : .downloadProgress }
}
