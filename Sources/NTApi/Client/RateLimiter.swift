/// Limits how many requests start in a period of time. Other requests wait.
///
///     client.rateLimiter = RateLimiter(requests: 30, seconds: 1)
///
/// Several clients may share a limiter. Each exchange with a server counts, including redirects, replays with other
/// credentials and retries. Waiting requests start by priority, then in order. A request that would have to wait beyond
/// its resource or queue timeout fails at once with the code `timeout`. A waiting request can be cancelled or
/// suspended; others pass it meanwhile. Safe to use from any thread.
///
/// Limiters of several processes can share a limit in a store: ``init(_:sharedBy:key:_:)``.
public final class RateLimiter: Sendable, CustomStringConvertible {
    fileprivate struct State {
        var permits: RatePermits<LineWait>
        /// Nil for a limit of this process alone.
        var shared: SharedLimit?
        var timer: ScheduledJob?
        /// When the timer fires.
        var moment: MonotonicTime?
        var limits: [RateLimit]
        /// Those that the store lets start.
        var started: [LineWait] = []
        /// The clock of the last client. Clients that share a limit use the same clock.
        var clock: (any WaitingClock)?
    }

    /// Why the limit is invalid. Every request of its clients fails with this error.
    package let problem: APIError?
    private let state: InheritedLock<State>

    private let store: StoreAccess?

    /// With an invalid limit, each request of its clients fails with an `invalid request` error that says why.
    ///
    /// - Parameter limits: a request starts when all of them allow it, and counts for each.
    public convenience init(_ limits: RateLimit...) { self.init(limits) }

    package convenience init(_ limits: [RateLimit]) { self.init(limits, nil) }

    /// Shares limits with other processes, by a store.
    ///
    ///     let limits = [RateLimit(requests: 10), RateLimit(requests: 1000, seconds: 3600)]
    ///     client.rateLimiter = RateLimiter(limits, sharedBy: store, key: "partner")
    ///
    /// All limiters with the same key of the same store keep the limits together, in any language. Requests of one limiter
    /// start by priority, then in order; between limiters, those that wait get the permits in turn. A request waits at
    /// least as long as the store needs to reply. When a server asks for a pause, all limiters keep it.
    ///
    /// - Parameters:
    ///   - limits: the same in each process. Kept in whole microseconds, rounded up.
    ///   - key: what the limit is called in the store.
    ///   - options: what to do when the store fails.
    public convenience init(
        _ limits: [RateLimit], sharedBy store: any SharedStore, key: String, _ options: StoreOptions = StoreOptions()
    ) {
        self.init(limits, StoreAccess(store, key: key, parts: ["limit", "line", "ends"], options))
    }

    private init(_ limits: [RateLimit], _ store: StoreAccess?) {
        let known = limits.map { (interval: $0.interval ?? .max, burst: $0.burst) }
        let shared = store.map { SharedLimit(limits, $0.options) }
        let problem =
            limits.isEmpty
            ? "there is none" : limits.lazy.compactMap(\.problem).first ?? shared?.problem ?? store?.problem
        self.problem = problem.map { .invalidRequest("the rate limit: \($0)") }
        self.store = store
        state = InheritedLock(
            State(permits: RatePermits(known), shared: shared, limits: limits), sharing: .clients
        ) { state in
            Fork.leak((state.permits.forget(), state.timer.take(), state.clock.take()))
            state.shared?.forget()
            state.moment = nil
        }
    }

    /// - Parameters:
    ///   - requests: how many may start in the period, above 0.
    ///   - seconds: the length of the period, above 0. The requests are spread evenly over it.
    ///   - burst: how many may start at once after a pause.
    public convenience init(requests: Double, seconds: Double = 1, burst: Int = 1) {
        self.init(RateLimit(requests: requests, seconds: seconds, burst: burst))
    }

    /// The limits.
    public var limits: [RateLimit] { state.withLock { $0.limits } }

    public var description: String {
        limits.map { "\($0)" }.joined(separator: ", ") + (store.map { " shared as \(quoted($0.key))" } ?? "")
    }

    /// Sets the longest pause that a server may ask of all requests, in seconds.
    package func setMaximumPause(_ seconds: Double) {
        state.withLock { state in
            for index in state.limits.indices { state.limits[index].maximumPause = seconds }
        }
    }

    /// How many requests wait now.
    public var waitingCount: Int { state.withLock { $0.permits.waiterCount } }

    /// Starts no request for this many seconds. Does not shorten a longer pause.
    public func pause(seconds: Double) {
        act { state, now in
            state.permits.pause(until: now.advanced(bySeconds: seconds))
            state.shared?.pause(seconds, now)
        }
    }

    // MARK: Requests

    /// The fast path for requests that need not wait. From now on the limiter uses the clock of this request's client.
    func takes(_ clock: any WaitingClock, isSuspended: Bool) -> Bool {
        let now = clock.now
        let (isTaken, replaced) = state.withLock {
            (!isSuspended && $0.takes(now), exchange(&$0.clock, with: clock))
        }
        // Releasing a test's clock may run user code, so it must outlive the lock.
        withExtendedLifetime(replaced) {}
        return isTaken
    }

    func admit(_ wait: LineWait, priority: Double, deadline: MonotonicTime) -> RatePermits<LineWait>.Admission {
        act { state, now in
            if state.isKeptHere {
                return state.permits.admit(wait, priority: priority, deadline: deadline, now)
            }
            state.permits.join(wait, priority: priority)
            return .wait
        }
    }

