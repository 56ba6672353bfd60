/// A request that waits for its turn under a rate limit, until it is told once how to go on.
final class RateWait: Sendable, Hashable {
    enum Outcome: Sendable {
        case go
        case fail(APIError)
        /// The request was cancelled.
        case ended
    }

    private let continuation: Once<Outcome>

    init(_ continuation: @escaping @Sendable (Outcome) -> Void) { self.continuation = Once(continuation) }

    /// - Returns: false when it was told before.
    @discardableResult func end(_ outcome: Outcome) -> Bool { continuation.tell(outcome) }

    var isOver: Bool { continuation.isTold }

    static func == (left: RateWait, right: RateWait) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What a request that waits for its turn knows of that.
struct RateTurn: Sendable {
    let wait: RateWait
    let limiter: RateLimiter
    fileprivate var begun: MonotonicTime
    /// When it is no use any more, and by which clock.
    fileprivate var deadline: MonotonicTime
    fileprivate let clock: TimeoutClock
    fileprivate var timer: ScheduledJob?

    /// While the request was suspended no time has passed for it.
    mutating func goOn(_ now: MonotonicTime, suspendedAt: MonotonicTime) {
        let pause = now.seconds(since: max(suspendedAt, begun))
        begun = begun.advanced(bySeconds: pause)
        deadline = deadline.advanced(bySeconds: pause)
    }
}

// The way of a request whose client has a rate limit: each exchange waits for its turn.
extension APIRequest {
    /// - Returns: false when the request was cancelled meanwhile.
    func send(_ http: HTTPRequest, _ conditional: HTTPRequest?, under limiter: RateLimiter) -> Bool {
        let now = clock.now
        let isSuspended = shared.withLock { $0.machine.isSuspended }
        if limiter.takes(clock, isSuspended: isSuspended) { return sendNow(http, conditional) }
        let wait = RateWait { outcome in
            self.onWorker { deliveries in
                self.turnIsOver()
                switch outcome {
                case .go: if !self.sendNow(http, conditional) { self.finishCancelled(deliveries) }
                case .fail(let error): self.finish(failing: error, deliveries)
                case .ended: self.finishCancelled(deliveries)
                }
            }
        }
        let turn = shared.withLock { shared -> (deadline: MonotonicTime, priority: Double)? in
            guard !shared.machine.isCancelled else { return nil }
            let turn = RateTurn(wait, limiter, begun: now, shared.deadline(now), http.settings.timeouts.queue)
            shared.turn = turn
            // A caller that drove the exchange goes its way meanwhile.
            shared.transport = nil
            return (turn.deadline, shared.priority)
        }
        guard let turn else { return false }
        RequestLog.waitsForTurn(self)
        guard isOfThisProcess else { return true }
        switch limiter.admit(wait, priority: turn.priority, deadline: turn.deadline) {
        case .go: wait.end(.go)
        case .wait: break
        case .tooLate(let seconds): wait.end(.fail(tooLate(limiter, seconds: seconds)))
        }
        // Suspended or cancelled while it was put in line.
        settleTurn()
        if wait.isOver { limiter.leave(wait) }
        return true
    }

    /// A request that is suspended lets others pass, and one that goes on is where it was.
    ///
    /// The story behind the loop: one thread suspends, another resumes at once, and the first one comes last to the limiter.
    /// Whoever comes last there looks once more what is wanted by now.
    func settleTurn() {
        var settled: Bool?
        while let (turn, isSuspended) = shared.withLock({ shared in
            shared.turn.map { ($0, shared.machine.isSuspended) }
        }), isSuspended != settled {
            settled = isSuspended
            if isSuspended {
                turn.limiter.hold(turn.wait)
            } else {
                watchTurn(turn.wait)
                turn.limiter.release(turn.wait)
            }
        }
    }

    /// The request was cancelled: it waits no longer.
    func dismissTurn() {
        guard let turn = shared.withLock({ $0.turn }) else { return }
        // Whoever hears of the end finds that it waits no longer.
        turn.limiter.leave(turn.wait)
        turn.wait.end(.ended)
    }

    private func turnIsOver() {
        let turn = shared.withLock { shared in
            let turn = shared.turn.take()
            if let turn { shared.journey.queued += clock.now.seconds(since: turn.begun) }
            return turn
        }
        turn?.timer?.cancel()
    }

    /// Looks after it when its time is over: those before it may take longer than it seemed.
    private func watchTurn(_ wait: RateWait) {
        let deadline = shared.withLock { $0.turn.map { $0.deadline } ?? .distantFuture }
        guard deadline < .distantFuture else { return }
        let timer = clock.schedule(.limit, at: deadline) { [weak self, weak wait] in
            if let self, let wait { self.timeOut(wait) }
        }
        let replaced = shared.withLock { shared -> ScheduledJob? in
            guard var turn = shared.turn, turn.wait === wait else { return timer }
            defer { shared.turn = turn }
            return exchange(&turn.timer, with: timer)
        }
        replaced?.cancel()
    }

    private func timeOut(_ wait: RateWait) {
        let late = shared.withLock { shared -> (limiter: RateLimiter, seconds: Double)? in
            let now = clock.now
            guard let turn = shared.turn, turn.wait === wait, !shared.machine.isSuspended, turn.deadline <= now else {
                return nil
            }
            return (turn.limiter, now.seconds(since: turn.begun))
        }
        guard let late else { return }
        late.limiter.leave(wait)
        wait.end(.fail(tooLate(late.limiter, seconds: late.seconds)))
    }

    private func tooLate(_ limiter: RateLimiter, seconds: Double) -> APIError {
        let clock = shared.withLock { $0.turn?.clock ?? .total }
        return APIError(
            domain: .network, code: .timeout,
            message:
                "the rate limit of \(limiter) would let the request go after \(decimal(seconds)) s at the earliest "
                + "(\(clock.rawValue) timeout, \(summary))", isRetryable: true)
    }
}

extension RateTurn {
    fileprivate init(
        _ wait: RateWait, _ limiter: RateLimiter, begun: MonotonicTime, _ total: MonotonicTime, _ queue: Double?
    ) {
        let ofQueue = queue.map { begun.advanced(bySeconds: $0) } ?? .distantFuture
        self.init(
            wait: wait, limiter: limiter, begun: begun, deadline: min(total, ofQueue),
            clock: ofQueue < total ? .queue : .total)
    }
}

extension APIRequest {
    /// A server that complains of too many requests would complain of the others, too.
    func holdUpOthers(after result: ExchangeResult) {
        guard let limiter = pacing?.limiter, result.error == nil, let head = result.head,
            head.status == 429 || head.status == 503, let seconds = head.retryAfter(now: clock.calendarSeconds)
        else { return }
        limiter.heard(retryAfter: seconds)
    }
}
