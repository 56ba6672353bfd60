import Synchronization

/// The circuits of a client, by origin.
final class CircuitBreaker: Sendable {
    let policy: CircuitBreakerPolicy
    private let circuits = InheritedLock([Origin: Circuit](), sharing: .clients) { $0 = [:] }

    init(_ policy: CircuitBreakerPolicy) { self.policy = policy }

    /// How many origins are known.
    var count: Int { circuits.withLock { $0.count } }

    /// - Returns: what tells the outcome later, or the error of a request that may not go.
    func admit(_ origin: Origin, _ now: MonotonicTime) -> Result<CircuitPass, APIError> {
        let admission = circuits.withLock { circuits in
            if circuits[origin] == nil, circuits.count >= 64, circuits.count.nonzeroBitCount == 1 {
                circuits = circuits.filter { !$0.value.isIdle(now) }
            }
            return circuits[origin, default: Circuit(policy)].admit(now)
        }
        switch admission {
        case .go(let ticket): return .success(CircuitPass(self, origin, ticket))
        case .refused(let until, let failures, let calls):
            let seconds = until.seconds(since: now)
            let server = "\(origin.host):\(origin.port)"
            let reason =
                calls == 1 ? "a request that tried it failed" : "\(failures) of the last \(calls) requests failed"
            var error = APIError.circuitOpen("the circuit of \(server) is open for \(decimal(seconds)) s: \(reason)")
            error.retryAfter = seconds
            return .failure(error)
        case .tried:
            return .failure(
                .circuitOpen("the circuit of \(origin.host):\(origin.port) is half open: other requests try the server")
            )
        }
    }

    fileprivate func ended(_ pass: CircuitPass, _ outcome: Circuit.Outcome, _ now: MonotonicTime) -> CircuitEvent? {
        circuits.withLock { $0[pass.origin]?.ended(pass.ticket, outcome, now) }
    }
}

/// One exchange that a circuit has admitted. Its outcome is unknown if nobody tells it.
final class CircuitPass: Sendable {
    let origin: Origin
    fileprivate let ticket: UInt32
    private let breaker: CircuitBreaker
    private let isTold = Atomic<Bool>(false)
    private let generation = Fork.generation

    fileprivate init(_ breaker: CircuitBreaker, _ origin: Origin, _ ticket: UInt32) {
        (self.breaker, self.origin, self.ticket) = (breaker, origin, ticket)
    }

    // A child does not count its parent's requests. The time does not matter for what is unknown.
    deinit { if generation == Fork.generation { ended(.unknown, .distantFuture) } }

    /// - Returns: what has become of the circuit; nil when it is as before.
    @discardableResult func ended(_ outcome: Circuit.Outcome, _ now: MonotonicTime) -> CircuitEvent? {
        isTold.exchange(true, ordering: .relaxed) ? nil : breaker.ended(self, outcome, now)
    }
}
