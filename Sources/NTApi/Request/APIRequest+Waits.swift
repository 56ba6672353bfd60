/// What a request waits for besides its exchange: a token, the rate limit, the program, or time.
struct FlowWait: Sendable {
    enum Line: Sendable {
        /// In line with other requests; leaves the line when the wait ends.
        case token(Authenticator, LineWait)
        case rateLimit(RateLimiter, LineWait)
        case decision(WeakDecision)
        case interceptor
        /// For the store of a cache; with what this process has itself.
        case cache(CachedResponse?)
        /// For time only.
        case pause
    }

    let ticket: UInt32
    let line: Line
    var begun: MonotonicTime
    /// When the wait fails, and which timeout that is.
    var deadline = MonotonicTime.distantFuture
    var clock = TimeoutClock.total
    /// Ends a pause.
    var timer: ScheduledJob?

    /// Moves the times by the length of the suspension: no time has passed for the request.
    mutating func goOn(_ now: MonotonicTime, suspendedAt: MonotonicTime) {
        let pause = now.seconds(since: max(suspendedAt, begun))
        begun = begun.advanced(bySeconds: pause)
        deadline = deadline.advanced(bySeconds: pause)
    }
}

/// Looks at a request's wait when its deadline comes. The same one serves all waits of a request with that deadline.
struct WaitWatch: Sendable {
    let moment: MonotonicTime
    let timer: ScheduledJob
}

/// A decision holds its request, so the request holds it weakly.
struct WeakDecision: Sendable {
    weak let decision: RequestDecision?
}

/// The place of a request in the line of an authenticator or a rate limiter.
final class LineWait: Sendable, Hashable {
    let request: APIRequest
    /// The server's answer that rejected the token.
    let response: APIResponse?
    private let ticket: UInt32

    init(_ request: APIRequest, _ ticket: UInt32, response: APIResponse? = nil) {
        self.request = request
        self.ticket = ticket
        self.response = response
    }

    /// Passes the reply on; only the first one counts. Returns at once.
    ///
    /// - Parameter tooLate: called if the request no longer waits.
    func reply(_ reply: Reply, _ tooLate: (@Sendable () -> Void)? = nil) { request.reply(ticket, reply, tooLate) }

    /// Whether the request no longer waits.
    var isOver: Bool { !request.waits(ticket) }

    static func == (left: LineWait, right: LineWait) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// Fulfils the needs of stages, and performs their effects.
extension APIRequest {
    func waits(_ ticket: UInt32) -> Bool { shared.withLock(inChild: false) { $0.flow.waits(ticket) } }

    /// - Returns: the reply if it is known at once; nil if it comes later, from another thread.
    func fulfil(
        _ need: Need, _ ticket: UInt32, onCaller: Bool, _ deliveries: DeliveryBatch
    ) throws(Forked) -> Reply? {
        switch need {
        case .pause(let seconds):
            try pause(seconds, ticket)
            return nil
        case .permit(let queueTimeout): return try permit(ticket, queueTimeout)
        case .token(let http): return try token(for: http, ticket)
        case .otherToken(let rejected, let history, let content, let http):
            return try token(otherThan: rejected, history, content, http, ticket)
        case .lookUp(let asked, let use, let key): return try lookUp(asked, use, key, ticket, onCaller: onCaller)
        case .ask(let question):
            try ask(question, ticket, deliveries)
            return nil
        case .rewind(let stream): return .rewound(try Delivery.call { stream.rewind() })
        case .file(let work): return try carryOut(work)
        case .content(let answer): return .content(try content(of: answer))
        case .circuit(let http):
            guard let breaker = pacing?.breaker, let origin = Origin(url: http.url) else {
                return .circuit(.failure(.invalidRequest("the URL names no server")))
            }
            let admission = breaker.admit(origin, now)
            if case .failure = admission { try observation?.circuit(.refused, origin.text, self) }
            return .circuit(admission)
        case .retry(let use): return .retry(isInBudget: use.mayRepeat())
        case .recall(let recall): return .recalled(try self.recall(recall))
        case .proxy(var http, let url, let credential):
            http.settings.authenticate(toProxy: url, as: credential)
            return .proxied(http)
        case .stream(let stream, let work): return .stream(stream.answer(work))
        case .intercept(let run, let passing):
            guard let begun = try begin(.interceptor, ticket) else { return nil }
            if !begun.isWatched { try watchWait() }
            guard onCaller else { return try intercept(run, passing, ticket) }
            deliveries.add(
                Job { () throws(Forked) in
                    guard let reply = try self.intercept(run, passing, ticket) else { return }
                    try self.work { (deliveries) throws(Forked) in
                        try self.replied(ticket, reply, inCall: true, deliveries)
                    }
                })
            return nil
        }
    }

