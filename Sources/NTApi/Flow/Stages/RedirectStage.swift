/// Follows redirects (RFC 9110, 15.4), as ``RedirectPolicy`` allows.
struct RedirectStage: Stage, ~Copyable {
    private var given: HTTPRequest
    /// Redirects followed since an outer stage sent the request.
    private var count = 0
    /// The next request, while the program is asked.
    private var next: HTTPRequest?

    /// - Parameter request: the request that was sent, when the stage is added for an answer.
    init(_ request: HTTPRequest) { given = request }

    mutating func send(_ trip: inout Trip) -> Step {
        given = trip.request
        if trip.reason == .redirect { count += 1 } else { count = 0 }
        return .on
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard answer.isRedirect, let head = answer.result.head else { return .on }
        var sent = given
        sent.url = answer.sent.url
        switch RedirectPolicy.decide(sent, head, followed: count) {
        case .none: return .on
        case .refuse(let error):
            answer.refusal = error
            return .accept
        case .follow(let next):
            self.next = next
            guard trip.facts.asks.contains(.redirect) else { return follow(head, &trip) }
            var question = Question(.redirect, head)
            question.redirectedRequest = next
            return .wait(.ask(question))
        }
    }

    mutating func resume(decision: DecisionAnswer, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard let head = answer.result.head else { return .accept }
        if case .refuse = decision { return .accept }
        if case .follow(let other) = decision { next = other }
        return follow(head, &trip)
    }

    private func follow(_ head: ResponseHead, _ trip: inout Trip) -> Step {
        guard let next else { return .accept }
        trip.request = next
        return .again(Again(.redirect, .redirected(head.status, next)))
    }

    mutating func cannotSendAgain(_ reason: String, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        answer.refusal = answer.result.head.map {
            RedirectPolicy.error($0, .httpError, "redirect not followed: \(reason)")
        }
        return .accept
    }
}