    func leave(_ wait: LineWait) { act { state, _ in state.permits.leave(wait) } }

    func hold(_ wait: LineWait) { act { state, _ in state.permits.hold(wait) } }

    func release(_ wait: LineWait) { act { state, _ in state.permits.release(wait) } }

    /// A request was cancelled when it had its permit, and has not used it.
    func giveBack() { act { state, _ in state.giveBack() } }

    /// Called when a server has asked for a pause.
    func heard(pause seconds: Double) {
        let maximumPause = limits.lazy.map(\.maximumPause).min() ?? 0
        if maximumPause > 0 { pause(seconds: min(seconds, maximumPause)) }
    }

    // MARK: The queue

    /// Moves the permits, and starts the requests that may go now.
    @discardableResult private func act<Result>(_ move: (inout State, MonotonicTime) -> Result) -> Result {
        let clock = clock
        let now = clock.now
        let (result, turn) = state.withLock { state in (move(&state, now), state.turn(now)) }
        carryOut(turn, clock)
        return result
    }

    private func carryOut(_ turn: State.Turn, _ clock: any WaitingClock) {
        turn.replaced?.cancel()
        if let next = turn.next { look(at: next, clock) }
        if let ask = turn.ask {
            store?.run(.permits, ask.permits.arguments) { [weak self] values in
                self?.answered(ask, values.flatMap(SharedPermits.Reply.read))
            }
        }
        let refusal = turn.refusal
        for wait in turn.ready { wait.reply(.permit(refusal)) { if refusal == nil { self.giveBack() } } }
        if let line = turn.line, let store {
            Runtime.current.workers.run { () throws(Forked) in
                APILog.warn("the rate limit \(quoted(store.key)): \(line)")
            }
        }
    }

    /// The store has replied, or failed.
    private func answered(_ ask: SharedLimit.Ask, _ result: Result<SharedPermits.Reply, StoreProblem>) {
        act { state, now in state.answered(ask, result, now) }
    }

    private var clock: any WaitingClock { state.withLock { $0.clock } ?? Runtime.current.clock }

    private func look(at next: (moment: MonotonicTime, isPause: Bool), _ clock: any WaitingClock) {
        let moment = next.moment
        let timer = clock.schedule(next.isPause ? .pause : .limit, at: moment) { [weak self] in
            self?.timeHasCome(moment)
        }
        let isOld = state.withLock { state in
            guard state.moment == moment, state.timer == nil else { return true }
            state.timer = timer
            return false
        }
        if isOld { timer.cancel() }
    }

    private func timeHasCome(_ moment: MonotonicTime) {
        state.withLock { state in
            guard state.moment == moment else { return }
            state.moment = nil
            state.timer = nil
        }
        act { _, _ in }
    }
}

// How the permits of a process and those of a store go together.
extension RateLimiter.State {
    /// What to do without the lock.
    struct Turn {
        /// The requests that go on: they start, or fail.
        var ready: [LineWait] = []
        var refusal: APIError?
        /// What to ask the store for.
        var ask: SharedLimit.Ask?
        /// For the log.
        var line: String?
        /// When to look again, if that is another moment than before, and the timer that is no longer needed.
        var next: (moment: MonotonicTime, isPause: Bool)?
        var replaced: ScheduledJob?
    }

    /// Whether this process gives the permits itself.
    var isKeptHere: Bool { shared == nil || shared?.substitute == .local }

    /// Whether a request that has not waited may start.
    mutating func takes(_ now: MonotonicTime) -> Bool {
        if isKeptHere { return shared?.isDue(now) != true && permits.takes(now) }
        return permits.lineCount == 0 && shared?.takeKept(1, now) == 1
    }

    mutating func giveBack() {
        permits.giveBack()
        if shared?.substitute == nil { shared?.giveBack(1) }
    }

    /// Starts what may start, asks the store for the rest, and sets the timer.
    mutating func turn(_ now: MonotonicTime) -> Turn {
        var turn = advance(now)
        let next = nextMoment
        if next?.moment != moment {
            moment = next?.moment
            (turn.next, turn.replaced) = (next, timer.take())
        }
        return turn
    }

    private mutating func advance(_ now: MonotonicTime) -> Turn {
        var turn = Turn(ready: started)
        started = []
        shared?.look(now)
        if let kept = shared?.takeKept(permits.lineCount, now), kept > 0 { turn.ready += permits.start(kept, now) }
        if isKeptHere {
            turn.ready += permits.advance(now)
        } else if let substitute = shared?.substitute {
            turn.ready += permits.start(permits.lineCount, now)
            if substitute == .closed { turn.refusal = shared?.refusal }
        }
        turn.ask = shared?.next(permits.lineCount, now)
        turn.line = shared?.line.take()
        return turn
    }

    /// When to look again, and whether that is a pause of requests; nil when nothing is due.
    private var nextMoment: (moment: MonotonicTime, isPause: Bool)? {
        let own = isKeptHere ? permits.nextMoment.map { (moment: $0, isPause: true) } : nil
        guard let next = shared?.nextMoment(permits.lineCount) else { return own }
        guard let own, own.moment < next.moment else { return next }
        return own
    }

    mutating func answered(
        _ ask: SharedLimit.Ask, _ result: Result<SharedPermits.Reply, StoreProblem>, _ now: MonotonicTime
    ) {
        guard let granted = shared?.answered(ask, result, now), granted > 0 else { return }
        started += permits.start(granted, now)
        shared?.keep(granted - started.count, now)
    }
}
