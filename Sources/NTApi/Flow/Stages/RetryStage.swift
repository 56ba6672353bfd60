/// Sends the request again after a failed attempt, as the request's ``RetryPolicy`` says.
struct RetryStage: Stage, ~Copyable {
    private let policy: RetryPolicy
    /// Whether a stream that reconnects by itself handles a lost connection, so that this stage leaves it alone.
    private let leavesConnections: Bool
    /// Nil when the policy has no budget.
    let budget: RetryBudgetUse?
    private var given: HTTPRequest?
    /// How many attempts the policy has counted. Sending again with other credentials is the same attempt.
    private var number = 1
    private var attempt = RetryDecision.Attempt()
    private var fraction = 0.0
    private var decision = RetryDecision.stand

    init(_ policy: RetryPolicy, leavesConnections: Bool, budget: RetryBudgetUse? = nil) {
        self.policy = policy
        self.leavesConnections = leavesConnections
        self.budget = budget
    }

    var quietStatuses: Set<Int> {
        guard let given, number < policy.attempts, given.mayBeRepeated else { return [] }
        return policy.statuses
    }

    mutating func send(_ trip: inout Trip) -> Step {
        given = trip.request
        if trip.reason == .retry { number += 1 }
        if let header = policy.attemptHeader { trip.request.headers.set(header, "\(number)") }
        return .on
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard !answer.isRedirect, !(leavesConnections && answer.result.endsConnection) else { return .on }
        attempt = RetryDecision.Attempt(answer, number, given, calendar: trip.facts.calendar)
        fraction = trip.facts.fraction
        decision = RetryDecision.decide(policy, attempt, fraction: fraction, secondsLeft: trip.facts.secondsLeft)
        if trip.facts.asks.contains(.retry), RetryDecision.isOpen(policy, attempt) { return .wait(.content(answer)) }
        if case .stand = decision { return .on }
        return carryOut(&answer, &trip)
    }

    mutating func resume(content: ResponseContent, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        answer.content = content
        guard content.error != nil else {
            if case .stand = decision { return .on }
            return carryOut(&answer, &trip)
        }
        var question = Question(.retry, answer.result.head)
        question.retry = (attempt.number, decision.wait, content)
        return .wait(.ask(question))
    }

    mutating func resume(decision decided: DecisionAnswer, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        decision = .stand
        if !decided.isRefusal {
            decision = RetryDecision.decide(
                policy, attempt, fraction: fraction, secondsLeft: trip.facts.secondsLeft, wish: decided.wish)
        }
        return carryOut(&answer, &trip)
    }

    private func carryOut(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        switch decision {
        case .stand: return .accept
        case .giveUp(let reason):
            answer.note = reason
            return .accept
        case .retry(let seconds):
            if let budget { return .wait(.retry(budget)) }
            return sendAgain(after: seconds, answer, &trip)
        }
    }

    mutating func resume(retry isInBudget: Bool, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard isInBudget, case .retry(let seconds) = decision else {
            answer.note = "not sent again: too many of the client's requests to this server are repeated now (budget)"
            return .accept
        }
        return sendAgain(after: seconds, answer, &trip)
    }

    private func sendAgain(after seconds: Double, _ answer: Answer, _ trip: inout Trip) -> Step {
        guard let given else { return .accept }
        trip.request = given
        return .again(
            Again(
                .retry, after: seconds,
                .triesAgain(answer.result, attempt: number + 1, attempts: policy.attempts, seconds: seconds)))
    }
}

extension RetryDecision.Attempt {
    fileprivate init(_ answer: Answer, _ number: Int, _ given: HTTPRequest?, calendar: Double) {
        let result = answer.result
        self.number = number
        status = result.head?.status
        retryAfter = result.error == nil ? result.head?.retryAfter(now: calendar) : nil
        shouldRetry = result.head?.shouldRetry
        error = result.error
        method = given?.method ?? ""
        mayBeRepeated = given?.mayBeRepeated ?? false
        if case .stream(let stream) = given?.body { hasSpentBody = !stream.isRewindable }
        wasDelivered = answer.isDelivered
    }
}

extension RetryDecision {
    fileprivate var wait: Double? {
        if case .retry(let seconds) = self { seconds } else { nil }
    }
}

extension DecisionAnswer {
    fileprivate var isRefusal: Bool {
        if case .refuse = self { true } else { false }
    }

    /// The seconds that the program wants to wait; nil leaves it to the policy.
    fileprivate var wish: Double? {
        if case .retry(let seconds) = self { seconds } else { nil }
    }
}

extension ExchangeResult {
    /// Whether a stream of events treats this as the end of a connection: it reconnects or ends.
    fileprivate var endsConnection: Bool {
        if let error { return [.network, .noInternet, .timeout].contains(error.code) }
        return head.map { (200..<300).contains($0.status) || (500..<600).contains($0.status) } ?? true
    }
}
