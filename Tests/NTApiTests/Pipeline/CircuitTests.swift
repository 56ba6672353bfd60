import Testing

@testable import NTApi

/// The circuit of one server.
@Suite struct CircuitTests {
    private let policy = CircuitBreakerPolicy(minimumCalls: 4, windowSeconds: 10, openSeconds: 30, probes: 2)

    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000).advanced(bySeconds: seconds)
    }

    /// Makes an exchange that ends at once.
    @discardableResult private func exchange(
        _ circuit: inout Circuit, _ outcome: Circuit.Outcome, _ seconds: Double
    ) -> Bool {
        guard case .go(let ticket) = circuit.admit(at(seconds)) else { return false }
        circuit.ended(ticket, outcome, at(seconds))
        return true
    }

    @Test func halfOfTheExchangesOpenIt() {
        var circuit = Circuit(policy)
        for outcome in [Circuit.Outcome.success, .failure, .success, .failure] {
            #expect(exchange(&circuit, outcome, 1))
        }
        #expect(circuit.admit(at(2)) == .refused(until: at(31), failures: 2, calls: 4))
        #expect(circuit.admit(at(30.9)) == .refused(until: at(31), failures: 2, calls: 4))
    }

    @Test func fewExchangesDoNot() {
        var circuit = Circuit(policy)
        for _ in 0..<3 { #expect(exchange(&circuit, .failure, 1)) }
        // Failures before the window, unknown outcomes and successes do not count as failures.
        for _ in 0..<20 { #expect(exchange(&circuit, .unknown, 5)) }
        for _ in 0..<3 { #expect(exchange(&circuit, .failure, 12)) }
        #expect(!circuit.isIdle(at(12)) && circuit.isIdle(at(30)))
        #expect(exchange(&circuit, .success, 12.5))
        #expect(circuit.admit(at(13)) != .tried)
    }

    @Test func afterAWhileSomeTryTheServer() throws {
        var circuit = Circuit(policy)
        for _ in 0..<4 { exchange(&circuit, .failure, 0) }
        guard case .go(let first) = circuit.admit(at(30)), case .go(let second) = circuit.admit(at(30)) else {
            Issue.record("no request tries the server")
            return
        }
        #expect(circuit.admit(at(31)) == .tried)
        circuit.ended(first, .success, at(31))
        #expect(circuit.admit(at(31)) == .tried)
        circuit.ended(second, .success, at(32))
        for _ in 0..<3 { #expect(exchange(&circuit, .failure, 32)) }
        #expect(exchange(&circuit, .success, 32))
    }

    @Test func oneFailureOpensItAgain() {
        var circuit = Circuit(policy)
        for _ in 0..<4 { exchange(&circuit, .failure, 0) }
        guard case .go(let first) = circuit.admit(at(30)), case .go(let second) = circuit.admit(at(30)) else {
            Issue.record("no request tries the server")
            return
        }
        circuit.ended(first, .failure, at(31))
        // The other request was sent before the circuit opened again. Its result does not count.
        circuit.ended(second, .success, at(32))
        #expect(circuit.admit(at(60)) == .refused(until: at(61), failures: 1, calls: 1))
        #expect(exchange(&circuit, .success, 61) && exchange(&circuit, .success, 61))
        #expect(exchange(&circuit, .failure, 61))
    }

    @Test func whatTellsNothingGivesItsPlaceBack() {
        var circuit = Circuit(policy)
        for _ in 0..<4 { exchange(&circuit, .failure, 0) }
        for _ in 0..<10 { #expect(exchange(&circuit, .unknown, 30)) }
        #expect(exchange(&circuit, .success, 30) && exchange(&circuit, .success, 30))
        #expect(exchange(&circuit, .failure, 30))
    }

    /// A stream may last forever. Then other requests try the server.
    @Test func itIsNotTriedForEver() {
        var circuit = Circuit(policy)
        for _ in 0..<4 { exchange(&circuit, .failure, 0) }
        for _ in 0..<2 { #expect(circuit.admit(at(30)) != .tried) }
        #expect(circuit.admit(at(59)) == .tried)
        #expect(exchange(&circuit, .success, 60) && exchange(&circuit, .success, 60))
        #expect(exchange(&circuit, .failure, 60))
    }

    /// In any order of events: while the circuit is half open, no more than the probes run, and a server that works is
    /// used again.
    @Test func anyOrder() {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        for _ in 0..<300 {
            var (circuit, running, seconds) = (Circuit(policy), [UInt32](), 0.0)
            for _ in 0..<200 {
                seconds += Double.random(in: 0...4, using: &random)
                if Bool.random(using: &random) {
                    if case .go(let ticket) = circuit.admit(at(seconds)) { running.append(ticket) }
                } else if let place = running.indices.randomElement(using: &random) {
                    let outcome = [Circuit.Outcome.success, .failure, .unknown].randomElement(using: &random)
                    circuit.ended(running.remove(at: place), outcome ?? .unknown, at(seconds))
                }
            }
            // From now on, the running requests never end, and the server works.
            var sent = 0
            for _ in 0..<8 {
                seconds += 31
                for _ in 0..<4 { if exchange(&circuit, .success, seconds) { sent += 1 } }
            }
            #expect(sent >= 24, "NTAPI_SEED=\(seed)")
            #expect((0..<100).allSatisfy { _ in exchange(&circuit, .success, seconds) }, "NTAPI_SEED=\(seed)")
        }
    }

    // MARK: Passes

    @Test func aPassThatIsDroppedGivesItsPlaceBack() throws {
        let breaker = CircuitBreaker(policy)
        let origin = try #require(Origin(url: "https://a.test"))
        for _ in 0..<4 { try breaker.admit(origin, at(0)).get().ended(.failure, at(0)) }
        #expect(throws: APIError.self) { try breaker.admit(origin, at(1)).get() }
        let other = try #require(Origin(url: "https://b.test"))
        _ = try breaker.admit(other, at(1)).get()
        for _ in 0..<10 { _ = try breaker.admit(origin, at(30)).get() }
        let kept = try (0..<2).map { _ in try breaker.admit(origin, at(30)).get() }
        let refusal = #expect(throws: APIError.self) { try breaker.admit(origin, at(30)).get() }
        #expect(refusal?.message == "the circuit of a.test:443 is half open: other requests try the server")
        for pass in kept { pass.ended(.success, at(31)) }
        _ = try breaker.admit(origin, at(31)).get()
    }

    @Test func serversThatAreNotUsedAreForgotten() throws {
        let breaker = CircuitBreaker(policy)
        for number in 0..<1000 {
            let origin = try #require(Origin(url: "https://h\(number).test"))
            try breaker.admit(origin, at(Double(number))).get().ended(.success, at(Double(number)))
        }
        #expect(breaker.count <= 80)
    }
}
