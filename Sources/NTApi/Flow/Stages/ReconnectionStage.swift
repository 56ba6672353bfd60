/// Reads a body as events or lines. A stream of events connects again when its connection ends: at the request's own
/// URL, with Last-Event-ID.
struct ReconnectionStage: Stage {
    /// The reader of the body, over all connections.
    let stream: RequestStream
    private var given: HTTPRequest?

    init(_ stream: RequestStream) { self.stream = stream }

    /// No other connection follows.
    mutating func stop() { given = nil }

    mutating func send(_ trip: inout Trip) -> Step {
        given = trip.request
        return .wait(.stream(stream, .request(trip.request)))
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        // There was no exchange: no token, or an open circuit.
        if let failure = answer.failure { return .wait(.stream(stream, .notSent(failure))) }
        return .wait(.stream(stream, .ended(answer.result, calendar: trip.facts.calendar)))
    }

    mutating func resume(stream reply: StreamReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        switch reply {
        case .accept: return .on
        case .request(let request):
            trip.request = request
            return .on
        case .failed(let error):
            answer?.result.error = error
            return .accept
        case .refused(let error):
            answer?.refusal = error
            answer?.content = nil
            return .accept
        case .connectAgain(let seconds):
            if let failure = answer?.failure.take() { answer?.result.error = failure }
            guard let given else { return .accept }
            guard seconds < trip.facts.secondsLeft else {
                answer?.result.error = Self.outOfTime
                return .accept
            }
            trip.request = given
            return .again(
                Again(
                    .reconnect, after: seconds, .connectsAgain(problem: answer?.result.problem, seconds: seconds)))
        }
    }

    mutating func cannotSendAgain(_ reason: String, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        answer.note = "not connected again: \(reason)"
        return .accept
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
    /// What follows when the next connection could not be tried, for example without a token.
    case notSent(APIError)
}

/// The answer of a stream.
enum StreamReply: Sendable {
    case request(HTTPRequest)
    case connectAgain(afterSeconds: Double)
    /// The body or the answer is not a valid stream.
    case failed(APIError)
    /// The answer is none of a stream. Its body is in the response, and the program may find the service's own error.
    case refused(APIError)
    /// The server's answer is final.
    case accept
}
