// The body of the arriving answer: between its head and the end of its reading.
extension RequestFlow {
    var file: Download? { chain?.download?.download }

    /// The reader of lines or events.
    var stream: RequestStream? { chain?.reconnection?.stream }

    /// Whether the body goes to a handler or a file, not into the response.
    var isElsewhere: Bool { body.readers.takesBody || chain?.download != nil }

    /// Whether the exchange must ask where the body goes.
    ///
    /// - Parameter clientAsks: the decisions that the client makes.
    func routesBody(_ clientAsks: DecisionKinds) -> Bool {
        !body.readers.isDisjoint(with: [.handler, .hook]) || chain?.download != nil || asks(clientAsks)
    }

    /// The exchange of the cache, if other processes wait for it.
    var awaited: CacheExchange? { chain?.cache?.awaited }

    private func asks(_ clientAsks: DecisionKinds) -> Bool { clientAsks.union(ownAsks).contains(.response) }

    /// The head of an answer has arrived. The exchange waits.
    ///
    /// - Returns: nil when the body goes into memory.
    mutating func headArrived(_ head: ResponseHead, _ clientAsks: DecisionKinds) -> Transition? {
        let isFollowed = head.redirectLocation != nil && (history.current?.settings.maximumRedirects ?? 0) > 0
        guard body.arrived(head, isFollowed: isFollowed, file, asks: asks(clientAsks)) else { return nil }
        // Interceptors would not see the body either, so they see the head now.
        if !isElsewhere { chain?.attemptInterceptors?.skipHead() }
        return route()
    }

    private mutating func route() -> Transition {
        guard let head = body.undecided?.head else { return Transition(next: .nothing) }
        if let need = chain?.attemptInterceptors?.show(head, history.current) {
            return transition(wait(.routing, for: need))
        }
        if let head = body.question() { return transition(wait(.routing, for: .ask(Question(.response, head)))) }
        return transition(body.isRouted().map { .route($0) } ?? .nothing)
    }

    /// The program or an interceptor has decided about the head.
    mutating func routed(_ reply: Reply) -> Transition {
        kind = .nothing
        guard let head = body.undecided?.head, !gate.isCancelled else { return Transition(next: .nothing) }
        if case .intercepted(let reply) = reply, let chain {
            switch chain.attemptInterceptors?.take(reply, of: head, &chain.trip) {
            case .passes(let head): body.passes(head)
            case nil: break
            case .dropsExchange:
                body.isDropped()
                return transition(.dropExchange)
            }
        }
        if case .decision(.impossible(let error)) = reply { return transition(.refuse(error)) }
        return route()
    }

    /// The exchange has ended, and with it the wait for a decision about its head.
    mutating func leaveRouting() {
        guard kind == .routing else { return }
        kind = .nothing
        _ = body.isRouted()
        if let chain { chain.attemptInterceptors?.leaveHead(&chain.trip) }
    }

    /// The body of the arriving answer becomes a file.
    mutating func becomesFile(_ download: Download, _ facts: Facts) {
        guard let current = history.current else { return }
        if chain == nil { makeChain(current, completed(facts)) }
        chain?.download = DownloadStage(download, sent: current)
        body.becomesFile()
    }

    /// Who receives the arriving body, and whether an empty piece announces it.
    mutating func bodyOwner() -> (ArrivingBody.Owner, announces: Bool) {
        guard !gate.isCancelled else { return (.nobody, false) }
        return (body.owner(file, stream), body.readers.contains(.head))
    }

    /// The file of a download is open.
    mutating func opened(_ download: Download) {
        chain?.download?.download = download
        body.opened(at: download.offset)
    }

    /// A piece of the body has arrived.
    mutating func dataArrived(_ bytes: UnsafeRawBufferPointer) -> DataLane.Arrival {
        let arrival = gate.dataArrived(bytes)
        // The client's hook sees a copy, and the body stays in the response.
        guard arrival != .full, arrival != .unwanted, !body.observes(bytes) else { return arrival }
        return .outOfMemory
    }

    /// Whether the end of an exchange waits until its body is read, because the content decides what follows.
    mutating func readingEnds(_ result: ExchangeResult) -> DeliveryGate.BodyEndAction {
        guard let stream else { return .bodyIsRead }
        let isWhole = result.error == nil && body.head != nil && stream.format == .jsonLines
        let action = gate.bodyEnded(isWhole: isWhole)
        if action != .bodyIsRead { body.waits(with: result) }
        return action
    }

    /// The body has been read to its end, or nobody wants the rest.
    ///
    /// - Returns: nil when no answer waits for that.
    mutating func bodyIsRead(_ facts: Facts) -> Transition? { body.isRead().map { answered($0, nil, facts) } }

    /// The head of the response whose body a handler or a file receives.
    var receivedHead: ResponseHead? { body.head }

    /// Statuses whose bodies no handler sees.
    var quietStatuses: Set<Int> { body.quietStatuses }

    /// The download so far, for its resume data.
    var downloadSoFar: (download: Download, history: RequestHistory)? { file.map { ($0, history) } }

    /// The program has the resume data, so the file is not removed with the response.
    mutating func resumeDataIsTaken() { chain?.download?.isTaken = true }
}
