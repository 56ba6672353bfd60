/// Answers from the client's cache, and stores what may be stored (RFC 9111).
struct CacheStage: Stage, ~Copyable {
    private var given: HTTPRequest?
    private var caching: CacheExchange?
    /// What the cache itself began the request for; nil for a request of the program.
    private let revalidation: CacheRevalidation?
    private let secrets: MarkedSecrets
    /// Whether the answer on its way out is a stored one.
    private var isStored = false
    /// Whether to skip the cache and ask the server.
    private var isPassedBy = false
    /// The response to store, while the program is asked where.
    private var proposal: (response: CachedResponse, storage: CacheStorage)?

    /// - Parameter secrets: what messages must not show.
    init(_ revalidation: CacheRevalidation?, _ secrets: MarkedSecrets) {
        self.revalidation = revalidation
        self.secrets = secrets
    }

    mutating func send(_ trip: inout Trip) -> Step {
        let http = trip.request
        given = http
        caching = nil
        guard !isPassedBy, let use = http.settings.context?.cache else { return .on }
        let asked = CacheRequest(http, use)
        let isElsewhere = trip.facts.isElsewhere
        let mayBeAnswered = asked.mayBeAnswered && !isElsewhere
        guard mayBeAnswered || asked.mayLoad else {
            trip.looked(.miss)
            return .answer(notCached(http))
        }
        guard asked.role != .none, let parts = try? URLParts(http.url) else { return .on }
        let key = CacheKey(parts, partition: use.partition)
        guard mayBeAnswered, asked.policy != .reloadIgnoringCache, trip.reason != .reload else {
            begin(asked, use, key, isElsewhere: isElsewhere, trip)
            return .on
        }
        return .wait(.lookUp(asked, use, key))
    }

    private mutating func begin(
        _ asked: CacheRequest, _ use: CacheUse, _ key: CacheKey, stored: CachedResponse? = nil,
        isConditional: Bool = false, isElsewhere: Bool = false, turn: CacheTurn? = nil, _ trip: Trip
    ) {
        caching = CacheExchange(
            asked, use, key, stored: stored, isConditional: isConditional, isElsewhere: isElsewhere,
            turn: turn ?? revalidation?.turn, requestTime: trip.facts.cacheCalendar)
    }

