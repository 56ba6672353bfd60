// The way of a request through its stages: in to the server, and out to the caller.
extension RequestFlow {
    /// The request sets out for the first time, through these stages.
    mutating func begin(_ plan: StagePlan, _ request: HTTPRequest, _ facts: Facts) -> Transition {
        let chain = Chain(request, facts, plan)
        self.chain = chain
        chain.trip.facts = completed(facts)
        guard !gate.isCancelled else { return Transition(next: .cancelled) }
        return goIn(chain, from: .callInterceptors)
    }

    mutating func makeChain(_ request: HTTPRequest, _ facts: Facts) {
        chain = Chain(request, facts, StagePlan())
    }

    /// The stage that waits has its reply.
    mutating func goOn(_ chain: Chain, _ reply: Reply) -> Transition {
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
        case .play(let response): return play(response, chain)
        case .accept: return accept(chain, at: place)
        }
    }

    @inline(never)
    private mutating func goIn(_ chain: Chain, from first: Place) -> Transition {
        if let mistake = chain.trip.request.mistake { return refuse(chain, mistake, at: first) }
        var place = first
        while place != .exchange {
            switch chain.ask(place, .send) {
            case .wait(let need): return wait(for: need, chain)
            case .answer(let answer): return turnBack(chain, with: answer, at: place)
            case .play(let response): return play(response, chain)
            case .on, .again, .accept: place = place.inner
            }
        }
        // Interceptors may have set the body again.
        if let refusal = chain.trip.request.refusal { return refuse(chain, refusal, at: .exchange) }
        return transition(chain, .begin(chain.trip.request))
    }

    private mutating func refuse(_ chain: Chain, _ error: APIError, at place: Place) -> Transition {
        var result = ExchangeResult()
        result.error = error
        return turnBack(chain, with: Answer(result, to: chain.trip.request), at: place)
    }

    mutating func goOut(_ chain: Chain, from first: Place?) -> Transition {
        var next = first
        while let place = next {
            next = place.outer
            // A failure ends the request. Only a stream that may reconnect, and interceptors, look at it.
            if chain.answer?.failure != nil, place != .reconnection, place != .callInterceptors,
                place != .attemptInterceptors
            {
                continue
            }
            switch chain.ask(place, .receive) {
            case .on: break
            case .wait(let need): return wait(for: need, chain)
            case .again(let again): return prepare(chain, again)
            case .play(let response): return play(response, chain)
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
        // A pause counts from its beginning, so that a request that is cancelled in it tells of it.
        history.count(again.reason)
        guard let seconds = again.pause else { return sendAgain(chain, again.reason) }
        return wait(for: .pause(seconds), chain)
    }

    private mutating func sendAgain(_ chain: Chain, _ reason: Reason) -> Transition {
        again = nil
        chain.trip.reason = reason
        chain.answer = nil
        // Each exchange needs a new permit of the rate limiter.
        return goIn(chain, from: chain.place == .attemptInterceptors ? .rateLimit : chain.place)
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
        let isAwaited = place == .rateLimit && chain.attemptInterceptors?.isWaiting == true
        return goOut(chain, from: isAwaited ? .attemptInterceptors : place)
    }

    /// Plays an interceptor's answer. When its body has been read, it goes on outwards from there.
    @inline(never)
    private mutating func play(_ response: HTTPResponse, _ chain: Chain) -> Transition {
        played = chain.place
        chain.answer = nil
        if chain.place == .callInterceptors {
            // The stream says what is wrong with the body. No other connection follows it.
            played = .reconnection
            chain.reconnection?.stop()
        }
        return transition(chain, .play(response, to: chain.trip.request))
    }

    @inline(never)
    private mutating func wait(for need: Need, _ chain: Chain) -> Transition {
        transition(chain, wait(need.kind, for: need))
    }

    /// The answer is final. Only the interceptors of the scope *call* still see it.
    @inline(never)
    private mutating func accept(_ chain: Chain, at place: Place) -> Transition {
        place == .callInterceptors ? conclude(chain) : goOut(chain, from: .callInterceptors)
    }

    @inline(never)
    private mutating func conclude(_ chain: Chain) -> Transition {
        guard let answer = chain.answer.take() else { return transition(chain, .cancelled) }
        return transition(chain, .conclude(Box(answer)))
    }

    private mutating func end(_ chain: Chain) -> Transition {
        chain.answer = nil
        return transition(chain, .cancelled)
    }

    mutating func transition(_ next: Next) -> Transition {
        guard let chain else { return Transition(next: next) }
        return transition(chain, next)
    }

    private mutating func transition(_ chain: Chain, _ next: Next) -> Transition {
        if chain.trip.hasPermit {
            switch next {
            // An attempt interceptor is between the permit and the exchange.
            case .start(.intercept, _): break
            case .begin: chain.trip.hasPermit = false
            default:
                chain.trip.hasPermit = false
                chain.trip.effects.append(.returnPermit)
            }
        }
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
        case .lookUp: .lookUp
        case .rewind, .file, .content, .retry, .circuit, .recall, .proxy, .stream: .work
        }
    }
}
