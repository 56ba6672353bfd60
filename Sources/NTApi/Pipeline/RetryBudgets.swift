import Synchronization

/// The requests of a client whose retry policy has a budget, counted by origin.
final class RetryBudgets: Sendable {
    /// The requests of one origin.
    struct Counts: Equatable, Sendable {
        /// Those that have begun and not ended. A request that waits counts, too.
        fileprivate(set) var running = 0
        /// Those of them that were sent again, or wait for that.
        fileprivate(set) var repeated = 0

        /// - Parameter isRepeated: whether the request that asks is among the repeated ones already.
        fileprivate func allows(_ budget: RetryBudget, isRepeated: Bool) -> Bool {
            let others = repeated - (isRepeated ? 1 : 0)
            return Double(others) < max(Double(budget.minimum), (budget.share * Double(running)).rounded(.down))
        }
    }

    private let counts = InheritedLock([Origin: Counts](), sharing: .clients) { $0 = [:] }

    /// Counts a request until its use ends.
    func begin(_ origin: Origin, _ budget: RetryBudget) -> RetryBudgetUse {
        counts.withLock { $0[origin, default: Counts()].running += 1 }
        return RetryBudgetUse(self, origin, budget)
    }

    subscript(origin: Origin) -> Counts { counts.withLock { $0[origin] ?? Counts() } }

    fileprivate func mayRepeat(_ use: RetryBudgetUse) -> Bool {
        counts.withLock { counts in
            // It may have been cancelled meanwhile.
            guard !use.hasEnded.load(ordering: .relaxed), var known = counts[use.origin] else { return false }
            let isRepeated = use.isRepeated.load(ordering: .relaxed)
            let allows = known.allows(use.budget, isRepeated: isRepeated)
            if allows != isRepeated { known.repeated += allows ? 1 : -1 }
            use.isRepeated.store(allows, ordering: .relaxed)
            counts[use.origin] = known
            return allows
        }
    }

    fileprivate func ended(_ use: RetryBudgetUse) {
        counts.withLock { counts in
            guard !use.hasEnded.exchange(true, ordering: .relaxed), var known = counts[use.origin] else { return }
            known.running -= 1
            if use.isRepeated.load(ordering: .relaxed) { known.repeated -= 1 }
            counts[use.origin] = known.running > 0 ? known : nil
        }
    }
}

/// How many requests to an origin may be repeated at a time.
struct RetryBudget: Equatable, Sendable {
    /// The share of the requests that run, from 0 to 1.
    let share: Double
    /// Allowed whatever the share is.
    let minimum: Int

    /// - Returns: nil when the policy has no budget.
    init?(_ policy: RetryPolicy) {
        guard policy.budget > 0 else { return nil }
        (share, minimum) = (policy.budget, policy.budgetMinimum)
    }
}

/// One request's place in the counts, from its start to its end.
final class RetryBudgetUse: Sendable {
    fileprivate let origin: Origin
    fileprivate let budget: RetryBudget
    private let budgets: RetryBudgets
    // These change under the lock of the counts.
    fileprivate let isRepeated = Atomic<Bool>(false)
    fileprivate let hasEnded = Atomic<Bool>(false)
    private let generation = Fork.generation

    fileprivate init(_ budgets: RetryBudgets, _ origin: Origin, _ budget: RetryBudget) {
        (self.budgets, self.origin, self.budget) = (budgets, origin, budget)
    }

    deinit { end() }

    /// The request has its outcome, and gives its place back before anybody hears of it.
    func end() {
        // A child does not count its parent's requests.
        if generation == Fork.generation { budgets.ended(self) }
    }

    /// Whether the request may be sent again. If so, it counts as repeated until its end, or until this is false.
    func mayRepeat() -> Bool { budgets.mayRepeat(self) }
}
