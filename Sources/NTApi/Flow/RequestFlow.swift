/// The driver of a request: each method is something that has happened, and says what to do about it.
///
/// The shell (`APIRequest`) calls it under the request's lock, and acts when it has let go of that: no code of the program,
/// no other lock and no file is ever reached from here.
///
/// A request waits for one thing at a time, ``waiting``. Each wait has a number, its ticket. Who is waited for says
/// ``told(_:_:_:)`` with that; whoever comes late, or twice, is not heard.
struct RequestFlow: Sendable {
    /// What the request waits for.
    enum Kind: Sendable {
        /// Nothing: a thread carries out what was said last. That thread asks again, and finds a cancel then.
        case nothing
        /// Work that some thread does without waiting for anybody: it is through soon.
        case work
        /// Time, another attempt's or connection's. A cancel ends it.
        case pause
        /// The rate limit. A cancel ends it, and its own deadline.
        case turn
        /// The authenticator. A cancel ends it, and its own deadline.
        case token
        /// The program. A cancel ends it; at the request's deadline it goes on as if nobody had been asked.
        case decision
        /// An interceptor. A cancel ends it, and the request's deadline.
        case interceptor
        /// The program or an interceptor, which says where the body of the answer that arrives goes. The exchange still runs:
        /// a cancel ends that, and its end ends this.
        case routing
    }

    /// What the shell is to do.
    enum Next: Sendable {
        /// Nothing: somebody else goes on with the request.
        case nothing
        /// Make an exchange.
        case begin(HTTPRequest)
        /// See that the need is met, and tell it with the ticket.
        case start(Need, ticket: UInt32)
        /// The body of the answer that arrives goes where the request wants it.
        case route(ResponseHead)
        /// The body goes nowhere: the exchange ends with this error.
        case refuse(APIError)
        /// The exchange is of no use any more: end it.
        case dropExchange
        /// The answer stands.
        indirect case conclude(Answer)
        /// It was cancelled: it ends.
        case cancelled
    }

    /// What follows from something that has happened.
    struct Transition: Sendable {
        /// These first, in this order.
        var effects: [Effect] = []
        var next: Next
    }

    /// What is delivered, and when. It knows, too, whether the request runs, is suspended or was cancelled.
    var gate = DeliveryGate()
    var history = RequestHistory()
    /// Nil where nobody but the network has to do with the request.
    private(set) var chain: Chain?
    private var kind = Kind.nothing
    private var ticket: UInt32 = 0
    /// Of the answer whose body waits for its way, and whether the program is still to be asked about it.
    @Boxed private var arriving: (head: ResponseHead, asks: Bool)?

    /// Whether the wait with this ticket still lasts.
    func waits(_ ticket: UInt32) -> Bool { kind != .nothing && ticket == self.ticket }

    var reason: Reason { chain?.trip.reason ?? .first }

    /// The request goes in for the first time.
    mutating func begin(_ chain: Chain) -> Transition {
        self.chain = chain
        guard !gate.isCancelled else { return Transition(next: .cancelled) }
        return goIn(chain, from: .calls)
    }

    /// Whether an answer of this kind simply stands: no stage has to do with it.
    func isPlain(_ result: ExchangeResult) -> Bool {
        guard chain == nil, let current = history.current else { return false }
        return !Chain.isNeeded(for: result, current)
    }

    /// The exchange has ended, and its body was read.
    mutating func answered(_ answer: Answer, _ moment: Moment) -> Transition {
        guard !gate.isCancelled else { return Transition(next: .cancelled) }
        if chain == nil, Chain.isNeeded(for: answer.result, answer.sent) { makeChain(answer.sent, moment) }
        guard let chain else { return Transition(next: .conclude(answer)) }
        chain.trip.moment = moment
        chain.answer = answer
        return goOut(chain, from: .interceptors)
    }

    /// What was waited for is there.
    ///
    /// - Returns: nil when nobody waits for it any more.
    mutating func told(_ ticket: UInt32, _ reply: Reply, _ moment: Moment) -> Transition? {
        guard waits(ticket) else { return nil }
        if kind == .routing { return routed(reply) }
        guard let chain else { return nil }
        kind = .nothing
        chain.trip.moment = moment
        let isGoingOut = chain.answer != nil
        let place = chain.place
        let step = chain.ask(place, .resume(reply))
        guard !gate.isCancelled else { return end(chain) }
        switch step {
        case .on: return isGoingOut ? goOut(chain, from: place.outer) : goIn(chain, from: place.inner)
        case .wait(let need): return wait(for: need, chain)
        case .again(let reason): return again(chain, reason, from: place)
        case .answer(let answer): return turn(chain, back: answer, at: place)
        case .stands: return stands(chain, at: place)
        }
    }

