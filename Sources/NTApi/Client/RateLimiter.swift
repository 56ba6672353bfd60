/// Limits how many requests start in a period of time. Other requests wait.
///
///     client.rateLimiter = RateLimiter(requests: 30, seconds: 1)
///
/// Several clients may share a limiter. Each exchange with a server counts, including redirects, replays with other
/// credentials and retries. Waiting requests start by priority, then in order. A request that would have to wait beyond
/// its resource or queue timeout fails at once with the code `timeout`. A waiting request can be cancelled or
/// suspended; others pass it meanwhile. Safe to use from any thread.
public final class RateLimiter: Sendable, CustomStringConvertible {
    private struct State {
        var permits: RatePermits<LineWait>
        var timer: ScheduledJob?
        /// When the timer fires.
        var moment: MonotonicTime?
        var limit: RateLimit
        /// The clock of the last client. Clients that share a limit use the same clock.
        var clock: (any WaitingClock)?
    }

    /// Why the limit is invalid. Every request of its clients fails with this error.
    package let problem: APIError?
    private let state: InheritedLock<State>

    /// With an invalid limit, each request of its clients fails with an `invalid request` error that says why.
    public init(_ limit: RateLimit) {
        problem = limit.problem.map { .invalidRequest("the rate limit: \($0)") }
        let permits = RatePermits<LineWait>(interval: limit.interval ?? .max, burst: limit.burst)
        state = InheritedLock(State(permits: permits, limit: limit), sharing: .clients) { state in
            Fork.leak((state.permits.forget(), state.timer.take(), state.clock.take()))
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

    /// The limit.
    public var limit: RateLimit { state.withLock { $0.limit } }

    public var description: String { "\(limit)" }

    /// Sets the longest pause that a server may ask of all requests, in seconds.
    package func setMaximumPause(_ seconds: Double) { state.withLock { $0.limit.maximumPause = seconds } }

    /// How many requests wait now.
    public var waitingCount: Int { state.withLock { $0.permits.waiterCount } }

    /// Starts no request for this many seconds. Does not shorten a longer pause.
    public func pause(seconds: Double) {
        act { permits, now in permits.pause(until: now.advanced(bySeconds: seconds)) }
    }

    // MARK: Requests

    /// The fast path for requests that need not wait. From now on the limiter uses the clock of this request's client.
    func takes(_ clock: any WaitingClock, isSuspended: Bool) -> Bool {
        let now = clock.now
        let (isTaken, replaced) = state.withLock {
            (!isSuspended && $0.permits.takes(now), exchange(&$0.clock, with: clock))
        }
        // Releasing a test's clock may run user code, so it must outlive the lock.
        withExtendedLifetime(replaced) {}
        return isTaken
    }

    func admit(_ wait: LineWait, priority: Double, deadline: MonotonicTime) -> RatePermits<LineWait>.Admission {
        act { permits, now in permits.admit(wait, priority: priority, deadline: deadline, now) }
    }

    func leave(_ wait: LineWait) { act { permits, _ in permits.leave(wait) } }

    func hold(_ wait: LineWait) { act { permits, _ in permits.hold(wait) } }

    func release(_ wait: LineWait) { act { permits, _ in permits.release(wait) } }

    /// Called when a server has asked for a pause.
    func heard(pause seconds: Double) {
        let maximumPause = limit.maximumPause
        if maximumPause > 0 { pause(seconds: min(seconds, maximumPause)) }
    }

    // MARK: The queue

    /// Moves the permits, and starts the requests that may go now.
    @discardableResult private func act<Result>(
        _ move: (inout RatePermits<LineWait>, MonotonicTime) -> Result
    ) -> Result {
        let clock = clock
        let now = clock.now
        let (result, ready, next, old) = state.withLock { state in
            let result = move(&state.permits, now)
            let ready = state.permits.advance(now)
            let next = state.permits.nextMoment
            guard next != state.moment else { return (result, ready, MonotonicTime?.none, ScheduledJob?.none) }
            state.moment = next
            return (result, ready, next, state.timer.take())
        }
        old?.cancel()
        if let next { look(at: next, clock) }
        for wait in ready { wait.reply(.permit(nil)) }
        return result
    }

    private var clock: any WaitingClock { state.withLock { $0.clock } ?? Runtime.current.clock }

    private func look(at moment: MonotonicTime, _ clock: any WaitingClock) {
        let timer = clock.schedule(.pause, at: moment) { [weak self] in self?.timeHasCome(moment) }
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
