/// Waits until the client's rate limiter permits the exchange. Each exchange needs its own permit.
struct RateLimitStage: Stage, ~Copyable {
    mutating func send(_ trip: inout Trip) -> Step {
        .wait(.permit(queueTimeout: trip.request.settings.timeouts.queue))
    }

    mutating func resume(permit refusal: APIError?, _ trip: inout Trip) -> Step {
        refusal.map { .answer(Answer(failing: $0, trip.request)) } ?? .on
    }

    /// After a 429 or 503 with Retry-After, the limiter holds back the client's other requests too.
    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        if answer.result.error == nil, let head = answer.result.head, head.status == 429 || head.status == 503,
            let seconds = head.retryAfter(now: trip.facts.calendar)
        {
            trip.effects.append(.holdUpOthers(seconds))
        }
        return .on
    }
}
