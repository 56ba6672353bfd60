/// A request on its way in.
struct Trip: Sendable {
    var request: HTTPRequest
    var reason = Reason.first
    var facts: Facts
    /// Whether the rate limiter has granted a permit for the next exchange.
    var hasPermit = false
    /// What the shell does before it follows the step, in this order.
    var effects: [Effect] = []

    mutating func log(_ line: LogLine) { effects.append(.log(line)) }

    /// Tells observers what the cache has found.
    mutating func looked(_ outcome: CacheOutcome) {
        if facts.isObserved { effects.append(.looked(outcome)) }
    }
}

/// What a stage needs to know but cannot ask for. Taken anew for each event.
struct Facts: Sendable {
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
    /// Whether an exchange must ask where the body goes.
    var routesBody = false
    /// Whether the client can store accepted credentials.
    var keepsCredentials: Bool
    /// Whether somebody observes the request.
    var isObserved = false

    /// Seconds until the deadline.
    var secondsLeft: Double { deadline == .distantFuture ? .infinity : deadline.seconds(since: now) }
}

/// The result of an exchange, on its way out.
struct Answer: Sendable {
    var result: ExchangeResult
    /// The request as it was sent.
    var sent: HTTPRequest
    /// Why a redirect is not followed, or the answer is not the stream that was asked for. It becomes the response's error.
    @Boxed var refusal: APIError?
    /// Another failure. The request ends with this error, and the server's answer stays readable.
    @Boxed var failure: APIError?
    /// Whether the failure is a missing token.
    var lacksToken = false
    /// Why there is no further attempt although one might have helped.
    var note: String?
    /// What a small, successful answer contains, if it was read where it arrived.
    var plain: PlainAnswer?
    /// The classified content, if a stage needed it.
    @Boxed var content: ResponseContent?
    /// Whether an interceptor made all or part of it.
    var isMade = false
    /// Whether the program has received part of the body.
    var isDelivered = false
    /// Whether its body went to a handler or a file.
    var isRouted = false

    init(_ result: ExchangeResult, to sent: HTTPRequest, plain: PlainAnswer? = nil, isDelivered: Bool = false) {
        self.result = result
        self.sent = sent
        self.plain = plain
        self.isDelivered = isDelivered
    }

    /// For a request that was not sent.
    init(failing error: APIError, _ request: HTTPRequest) {
        self.init(ExchangeResult(), to: request)
        failure = error
    }

    /// Whether no stage has anything to say about it.
    @inline(__always) var isUnremarked: Bool { failure == nil && refusal == nil && note == nil && content == nil }

    /// Whether it is a redirect, and redirects are followed.
    var isRedirect: Bool {
        result.error == nil && result.head?.redirectLocation != nil && sent.settings.maximumRedirects > 0
    }
}
