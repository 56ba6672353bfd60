/// The driver of a request as a value: each method is an event, and returns what to do about it.
///
/// The shell (`APIRequest`) calls it under the request's lock and acts after releasing it. So no code of the program,
/// no other lock and no file is ever reached from here.
///
/// A request waits for one thing at a time, `kind`. Each wait has a number, its ticket. A reply calls
/// ``replied(_:_:_:)`` with the ticket. If it is late, or comes twice, its ticket is old, and it is ignored.
///
/// This file: the life of the request and its waits. The way through the stages, the arriving body, and what is
/// delivered have a file each.
struct RequestFlow: Sendable {
    /// What the request waits for.
    enum Kind: Sendable {
        /// Nothing: a thread acts on the last transition. It calls again and then finds a cancel.
        case nothing
        /// Work that a thread does without waiting for anybody: it ends soon.
        case work
        /// The time before another attempt or connection. A cancel ends it.
        case pause
        /// The rate limit. A cancel or its own deadline ends it.
        case rateLimit
        /// The authenticator. A cancel or its own deadline ends it.
        case token
        /// The cache, which may ask a disk or a store. A cancel or the request's deadline ends it.
        case lookUp
        /// The program. A cancel ends it. At the request's deadline the request goes on as if nobody had been asked.
        case decision
        /// An interceptor. A cancel or the request's deadline ends it.
        case interceptor
        /// The program or an interceptor, which decides where the body of the arriving answer goes. The exchange still
        /// runs: a cancel ends the exchange, and the end of the exchange ends this wait.
        case routing
    }

    /// What the shell does next.
    enum Next: Sendable {
        /// Nothing: somebody else continues the request.
        case nothing
        /// Make an exchange.
        case begin(HTTPRequest)
        /// Make an exchange with this answer, which an interceptor has made. Nothing is sent.
        case play(HTTPResponse, to: HTTPRequest)
        /// Fulfil the need, and reply with the ticket.
        case start(Need, ticket: UInt32)
        /// Send the body of the arriving answer where the request wants it.
        case route(ResponseHead)
        /// Receive no body: the exchange ends with this error.
        case refuse(APIError)
        /// End the exchange: its answer is not needed.
        case dropExchange
        /// The answer is final.
        case conclude(Box<Answer>)
        /// The request was cancelled: end it.
        case cancelled
    }

    /// What follows from an event.
    struct Transition: Sendable {
        /// To perform first, in this order.
        var effects: [Effect] = []
        var next: Next
        /// Whether the response waits until the effects are performed: call ``callReturned()`` then.
        ///
        /// One thread is about to end an interceptor here; another cancels the request, and its response handler would
        /// overtake the end.
        var holdsResponse = false
    }

    // Used in this folder only; `check_layers.py` sees to that.

    /// What is delivered, and when. It also knows whether the request runs, is suspended or cancelled.
    var gate = DeliveryGate()
    var history = RequestHistory()
    /// Nil for a plain request, which needs no stages.
    var chain: Chain?
    var body = ArrivingBody()
    var kind = Kind.nothing
    /// How the request is sent again, while its stream is rewound or the pause lasts.
    @Boxed var again: Again?
    /// Where an interceptor's answer goes on when the exchange that plays it has ended; nil while none is played.
    var played: Place?
    /// The decisions that the request's own handler makes.
    private(set) var ownAsks: DecisionKinds = []
    private var ticket: UInt32 = 0
    var counts = ByteCounts()
    /// When the request was suspended.
    private(set) var suspendedAt = MonotonicTime.distantFuture
    /// How often an exchange was suspended or released.
    private var suspensions: UInt32 = 0

    // MARK: Life