    /// The request was cancelled between two exchanges, or has to go elsewhere: it waits no longer.
    ///
    /// - Returns: whether somebody was waited for, so that it is to be ended here.
    mutating func leave() -> Bool {
        switch kind {
        case .nothing, .work: return false
        case .routing:
            kind = .nothing
            return false
        case .pause, .turn, .token, .decision, .interceptor:
            kind = .nothing
            return true
        }
    }

    /// The body of the answer that arrives becomes a file.
    mutating func addDownload(_ download: Download, _ request: HTTPRequest, _ moment: Moment) {
        if chain == nil { makeChain(request, moment) }
        chain?.download = Downloading(download, sent: request)
    }

    /// What the chain holds may be the program's, so it goes where no lock is held.
    mutating func takeChain() -> Chain? { chain.take() }

    private mutating func makeChain(_ request: HTTPRequest, _ moment: Moment) {
        let chain = Chain(request, moment)
        chain.addForAnswers()
        self.chain = chain
    }

    // MARK: Between the head of an answer and its body

    /// The head of an answer is there whose body does not become the response's. The exchange waits.
    ///
    /// - Parameters:
    ///   - isElsewhere: whether interceptors would not see the body either: they see the head now.
    ///   - asks: whether the program is asked where the body goes.
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
        guard let chain, let changed = chain.interceptors?.hear(reply, of: head, &chain.trip) else {
            if case .failed(let error) = reply { return transition(.refuse(error)) }
            return route()
        }
        guard let head = changed else {
            arriving = nil
            return transition(.dropExchange)
        }
        arriving = (head, asks)
        return route()
    }

    private mutating func wait(routingFor need: Need) -> Transition {
        kind = .routing
        ticket &+= 1
        return transition(.start(need, ticket: ticket))
    }

    /// The exchange is over, and with it what was asked about its head.
    mutating func exchangeEnded() {
        gate.exchangeEnded()
        guard kind == .routing else { return }
        kind = .nothing
        arriving = nil
        if let chain { chain.interceptors?.leaveHead(&chain.trip) }
    }

    private func transition(_ next: Next) -> Transition {
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
            case .answer(let answer): return turn(chain, back: answer, at: place)
            case .on, .again, .stands: place = place.inner
            }
        }
        return transition(chain, .begin(chain.trip.request))
    }

    private mutating func goOut(_ chain: Chain, from first: Place?) -> Transition {
        var next = first
        while let place = next {
            next = place.outer
            // There is nothing to look at in a failure, but whether a stream goes on, and what the program makes of it.
            if chain.answer?.failure != nil, place != .reconnection, place != .calls, place != .interceptors {
                continue
            }
            switch chain.ask(place, .receive) {
            case .on: break
            case .wait(let need): return wait(for: need, chain)
            case .again(let reason): return again(chain, reason, from: place)
            case .stands, .answer: return stands(chain, at: place)
            }
        }
        return conclude(chain)
    }

    @inline(never)
    private mutating func again(_ chain: Chain, _ reason: Reason, from place: Place) -> Transition {
        history.count(reason)
        chain.trip.reason = reason
        chain.answer = nil
        // Each exchange needs a turn of its own.
        return goIn(chain, from: place == .interceptors ? .turn : place)
    }

    @inline(never)
    private mutating func turn(_ chain: Chain, back answer: Answer, at place: Place) -> Transition {
        chain.answer = answer
        if answer.failure == nil {
            history.current = answer.sent
            history.end(answer.result, chain.trip.moment.now)
        }
        // An interceptor that has sent the request again waits for the answer, also where the turn came too late.
        let isAwaited = place == .turn && chain.interceptors?.isWaiting == true
        return goOut(chain, from: isAwaited ? .interceptors : place)
    }

    @inline(never)
    private mutating func wait(for need: Need, _ chain: Chain) -> Transition {
        if case .pause = need { history.retries += 1 }
        kind = need.kind
        ticket &+= 1
        return transition(chain, .start(need, ticket: ticket))
    }

    /// Only the call's interceptors look at it once more.
    @inline(never)
    private mutating func stands(_ chain: Chain, at place: Place) -> Transition {
        place == .calls ? conclude(chain) : goOut(chain, from: .calls)
    }

    @inline(never)
    private func conclude(_ chain: Chain) -> Transition {
        guard let answer = chain.answer.take() else { return transition(chain, .cancelled) }
        return transition(chain, .conclude(answer))
    }

    private func end(_ chain: Chain) -> Transition {
        chain.answer = nil
        return transition(chain, .cancelled)
    }

    private func transition(_ chain: Chain, _ next: Next) -> Transition {
        let effects = chain.trip.effects
        if !effects.isEmpty { chain.trip.effects = [] }
        return Transition(effects: effects, next: next)
    }
}

extension Need {
    fileprivate var kind: RequestFlow.Kind {
        switch self {
        case .pause: .pause
        case .turn: .turn
        case .token, .otherToken: .token
        case .ask: .decision
        case .intercept: .interceptor
        case .lookUp, .rewind, .file, .content, .recall, .proxy, .stream: .work
        }
    }
}
