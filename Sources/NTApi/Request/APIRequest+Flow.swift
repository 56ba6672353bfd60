// The way of a request. `RequestFlow` decides what comes next, under the request's lock; it is done here, without it.
//
// A plain request, without stages:
// 1. `start`, on the thread that resumes, calls the hook; `plan` finds no need for stages.
// 2. `beginExchange` makes an `Exchange` and hands it to the transport.
// 3. `exchangeDidEnd` gets the result, on the network thread.
// 4. `Conclusion` ends it there if the answer is small and successful, and otherwise on a worker.
// 5. `postResponse` (APIRequest+Delivery.swift) calls the handler on its thread.
//
// A request with stages:
// 1. `plan` says what it needs stages for; an answer may add those for redirects and challenges.
// 2. `RequestFlow.begin` passes the request in, from stage to stage; `carryOut` does what the transition says.
// 3. A stage that waits returns a need: `fulfil` (APIRequest+Waits.swift) replies now, or `replied` is called later.
// 4. After the last stage `beginExchange` makes the exchange, as above.
// 5. `RequestFlow.answered` passes the answer out, from stage to stage; a stage may send the request in again (to 2).
// 6. When the answer is final, `carryOut` begins the `Conclusion`; the rest is as above.
//
// A cancel (APIRequest+Control.swift) ends the exchange or the wait, and a `Conclusion` ends the request.
extension APIRequest: ExchangeObserver {
    /// Starts the request, on the thread that resumes it.
    ///
    /// - Parameter format: how the body is read; nil when nobody reads it piece by piece as lines, events or a stream.
    func start(_ format: BodyFormat?) throws(Forked) {
        if !isRevalidation { try RequestLog.started(self) }
        if hookKinds.contains(.requestStarted) { try Delivery.run(self) { client.requestStarted(self) } }
        try observation?.begun(self)
        if let background { return try start(background) }
        if let request = built.request { return try enter(request, format) }
        if let error = built.error { concludeOnWorker(.error(error)) }
    }

    /// Sends the request for the first time: without stages, or through its chain.
    func enter(_ built: BuiltRequest, _ format: BodyFormat? = nil) throws(Forked) {
        guard let plan = try plan(built, format) else {
            if try !beginExchange(built.http) { concludeOnWorker(.cancelled) }
            return
        }
        let facts = facts
        let transition = try flow { $0.begin(plan, built.http, facts) }
        try deliver { (deliveries) throws(Forked) in try carryOut(transition, at: .atOnce, deliveries) }
    }

    /// What the request needs stages for; nil when it needs none.
    private func plan(_ built: BuiltRequest, _ format: BodyFormat?) throws(Forked) -> StagePlan? {
        let authenticator = client.authenticator.flatMap { authenticator in
            Authenticator.refreshing !== authenticator && (try? options.isOn(.bypassAuthentication)) != true
                && !built.http.settings.isPlain ? authenticator : nil
        }
        let usesCache = built.http.settings.context?.cache != nil
        guard
            format != nil || authenticator != nil || usesCache || built.pacing != nil || built.download != nil
                || built.callInterceptors != nil || built.attemptInterceptors != nil
        else { return nil }
        if let authenticator { try shared.withLock { $0.authenticator = authenticator } }
        var plan = StagePlan()
        plan.stream = format.map { RequestStream($0, built.http, built.options) }
        plan.retry = built.pacing?.retry
        if let budget = plan.retry.flatMap(RetryBudget.init), let origin = Origin(url: built.http.url) {
            plan.retryBudget = client.retryBudgets.begin(origin, budget)
        }
        plan.token = authenticator?.settings.use
        plan.download = built.download
        if usesCache { plan.cache = (built.revalidation, built.secrets) }
        plan.circuit = built.pacing?.breaker?.policy
        plan.isLimited = built.pacing?.limiter != nil
        plan.callInterceptors = built.callInterceptors
        plan.attemptInterceptors = built.attemptInterceptors
        return plan
    }

