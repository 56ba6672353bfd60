/// The driver of a request as a value: each method is an event, and returns what to do about it.
///
/// The shell (`APIRequest`) calls it under the request's lock and acts after releasing it. So no code of the program,
/// no other lock and no file is ever reached from here.
///
/// A request waits for one thing at a time, `kind`. Each wait has a number, its ticket. A reply calls
/// ``replied(_:_:_:)`` with the ticket. If it is late, or comes twice, its ticket is old, and it is ignored.
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
        /// Fulfil the need, and reply with the ticket.
        case start(Need, ticket: UInt32)
        /// Send the body of the arriving answer where the request wants it.
        case route(ResponseHead)
        /// Receive no body: the exchange ends with this error.
        case refuse(APIError)
        /// End the exchange: its answer is not needed.
        case dropExchange
        /// The answer is final.
        indirect case conclude(Answer)
        /// The request was cancelled: end it.
        case cancelled
    }

    /// What follows from an event.
    struct Transition: Sendable {
        /// To perform first, in this order.
        var effects: [Effect] = []
        var next: Next
        /// Whether the response waits until the effects are performed: call ``DeliveryGate/callReturned()`` then.
        ///
        /// One thread is about to end an interceptor here; another cancels the request, and its response handler would
        /// overtake the end.
        var holdsResponse = false
    }

    /// What is delivered, and when. It also knows whether the request runs, is suspended or cancelled.
    var gate = DeliveryGate()
    var history = RequestHistory()
    /// Nil for a plain request, which needs no stages.
    private(set) var chain: Chain?
    /// How the request is sent again, while its stream is rewound or the pause lasts.
    @Boxed private var again: Again?
    private var kind = Kind.nothing
    private var ticket: UInt32 = 0
    /// The head of an answer whose body has no destination yet, and whether the program must still be asked about it.
    @Boxed private var arriving: (head: ResponseHead, asks: Bool)?

    /// Whether the wait with this ticket still lasts.
    func waits(_ ticket: UInt32) -> Bool { kind != .nothing && ticket == self.ticket }

    var reason: Reason { chain?.trip.reason ?? .first }

    /// The request sets out for the first time.
    mutating func begin(_ chain: Chain) -> Transition {
        self.chain = chain
        guard !gate.isCancelled else { return Transition(next: .cancelled) }
        return goIn(chain, from: .calls)
    }

    /// Whether an answer is final at once because no stage needs to see it.
    func isPlain(_ result: ExchangeResult) -> Bool {
        guard chain == nil, let current = history.current else { return false }
        return !Chain.isNeeded(for: result, current)
    }

    /// The exchange has ended, and its body has been read.
    mutating func answered(_ answer: Answer, _ facts: Facts) -> Transition {
        guard !gate.isCancelled else { return Transition(next: .cancelled) }
        if chain == nil, Chain.isNeeded(for: answer.result, answer.sent) { makeChain(answer.sent, facts) }
        guard let chain else { return Transition(next: .conclude(answer)) }
        chain.trip.facts = facts
        chain.answer = answer
        return goOut(chain, from: .interceptors)
    }

    /// The reply to a wait has arrived.
    ///
    /// - Returns: nil when the wait is over already.
    mutating func replied(_ ticket: UInt32, _ reply: Reply, _ facts: Facts) -> Transition? {
        guard waits(ticket) else { return nil }
        if kind == .routing { return routed(reply) }
        guard let chain else { return nil }
        kind = .nothing
        chain.trip.facts = facts
        if let again {
            guard !gate.isCancelled else { return end(chain) }
            if case .rewound(true) = reply { return pause(chain, again) }
            if case .waited = reply { return sendAgain(chain, again.reason) }
        }
        let step = again == nil ? chain.ask(chain.place, .resume(reply)) : stop(chain)
        guard !gate.isCancelled else { return end(chain) }
        return follow(step, chain)
    }

    /// Follows the step of a stage that has waited.
    private mutating func follow(_ step: Step, _ chain: Chain) -> Transition {
        let place = chain.place
        switch step {
        case .on: return chain.answer != nil ? goOut(chain, from: place.outer) : goIn(chain, from: place.inner)
        case .wait(let need): return wait(for: need, chain)
        case .again(let again): return prepare(chain, again)
        case .answer(let answer): return turnBack(chain, with: answer, at: place)
        case .accept: return accept(chain, at: place)
        }
    }

    /// The request was cancelled between two exchanges: it waits no longer.
    ///
    /// - Returns: whether it waited, so that the caller must end the request.
    mutating func leave() -> Bool {
        switch kind {
        case .nothing, .work: return false
        case .routing:
            kind = .nothing
            return false
        case .pause, .rateLimit, .token, .decision, .interceptor:
            kind = .nothing
            return true
        }
    }

    /// The body of the arriving answer becomes a file.
    mutating func addDownload(_ download: Download, _ request: HTTPRequest, _ facts: Facts) {
        if chain == nil { makeChain(request, facts) }
        chain?.download = DownloadStage(download, sent: request)
    }

    /// The chain may hold objects of the program. The caller releases it without a lock.
    mutating func takeChain() -> Chain? { chain.take() }

    private mutating func makeChain(_ request: HTTPRequest, _ facts: Facts) {
        let chain = Chain(request, facts)
        chain.addForAnswers()
        self.chain = chain
    }

    // MARK: Between the head of an answer and its body

    /// The head of an answer has arrived whose body does not go into the response. The exchange waits.
    ///
    /// - Parameters:
    ///   - isElsewhere: whether interceptors would not see the body either, so that they see the head now.
    ///   - asks: whether to ask the program where the body goes.
    mutating func headArrived(_ head: ResponseHead, isElsewhere: Bool, asks: Bool) -> Transition {
        arriving = (head, asks)
        if !isElsewhere { chain?.interceptors?.skipHead() }
        return route()
    }

    private mutating func route() -> Transition {
        guard let (head, asks) = arriving else { return Transition(next: .nothing) }
        if let need = chain?.interceptors?.show(head, history.current) { return wait(routingFor: need) }
        if asks {
            arriving = (head, false)
            return wait(routingFor: .ask(Question(.response, head)))
        }
        arriving = nil
        return transition(.route(head))
    }

    private mutating func routed(_ reply: Reply) -> Transition {
        kind = .nothing
        guard let (head, asks) = arriving, !gate.isCancelled else { return Transition(next: .nothing) }
        if case .intercepted(let reply) = reply, let chain {
            switch chain.interceptors?.take(reply, of: head, &chain.trip) {
            case .passes(let head): arriving = (head, asks)
            case nil: break
            case .dropsExchange:
                arriving = nil
                return transition(.dropExchange)
            }
        }
        if case .decision(.impossible(let error)) = reply { return transition(.refuse(error)) }
        return route()
    }

    private mutating func wait(routingFor need: Need) -> Transition {
        kind = .routing
        ticket &+= 1
        return transition(.start(need, ticket: ticket))
    }

    /// The exchange has ended, and with it the wait for a decision about its head.
    mutating func exchangeEnded() {
        gate.exchangeEnded()
        guard kind == .routing else { return }
        kind = .nothing
        arriving = nil
        if let chain { chain.interceptors?.leaveHead(&chain.trip) }
    }

    private mutating func transition(_ next: Next) -> Transition {
        guard let chain else { return Transition(next: next) }
        return transition(chain, next)
    }

    // MARK: The way

    @inline(never)
    private mutating func goIn(_ chain: Chain, from first: Place) -> Transition {
        var place = first
        while place != .exchange {
            switch chain.ask(place, .send) {
            case .wait(let need): return wait(for: need, chain)
            case .answer(let answer): return turnBack(chain, with: answer, at: place)
            case .on, .again, .accept: place = place.inner
            }
        }
        if let refusal = chain.trip.request.refusal {
            var result = ExchangeResult()
            result.error = refusal
            return turnBack(chain, with: Answer(result, to: chain.trip.request), at: .exchange)
        }
        return transition(chain, .begin(chain.trip.request))
    }

    private mutating func goOut(_ chain: Chain, from first: Place?) -> Transition {
        var next = first
        while let place = next {
            next = place.outer
            // A failure ends the request. Only a stream that may reconnect, and interceptors, look at it.
            if chain.answer?.failure != nil, place != .reconnection, place != .calls, place != .interceptors {
                continue
            }
            switch chain.ask(place, .receive) {
            case .on: break
            case .wait(let need): return wait(for: need, chain)
            case .again(let again): return prepare(chain, again)
            case .accept, .answer: return accept(chain, at: place)
            }
        }
        return conclude(chain)
    }

    // MARK: Again

    /// A stage sends the request again: first the body's stream is rewound, then the pause passes.
    @inline(never)
    private mutating func prepare(_ chain: Chain, _ again: Again) -> Transition {
        self.again = again
        if case .stream(let stream) = chain.trip.request.body { return wait(for: .rewind(stream), chain) }
        return pause(chain, again)
    }

    /// The stream does not begin again. The stage that wanted to send the request hears of it once.
    private mutating func stop(_ chain: Chain) -> Step {
        again = nil
        guard case .stream(let stream) = chain.trip.request.body else { return .accept }
        return chain.ask(
            chain.place,
            .stop(
                stream.isRewindable
                    ? "the body's stream could not be rewound" : "the body is a stream that cannot be sent twice"))
    }

    private mutating func pause(_ chain: Chain, _ again: Again) -> Transition {
        if let line = again.line { chain.trip.log(line) }
        guard let seconds = again.pause else { return sendAgain(chain, again.reason) }
        history.retries += 1
        return wait(for: .pause(seconds), chain)
    }

    private mutating func sendAgain(_ chain: Chain, _ reason: Reason) -> Transition {
        again = nil
        history.count(reason)
        chain.trip.reason = reason
        chain.answer = nil
        // Each exchange needs a new permit of the rate limiter.
        return goIn(chain, from: chain.place == .interceptors ? .rateLimit : chain.place)
    }

    // MARK: The end of the way

    @inline(never)
    private mutating func turnBack(_ chain: Chain, with answer: Answer, at place: Place) -> Transition {
        chain.answer = answer
        if answer.failure == nil {
            history.current = answer.sent
            history.end(answer.result, chain.trip.facts.now)
        }
        // An interceptor that sent the request again waits for an answer, also when the rate limit was too slow.
        let isAwaited = place == .rateLimit && chain.interceptors?.isWaiting == true
        return goOut(chain, from: isAwaited ? .interceptors : place)
    }

    @inline(never)
    private mutating func wait(for need: Need, _ chain: Chain) -> Transition {
        kind = need.kind
        ticket &+= 1
        return transition(chain, .start(need, ticket: ticket))
    }

    /// The answer is final. Only the interceptors of the scope *call* still see it.
    @inline(never)
    private mutating func accept(_ chain: Chain, at place: Place) -> Transition {
        place == .calls ? conclude(chain) : goOut(chain, from: .calls)
    }

    @inline(never)
    private mutating func conclude(_ chain: Chain) -> Transition {
        guard let answer = chain.answer.take() else { return transition(chain, .cancelled) }
        return transition(chain, .conclude(answer))
    }

    private mutating func end(_ chain: Chain) -> Transition {
        chain.answer = nil
        return transition(chain, .cancelled)
    }

    private mutating func transition(_ chain: Chain, _ next: Next) -> Transition {
        let effects = chain.trip.effects
        guard !effects.isEmpty else { return Transition(next: next) }
        chain.trip.effects = []
        let holdsResponse = effects.contains(where: \.isOfInterceptors)
        if holdsResponse { gate.callBegins() }
        return Transition(effects: effects, next: next, holdsResponse: holdsResponse)
    }
}

extension Need {
    fileprivate var kind: RequestFlow.Kind {
        switch self {
        case .pause: .pause
        case .permit: .rateLimit
        case .token, .otherToken: .token
        case .ask: .decision
        case .intercept: .interceptor
        case .lookUp, .rewind, .file, .content, .recall, .proxy, .stream: .work
        }
    }
}
