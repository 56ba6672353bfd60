/// Follows redirects (RFC 9110, 15.4), as ``RedirectPolicy`` allows.
struct Redirects: Stage, ~Copyable {
    private var given: HTTPRequest
    /// Redirects followed since an outer stage sent the request.
    private var count = 0
    /// The next request, while the program or the body's stream is asked.
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
            guard trip.moment.asks.contains(.redirect) else { return rewind(head, &trip) }
            var question = Question(.redirect, head)
            question.redirectedRequest = next
            return .wait(.ask(question))
        }
    }

    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        guard let head = answer?.result.head else { return .accept }
        switch reply {
        case .decision(.refuse): return .accept
        case .decision(.follow(let other)): next = other
        case .rewound(true): return go(head, &trip)
        case .rewound(false):
            answer?.refusal = RedirectPolicy.error(
                head, .httpError, "redirect not followed: the body's stream could not be rewound")
            return .accept
        default: break
        }
        return rewind(head, &trip)
    }

    private func rewind(_ head: ResponseHead, _ trip: inout Trip) -> Step {
        if case .stream(let stream) = next?.body { return .wait(.rewind(stream)) }
        return go(head, &trip)
    }

    private func go(_ head: ResponseHead, _ trip: inout Trip) -> Step {
        guard let next else { return .accept }
        trip.log(.redirected(head.status, next))
        trip.request = next
        return .again(.redirect)
    }
}