    /// The program starts or continues the request.
    ///
    /// - Parameters:
    ///   - request: nil when the args are invalid.
    ///   - asks: the decisions that the request's own handler makes.
    mutating func resume(
        _ request: HTTPRequest?, _ readers: BodyReaders, asks: DecisionKinds, _ now: MonotonicTime, calendar: Double
    ) -> DeliveryGate.ResumeAction {
        let action = gate.resume()
        switch action {
        case .start:
            history.begin(request, now, calendar: calendar)
            body.readers = readers
            ownAsks = asks
        // No time has passed for the request.
        case .releaseExchange, .nothing:
            history.deadline = history.deadline.advanced(bySeconds: now.seconds(since: suspendedAt))
        case .tooLate: break
        }
        return action
    }

    mutating func suspend(_ now: MonotonicTime) -> DeliveryGate.SuspendAction {
        let action = gate.suspend()
        if action != .tooLate { suspendedAt = now }
        return action
    }

    /// The change for the exchange that runs, after a suspension or its end.
    ///
    /// Why the number: one thread suspends while another resumes, and they may reach the network in the opposite order.
    /// The exchange acts on the highest number only.
    mutating func suspension() -> ExchangeChange {
        suspensions &+= 1
        return .suspend(gate.isSuspended, number: suspensions)
    }

    /// - Returns: what to do, and whether the request waited between two exchanges, so that the caller must end it.
    mutating func cancel(_ now: MonotonicTime, calendar: Double) -> (action: DeliveryGate.CancelAction, isLeft: Bool) {
        let action = gate.cancel()
        switch action {
        case .end: history.begin(nil, now, calendar: calendar)
        case .nothing, .cancelExchange: return (action, leave())
        case .tooLate, .bodyIsRead: break
        }
        return (action, false)
    }

    /// The request was cancelled between two exchanges: it waits no longer.
    ///
    /// - Returns: whether it waited.
    private mutating func leave() -> Bool {
        switch kind {
        case .nothing, .work: return false
        case .routing:
            kind = .nothing
            return false
        case .pause, .rateLimit, .token, .lookUp, .decision, .interceptor:
            kind = .nothing
            return true
        }
    }

    /// When the request's time is over. Time does not pass while it is suspended.
    func deadline(_ now: @autoclosure () -> MonotonicTime) -> MonotonicTime {
        guard gate.isSuspended else { return history.deadline }
        return history.deadline.advanced(bySeconds: now().seconds(since: suspendedAt))
    }

    // MARK: Waits

    /// Whether the wait with this ticket still lasts.
    func waits(_ ticket: UInt32) -> Bool { kind != .nothing && ticket == self.ticket }

    /// Begins a wait.
    mutating func wait(_ kind: Kind, for need: Need) -> Next {
        self.kind = kind
        ticket &+= 1
        return .start(need, ticket: ticket)
    }

    /// The reply to a wait has arrived.
    ///
    /// - Returns: nil when the wait is over already.
    mutating func replied(_ ticket: UInt32, _ reply: Reply, _ facts: Facts) -> Transition? {
        guard waits(ticket) else { return nil }
        if kind == .routing { return routed(reply) }
        guard let chain else { return nil }
        kind = .nothing
        chain.trip.facts = completed(facts)
        return goOn(chain, reply)
    }

    /// The permit of the rate limiter came after this many seconds.
    mutating func queued(_ seconds: Double) { history.queued += seconds }

    /// Adds what only the request knows.
    func completed(_ facts: Facts) -> Facts {
        var facts = facts
        facts.deadline = deadline(facts.now)
        facts.asks.formUnion(ownAsks)
        facts.isElsewhere = isElsewhere
        facts.routesBody = routesBody(facts.asks)
        return facts
    }

    // MARK: The exchange

    /// An exchange is about to begin.
    ///
    /// - Parameters:
    ///   - mayBeChallenged: whether an answer that asks for credentials may be answered.
    ///   - previous: gets the request that was sent before. Releasing that may close connections, so it must outlive
    ///     the request's lock.
    /// - Returns: false when the request was cancelled: begin nothing, and end the request.
    mutating func exchangeBegins(
        _ request: HTTPRequest, mayBeChallenged: Bool, releasing previous: inout HTTPRequest?
    ) -> Bool {
        guard gate.exchangeBegins() else { return false }
        previous = history.current
        history.current = request
        var quiet = chain?.quietStatuses ?? []
        if mayBeChallenged { quiet.formUnion([401, 407]) }
        body.exchangeBegins(reason, quiet: quiet)
        return true
    }

