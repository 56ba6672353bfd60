// Another attempt after one that has failed, if the request has a policy that says so.
extension APIRequest {
    /// - Returns: false when the result stands as it is.
    func triesAgain(after result: ExchangeResult, _ http: HTTPRequest, _ deliveries: DeliveryBatch) -> Bool {
        guard let policy = pacing?.retry else { return false }
        let attempt = shared.withLock { RetryDecision.Attempt(result, http, $0, calendar: clock.calendarSeconds) }
        let fraction = Double.random(in: 0...1)
        let decision = RetryDecision.decide(policy, attempt, fraction: fraction, secondsLeft: secondsLeft)
        guard asks(for: .retry), RetryDecision.isOpen(policy, attempt) else {
            return carryOut(decision, after: result, http, policy, deliveries)
        }
        let content = content(of: result, refusal: nil)
        guard isOfThisProcess else { return true }
        guard content.error != nil else { return carryOut(decision, after: result, http, policy, deliveries) }
        leaveTransport()
        let response = APIResponse(request: self, ResponseContent.Box(content))
        let proposal = RetryProposal(attempt: attempt.number, wait: decision.wait, response: response)
        ask(.retry, result.head, retry: proposal, deliveries) { answer, deliveries in
            self.decisionIsOver()
            var decision = RetryDecision.stand
            if !answer.isRefusal {
                decision = RetryDecision.decide(
                    policy, attempt, fraction: fraction, secondsLeft: self.secondsLeft, wish: answer.wish)
            }
            if !self.carryOut(decision, after: result, http, policy, deliveries) {
                self.complete(result, refusal: nil, deliveries)
            }
        }
        return true
    }

    private var secondsLeft: Double {
        let now = clock.now
        let deadline = shared.withLock { $0.deadline(now) }
        return deadline == .distantFuture ? .infinity : deadline.seconds(since: now)
    }

    /// - Returns: false when the result stands as it is.
    private func carryOut(
        _ decision: RetryDecision, after result: ExchangeResult, _ http: HTTPRequest, _ policy: RetryPolicy,
        _ deliveries: DeliveryBatch
    ) -> Bool {
        switch decision {
        case .stand: return false
        case .giveUp(let reason): complete(result, refusal: nil, because: reason, deliveries)
        case .retry(let seconds):
            // What never came to the server may have been read all the same.
            if case .stream(let stream) = http.body, Delivery.call({ stream.rewind?() }) != true {
                guard isOfThisProcess else { return true }
                let reason = "not sent again: the body's stream could not be rewound"
                complete(result, refusal: nil, because: reason, deliveries)
                return true
            }
            guard isOfThisProcess else { return true }
            let attempt = shared.withLock { $0.journey.attempts } + 1
            RequestLog.triesAgain(self, result, attempt, of: policy.attempts, inSeconds: seconds)
            guard isOfThisProcess else { return true }
            let goesOn = pause(until: clock.now.advanced(bySeconds: seconds)) { self.sendAgain(http, $0) }
            if !goesOn { finishCancelled(deliveries) }
        }
        return true
    }

    private func sendAgain(_ http: HTTPRequest, _ deliveries: DeliveryBatch) {
        let (next, credentials) = shared.withLock { shared in
            shared.journey.attempts += 1
            shared.head = nil
            let journey = shared.journey
            return (shared.download?.again(http, journey) ?? http, journey.credentials)
        }
        if let credentials, credentials.generation != nil, let grant = credentials.authenticator.grant(clock.now) {
            // Others may have refreshed it meanwhile.
            if !begin(next, with: grant, credentials) { finishCancelled(deliveries) }
        } else if !beginExchange(next) {
            finishCancelled(deliveries)
        }
    }
}

extension RetryDecision.Attempt {
    fileprivate init(_ result: ExchangeResult, _ http: HTTPRequest, _ shared: APIRequest.Shared, calendar: Double) {
        number = shared.journey.attempts
        status = result.head?.status
        retryAfter = result.error == nil ? result.head?.retryAfter(now: calendar) : nil
        error = result.error
        method = http.method
        mayBeRepeated = http.mayBeRepeated
        if case .stream(let stream) = http.body { hasSpentBody = stream.rewind == nil }
        wasDelivered = shared.head != nil && shared.download == nil && shared.handlers.takesBody
    }
}

extension RetryDecision {
    fileprivate var wait: Double? {
        if case .retry(let seconds) = self { seconds } else { nil }
    }
}

extension RequestDecision.Answer {
    fileprivate var isRefusal: Bool {
        if case .refuse = self { true } else { false }
    }

    /// The seconds that the program wants to wait; nil leaves it to the policy.
    fileprivate var wish: Double? {
        if case .retry(let seconds) = self { seconds } else { nil }
    }
}
