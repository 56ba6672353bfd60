/// What an ``APIObserver`` hears of.
public struct ObservedEvents: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A request begins.
    public static let begun = ObservedEvents(rawValue: 1)
    /// A request waits, and no longer waits.
    public static let waits = ObservedEvents(rawValue: 2)
    /// A request is about to be sent to a server.
    public static let attemptBegins = ObservedEvents(rawValue: 4)
    /// The server has answered, or the attempt has failed.
    public static let attemptEnds = ObservedEvents(rawValue: 8)
    /// What the cache has done for a request.
    public static let cache = ObservedEvents(rawValue: 16)
    /// A circuit breaker opens, closes or refuses a request.
    public static let circuit = ObservedEvents(rawValue: 32)
    /// The outcome of a request is final.
    public static let ended = ObservedEvents(rawValue: 64)
    /// Everything.
    public static let all = ObservedEvents(rawValue: 127)
}

/// What a request waits for.
public enum ObservedWait: String, Sendable, CaseIterable {
    /// A connection: the limit of connections to its server is reached.
    case connection
    /// The rate limit.
    case rateLimit = "rate_limit"
    /// A token, which is being refreshed.
    case token
    /// A decision of the program.
    case decision
    /// The time before another attempt, or before a stream of events connects again.
    case pause
}

/// What the cache has done for a request.
public enum CacheOutcome: String, Sendable, CaseIterable {
    /// A stored response is the answer.
    case hit
    /// A stored response is the answer although it is stale: it is validated in the background, or the server has
    /// failed.
    case stale
    /// A stored response is the answer, and the server has confirmed it (304).
    case validated
    /// The server has answered, or has to.
    case miss
}

/// What a circuit breaker has done.
public enum CircuitEvent: String, Sendable, CaseIterable {
    /// The answer to this request has opened it.
    case opened
    /// The answer to this request has closed it.
    case closed
    /// It has refused this request.
    case refused
}
