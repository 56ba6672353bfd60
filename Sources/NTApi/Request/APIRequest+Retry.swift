// Another attempt after one that has failed, if the request has a policy that says so.
extension APIRequest {
    /// - Returns: false when the result stands as it is.
    func triesAgain(after result: ExchangeResult, _ http: HTTPRequest, _ deliveries: DeliveryBatch) -> Bool {
        guard let policy = pacing.retry else { return false }
        let (attempt, deadline) = shared.withLock { (RetryDecision.Attempt(result, http, $0), $0.journey.deadline) }
        let now = MonotonicTime.now()
        let left = deadline == .distantFuture ? .infinity : deadline.seconds(since: now)
        switch RetryDecision.decide(policy, attempt, fraction: .random(in: 0...1), secondsLeft: left) {
        case .stand: return false
        case .giveUp(let reason): complete(result, refusal: nil, because: reason, deliveries)
        case .retry(let seconds):
            // What never came to the server may have been read all the same.
            if case .stream(let stream) = http.body, stream.rewind?() != true {
                complete(result, refusal: nil, because: "the body's stream could not be rewound", deliveries)
                return true
            }
            RequestLog.triesAgain(self, result, attempt.number + 1, of: policy.attempts, inSeconds: seconds)
            let goesOn = pause(until: now.advanced(bySeconds: seconds)) { self.sendAgain(http, $0) }
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
        if let credentials, credentials.generation != nil, let grant = credentials.authenticator.grant() {
            // Others may have refreshed it meanwhile.
            if !begin(next, with: grant, credentials) { finishCancelled(deliveries) }
        } else if !beginExchange(next) {
            finishCancelled(deliveries)
        }
    }
}

extension RetryDecision.Attempt {
    fileprivate init(_ result: ExchangeResult, _ http: HTTPRequest, _ shared: APIRequest.Shared) {
        number = shared.journey.attempts
        status = result.head?.status
        retryAfter = result.error == nil ? result.head?.retryAfter() : nil
        error = result.error
        method = http.method
        mayBeRepeated = http.mayBeRepeated
        if case .stream(let stream) = http.body { hasSpentBody = stream.rewind == nil }
        wasDelivered = shared.head != nil && shared.download == nil && shared.handlers.wantsData
    }
}

extension Pacing {
    /// The answers that may be followed by another attempt, so that nobody is to see their bodies as the request's.
    func quietStatuses(_ http: HTTPRequest, attempts: Int) -> Set<Int> {
        guard let retry, attempts < retry.attempts, http.mayBeRepeated else { return [] }
        return retry.statuses
    }
}
