/// The circuit of one server: whether requests may go there. Pure; time is passed in.
///
/// It is *closed* while requests go there, and counts their outcomes. It is *open* while none may. Then it is *half
/// open*: a few requests try the server.
struct Circuit: Equatable, Sendable {
    enum Outcome: Sendable {
        case success
        case failure
        /// Nothing is known: the request was cancelled, for example.
        case unknown
    }

    enum Admission: Equatable, Sendable {
        /// The outcome is told with this ticket.
        case go(ticket: UInt32)
        case refused(until: MonotonicTime, failures: Int, calls: Int)
        /// Enough requests try the server now.
        case tried
    }

    private enum Phase: Equatable {
        case closed
        case open(until: MonotonicTime, failures: Int, calls: Int)
        case halfOpen(since: MonotonicTime, running: Int, succeeded: Int)

        var isOpen: Bool { if case .open = self { true } else { false } }
    }

    /// The exchanges of a tenth of the window.
    private struct Slot: Equatable {
        var number: UInt64 = 0
        var calls = 0
        var failures = 0
    }

    private static let slotCount = 10
    private let policy: CircuitBreakerPolicy
    private var phase = Phase.closed
    /// Changes with the phase: what an earlier phase has sent tells nothing about this one.
    private var ticket: UInt32 = 0
    private var slots = [Slot](repeating: Slot(), count: slotCount)

    init(_ policy: CircuitBreakerPolicy) { self.policy = policy }

    /// Whether it may be forgotten: it is closed, and nothing is counted.
    func isIdle(_ now: MonotonicTime) -> Bool { phase == .closed && counts(now).calls == 0 }

    /// A request wants to go to the server.
    mutating func admit(_ now: MonotonicTime) -> Admission {
        switch phase {
        case .closed: return .go(ticket: ticket)
        case .open(let until, let failures, let calls):
            guard now >= until else { return .refused(until: until, failures: failures, calls: calls) }
            enter(.halfOpen(since: now, running: 1, succeeded: 0))
        case .halfOpen(let since, let running, let succeeded):
            if running + succeeded < policy.probes {
                phase = .halfOpen(since: since, running: running + 1, succeeded: succeeded)
            } else {
                // Those that try it may last long, such as streams. They do not keep it half open for ever.
                guard now >= since.advanced(bySeconds: policy.openSeconds) else { return .tried }
                enter(.halfOpen(since: now, running: 1, succeeded: 0))
            }
        }
        return .go(ticket: ticket)
    }

    /// A request that was admitted has ended.
    ///
    /// - Returns: what has become of the circuit; nil when it is as before.
    @discardableResult mutating func ended(_ given: UInt32, _ outcome: Outcome, _ now: MonotonicTime) -> CircuitEvent? {
        guard given == ticket else { return nil }
        let before = phase
        switch before {
        case .open: break
        case .closed: count(outcome, now)
        case .halfOpen(let since, let running, let succeeded):
            switch outcome {
            case .unknown: phase = .halfOpen(since: since, running: running - 1, succeeded: succeeded)
            case .failure: open(failures: 1, calls: 1, now)
            case .success where succeeded + 1 >= policy.probes: enter(.closed)
            case .success: phase = .halfOpen(since: since, running: running - 1, succeeded: succeeded + 1)
            }
        }
        switch phase {
        case .open where !before.isOpen: return .opened
        case .closed where before != .closed: return .closed
        default: return nil
        }
    }

    private mutating func count(_ outcome: Outcome, _ now: MonotonicTime) {
        guard outcome != .unknown else { return }
        let number = slotNumber(now)
        let place = Int(number % UInt64(Self.slotCount))
        if slots[place].number != number { slots[place] = Slot(number: number) }
        slots[place].calls += 1
        guard outcome == .failure else { return }
        slots[place].failures += 1
        let (failures, calls) = counts(now)
        if calls >= policy.minimumCalls, Double(failures) >= policy.failureRate * Double(calls) {
            open(failures: failures, calls: calls, now)
        }
    }

    private mutating func open(failures: Int, calls: Int, _ now: MonotonicTime) {
        enter(.open(until: now.advanced(bySeconds: policy.openSeconds), failures: failures, calls: calls))
    }

    private mutating func enter(_ next: Phase) {
        phase = next
        ticket &+= 1
        slots = [Slot](repeating: Slot(), count: Self.slotCount)
    }

    private func counts(_ now: MonotonicTime) -> (failures: Int, calls: Int) {
        let number = slotNumber(now)
        let known = slots.filter { $0.calls > 0 && number - min(number, $0.number) < UInt64(Self.slotCount) }
        return (known.reduce(0) { $0 + $1.failures }, known.reduce(0) { $0 + $1.calls })
    }

    private func slotNumber(_ now: MonotonicTime) -> UInt64 {
        now.nanoseconds / max(1, UInt64(policy.windowSeconds / Double(Self.slotCount) * 1e9))
    }
}