    // MARK: In line

    /// - Parameters:
    ///   - line: where it waits.
    ///   - limit: the seconds that it may wait; nil leaves only the request's deadline.
    ///   - clock: which timeout the limit is.
    /// - Returns: nil when the request was cancelled meanwhile.
    func begin(
        _ line: FlowWait.Line, _ ticket: UInt32, limit: Double? = nil, _ clock: TimeoutClock = .total
    ) throws(Forked) -> Begun? {
        let now = self.clock.now
        return try shared.withLock { shared in
            guard shared.flow.waits(ticket) else { return nil }
            var wait = FlowWait(ticket: ticket, line: line, begun: now)
            // The stage has checked that a pause ends in time.
            if case .pause = line {} else { wait.deadline = shared.flow.deadline(now) }
            if let limit, now.advanced(bySeconds: limit) < wait.deadline {
                wait.deadline = now.advanced(bySeconds: limit)
                wait.clock = clock
            }
            shared.waits.current = wait
            // The caller may have driven the exchange on its own loop, and returns meanwhile.
            if shared.link.exchange == nil { shared.link.transport = nil }
            return Begun(isWatched: shared.waits.isWatched)
        }
    }

    /// A wait has begun.
    struct Begun {
        /// Whether nothing more is to be done for its deadline.
        let isWatched: Bool
    }

    /// Waits some seconds. If the request is suspended meanwhile, its next exchange begins suspended.
    private func pause(_ seconds: Double, _ ticket: UInt32) throws(Forked) {
        let end = clock.now.advanced(bySeconds: seconds)
        guard try begin(.pause, ticket) != nil else { return }
        try observation?.waitBegins(.pause, self)
        let timer = clock.schedule(.pause, at: end) { self.reply(ticket, .waited) }
        let isOver = try shared.withLock { shared in
            guard shared.waits.current?.ticket == ticket, shared.flow.waits(ticket) else { return true }
            shared.waits.current?.timer = timer
            return false
        }
        if isOver { timer.cancel() }
    }

    private var currentWait: (wait: FlowWait, isSuspended: Bool)? {
        get throws(Forked) {
            try shared.withLock { shared in shared.waits.current.map { ($0, shared.flow.isSuspended) } }
        }
    }

    private func permit(_ ticket: UInt32, _ queueTimeout: Double?) throws(Forked) -> Reply? {
        guard let limiter = pacing?.limiter else { return .permit(nil) }
        let line = LineWait(self, ticket)
        guard try begin(.rateLimit(limiter, line), ticket, limit: queueTimeout, .queue) != nil,
            let (wait, isSuspended) = try currentWait
        else { return nil }
        if limiter.takes(clock, isSuspended: isSuspended) { return .permit(nil) }
        try log(.info, "#\(logName) waits for the rate limit")
        try observation?.waitBegins(.rateLimit, self)
        try watchWait()
        switch limiter.admit(line, priority: priority, deadline: wait.deadline) {
        case .go: return .permit(nil)
        case .tooLate(let seconds): return .permit(tooLate(limiter, wait.clock, seconds: seconds))
        case .wait: break
        }
        // The request may have been suspended or cancelled while it was put in line.
        try updateLimiter()
        if line.isOver { limiter.leave(line) }
        return nil
    }

    /// Tells the rate limiter whether the request is suspended. A suspended request lets others pass and keeps its
    /// place.
    ///
    /// Why the loop: one thread suspends the request, another resumes it at once, and the first one reaches the limiter
    /// last. So each thread checks again whether what it told the limiter still holds.
    func updateLimiter() throws(Forked) {
        var settled: Bool?
        while let (wait, isSuspended) = try currentWait, case .rateLimit(let limiter, let line) = wait.line,
            isSuspended != settled
        {
            settled = isSuspended
            if isSuspended { limiter.hold(line) } else { limiter.release(line) }
        }
    }

    private func tooLate(_ limiter: RateLimiter, _ clock: TimeoutClock, seconds: Double) -> APIError {
        var error = APIError(
            domain: .network, code: .timeout,
            message:
                "the rate limit of \(limiter) would delay the request by at least \(decimal(seconds)) s "
                + "(\(clock.rawValue) timeout, \(summary))", isRetryable: true)
        error.clock = clock
        return error
    }

    private var authenticator: Authenticator? {
        get throws(Forked) { try shared.withLock { $0.authenticator } }
    }

