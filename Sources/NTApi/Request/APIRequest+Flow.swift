// The way of a request. `RequestFlow` decides what comes next, under the request's lock; it is done here, without it.
//
// A plain request, without stages:
// 1. `start`, on the thread that resumes, calls the hook; `makeChain` makes no stages.
// 2. `beginExchange` makes an `Exchange` and hands it to the transport.
// 3. `exchangeDidEnd` gets the result, on the network thread.
// 4. `endAtOnce` (APIRequest+Conclusion.swift) ends it there if the answer is small and successful.
// 5. Otherwise a worker runs `exchangeEnded`, `answered`, `conclude` (hooks classify the answer) and `finish`.
// 6. `postResponse` (APIRequest+Delivery.swift) calls the handler on its thread.
//
// A request with stages:
// 1. `makeChain` makes the stages (Flow/Chain.swift); an answer may add those for redirects and challenges.
// 2. `RequestFlow.begin` passes the request in, from stage to stage; `carryOut` does what the transition says.
// 3. A stage that waits returns a need: `fulfil` (APIRequest+Waits.swift) replies now, or `replied` is called later.
// 4. After the last stage `beginExchange` makes the exchange, as above.
// 5. `answered` passes the answer out, from stage to stage; a stage may send the request in again (back to 2).
// 6. When the answer is final, `carryOut` calls `concludeAtOnce` or `conclude`; the rest is as above.
//
// A cancel (APIRequest+Control.swift) ends the exchange or the wait, and `finishCancelled` ends the request.
extension APIRequest: ExchangeObserver {
    /// Starts the request, on the thread that resumes it.
    ///
    /// - Parameter format: how the body is read; nil when nobody reads it piece by piece as lines, events or a stream.
    func start(_ format: BodyFormat?) {
        if !isRevalidation { RequestLog.started(self) }
        guard isOfThisProcess else { return }
        if hookKinds.contains(.requestStarted) { Delivery.run(self) { client.requestStarted(self) } }
        guard isOfThisProcess else { return }
        if let background { return start(background) }
        if let request = built.request { return enter(request, format) }
        onWorker { self.finish(ResponseContent(self.history, error: self.built.error, self.now), $0) }
    }

    /// Sends the request for the first time: without stages, or through its chain.
    func enter(_ built: BuiltRequest, _ format: BodyFormat? = nil) {
        guard let chain = makeChain(built, format) else {
            if !beginExchange(built.http) { onWorker { self.finishCancelled($0) } }
            return
        }
        let transition = shared.withLock { $0.flow.begin(chain) }
        deliver { self.carryOut(transition, onCaller: true, $0) }
    }

    /// Makes the stages that the request needs; nil when it needs none.
    private func makeChain(_ built: BuiltRequest, _ format: BodyFormat?) -> Chain? {
        let authenticator = client.authenticator.flatMap { authenticator in
            Authenticator.refreshing !== authenticator && (try? options.isOn(.bypassAuthentication)) != true
                ? authenticator : nil
        }
        let usesCache = built.http.settings.context?.cache != nil
        guard
            format != nil || authenticator != nil || usesCache || built.pacing != nil || built.download != nil
                || built.calls != nil || built.attempts != nil
        else { return nil }
        var facts = facts
        facts.isElsewhere = built.download != nil
        shared.withLock { shared in
            shared.authenticator = authenticator
            shared.complete(&facts)
        }
        let chain = Chain(built.http, facts)
        chain.addForAnswers()
        let stream = format.map { RequestStream($0, built.http, built.options) }
        chain.reconnection = stream.map { ReconnectionStage($0) }
        chain.attempts = built.pacing?.retry.map { RetryStage($0, leavesConnections: stream?.reconnects == true) }
        chain.token = authenticator.map { TokenStage($0.settings.use) }
        chain.download = built.download.map { DownloadStage(Download($0)) }
        if usesCache { chain.cache = CacheStage(isRevalidation: isRevalidation, built.secrets) }
        if built.pacing?.limiter != nil { chain.rateLimit = RateLimitStage() }
        if let calls = built.calls { chain.calls = InterceptorStage(calls) }
        if let attempts = built.attempts { chain.interceptors = InterceptorStage(attempts) }
        return chain
    }

    /// What stages need to know, as of now. `Shared.complete` adds the rest under the lock.
    var facts: Facts {
        let clock = clock
        return Facts(
            now: clock.now, calendar: clock.calendarSeconds,
            cacheCalendar: built.request?.http.settings.context?.cache?.cache.now ?? 0, deadline: .distantFuture,
            asks: clientDecisionKinds, fraction: pacing?.retry == nil ? 0 : .random(in: 0...1), isElsewhere: false,
            keepsCredentials: client.credentialStorage != nil)
    }

    // MARK: What comes next