    /// What stages need to know, as of now. The flow adds what only it knows.
    var facts: Facts {
        let clock = clock
        let cache = built.request?.http.settings.context?.cache?.cache
        return Facts(
            now: clock.now, calendar: clock.calendarSeconds,
            cacheCalendar: cache.map { manualClock?.calendarSeconds ?? $0.now } ?? 0, deadline: .distantFuture,
            asks: clientDecisionKinds, fraction: pacing?.retry == nil ? 0 : .random(in: 0...1), isElsewhere: false,
            keepsCredentials: client.credentialStorage != nil, isObserved: observation != nil)
    }

    // MARK: What comes next

    /// Performs a transition: its effects, then its next action.
    func carryOut(
        _ first: RequestFlow.Transition, at place: Conclusion.Place = .worker, _ deliveries: DeliveryBatch
    ) throws(Forked) {
        var transition = first
        while true {
            for effect in transition.effects { try perform(effect, deliveries) }
            if transition.holdsResponse { try callReturned() }
            switch transition.next {
            case .nothing: return
            case .route(let head): return try routeBody(head)
            case .refuse(let error): return try change(.route(.refused(error)))
            case .dropExchange: return try dropExchange()
            case .begin(let http):
                if try beginExchange(http) { return }
                pacing?.limiter?.giveBack()
                return try conclude(.cancelled, at: place, deliveries)
            case .play(let response, let http):
                if try play(response, to: http) { return }
                return try conclude(.cancelled, at: place, deliveries)
            case .cancelled: return try conclude(.cancelled, at: place, deliveries)
            case .conclude(let answer): return try conclude(.answer(answer), at: place, deliveries)
            case .start(let need, let ticket):
                guard let reply = try fulfil(need, ticket, onCaller: place == .atOnce, deliveries) else { return }
                guard let next = try advance(ticket, reply, hasWaited: false, inCall: need.callsProgram) else {
                    if case .permit(nil) = reply { pacing?.limiter?.giveBack() }
                    return
                }
                transition = next
            }
        }
    }

    /// Passes on a reply from another thread; only the first one counts. Returns at once.
    ///
    /// - Parameter tooLate: called if the request no longer waits.
    func reply(_ ticket: UInt32, _ reply: Reply, _ tooLate: (@Sendable () -> Void)? = nil) {
        onWorker { (deliveries) throws(Forked) in
            if try !self.replied(ticket, reply, deliveries) { tooLate?() }
        }
    }

    /// A reply has arrived from another thread. On a worker.
    ///
    /// - Parameter inCall: whether it was given within the program's call, which has returned now.
    /// - Returns: false when the request no longer waits.
    @discardableResult func replied(
        _ ticket: UInt32, _ reply: Reply, inCall: Bool = false, _ deliveries: DeliveryBatch
    ) throws(Forked) -> Bool {
        guard let transition = try advance(ticket, reply, hasWaited: true, inCall: inCall) else { return false }
        try carryOut(transition, deliveries)
        return true
    }

    private func advance(
        _ ticket: UInt32, _ reply: Reply, hasWaited: Bool, inCall: Bool
    ) throws(Forked) -> RequestFlow.Transition? {
        let facts = facts
        var returned = DeliveryGate.ProgressAction.nothing
        let (transition, wait) = try shared.withLock { shared -> (RequestFlow.Transition?, FlowWait?) in
            if inCall { returned = shared.flow.callReturned() }
            guard shared.flow.waits(ticket) else { return (nil, nil) }
            let wait = shared.waits.current.take()
            if hasWaited, let wait, case .rateLimit = wait.line {
                shared.flow.queued(facts.now.seconds(since: wait.begun))
            }
            return (shared.flow.replied(ticket, reply, facts), wait)
        }
        wait?.timer?.cancel()
        if wait != nil { try observation?.waitEnds(self) }
        if returned == .deliverResponse { onWorker(postResponse) }
        return transition
    }

    // MARK: The exchange

