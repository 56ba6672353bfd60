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

    /// The reply to the stage's wait has arrived.
    ///
    /// - Parameter answer: nil on the way in.
    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step

    /// Statuses that another exchange may follow: handlers must not see the bodies of these answers.
    var quietStatuses: Set<Int> { get }
}

extension Stage where Self: ~Copyable {
    mutating func send(_ trip: inout Trip) -> Step { .on }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step { .on }

    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step { .on }

    var quietStatuses: Set<Int> { [] }
}

/// The stages in order, from the outermost to the innermost.
enum Place: UInt8, Comparable, CaseIterable, Sendable {
    /// The program's interceptors of the scope *call*: once for each request.
    case calls
    case reconnection
    case redirects
    case attempts
    case credentials
    case challenges
    case download
    case cache
    case rateLimit
    /// The program's interceptors of the scope *attempt*: for each exchange, after the rate limit, so that signatures
    /// are fresh.
    case interceptors
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
    /// Wait; the reply goes to ``Stage/resume(_:_:_:)``.
    case wait(Need)
    /// Send `trip.request` in again, from this stage.
    case again(Reason)
    /// Send this answer out from here; nothing goes to the network. Only on the way in.
    indirect case answer(Answer)
    /// The answer is final: no other stage sees it. Only on the way out.
    case accept
}

/// A request on its way in.
struct Trip: Sendable {
    var request: HTTPRequest
    var reason = Reason.first
    var moment: Moment
    /// What the shell does before it follows the step, in this order.
    var effects: [Effect] = []

    mutating func log(_ line: LogLine) { effects.append(.log(line)) }
}

/// What a stage needs to know but cannot ask for. Taken anew for each event.
struct Moment: Sendable {
    /// The time on the client's clock.
    var now: MonotonicTime
    /// Seconds since 1970, on the client's clock and on the cache's.
    var calendar: Double
    var cacheCalendar: Double
    /// When the request's time is over.
    var deadline: MonotonicTime
    /// The decisions that the request's handler or the client wants to make.
    var asks: DecisionKinds
    /// A random number from 0 to 1, for the jitter between attempts.
    var fraction: Double
    /// Whether the body goes to a handler or file, not into the response.
    var isElsewhere: Bool
    /// Whether the client can store accepted credentials.
    var keepsCredentials: Bool

    /// Seconds until the deadline.
    var secondsLeft: Double { deadline == .distantFuture ? .infinity : deadline.seconds(since: now) }
}

/// The result of an exchange, on its way out.
struct Answer: Sendable {
    var result: ExchangeResult
    /// The request as it was sent.
    var sent: HTTPRequest
    /// Why a redirect is not followed. It becomes the response's error.
    var refusal: APIError?
    /// Another failure. The request ends with this error, and the server's answer stays readable.
    var failure: APIError?
    /// Whether the failure is a missing token.
    var lacksToken = false
    /// Why there is no further attempt although one might have helped.
    var note: String?
    /// The classified content, if a stage needed it.
    @Boxed var content: ResponseContent?
    /// Whether an interceptor made all or part of it.
    var isMade = false
    /// Whether the program has received part of the body.
    var isDelivered = false

    init(_ result: ExchangeResult, to sent: HTTPRequest) {
        self.result = result
        self.sent = sent
    }

    /// For a request that was not sent.
    init(failing error: APIError, _ request: HTTPRequest) {
        self.init(ExchangeResult(), to: request)
        failure = error
    }

    /// Whether it is a redirect, and redirects are followed.
    var isRedirect: Bool {
        result.error == nil && result.head?.redirectLocation != nil && sent.settings.maximumRedirects > 0
    }
}

/// What a stage waits for. A ``Reply`` answers it.
indirect enum Need: Sendable {
    /// Some seconds between two exchanges.
    case pause(Double)
    /// A permit of the rate limiter. The seconds limit the wait; nil leaves only the request's deadline.
    case permit(queueTimeout: Double?)
    /// A token for a request that has none yet.
    case token(HTTPRequest)
    /// Another token than this one, which the server rejected with this answer.
    case otherToken(than: UInt64, TokenHistory, ResponseContent, HTTPRequest)
    /// The stored response for a request; nil if there is none that can be selected.
    case lookUp(CacheRequest, CacheUse, CacheKey)
    /// A decision of the program.
    case ask(Question)
    /// The body's stream, rewound to its start.
    case rewind(BodyStream)
    /// Work on the file of a download.
    case file(DownloadWork)
    /// The classified content of an answer, which may involve the program's hooks.
    case content(Answer)
    /// What is already known for a challenge.
    case recall(Recall)
    /// The request set up for its proxy as this user, over connections that no other user shares.
    case proxy(HTTPRequest, url: String, Credential)
    /// The decision of a stream of events or lines.
    case stream(RequestStream, StreamWork)
    /// The answer of an interceptor.
    case intercept(any InterceptorRun, Passing)
}

/// The reply to a ``Need``.
indirect enum Reply: Sendable {
    /// The pause is over, or the permit is granted.
    case done
    /// The reply is too late or impossible.
    case failed(APIError)
    case token(TokenReply)
    case stored(CachedResponse?)
    case decision(DecisionAnswer)
    case rewound(Bool)
    case file(Download, HTTPRequest?)
    case content(ResponseContent)
    case credential(Credential?, isOwn: Bool)
    case certificate(String?)
    case stream(StreamReply)
    case request(HTTPRequest)
    case intercepted(InterceptionReply)
}

/// What the shell does for a stage without a reply.
indirect enum Effect: Sendable {
    case log(LogLine)
    /// Remember the program's answer for the session.
    case remember(Credential, ProtectionSpace)
    case trust(certificate: String, Origin)
    /// Forget a wrong credential.
    case forget(Credential, ProtectionSpace)
    /// Store an accepted credential.
    case keep(Credential, ProtectionSpace)
    /// A token was rejected, and the request is not repeated.
    case rejectedForGood(UInt64)
    /// The server asks all requests to wait this many seconds.
    case holdUpOthers(Double)
    case cache(CacheEffect)
    /// Show a stored response to the handlers and hooks that read bodies as they arrive.
    case show(ExchangeResult)
    /// Choose the transport anew for the next exchange.
    case leaveTransport
    /// Release an interceptor's passage.
    case release(any InterceptorRun)
    /// End an interceptor that has not answered.
    case end(any InterceptorRun)
}

extension Effect {
    /// Whether it calls an interceptor or releases what one holds. The response waits for these.
    var isOfInterceptors: Bool {
        switch self {
        case .release, .end: true
        default: false
        }
    }
}

/// A line for the log.
indirect enum LogLine: Sendable {
    case redirected(Int, HTTPRequest)
    case sentAgain
    case triesAgain(ExchangeResult, attempt: Int, attempts: Int, seconds: Double)
    case connectsAgain(problem: String?, seconds: Double)
}
