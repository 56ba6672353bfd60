import Testing

@testable import NTApi

/// How many requests may be retried at a time.
@Suite struct RetryBudgetsTests {
    private func origin(_ host: String) throws -> Origin { try #require(Origin(url: "https://\(host)/x")) }

    private func budget(_ share: Double, minimum: Int = 3) throws -> RetryBudget {
        try #require(RetryBudget(RetryPolicy(budget: share, budgetMinimum: minimum)))
    }

    @Test func oneOfFive() throws {
        let (budgets, origin, budget) = (RetryBudgets(), try origin("a.test"), try budget(0.2))
        let uses = (0..<25).map { _ in budgets.begin(origin, budget) }
        #expect(uses.map { $0.mayRepeat() } == (0..<25).map { $0 < 5 })
        #expect(budgets[origin].running == 25 && budgets[origin].repeated == 5)
        // A request that has been retried may be retried again: it does not count twice.
        #expect(uses[0].mayRepeat() && budgets[origin].repeated == 5)
        // Each server has its own counts.
        let other = budgets.begin(try self.origin("b.test"), budget)
        #expect(other.mayRepeat())
        withExtendedLifetime(uses) {}
    }

    @Test func theMinimumIsAlwaysAllowed() throws {
        let (budgets, origin) = (RetryBudgets(), try origin("a.test"))
        let uses = (0..<6).map { _ in budgets.begin(origin, try! budget(0.2)) }
        #expect(uses.map { $0.mayRepeat() } == [true, true, true, false, false, false])
        let none = budgets.begin(origin, try budget(0.01, minimum: 0))
        #expect(!none.mayRepeat())
        withExtendedLifetime(uses) {}
    }

    /// The race: one thread ends a request while another asks whether it may be retried.
    @Test func aRequestThatHasEndedIsNotRepeated() throws {
        let (budgets, origin) = (RetryBudgets(), try origin("a.test"))
        let use = budgets.begin(origin, try budget(0.2))
        use.end()
        #expect(!use.mayRepeat())
        use.end()
        #expect(budgets[origin] == RetryBudgets.Counts())
    }

    @Test func withoutABudgetNothingIsCounted() {
        #expect(RetryBudget(.standard) == nil)
    }

    /// Whatever begins and ends in any order: in the end nothing is counted, and there are never more retries than
    /// allowed.
    @Test func whateverEnds() throws {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let (budgets, origin, budget) = (RetryBudgets(), try origin("a.test"), try budget(0.2, minimum: 2))
        var uses: [(use: RetryBudgetUse, isRepeated: Bool)] = []
        for _ in 0..<5000 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0: uses.append((budgets.begin(origin, budget), false))
            case 1:
                guard let place = uses.indices.randomElement(using: &random) else { continue }
                let others = uses.filter(\.isRepeated).count - (uses[place].isRepeated ? 1 : 0)
                let allowed = others < max(2, uses.count / 5)
                #expect(uses[place].use.mayRepeat() == allowed, "NTAPI_SEED=\(seed)")
                uses[place].isRepeated = allowed
            default:
                if let place = uses.indices.randomElement(using: &random) { uses.remove(at: place) }
            }
            let counts = budgets[origin]
            let repeated = uses.filter(\.isRepeated).count
            #expect(counts.running == uses.count && counts.repeated == repeated, "NTAPI_SEED=\(seed)")
        }
        uses = []
        #expect(budgets[origin] == RetryBudgets.Counts())
    }
}