    /// Makes an exchange.
    ///
    /// - Returns: false when the request was cancelled meanwhile.
    func beginExchange(_ request: HTTPRequest) throws(Forked) -> Bool {
        var http = request.forItsOrigin
        try addObserversHeaders(to: &http)
        let clientKinds = clientDecisionKinds
        let storesCredentials = client.credentialStorage?.mayHaveCredentials == true
        let hasHooks = !hookKinds.isDisjoint(with: .ofTransfers)
        let recording = recording(of: http)
        let now = now
        let usual = transport(for: http)
        // Releasing the previous request may close connections, so it must outlive the lock.
        var previous: HTTPRequest?
        let begun = try shared.withLock { shared -> (exchange: Exchange, transport: any Transport)? in
            let kinds = shared.handlers.decisionKinds.union(clientKinds)
            guard
                shared.flow.exchangeBegins(
                    http,
                    mayBeChallenged: !http.settings.isPlain && (storesCredentials || http.mayBeChallenged(kinds)),
                    releasing: &previous)
            else { return nil }
            let routesBody = shared.flow.routesBody(clientKinds)
            let exchange = Exchange(
                request: recording?.request ?? http, priority: shared.labels.priority,
                deadline: deadline(shared.flow, now, manualClock),
                reportsProgress: shared.handlers.wantsProgress || routesBody || hasHooks,
                routesBody: routesBody, showsHead: shared.flow.awaited != nil,
                hearsHeads: hearsHeads || recording != nil, quietStatuses: shared.flow.quietStatuses,
                isObserved: observation != nil,
                asksToStart: background != nil && !http.mayBeRepeated,
                holds: shared.flow.isSuspended ? .suspended : [],
                observer: recording ?? self)
            let transport = shared.link.transport ?? usual
            shared.link.transport = transport
            shared.link.exchange = exchange
            return (exchange, transport)
        }
        withExtendedLifetime(previous) {}
        guard let begun else { return false }
        // A stub sends no head: log the request that it gets.
        if stub != nil { try RequestLog.sent(self, begun.exchange.request, head: "") }
        begun.transport.begin(begun.exchange)
        return true
    }

    /// Makes an exchange with an interceptor's answer, so that its body reaches handlers and files as a server's does.
    ///
    /// - Returns: false when the request was cancelled meanwhile.
    private func play(_ response: HTTPResponse, to request: HTTPRequest) throws(Forked) -> Bool {
        let transport = StubTransport(Stub(playing: StubAnswer(response)), clock: clock, workers: runtime.workers)
        let (now, clientKinds) = (now, clientDecisionKinds)
        // Nothing of it is sent.
        var unsent = request
        unsent.body = .none
        var previous: HTTPRequest?
        let exchange = try shared.withLock { [unsent] shared -> Exchange? in
            guard shared.flow.exchangeBegins(request, mayBeChallenged: false, releasing: &previous) else { return nil }
            let exchange = Exchange(
                request: unsent, priority: shared.labels.priority, deadline: shared.flow.deadline(now),
                reportsProgress: true, routesBody: shared.flow.routesBody(clientKinds),
                quietStatuses: shared.flow.quietStatuses, holds: shared.flow.isSuspended ? .suspended : [],
                observer: self)
            shared.link.transport = transport
            shared.link.exchange = exchange
            return exchange
        }
        withExtendedLifetime(previous) {}
        guard let exchange else { return false }
        transport.begin(exchange)
        return true
    }

    /// Tells observers of an attempt, and adds the headers that they want it to have.
    private func addObserversHeaders(to http: inout HTTPRequest) throws(Forked) {
        guard let observation, try !flow({ $0.isCancelled }) else { return }
        let reason = try flow { $0.reason }
        for added in try observation.attemptBegins(http, Interception.Reason(reason), self) {
            if let name = http.headers.set(added) {
                try log(.warn, "#\(logName): an observer's header \(HeaderSyntax.shown(name)) may not be sent")
            }
        }
    }

    /// The deadline of the exchange, on the network's clock when it goes there.
    ///
    /// - Parameter clock: the client's clock, if it is a test's.
    private func deadline(_ flow: RequestFlow, _ now: MonotonicTime, _ clock: ManualClock?) -> MonotonicTime {
        let deadline = flow.deadline(now)
        guard clock != nil, stub == nil, deadline < .distantFuture else { return deadline }
        return .now().advanced(bySeconds: deadline.seconds(since: now))
    }

