/// What a request needs stages for.
struct StagePlan {
    /// The reader of lines, events or a stream.
    var stream: RequestStream?
    var retry: RetryPolicy?
    var retryBudget: RetryBudgetUse?
    var token: TokenUse?
    var download: DownloadTarget?
    var cache: (revalidation: CacheRevalidation?, secrets: MarkedSecrets)?
    var circuit: CircuitBreakerPolicy?
    /// Whether there is a rate limit.
    var isLimited = false
    var callInterceptors: InterceptorMakers?
    var attemptInterceptors: InterceptorMakers?
}

/// The stages of one request, and the request on its way through them. A plain request has no chain.
///
/// ``Place`` lists the stages in order. A stage that the request does not need is nil. The stages for redirects and
/// challenges are added when an answer needs them.
final class Chain: @unchecked Sendable {
    // Safe to share: belongs to a `RequestFlow`, which the request's lock protects.
    @exclusivity(unchecked) var callInterceptors: InterceptorStage?
    @exclusivity(unchecked) var reconnection: ReconnectionStage?
    @exclusivity(unchecked) var redirects: RedirectStage?
    @exclusivity(unchecked) var retry: RetryStage?
    @exclusivity(unchecked) var token: TokenStage?
    @exclusivity(unchecked) var challenges: ChallengeStage?
    @exclusivity(unchecked) var download: DownloadStage?
    @exclusivity(unchecked) var cache: CacheStage?
    @exclusivity(unchecked) var circuit: CircuitStage?
    @exclusivity(unchecked) var rateLimit: RateLimitStage?
    @exclusivity(unchecked) var attemptInterceptors: InterceptorStage?

    @exclusivity(unchecked) var trip: Trip
    /// Nil on the way in.
    @exclusivity(unchecked) var answer: Answer?
    /// The stage that runs now, or that waits.
    @exclusivity(unchecked) fileprivate(set) var place = Place.reconnection

    /// - Parameter request: the request as it was built, or as it was sent when the chain is made for an answer.
    init(_ request: HTTPRequest, _ facts: Facts, _ plan: StagePlan) {
        trip = Trip(request: request, facts: facts)
        // Any answer may need these.
        redirects = RedirectStage(request)
        challenges = ChallengeStage(request)
        reconnection = plan.stream.map { ReconnectionStage($0) }
        retry = plan.retry.map {
            RetryStage($0, leavesConnections: plan.stream?.reconnects == true, budget: plan.retryBudget)
        }
        token = plan.token.map { TokenStage($0) }
        download = plan.download.map { DownloadStage(Download($0)) }
        cache = plan.cache.map { CacheStage($0.revalidation, $0.secrets) }
        circuit = plan.circuit.map { CircuitStage($0) }
        if plan.isLimited { rateLimit = RateLimitStage() }
        callInterceptors = plan.callInterceptors.map { InterceptorStage($0) }
        attemptInterceptors = plan.attemptInterceptors.map { InterceptorStage($0) }
    }

    /// Whether the answer to a plain request needs stages.
    static func isNeeded(for result: ExchangeResult, _ request: HTTPRequest) -> Bool {
        if result.question != nil { return true }
        guard let head = result.head, !request.settings.isPlain else { return false }
        return head.status == 401 || head.status == 407
            || (head.redirectLocation != nil && request.settings.maximumRedirects > 0)
    }

    var quietStatuses: Set<Int> {
        (retry?.quietStatuses ?? []).union(token?.quietStatuses ?? [])
    }

    /// The interceptors that wait for an answer.
    var waiting: [any InterceptorRun] {
        ((callInterceptors?.runs ?? []) + (attemptInterceptors?.runs ?? [])).compactMap { $0 }
    }

    /// What is still to be done when the request ends: for interceptors, and for the rate limiter. A cancel leaves effects
    /// that nobody has performed.
    var owed: [Effect] {
        let ends = trip.effects.filter(\.isOfInterceptors) + waiting.map { .end($0) }
        return trip.hasPermit ? ends + [.returnPermit] : ends
    }

    enum Passage {
        case send
        case receive
        case resume(Reply)
        /// The request cannot be sent again, for this reason.
        case stop(String)
    }

    /// Runs the stage at a place.
    @inline(never)
    func ask(_ place: Place, _ passage: Passage) -> Step {
        self.place = place
        switch place {
        case .callInterceptors: return ask(&callInterceptors, passage)
        case .reconnection: return ask(&reconnection, passage)
        case .redirects: return ask(&redirects, passage)
        case .retry: return ask(&retry, passage)
        case .token: return ask(&token, passage)
        case .challenges: return ask(&challenges, passage)
        case .download: return ask(&download, passage)
        case .cache: return ask(&cache, passage)
        case .circuit: return ask(&circuit, passage)
        case .rateLimit: return ask(&rateLimit, passage)
        case .attemptInterceptors: return ask(&attemptInterceptors, passage)
        case .exchange: return .on
        }
    }

    private func ask<S: Stage & ~Copyable>(_ stage: inout S?, _ passage: Passage) -> Step {
        switch passage {
        case .send: return stage?.send(&trip) ?? .on
        case .resume(let reply): return stage?.resume(reply, &answer, &trip) ?? .on
        case .receive:
            guard stage != nil, var known = answer.take() else { return .on }
            defer { answer = known }
            return stage?.receive(&known, &trip) ?? .on
        case .stop(let reason):
            guard stage != nil, var known = answer.take() else { return .accept }
            defer { answer = known }
            return stage?.cannotSendAgain(reason, &known, &trip) ?? .accept
        }
    }
}
