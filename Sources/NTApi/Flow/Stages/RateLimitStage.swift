/// Waits until the client's rate limiter permits the exchange. Each exchange needs its own permit.
struct RateLimitStage: Stage, ~Copyable {
    mutating func send(_ trip: inout Trip) -> Step {
        .wait(.permit(queueTimeout: trip.request.settings.timeouts.queue))
    }

    mutating func resume(permit refusal: APIError?, _ trip: inout Trip) -> Step {
        if let refusal { return .answer(Answer(failing: refusal, trip.request)) }
        trip.hasPermit = true
        return .on
    }

    /// When the server asks to wait, or says that nothing is left of its limit, the limiter holds back the client's other
    /// requests too.
    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard answer.result.error == nil, let head = answer.result.head else { return .on }
        let calendar = trip.facts.calendar
        let isRefusal = head.status == 429 || head.status == 503
        if let seconds = (isRefusal ? head.retryAfter(now: calendar) : nil) ?? head.exhaustion(now: calendar) {
            trip.effects.append(.holdUpOthers(seconds))
        }
        return .on
    }
}