    private func transport(for http: HTTPRequest) -> any Transport {
        guard let stub else { return runtime.engine.transport(for: http.settings) }
        return StubTransport(stub, clock: clock, workers: runtime.workers)
    }

    // MARK: On the network thread

    func exchangeDidSend(_ bytes: Int64, of total: Int64?) {
        entered { () throws(Forked) in try report(.upload, TransferProgress(bytes: bytes, total: total)) }
    }

    func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?) {
        entered { () throws(Forked) in
            try report(.download, TransferProgress(bytes: bytes, total: total), decoded: decoded)
        }
    }

    func report(
        _ direction: DeliveryGate.Direction, _ progress: TransferProgress, decoded: Int64 = 0
    ) throws(Forked) {
        let isHooked = hookKinds.contains(direction.hook)
        let posts = try shared.withLock { shared in
            shared.flow.progressed(
                direction, progress, decoded: decoded, isWanted: isHooked || shared.handlers.wants(direction))
        }
        // This may be the network thread, and an executor is the user's code. So a worker posts the progress.
        if posts { onWorker { (deliveries) throws(Forked) in try self.post(direction, deliveries) } }
    }

    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        entered { () throws(Forked) in
            if try !awaitsNotes(result) { try exchangeEnded(result, at: .atOnce, deliveries) }
        }
    }

    /// The exchange has ended, and everything before its end is delivered.
    ///
    /// - Parameter known: the content of a small, successful answer, if it was read already.
    func exchangeEnded(
        _ result: ExchangeResult, _ known: PlainAnswer? = nil, at place: Conclusion.Place, _ deliveries: DeliveryBatch
    ) throws(Forked) {
        let plain = place == .atOnce ? plainAnswer(result) : known
        if place == .atOnce, let plain, let outcome = try concludePlain(result, plain) {
            if let way = outcome.way { try postResponse(way, deliveries) }
            return
        }
        var result = result
        if place == .worker {
            let (fileJobs, problem) = try shared.withLock { shared in
                let jobs = shared.link.fileJobs.take()
                // The caller may have driven the exchange on its own loop, and returns meanwhile.
                if jobs != nil { shared.link.transport = nil }
                return (jobs, shared.flow.file?.file?.problem)
            }
            if let fileJobs {
                return fileJobs.run(
                    asJob { [result] (deliveries) throws(Forked) in
                        try self.exchangeEnded(result, plain, at: .worker, deliveries)
                    })
            }
            result.error = result.error ?? problem
            // It comes first: once the exchange counts as ended, the reader of the body may end the request or send it
            // again. Nobody hears of a plain answer.
            try tellEnd(of: result)
        }
        let facts = facts
        var (wait, action) = (FlowWait?.none, DeliveryGate.BodyEndAction.bodyIsRead)
        let transition = try shared.withLock { shared -> RequestFlow.Transition? in
            guard place == .worker || (plain != nil && shared.isFree) else { return nil }
            action = shared.flow.exchangeEnded(result, isPlain: place == .atOnce, facts.now)
            shared.link.exchange = nil
            wait = shared.waits.current.take()
            if action == .bodyIsRead { return shared.flow.answered(result, plain, facts) }
            // The caller may have driven the exchange on its own loop, and returns meanwhile.
            shared.link.transport = nil
            return RequestFlow.Transition(next: .nothing)
        }
        // A worker may run code of the program, or wait for the disk.
        guard let transition, place == .worker || transition.isBrief else {
            return handOver(transition, result, plain, deliveries)
        }
        if result.wasConnected { background?.hasConnected() }
        // A question about the answer no longer matters: its exchange has ended meanwhile, by a timeout for example.
        dismiss(wait)
        switch action {
        case .bodyIsRead: try carryOut(transition, at: place, deliveries)
        case .postData: try postData(deliveries)
        case .awaitData: break
        }
    }

    /// Tells the log and the observers of an exchange that has ended.
    private func tellEnd(of result: ExchangeResult) throws(Forked) {
        let (wasSent, observed) = try flow { (!$0.isPlaying, $0.observedBody) }
        guard wasSent else { return }
        try RequestLog.received(self, result, body: observed ?? result.body)
        try observation?.attemptEnds(result, self)
    }

    /// Concludes with the small answer of a plain request, under one lock.
    ///
    /// - Returns: nil when a stage, a handler or a worker is needed; nothing has happened then.
    private func concludePlain(
        _ result: ExchangeResult, _ plain: PlainAnswer
    ) throws(Forked) -> Conclusion.Outcome? {
        let now = now
        return try shared.withLock { shared in
            guard shared.isFree, shared.flow.needsNoStage(for: result) else { return nil }
            _ = shared.flow.exchangeEnded(result, isPlain: true, now)
            shared.link.exchange = nil
            return shared.conclude(result, plain, of: self, now)
        }
    }

    /// A worker goes on: with this transition, or with the end of the exchange if it could not be handled.
    private func handOver(
        _ transition: RequestFlow.Transition?, _ result: ExchangeResult, _ plain: PlainAnswer?,
        _ deliveries: DeliveryBatch
    ) {
        deliveries.add(
            asJob { (deliveries) throws(Forked) in
                if let transition { return try self.carryOut(transition, deliveries) }
                try self.exchangeEnded(result, plain, at: .worker, deliveries)
            })
    }

    /// The body has been read to its end, or nobody wants the rest.
    func bodyIsRead(_ deliveries: DeliveryBatch) throws(Forked) {
        let facts = facts
        if let transition = try flow({ $0.bodyIsRead(facts) }) { try carryOut(transition, deliveries) }
    }

    // MARK: Elsewhere

    /// Runs something on a worker, then posts its deliveries to their threads.
    func onWorker(_ body: @escaping Work) { runtime.workers.run([asJob(body)]) }

    typealias Work = @Sendable (DeliveryBatch) throws(Forked) -> Void

    func asJob(_ body: @escaping Work) -> Job { Job { () throws(Forked) in try self.work(body) } }

    /// The same, within a worker's job.
    func work(_ body: (DeliveryBatch) throws(Forked) -> Void) throws(Forked) {
        let deliveries = DeliveryBatch()
        try body(deliveries)
        try deliveries.flushAsJob(of: runtime.workers)
    }

    func deliver(_ body: (DeliveryBatch) throws(Forked) -> Void) throws(Forked) {
        let deliveries = DeliveryBatch()
        try body(deliveries)
        deliveries.flush(to: runtime.workers)
    }
}

