/// One feature on a request's way: it adds its part to the request on the way in, and looks at the answer on the way out.
///
/// A stage is a value. It takes no lock, reads no clock, opens no file, calls no code of the program and knows no other
/// stage. It keeps the request that it was given and goes in again from that, so that no outer stage ever holds what an inner
/// one has added.
protocol Stage: ~Copyable, Sendable {
    /// The request passes on its way in. The stage may change `trip.request`.
    mutating func send(_ trip: inout Trip) -> Step

    /// The answer passes on its way out.
    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step

    /// What the stage has waited for is there.
    ///
    /// - Parameter answer: nil on the way in.
    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step

    /// Answers with one of these may be followed by another exchange, so that nobody else is to see their bodies.
    var quietStatuses: Set<Int> { get }
}

extension Stage where Self: ~Copyable {
    mutating func send(_ trip: inout Trip) -> Step { .on }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step { .on }

    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step { .on }

    var quietStatuses: Set<Int> { [] }
}

/// Where the stages stand, from the outermost to the innermost.
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
    case turn
    /// The program's interceptors of the scope *attempt*: for each exchange, after its turn, so that signatures are fresh.
    case interceptors
    /// No stage: the network, or what stands in for it.
    case exchange

    static func < (left: Place, right: Place) -> Bool { left.rawValue < right.rawValue }

    /// The next one on the way in.
    var inner: Place { Place(rawValue: rawValue + 1) ?? .exchange }

    /// The next one on the way out; nil behind the outermost.
    var outer: Place? { rawValue == 0 ? nil : Place(rawValue: rawValue - 1) }
}

/// Why a request goes in.
enum Reason: Sendable {
    case first
    /// A stream's next connection.
    case reconnect
    case redirect
    case retry
    /// With another token, user or password.
    case credentials
    /// With a certificate that the program trusts.
    case trust
    /// Only to see the server's certificate.
    case inspection
    /// For the next part of a file, or for all of it.
    case range
    /// Past the cache.
    case reload
    /// An interceptor sends it.
    case interceptor
}

/// What comes next.
enum Step: Sendable {
    /// The next stage.
    case on
    /// The stage is told how to go on: see ``Stage/resume(_:_:_:)``.
    case wait(Need)
    /// `trip.request` goes in again, from this stage.
    case again(Reason)
    /// This goes out from here, and nothing is sent. Only on the way in.
    indirect case answer(Answer)
    /// The answer is the request's: no other stage is asked. Only on the way out.
    case stands
}

/// A request on its way in.
struct Trip: Sendable {
    var request: HTTPRequest
    var reason = Reason.first
    var moment: Moment
    /// What the shell does before it does what the step says, in this order.
    var effects: [Effect] = []

    mutating func log(_ line: LogLine) { effects.append(.log(line)) }
}

/// What a stage may need to know and cannot ask for, as it is when something happens to the request.
struct Moment: Sendable {
    /// On the clock of the client.
    var now: MonotonicTime
    /// Seconds since 1970, on the client's clock and on that of its cache.
    var calendar: Double
    var cacheCalendar: Double
    /// When the request is over.
    var deadline: MonotonicTime
    /// What somebody wants to be asked.
    var asks: DecisionKinds
    /// By chance, from 0 to 1, for who waits between attempts.
    var fraction: Double
    /// Whether the body goes elsewhere than into the response.
    var isElsewhere: Bool
    /// Whether what proves right can be kept for a user.
    var keepsCredentials: Bool

    /// Until the request is over.
    var secondsLeft: Double { deadline == .distantFuture ? .infinity : deadline.seconds(since: now) }
}

/// What came of an exchange, on its way out.
struct Answer: Sendable {
    var result: ExchangeResult
    /// The request as it was sent.
    var sent: HTTPRequest
    /// Why a redirect is not followed: the error of the response.
    var refusal: APIError?
    /// What else went wrong. The request ends with this error, and the server's answer stays readable.
    var failure: APIError?
    /// Whether the failure is that there is no token.
    var lacksToken = false
    /// Why there is no other attempt, where one might have helped.
    var note: String?
    /// What the result comes to, where a stage had to know.
    @Boxed var content: ResponseContent?
    /// Whether it is, at least in part, an interceptor's own.
    var isMade = false
    /// Whether the program has got a part of the body.
    var isDelivered = false

    init(_ result: ExchangeResult, to sent: HTTPRequest) {
        self.result = result
        self.sent = sent
    }

    /// Of a request that was not sent.
    init(failing error: APIError, _ request: HTTPRequest) {
        self.init(ExchangeResult(), to: request)
        failure = error
    }

    /// Whether it points elsewhere, and redirects are followed.
    var isRedirect: Bool {
        result.error == nil && result.head?.redirectLocation != nil && sent.settings.maximumRedirects > 0
    }
}

/// What a stage waits for. Whoever gives it answers with a ``Reply``.
indirect enum Need: Sendable {
    /// Some seconds between two exchanges.
    case pause(Double)
    /// The rate limit lets it go. Seconds are those that it may wait, beside its deadline; nil is as long as that.
    case turn(queueTimeout: Double?)
    /// A token for a request that has none yet.
    case token(HTTPRequest)
    /// Another token than this one, which the server has rejected with this answer.
    case otherToken(than: UInt64, TokenHistory, ResponseContent, HTTPRequest)
    /// What is stored for a request, if that is of interest at all.
    case lookUp(CacheRequest, CacheUse, CacheKey)
    /// The program decides.
    case ask(Question)
    /// The body of the request is at its start again.
    case rewind(BodyStream)
    /// Work on the file of a download.
    case file(DownloadWork)
    /// What an answer comes to, with all that the program says about it.
    case content(Answer)
    /// What is known from before for a challenge.
    case recall(Recall)
    /// The request goes to its proxy as this user, over connections that nobody else uses.
    case proxy(HTTPRequest, url: String, Credential)
    /// The stream of events or lines says how it goes on.
    case stream(RequestStream, StreamWork)
    /// An interceptor says how it goes on.
    case intercept(any InterceptorRun, Passing)
}

/// What a stage has waited for.
indirect enum Reply: Sendable {
    /// The pause is over, the turn has come.
    case done
    /// It did not come in time, or cannot come.
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

/// What the shell does for a stage, and nobody waits for.
indirect enum Effect: Sendable {
    case log(LogLine)
    /// The program's answer holds for its session.
    case remember(Credential, ProtectionSpace)
    case trust(certificate: String, Origin)
    /// A credential was wrong.
    case forget(Credential, ProtectionSpace)
    /// A credential was right, and is kept for the user.
    case keep(Credential, ProtectionSpace)
    /// A token was rejected by an answer that nothing more follows.
    case rejectedForGood(UInt64)
    /// The server asks to wait for so many seconds.
    case holdUpOthers(Double)
    case cache(CacheEffect)
    /// Who looks at bodies as they come is shown a stored one.
    case show(ExchangeResult)
    /// The next exchange is another engine's, perhaps.
    case leaveTransport
    /// An interceptor's passage is over.
    case release(any InterceptorRun)
    /// The request goes on without it.
    case end(any InterceptorRun)
}

/// What goes into the log.
indirect enum LogLine: Sendable {
    case redirected(Int, HTTPRequest)
    case sentAgain
    case triesAgain(ExchangeResult, attempt: Int, attempts: Int, seconds: Double)
    case connectsAgain(problem: String?, seconds: Double)
}
