/// Sends an exchange only if the circuit of its server allows it, and tells the circuit how it ended.
struct CircuitStage: Stage, ~Copyable {
    private let policy: CircuitBreakerPolicy
    private var pass: CircuitPass?

    init(_ policy: CircuitBreakerPolicy) { self.policy = policy }

    mutating func send(_ trip: inout Trip) -> Step { .wait(.circuit(trip.request)) }

    mutating func resume(circuit admission: Result<CircuitPass, APIError>, _ trip: inout Trip) -> Step {
        switch admission {
        case .success(let pass):
            self.pass = pass
            return .on
        case .failure(let error): return .answer(Answer(failing: error, trip.request))
        }
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        if let pass = pass.take() {
            // An interceptor may have sent it to another server.
            let isOfServer = Origin(url: answer.sent.url) == pass.origin
            trip.effects.append(.tell(pass, isOfServer ? outcome(answer) : .unknown))
        }
        return .on
    }

    private func outcome(_ answer: Answer) -> Circuit.Outcome {
        // An interceptor says nothing about the server.
        guard !answer.isMade else { return .unknown }
        if let error = answer.result.error {
            return policy.networkErrors && error.domain == .network ? .failure : .unknown
        }
        guard let status = answer.result.head?.status else { return .unknown }
        return policy.statuses.contains(status) ? .failure : .success
    }
}