    /// The exchange, if other processes wait for it.
    var awaited: CacheExchange? { caching?.turn?.isHeld == true ? caching : nil }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard !isStored else {
            isStored = false
            return show(answer, &trip)
        }
        guard let caching = caching.take() else { return .on }
        guard !answer.isMade, caching.isMeant(by: answer) else {
            // An interceptor changed the request or the answer: do not store it for anybody else.
            pass(caching, answer, &trip)
            guard caching.isConditional, answer.result.head?.status == 304, let given else { return .on }
            trip.request = given
            return .again(Again(.reload))
        }
        let (cache, now) = (caching.use.cache, trip.facts.cacheCalendar)
        let outcome = caching.outcome(of: answer.result, now: now)
        // Without a stored response, the look-up has told that there was none.
        if caching.stored != nil { trip.looked(outcome.observed) }
        switch outcome {
        case .none: pass(caching, answer, &trip)
        case .remove(let keys):
            trip.effects.append(.cache(.remove(keys, cache)))
            pass(caching, answer, &trip)
        case .update(let response): trip.effects.append(.cache(.update(response, caching)))
        case .store(let response, let storage):
            guard trip.facts.asks.contains(.cache) else {
                let place = revalidation != nil ? caching.place(storage) : storage
                trip.effects.append(.cache(.store(response, place, caching)))
                break
            }
            self.caching = caching
            let proposed = cache.isOnDisk || response.isShared ? storage : .memory
            proposal = (response, proposed)
            var question = Question(.cache, answer.result.head)
            question.proposedStorage = proposed
            return .wait(.ask(question))
        case .confirm(let response):
            trip.effects.append(.cache(.update(response, caching)))
            answer.result.take(response, caching.request, .validatedCache, now: now)
            return show(answer, &trip)
        case .standIn(let response):
            answer.result.take(response, caching.request, .cache, now: now)
            trip.effects.append(.show(answer.result))
            pass(caching, answer, &trip)
        case .loadAgain:
            guard let given else { break }
            trip.effects.append(.cache(.remove([caching.key], cache)))
            trip.request = given
            return .again(Again(.reload))
        }
        return .on
    }

    /// The answer is not stored. The turn to load it for all is over.
    private func pass(_ caching: CacheExchange, _ answer: Answer, _ trip: inout Trip) {
        guard caching.turn != nil else { return }
        let hasFailed = answer.result.error != nil || answer.result.head.map { $0.status >= 500 } ?? true
        trip.effects.append(.cache(.pass(caching, hasFailed: hasFailed)))
    }

    mutating func resume(decision: DecisionAnswer, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        if case .impossible(let error) = decision {
            answer.failure = error
            return .accept
        }
        if let (response, proposed) = proposal.take(), let caching = caching.take() {
            var storage = proposed
            if case .store(let other) = decision { storage = other }
            trip.effects.append(.cache(.store(response, storage, caching)))
            return .on
        }
        guard case .download = decision, let given else {
            trip.effects.append(.show(answer.result))
            return .on
        }
        // A file is written as the body arrives from the network, so the stored body cannot be used.
        isPassedBy = true
        trip.request = given
        return .again(Again(.reload))
    }

    mutating func resume(stored: CachedResponse?, _ turn: CacheTurn?, _ trip: inout Trip) -> Step {
        guard let http = given, let use = http.settings.context?.cache, let parts = try? URLParts(http.url) else {
            return .on
        }
        let (asked, key) = (CacheRequest(http, use), CacheKey(parts, partition: use.partition))
        let now = trip.facts.cacheCalendar
        // A stored body above the request's limit is not used. The server answers, and the limit refuses that.
        let fits = Int64(stored?.body.count ?? 0) <= http.settings.maximumSize(inMemory: false) ?? .max
        let found = fits ? stored : nil
        switch (CacheDecision.decide(asked, found, now: now), found) {
        case (.use, let found?):
            trip.looked(.hit)
            return answer(found, asked, now)
        case (.useWhileRevalidating, let found?):
            trip.looked(.stale)
            trip.effects.append(.cache(.revalidate(asked, use, key)))
            return answer(found, asked, now)
        case (.validate, let found?):
            begin(asked, use, key, stored: found, isConditional: true, turn: turn, trip)
            trip.request = found.condition(http)
        case (.fail, _):
            trip.looked(.miss)
            return .answer(notCached(http))
        case (.load, _), (_, nil):
            if found == nil { trip.looked(.miss) }
            begin(asked, use, key, stored: found, turn: turn, trip)
        }
        return .on
    }

    private mutating func answer(_ stored: CachedResponse, _ asked: CacheRequest, _ now: Double) -> Step {
        isStored = true
        var result = ExchangeResult()
        result.take(stored, asked, .cache, now: now)
        return .answer(Answer(result, to: asked.http))
    }

    /// Passes on a stored response. The program may decide about it, or see its body, first.
    private func show(_ answer: Answer, _ trip: inout Trip) -> Step {
        if answer.isStoredSuccess, trip.facts.asks.contains(.response) {
            return .wait(.ask(Question(.response, answer.result.head)))
        }
        trip.effects.append(.show(answer.result))
        return .on
    }

    /// The cache has no response, and the server may not be asked (RFC 9111, 5.2.1.7).
    private func notCached(_ http: HTTPRequest) -> Answer {
        var result = ExchangeResult(head: ResponseHead(status: 504, headers: HTTPHeaders(), httpVersion: 1.1))
        result.metrics.source = .cache
        result.error = APIError(
            domain: .http, code: .notCached,
            message: "the cache has no response for \(http.method) \(secrets.redact(url: http.url)), and the "
                + "server may not be asked")
        return Answer(result, to: http)
    }
}

/// A change of a cache. Nobody waits for it.
indirect enum CacheEffect: Sendable {
    case store(CachedResponse, CacheStorage, CacheExchange)
    case update(CachedResponse, CacheExchange)
    /// The turn to load it for all is over.
    case pass(CacheExchange, hasFailed: Bool)
    case remove([CacheKey], HTTPCache)
    /// Begins a request of the cache's own that updates a stored response.
    case revalidate(CacheRequest, CacheUse, CacheKey)
}

/// What the cache itself begins a request for.
struct CacheRevalidation: Sendable {
    /// The turn to load the response for all processes.
    let turn: CacheTurn?
}

extension Answer {
    var isStoredSuccess: Bool { result.error == nil && result.head.map { $0.status < 300 } ?? false }
}
