/// Waits until the client's rate limit lets the exchange go: each exchange needs a turn of its own.
struct Turn: Stage, ~Copyable {
    mutating func send(_ trip: inout Trip) -> Step {
        .wait(.turn(queueTimeout: trip.request.settings.timeouts.queue))
    }

    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        if case .failed(let error) = reply { return .answer(Answer(failing: error, trip.request)) }
        return .on
    }

    /// A server that complains of too many requests would complain of the others, too.
    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        if answer.result.error == nil, let head = answer.result.head, head.status == 429 || head.status == 503,
            let seconds = head.retryAfter(now: trip.moment.calendar)
        {
            trip.effects.append(.holdUpOthers(seconds))
        }
        return .on
    }
}
