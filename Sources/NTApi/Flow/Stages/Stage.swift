/// One feature on a request's way. It changes the request on the way in (to the server), and sees the answer on the way
/// out (to the caller).
///
/// A stage is a value. It takes no lock, reads no clock, opens no file, calls no code of the program and knows no other
/// stage. It keeps the request as it received it, and sends that again. So an outer stage never holds what an inner
/// stage added.
protocol Stage: ~Copyable, Sendable {
    /// The request passes on its way in. The stage may change `trip.request`.
    mutating func send(_ trip: inout Trip) -> Step

    /// The answer passes on its way out.
    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step

    /// The stage wanted to send the request again, but its body is a stream that does not begin again.
    ///
    /// - Parameter reason: continues a sentence of an error's message.
    mutating func cannotSendAgain(_ reason: String, _ answer: inout Answer, _ trip: inout Trip) -> Step

    /// Statuses that another exchange may follow: handlers must not see the bodies of these answers.
    var quietStatuses: Set<Int> { get }

    // The replies to the stage's needs. A stage that has such a need has the method for its reply. An answer that is nil
    // means the way in.

    /// - Parameter refusal: nil when the permit is granted.
    mutating func resume(permit refusal: APIError?, _ trip: inout Trip) -> Step

    mutating func resume(circuit admission: Result<CircuitPass, APIError>, _ trip: inout Trip) -> Step

    mutating func resume(token reply: TokenReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step

    mutating func resume(stored response: CachedResponse?, _ turn: CacheTurn?, _ trip: inout Trip) -> Step

    mutating func resume(decision: DecisionAnswer, _ answer: inout Answer, _ trip: inout Trip) -> Step

    /// - Parameter request: the request to send next; nil when none follows.
    mutating func resume(
        download: Download, _ request: HTTPRequest?, _ answer: inout Answer?, _ trip: inout Trip
    ) -> Step

    mutating func resume(content: ResponseContent, _ answer: inout Answer, _ trip: inout Trip) -> Step

    mutating func resume(retry isInBudget: Bool, _ answer: inout Answer, _ trip: inout Trip) -> Step

    mutating func resume(recalled known: Recalled, _ answer: inout Answer, _ trip: inout Trip) -> Step

    mutating func resume(proxied request: HTTPRequest, _ trip: inout Trip) -> Step

    mutating func resume(stream reply: StreamReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step

    mutating func resume(interceptor reply: InterceptionReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step
}

extension Stage where Self: ~Copyable {
    mutating func send(_ trip: inout Trip) -> Step { .on }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step { .on }

    mutating func cannotSendAgain(_ reason: String, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        answer.note = "not sent again: \(reason)"
        return .accept
    }

    var quietStatuses: Set<Int> { [] }

    mutating func resume(permit refusal: APIError?, _ trip: inout Trip) -> Step { .on }

    mutating func resume(circuit admission: Result<CircuitPass, APIError>, _ trip: inout Trip) -> Step { .on }

    mutating func resume(token reply: TokenReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step { .on }

    mutating func resume(stored response: CachedResponse?, _ turn: CacheTurn?, _ trip: inout Trip) -> Step { .on }

    mutating func resume(decision: DecisionAnswer, _ answer: inout Answer, _ trip: inout Trip) -> Step { .on }

    mutating func resume(
        download: Download, _ request: HTTPRequest?, _ answer: inout Answer?, _ trip: inout Trip
    ) -> Step { .on }

    mutating func resume(content: ResponseContent, _ answer: inout Answer, _ trip: inout Trip) -> Step { .on }

    mutating func resume(retry isInBudget: Bool, _ answer: inout Answer, _ trip: inout Trip) -> Step { .on }

    mutating func resume(recalled known: Recalled, _ answer: inout Answer, _ trip: inout Trip) -> Step { .on }

    mutating func resume(proxied request: HTTPRequest, _ trip: inout Trip) -> Step { .on }

    mutating func resume(stream reply: StreamReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step { .on }

    mutating func resume(interceptor reply: InterceptionReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        .on
    }

    /// Passes a reply to the method that takes it.
    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        switch reply {
        // The driver's own needs.
        case .waited, .rewound: return .on
        case .permit(let refusal): return resume(permit: refusal, &trip)
        case .circuit(let admission): return resume(circuit: admission, &trip)
        case .token(let reply): return resume(token: reply, &answer, &trip)
        case .stored(let response, let turn): return resume(stored: response, turn, &trip)
        case .file(let download, let request): return resume(download: download, request, &answer, &trip)
        case .proxied(let request): return resume(proxied: request, &trip)
        case .stream(let reply): return resume(stream: reply, &answer, &trip)
        case .intercepted(let reply): return resume(interceptor: reply, &answer, &trip)
        case .decision(let decision):
            guard var known = answer.take() else { return .on }
            defer { answer = known }
            return resume(decision: decision, &known, &trip)
        case .content(let content):
            guard var known = answer.take() else { return .on }
            defer { answer = known }
            return resume(content: content, &known, &trip)
        case .retry(let isInBudget):
            guard var known = answer.take() else { return .on }
            defer { answer = known }
            return resume(retry: isInBudget, &known, &trip)
        case .recalled(let recalled):
            guard var known = answer.take() else { return .on }
            defer { answer = known }
            return resume(recalled: recalled, &known, &trip)
        }
    }
}

/// The stages in order, from the outermost to the innermost.
enum Place: UInt8, Comparable, CaseIterable, Sendable {
    /// The program's interceptors of the scope *call*: once for each request.
    case callInterceptors
    case reconnection
    case redirects
    case retry
    case token
    case challenges
    case download
    case cache
    case circuit
    case rateLimit
    /// The program's interceptors of the scope *attempt*: for each exchange, after the rate limit, so that signatures
    /// are fresh.
    case attemptInterceptors
    /// Not a stage: the network, or a stub in its place.
    case exchange

    static func < (left: Place, right: Place) -> Bool { left.rawValue < right.rawValue }

    /// The next place on the way in.
    var inner: Place { Place(rawValue: rawValue + 1) ?? .exchange }

    /// The next place on the way out; nil after the outermost.
    var outer: Place? { rawValue == 0 ? nil : Place(rawValue: rawValue - 1) }
}

/// Why a request is sent.
enum Reason: Sendable {
    case first
    /// A stream connects again.
    case reconnect
    case redirect
    case retry
    /// With another token, user or password.
    case credentials
    /// With a certificate that the program trusts.
    case trust
    /// Only to see the server's certificate.
    case inspection
    /// For the next part of a file, or for the whole file.
    case range
    /// Without the cache.
    case reload
    /// An interceptor sends it again.
    case interceptor
}

/// What follows a stage.
enum Step: Sendable {
    /// Continue with the next stage.
    case on
    /// Wait; the reply goes to the stage's method for it.
    case wait(Need)
    /// Send `trip.request` in again, from this stage.
    case again(Again)
    /// Send this answer out from here; nothing goes to the network. Only on the way in.
    indirect case answer(Answer)
    /// Send this interceptor's answer out from here. Its body first goes where a server's would: to a handler or a file.
    case play(HTTPResponse)
    /// The answer is final: no other stage sees it. Only on the way out.
    case accept
}

/// How a stage sends the request again. The driver first rewinds the body's stream.
struct Again: Sendable {
    var reason: Reason
    /// Seconds to wait before; nil is no pause at all.
    var pause: Double?
    /// Logged when nothing stands in the way.
    var line: LogLine?

    init(_ reason: Reason, after pause: Double? = nil, _ line: LogLine? = nil) {
        self.reason = reason
        self.pause = pause
        self.line = line
    }
}