    /// Performs a transition: its effects, then its next action.
    ///
    /// - Parameter onCaller: whether this is the thread that resumes, which neither waits nor runs code of the
    ///   program.
    func carryOut(_ first: RequestFlow.Transition, onCaller: Bool = false, _ deliveries: DeliveryBatch) {
        var transition = first
        while true {
            for effect in transition.effects {
                perform(effect, deliveries)
                guard isOfThisProcess else { return }
            }
            if transition.holdsResponse { callReturned() }
            switch transition.next {
            case .nothing: return
            case .route(let head): return routeBody(head)
            case .refuse(let error): return change(.route(.refused(error)))
            case .dropExchange: return dropExchange()
            case .begin(let http):
                if beginExchange(http) { return }
                return end(onCaller: onCaller, deliveries)
            case .cancelled: return end(onCaller: onCaller, deliveries)
            case .conclude(let answer):
                if concludeAtOnce(answer, deliveries) { return }
                guard onCaller else { return conclude(answer, deliveries) }
                return onWorker { self.conclude(answer, $0) }
            case .start(let need, let ticket):
                guard let reply = fulfil(need, ticket, onCaller: onCaller, deliveries), isOfThisProcess,
                    let next = advance(ticket, reply, hasWaited: false)
                else { return }
                transition = next
            }
        }
    }

    private func end(onCaller: Bool, _ deliveries: DeliveryBatch) {
        guard onCaller else { return finishCancelled(deliveries) }
        onWorker { self.finishCancelled($0) }
    }

    /// A reply has arrived from another thread. On a worker.
    func replied(_ ticket: UInt32, _ reply: Reply, _ deliveries: DeliveryBatch) {
        if let transition = advance(ticket, reply, hasWaited: true) { carryOut(transition, deliveries) }
    }

    private func advance(_ ticket: UInt32, _ reply: Reply, hasWaited: Bool) -> RequestFlow.Transition? {
        var facts = facts
        let (transition, wait) = shared.withLock { shared -> (RequestFlow.Transition?, FlowWait?) in
            guard shared.flow.waits(ticket) else { return (nil, nil) }
            shared.complete(&facts)
            let wait = shared.wait.take()
            if hasWaited, let wait, case .rateLimit = wait.line {
                shared.flow.history.queued += facts.now.seconds(since: wait.begun)
            }
            let transition = shared.flow.replied(ticket, reply, facts)
            // Nobody receives this answer's body.
            if case .dropExchange = transition?.next { shared.head = nil }
            return (transition, wait)
        }
        wait?.timer?.cancel()
        return transition
    }

    // MARK: The exchange

    /// Makes an exchange.
    ///
    /// - Returns: false when the request was cancelled meanwhile.
    func beginExchange(_ request: HTTPRequest) -> Bool {
        let http = request.forItsOrigin
        let clientKinds = clientDecisionKinds
        let storesCredentials = client.credentialStorage?.mayHaveCredentials == true
        let transferHooks = hookKinds.intersection(.ofTransfers)
        let recording = recording(of: http)
        let now = now
        let usual = transport(for: http)
        let begun = shared.withLock { shared -> (exchange: Exchange, transport: any Transport, last: HTTPRequest?)? in
            guard shared.flow.gate.exchangeBegins() else { return nil }
            // Releasing the previous request may close connections, so it must outlive the lock.
            let last = shared.flow.history.current
            shared.flow.history.current = http
            if shared.flow.reason == .retry { shared.head = nil }
            let routesBody = routesBody(shared, clientKinds) || transferHooks.contains(.dataReceived)
            shared.quietStatuses = shared.flow.chain?.quietStatuses ?? []
            if storesCredentials || http.mayBeChallenged(shared.handlers.decisionKinds.union(clientKinds)) {
                shared.quietStatuses.formUnion([401, 407])
            }
            let exchange = Exchange(
                request: recording?.request ?? http, priority: shared.priority,
                deadline: deadline(shared, now, manualClock),
                reportsProgress: shared.handlers.wantsProgress || routesBody || !transferHooks.isEmpty,
                routesBody: routesBody,
                hearsHeads: hearsHeads, quietStatuses: shared.quietStatuses,
                asksToStart: background != nil && !http.mayBeRepeated,
                holds: shared.flow.gate.isSuspended ? .suspended : [],
                observer: recording ?? self)
            let transport = shared.transport ?? usual
            shared.transport = transport
            shared.exchange = exchange
            return (exchange, transport, last)
        }
        guard let begun else { return false }
        // A stub sends no head: log the request that it gets.
        if stub != nil { RequestLog.sent(self, begun.exchange.request, head: "") }
        begun.transport.begin(begun.exchange)
        return true
    }

