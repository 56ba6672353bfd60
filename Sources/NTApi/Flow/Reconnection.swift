/// Reads a body as events or lines. A stream of events connects again when its connection ends: at the request's own
/// URL, with Last-Event-ID.
struct Reconnection: Stage {
    /// The reader of the body, over all connections.
    let stream: RequestStream
    private var given: HTTPRequest?
    private var pause = 0.0

    init(_ stream: RequestStream) { self.stream = stream }

    mutating func send(_ trip: inout Trip) -> Step {
        given = trip.request
        return .wait(.stream(stream, .request(trip.request)))
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        if let failure = answer.failure, answer.lacksToken { return .wait(.stream(stream, .lacksToken(failure))) }
        return .wait(.stream(stream, .ended(answer.result, calendar: trip.moment.calendar)))
    }

    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        guard let known = answer else {
            if case .stream(.request(let request)) = reply { trip.request = request }
            return .on
        }
        switch reply {
        case .stream(.failed(let error)):
            answer?.result.error = error
            return .accept
        case .stream(.connectAgain(let seconds)):
            if known.lacksToken, let failure = answer?.failure.take() { answer?.result.error = failure }
            pause = seconds
            guard case .stream(let body) = given?.body else { return wait(&answer, &trip) }
            return .wait(.rewind(body))
        case .rewound(true): return wait(&answer, &trip)
        case .rewound(false):
            answer?.note = "not connected again: the body is a stream that cannot be sent twice"
            return .accept
        case .done:
            guard let given else { return .accept }
            trip.request = given
            return .again(.reconnect)
        default: return .on
        }
    }

    private func wait(_ answer: inout Answer?, _ trip: inout Trip) -> Step {
        guard pause < trip.moment.secondsLeft else {
            answer?.result.error = Self.outOfTime
            return .accept
        }
        trip.log(.connectsAgain(problem: answer?.result.problem, seconds: pause))
        return .wait(.pause(pause))
    }

    private static let outOfTime: APIError = {
        var error = APIError(
            domain: .network, code: .timeout,
            message: "the total timeout of the request ran out before the next connection")
        error.clock = .total
        return error
    }()
}

/// A question to a stream.
indirect enum StreamWork: Sendable {
    /// How to send the request on the next connection.
    case request(HTTPRequest)
    /// What follows a connection that has ended and whose body has been read.
    case ended(ExchangeResult, calendar: Double)
    /// What follows when there is no token for the next connection.
    case lacksToken(APIError)
}

/// The answer of a stream.
enum StreamReply: Sendable {
    case request(HTTPRequest)
    case connectAgain(afterSeconds: Double)
    /// The body or the answer is not a valid stream.
    case failed(APIError)
    /// The server's answer is final.
    case accept
}