extension RequestFlow.Transition {
    /// Whether it takes little time and runs no code of the program.
    fileprivate var isBrief: Bool {
        switch next {
        case .nothing, .conclude: effects.allSatisfy(\.isBrief)
        default: false
        }
    }
}

extension APIRequest.Shared {
    /// Whether the end of the request concerns nobody but its response handler.
    var isFree: Bool { !handlers.wantsProgress && handlers.interpreter == nil && flow.isFree }

    /// Whether a caller that drives the exchange may return: the request is done, or a piece of the body is there that
    /// the caller takes.
    var hasNews: Bool { flow.phase == .done || (flow.hasData && handlers.isPulled) }
}

extension APIRequest.Handlers {
    /// Whether the end of the body must be waited for: it is parsed, or read by a task.
    var isRead: Bool { body?.isReader == true || (format != .bytes && wantsData) }

    var responseWay: APIRequest.ResponseWay {
        eventKinds.contains(.response) ? .event : response != nil ? .handler : .nowhere
    }

    var wantsProgress: Bool { wants(.upload) || wants(.download) }

    /// Who wants the bodies of the answers.
    func readers(_ hooks: APIClient.HookKinds, readsErrors: Bool) -> BodyReaders {
        var readers: BodyReaders = []
        if wantsData { readers.insert(.handler) }
        if keepsBody { readers.insert(.response) }
        if announcesHead { readers.insert(.head) }
        if hooks.contains(.dataReceived) { readers.insert(.hook) }
        if readsErrors { readers.insert(.errors) }
        return readers
    }

    /// Whether the caller that drives the exchange takes the body.
    var isPulled: Bool {
        if case .caller = body { true } else { false }
    }

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