    /// The exchange has ended.
    ///
    /// - Parameters:
    ///   - result: without the body that the client's hook saw: see ``observedBody``.
    ///   - isPlain: whether the answer is small and successful, and nobody but its handler sees it.
    /// - Returns: what follows: ``answered(_:_:_:)`` for `bodyIsRead`.
    mutating func exchangeEnded(
        _ result: ExchangeResult, isPlain: Bool, _ now: MonotonicTime
    ) -> DeliveryGate.BodyEndAction {
        gate.exchangeEnded()
        history.queued += result.metrics.queued
        leaveRouting()
        // The only transaction of a plain request can be derived from its response.
        history.lacksLast = isPlain && chain == nil
        if !history.lacksLast { history.end(result, now) }
        return readingEnds(result)
    }

    /// Whether the answer that arrives is an interceptor's.
    var isPlaying: Bool { played != nil }

    /// The body that the client's hook saw as it arrived.
    var observedBody: Bytes? { body.observed }

    /// Whether an answer needs no stage, so that it can end the request as it is.
    func needsNoStage(for result: ExchangeResult) -> Bool {
        guard chain == nil, let sent = history.current else { return false }
        return !Chain.isNeeded(for: result, sent)
    }

    /// The exchange has ended, and its body has been read.
    ///
    /// - Parameter plain: the content of a small, successful answer.
    mutating func answered(_ result: ExchangeResult, _ plain: PlainAnswer?, _ facts: Facts) -> Transition {
        guard !gate.isCancelled, let sent = history.current else { return Transition(next: .cancelled) }
        let isDelivered = body.head != nil && file == nil && body.readers.takesBody
        var answer = Answer(result, to: sent, plain: plain, isDelivered: isDelivered)
        if let body = body.takeObserved() {
            // What was read where the answer arrived was without it.
            (answer.result.body, answer.plain) = (body, nil)
        }
        answer.isRouted = body.hasDestination
        answer.isMade = isPlaying
        if chain == nil, Chain.isNeeded(for: result, sent) { makeChain(sent, completed(facts)) }
        guard let chain else { return Transition(next: .conclude(Box(answer))) }
        chain.trip.facts = completed(facts)
        chain.answer = answer
        return goOut(chain, from: played.take() ?? .attemptInterceptors)
    }

    /// What it has been through.
    var soFar: RequestHistory { history }

    /// Why it is sent now.
    var reason: Reason { chain?.trip.reason ?? .first }

    /// The request that was sent last.
    var current: HTTPRequest? { history.current }

    // MARK: Progress

    /// Body bytes have moved.
    ///
    /// - Parameters:
    ///   - decoded: received bytes after decompression.
    ///   - isWanted: whether anybody hears of it.
    /// - Returns: whether to post a job that takes the progress.
    mutating func progressed(
        _ direction: DeliveryGate.Direction, _ progress: TransferProgress, decoded: Int64, isWanted: Bool
    ) -> Bool {
        var progress = progress
        let before = direction == .download ? body.counted(0) : 0
        if before > 0 { progress.add(before) }
        switch direction {
        case .upload: counts.sent = progress
        case .download:
            counts.received = progress
            counts.decoded = body.counted(decoded)
        }
        return isWanted && gate.progressed(direction, progress, after: before)
    }
}

/// The body bytes of a request's exchanges so far.
struct ByteCounts: Sendable {
    var sent = TransferProgress(bytes: 0, total: nil)
    var received = TransferProgress(bytes: 0, total: nil)
    /// Received, after decompression.
    var decoded: Int64 = 0
}