    /// The deadline of the exchange, on the network's clock when it goes there.
    ///
    /// - Parameter clock: the client's clock, if it is a test's.
    private func deadline(_ shared: Shared, _ now: MonotonicTime, _ clock: ManualClock?) -> MonotonicTime {
        let deadline = shared.deadline(now)
        guard clock != nil, stub == nil, deadline < .distantFuture else { return deadline }
        return .now().advanced(bySeconds: deadline.seconds(since: now))
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

    func report(_ direction: DeliveryGate.Direction, _ progress: TransferProgress, decoded: Int64 = 0) {
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
            return (isHooked || shared.handlers.wants(direction)) && shared.flow.gate.progressed(direction, progress)
        }
        // This may be the network thread, and an executor is the user's code. So a worker posts the progress.
        if posts { onWorker { self.post(direction, $0) } }
    }

    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        if awaitsNotes(result) { return }
        if endAtOnce(result, deliveries) { return }
        // A worker continues: it may call the user's code, or take some time.
        deliveries.add(Job { self.deliver { self.exchangeEnded(result, $0) } })
    }

    /// On a worker, or on the thread of a waiting caller.
    func exchangeEnded(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        let now = now
        var result = result
        if result.wasConnected { background?.hasConnected() }
        let (wait, action) = shared.withLock { shared in
            if let body = shared.observed.take() { result.body = body }
            shared.exchangeEnded(result)
            shared.flow.history.end(result, now)
            return (shared.wait.take(), shared.readingEnds(result))
        }
        // A question about the answer no longer matters: its exchange has ended meanwhile, by a timeout for example.
        dismiss(wait)
        RequestLog.received(self, result)
        guard isOfThisProcess else { return }
        switch action {
        case .conclude: answered(result, deliveries)
        case .postData: postData(deliveries)
        case .awaitData: break
        }
    }

    /// The exchange has ended, and its body has been read.
    func answered(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        var facts = facts
        let transition = shared.withLock { shared -> RequestFlow.Transition in
            guard let answer = shared.answer(result) else { return RequestFlow.Transition(next: .cancelled) }
            shared.complete(&facts)
            return shared.flow.answered(answer, facts)
        }
        carryOut(transition, deliveries)
    }

    /// The body has been read to its end, or nobody wants the rest.
    func concludeRead(_ deliveries: DeliveryBatch) {
        guard let result = shared.withLock({ $0.ended.take() }) else { return }
        answered(result, deliveries)
    }

    // MARK: Elsewhere

    /// Runs something on a worker, then posts its deliveries to their threads.
    func onWorker(_ body: @escaping @Sendable (DeliveryBatch) -> Void) {
        runtime.workers.run { self.deliver(body) }
    }

    func deliver(_ body: (DeliveryBatch) -> Void) {
        let deliveries = DeliveryBatch()
        body(deliveries)
        if isOfThisProcess { deliveries.flush(to: runtime.workers) }
    }
}

extension APIRequest.Shared {
    /// Adds what only the request knows.
    func complete(_ facts: inout Facts) {
        facts.deadline = deadline(facts.now)
        facts.asks.formUnion(handlers.decisionKinds)
        if handlers.takesBody || flow.chain?.download != nil { facts.isElsewhere = true }
    }

    /// Nil when nothing was ever sent.
    func answer(_ result: ExchangeResult) -> Answer? {
        guard let current = flow.history.current else { return nil }
        var answer = Answer(result, to: current)
        answer.isDelivered = head != nil && flow.chain?.download == nil && handlers.takesBody
        return answer
    }

    mutating func exchangeEnded(_ result: ExchangeResult) {
        exchange = nil
        flow.exchangeEnded()
        flow.history.queued += result.metrics.queued
    }

    /// Whether the end of an exchange waits until its body is read, because the content decides what follows.
    fileprivate mutating func readingEnds(_ result: ExchangeResult) -> DeliveryGate.BodyEndAction {
        guard let stream = flow.chain?.reconnection?.stream else { return .conclude }
        let isWhole = result.error == nil && head != nil && stream.format == .jsonLines
        let action = flow.gate.bodyEnded(isWhole: isWhole)
        if action != .conclude {
            ended = result
            // The caller may have driven the exchange on its own loop, and returns meanwhile.
            transport = nil
        }
        return action
    }
}

extension APIRequest.Handlers {
    /// Whether the end of the body must be waited for: it is parsed, or read by a task.
    var isRead: Bool { body?.isReader == true || (format != .bytes && wantsData) }

    var responseWay: APIRequest.ResponseWay {
        eventKinds.contains(.response) ? .event : response != nil ? .handler : .nowhere
    }

    var wantsProgress: Bool { wants(.upload) || wants(.download) }

    var wantsData: Bool { body != nil || eventKinds.contains(.data) }

    /// Whether the body goes to the handler instead of the response.
    var takesBody: Bool { wantsData && !keepsBody }

    func wants(_ direction: DeliveryGate.Direction) -> Bool {
        self[direction] != nil || eventKinds.contains(direction.kind)
    }

    subscript(direction: DeliveryGate.Direction) -> APIRequest.ProgressHandler? {
        direction == .upload ? uploadProgress : downloadProgress
    }
}

extension DeliveryGate.Direction {
    var hook: APIClient.HookKinds { self == .upload ? .uploadProgressed : .downloadProgressed }

    var kind: HandlerKinds { self == .upload ? .uploadProgress : .downloadProgress }
}