    private func token(for http: HTTPRequest, _ ticket: UInt32) throws(Forked) -> Reply? {
        guard let authenticator = try authenticator, authenticator.isMeant(for: http, client.settings.baseURL?.text)
        else {
            return .token(.none)
        }
        if let grant = authenticator.grant(now) { return .token(.granted(grant, isNew: false)) }
        return try wait(for: authenticator, LineWait(self, ticket), http, ticket, status: nil) { line in
            switch authenticator.admit(line, now) {
            case .send(let grant, _): .token(.granted(grant, isNew: false))
            case .fail(let error): .token(.failed(error))
            case .wait: nil
            }
        }
    }

    private func token(
        otherThan rejected: UInt64, _ history: TokenHistory, _ content: ResponseContent, _ http: HTTPRequest,
        _ ticket: UInt32
    ) throws(Forked) -> Reply? {
        guard let authenticator = try authenticator else { return .token(.none) }
        let response = APIResponse(request: self, ResponseContent.Box(content))
        let line = LineWait(self, ticket, response: response)
        return try wait(for: authenticator, line, http, ticket, status: content.status) { line in
            switch authenticator.rejected(line, rejected, history, now) {
            case .replay(let grant): .token(.granted(grant, isNew: false))
            case .deliver: .token(.none)
            case .fail(let error): .token(.failed(error))
            case .wait: nil
            }
        }
    }

    private func wait(
        for authenticator: Authenticator, _ line: LineWait, _ http: HTTPRequest, _ ticket: UInt32, status: Int?,
        _ admit: (LineWait) -> Reply?
    ) throws(Forked) -> Reply? {
        // The idle timeout limits the wait, as no byte moves meanwhile.
        let limit = http.settings.timeouts.idle
        guard try begin(.token(authenticator, line), ticket, limit: limit, .idle) != nil else { return nil }
        try observation?.waitBegins(.token, self)
        if let reply = admit(line) { return reply }
        try watchWait()
        try RequestLog.waitsForCredentials(self, status: status)
        // The request may have been cancelled while it was put in line.
        if line.isOver { authenticator.leave(line) }
        return nil
    }

    /// Ends the wait at its deadline. While the request is suspended no time passes, so `resume` calls this again.
    func watchWait() throws(Forked) {
        let moment = try shared.withLock { $0.waits.isWatched ? nil : $0.waits.current?.deadline }
        guard let moment else { return }
        let timer = clock.schedule(.limit, at: moment) { [weak self] in
            self?.entered { () throws(Forked) in try self?.lookAtWait() }
        }
        let replaced = try shared.withLock { $0.waits.watch(WaitWatch(moment: moment, timer: timer)) }
        replaced?.timer.cancel()
    }

    private func lookAtWait() throws(Forked) {
        let now = clock.now
        let wait = try shared.withLock { shared -> FlowWait? in
            shared.waits.watchEnded(now)
            guard !shared.flow.isSuspended, let wait = shared.waits.current, shared.flow.waits(wait.ticket) else {
                return nil
            }
            return wait
        }
        guard let wait else { return }
        guard wait.deadline <= now else { return try watchWait() }
        leaveLine(wait)
        let reply: Reply
        switch wait.line {
        case .rateLimit(let limiter, _):
            reply = .permit(tooLate(limiter, wait.clock, seconds: now.seconds(since: wait.begun)))
        case .decision(let asked):
            asked.decision?.answer(.proceed)
            return
        case .token: reply = .token(.failed(tooLate("the token was not refreshed", wait.clock)))
        case .interceptor: reply = .intercepted(.late(tooLate("an interceptor did not answer", wait.clock)))
        // The exchange fails at once, or the stored response is the answer.
        case .cache(let known): reply = .stored(known, nil)
        // It has no limit: the stage has checked that it ends in time.
        case .pause: return
        }
        self.reply(wait.ticket, reply)
    }

    private func tooLate(_ problem: String, _ clock: TimeoutClock) -> APIError {
        var error = APIError(
            domain: .network, code: .timeout,
            message: "\(problem) in time (\(clock.rawValue) timeout, \(summary))",
            isRetryable: true)
        error.clock = clock
        return error
    }

    private func leaveLine(_ wait: FlowWait) {
        switch wait.line {
        case .token(let authenticator, let line): authenticator.leave(line)
        case .rateLimit(let limiter, let line): limiter.leave(line)
        case .decision(let asked): asked.decision?.answer(.proceed)
        case .interceptor, .cache, .pause: break
        }
    }

    /// Ends a wait: the request leaves its line.
    func dismiss(_ wait: FlowWait?) {
        guard let wait else { return }
        wait.timer?.cancel()
        leaveLine(wait)
    }

