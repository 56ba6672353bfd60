/// At most so many requests in so many seconds: those that are too many wait for their turn.
///
///     client.rateLimiter = RateLimiter(requests: 30, seconds: 1)
///
/// May serve several clients, which then share the limit. Each exchange with a server counts: a redirect, a replay with
/// other credentials and another attempt, too. Those that wait go by priority, and in order among the same. A request that
/// would have to wait beyond its resource or queue timeout fails at once with the code `timeout`; one that waits can be
/// suspended, and others pass it meanwhile, and cancelled. Safe to use from any thread.
public final class RateLimiter: Sendable, CustomStringConvertible {
    private struct State {
        var gate: RateGate<RateWait>
        var timer: EngineTimer?
        /// When the timer looks again.
        var moment: MonotonicTime?
        var maximumPause: Double
        var generation = Fork.generation
    }

    public let requests: Double
    public let seconds: Double
    public let burst: Int
    /// Why it cannot be used: every request of its clients fails with it.
    package let problem: APIError?
    private let state: Lock<State>

    /// - Parameters:
    ///   - requests: how many, above 0.
    ///   - seconds: in how many seconds, above 0. They go evenly.
    ///   - burst: how many may go at once after a while in which none did. More than 1 can make it nearly
    ///     `requests + burst` in so many seconds, where a server counts exactly.
    ///   - maximumPause: for how many seconds at most a 429 or 503 with Retry-After holds up all; 0 never.
    public init(requests: Double, seconds: Double = 1, burst: Int = 1, maximumPause: Double = 60) {
        self.requests = requests
        self.seconds = seconds
        self.burst = burst
        let limit = RateLimit(requests: requests, seconds: seconds, burst: burst)
        let isGood = limit != nil && maximumPause >= 0
        problem =
            isGood
            ? nil
            : .invalidRequest(
                "a rate limit of \(requests) requests in \(seconds) s, burst \(burst), maximum pause \(maximumPause) s: "
                    + "numbers above 0 are needed, and a pause from 0")
        state = Lock(State(gate: RateGate(limit ?? .none), maximumPause: maximumPause), sharing: .clients)
    }

    public var description: String {
        let burst = burst > 1 ? ", burst \(burst)" : ""
        return "\(decimal(requests)) requests in \(decimal(seconds)) s\(burst)"
    }

    /// For how many seconds at most a 429 or 503 with Retry-After holds up all; 0 never.
    public var maximumPause: Double {
        get { ofThisProcess { $0.maximumPause } }
        set { ofThisProcess { $0.maximumPause = newValue >= 0 ? newValue : 0 } }
    }

    /// How many requests wait for their turn now.
    public var waitingCount: Int { ofThisProcess { $0.gate.waiterCount } }

    /// Lets none go for so many seconds, whatever the server says.
    public func pause(seconds: Double) { act { gate, now in gate.pause(until: now.advanced(bySeconds: seconds)) } }

    // MARK: Requests

    /// The short way, for those that need not wait.
    func takes(_ now: MonotonicTime) -> Bool { ofThisProcess { $0.gate.takes(now) } }

    func admit(_ wait: RateWait, priority: Double, deadline: MonotonicTime) -> RateGate<RateWait>.Admission {
        act { gate, now in gate.admit(wait, priority: priority, deadline: deadline, now) }
    }

    func leave(_ wait: RateWait) { act { gate, _ in gate.leave(wait) } }

    func hold(_ wait: RateWait) { act { gate, _ in gate.hold(wait) } }

    func release(_ wait: RateWait) { act { gate, _ in gate.release(wait) } }

    /// A server asks to wait.
    func heard(retryAfter seconds: Double) {
        let maximumPause = maximumPause
        if maximumPause > 0 { pause(seconds: min(seconds, maximumPause)) }
    }

    // MARK: The line

    /// Moves the gate, and tells those whose turn it is.
    @discardableResult private func act<Result>(
        _ move: (inout RateGate<RateWait>, MonotonicTime) -> Result
    ) -> Result {
        let now = MonotonicTime.now()
        let (result, ready, next, old) = ofThisProcess { state in
            let result = move(&state.gate, now)
            let ready = state.gate.advance(now)
            let next = state.gate.nextMoment
            guard next != state.moment else { return (result, ready, MonotonicTime?.none, EngineTimer?.none) }
            state.moment = next
            return (result, ready, next, state.timer.take())
        }
        if let old { Runtime.current.engine.cancel(old) }
        if let next { look(at: next) }
        for wait in ready { wait.end(.go) }
        return result
    }

    private func look(at moment: MonotonicTime) {
        let timer = Runtime.current.engine.schedule(at: moment) { [weak self] in self?.timeHasCome(moment) }
        let isOld = state.withLock { state in
            guard state.moment == moment, state.timer == nil else { return true }
            state.timer = timer
            return false
        }
        if isOld { Runtime.current.engine.cancel(timer) }
    }

    private func timeHasCome(_ moment: MonotonicTime) {
        ofThisProcess { state in
            guard state.moment == moment else { return }
            state.moment = nil
            state.timer = nil
        }
        act { _, _ in }
    }

    private func ofThisProcess<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            if state.generation != Fork.generation {
                state.generation = Fork.generation
                // The parent's: not even released here.
                for wait in state.gate.forget() { _ = Unmanaged.passRetained(wait) }
                if let timer = state.timer.take() { _ = Unmanaged.passRetained(timer) }
                state.moment = nil
            }
            return body(&state)
        }
    }
}
