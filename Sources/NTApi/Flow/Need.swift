/// What a request waits for. A ``Reply`` answers it.
indirect enum Need: Sendable {
    /// Of the driver: some seconds between two exchanges.
    case pause(Double)
    /// Of the driver: the body's stream at its start.
    case rewind(BodyStream)
    /// A permit of the rate limiter. The seconds limit the wait; nil leaves only the request's deadline.
    case permit(queueTimeout: Double?)
    /// Whether the circuit of the request's server allows it.
    case circuit(HTTPRequest)
    /// A token for a request that has none yet.
    case token(HTTPRequest)
    /// Another token than this one, which the server rejected with this answer.
    case otherToken(than: UInt64, TokenHistory, ResponseContent, HTTPRequest)
    /// The stored response for a request; nil if there is none that can be selected.
    case lookUp(CacheRequest, CacheUse, CacheKey)
    /// A decision of the program.
    case ask(Question)
    /// Work on the file of a download.
    case file(DownloadWork)
    /// The classified content of an answer, which may involve the program's hooks.
    case content(Answer)
    /// Whether the budget allows another attempt.
    case retry(RetryBudgetUse)
    /// What is already known for a challenge.
    case recall(Recall)
    /// The request set up for its proxy as this user, over connections that no other user shares.
    case proxy(HTTPRequest, url: String, Credential)
    /// The decision of a stream of events or lines.
    case stream(RequestStream, StreamWork)
    /// The answer of an interceptor.
    case intercept(any InterceptorRun, Passing)

    /// Whether a reply that comes at once is the program's, given within its call.
    var callsProgram: Bool { if case .intercept = self { true } else { false } }
}

/// The reply to a ``Need``. Each case has the type of its need's reply.
indirect enum Reply: Sendable {
    /// The pause is over.
    case waited
    /// Whether the stream is at its start.
    case rewound(Bool)
    /// The permit is granted, or refused with this error.
    case permit(APIError?)
    case circuit(Result<CircuitPass, APIError>)
    case token(TokenReply)
    /// The turn is that to load the response for all processes.
    case stored(CachedResponse?, CacheTurn?)
    case decision(DecisionAnswer)
    case file(Download, HTTPRequest?)
    case content(ResponseContent)
    case retry(isInBudget: Bool)
    case recalled(Recalled)
    case proxied(HTTPRequest)
    case stream(StreamReply)
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
    /// Give the permit of the rate limiter back: it was not used.
    case returnPermit
    /// Tell a circuit how an exchange has ended.
    case tell(CircuitPass, Circuit.Outcome)
    /// Tell observers what the cache has found.
    case looked(CacheOutcome)
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