    // MARK: At once

    private func carryOut(_ work: DownloadWork) throws(Forked) -> Reply {
        switch work {
        case .begin(var download, let http):
            let request = runtime.workers.whileBlocked { download.begin(http) }
            return .file(download, request)
        case .again(var download, let http):
            let history = try flow { $0.soFar }
            let request = runtime.workers.whileBlocked { download.again(http, history) }
            return .file(download, request)
        case .next(var download, let http):
            let request = runtime.workers.whileBlocked { download.next(http) }
            return .file(download, request)
        }
    }

    private func recall(_ recall: Recall) throws(Forked) -> Recalled {
        switch recall {
        case .certificate(let origin): return .certificate(client.answers[certificateOf: origin])
        case .distrust(let leaf, let origin):
            guard client.answers[certificateOf: origin] == leaf else { return .certificate(nil) }
            client.answers[certificateOf: origin] = nil
            return .certificate(leaf)
        case .credential(let challenge, let space, let http, let own, let wrong, let asksOwn, let asksStorage):
            if asksOwn, let known = own ?? client.answers[space] ?? ownCredential(for: space, http), known != wrong {
                return .credential(known, isOwn: true)
            }
            let stored = asksStorage ? try storedCredential(for: space) : nil
            let isUsable = stored.map { $0 != wrong && challenge.allows($0) } ?? false
            return .credential(isUsable ? stored : nil, isOwn: false)
        }
    }

    /// The credential of the client's configuration, which only the client's own server may see.
    private func ownCredential(for space: ProtectionSpace, _ http: HTTPRequest) -> Credential? {
        guard !space.isProxy, let own = http.settings.session?.credential,
            let base = client.settings.baseURL?.text, Origin(url: base) == space.origin
        else { return nil }
        return own
    }

    /// The stored credential for a protection space. Only if no handler has seen any part of the answer that asks.
    private func storedCredential(for space: ProtectionSpace) throws(Forked) -> Credential? {
        guard let storage = client.credentialStorage, try flow({ $0.quietStatuses.contains(401) }) else {
            return nil
        }
        do throws(APIError) {
            return try storage.defaultCredential(for: space)
        } catch {
            try log(.warn, error.message)
            return nil
        }
    }

    // MARK: Effects

    func perform(_ effect: Effect, _ deliveries: DeliveryBatch) throws(Forked) {
        switch effect {
        case .log(let line): try RequestLog.write(self, line)
        case .remember(let credential, let space): client.answers[space] = credential
        case .trust(let certificate, let origin): client.answers[certificateOf: origin] = certificate
        case .forget(let wrong, let space): if client.answers[space] == wrong { client.answers[space] = nil }
        case .keep(let credential, let space):
            do throws(APIError) {
                try client.credentialStorage?.setDefaultCredential(credential, for: space)
            } catch {
                try log(.warn, error.message)
            }
        case .rejectedForGood(let token):
            try authenticator?.rejectedForGood(token)
        case .holdUpOthers(let seconds): pacing?.limiter?.heard(pause: seconds)
        case .returnPermit: pacing?.limiter?.giveBack()
        case .tell(let pass, let outcome):
            if let change = pass.ended(outcome, now) { try observation?.circuit(change, pass.origin.text, self) }
        case .looked(let outcome): try observation?.cache(outcome, self)
        case .cache(let effect): perform(effect)
        case .show(let result): try showStored(result, deliveries)
        case .leaveTransport: try shared.withLock { $0.link.transport = nil }
        case .release(let run): try Delivery.run(self) { run.release() }
        case .end(let run): try Delivery.run(self) { run.end() }
        }
    }

    /// Stores a response, unless the client is closed: then its cache may have been removed.
    private func storing(_ store: () -> Void) {
        if !client.hasCancelled { store() }
    }

    private func perform(_ effect: CacheEffect) {
        switch effect {
        case .store(let response, let storage, let caching): storing { caching.store(response, storage, clock) }
        case .update(let response, let caching): storing { caching.update(response, clock) }
        case .pass(let caching, let hasFailed): caching.pass(hasFailed: hasFailed)
        case .remove(let keys, let cache):
            for key in keys {
                cache.remove(key)
                cache.shared?.remove(key.digest, clock)
            }
        case .revalidate(let asked, let use, let key): beginRevalidation(asked, use, key)
        }
    }
}

extension Effect {
    /// Whether it takes little time and runs no code of the program.
    var isBrief: Bool {
        if case .cache(.store) = self { true } else { false }
    }
}
