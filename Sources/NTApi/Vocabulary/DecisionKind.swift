/// What a ``RequestDecision`` asks.
public enum DecisionKind: String, Sendable, CaseIterable {
    /// Whether to follow a redirect, and with which request.
    case redirect
    /// Whether to receive a response whose head has arrived, and where its body goes.
    case response
    /// Which credentials to send to a server or proxy, or whether to trust a certificate: see `challenge`.
    case challenge
    /// Whether to repeat a failed attempt of a request with a retry policy: see `retry`.
    case retry
    /// Whether and where the cache stores a response: see `proposedStorage`.
    case cache
}

/// The kinds of decisions that a client or a request wants to make.
public struct DecisionKinds: OptionSet, Sendable {
    /// The bits, one for each kind.
    public let rawValue: Int

    /// A set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Redirects.
    public static let redirect = DecisionKinds(rawValue: 1)
    /// Where the body of a response goes.
    public static let response = DecisionKinds(rawValue: 2)
    /// Credentials and certificates.
    public static let challenge = DecisionKinds(rawValue: 4)
    /// Another attempt after a failed one.
    public static let retry = DecisionKinds(rawValue: 8)
    /// What the cache stores.
    public static let cache = DecisionKinds(rawValue: 16)
    /// All kinds.
    public static let all: DecisionKinds = [.redirect, .response, .challenge, .retry, .cache]

    /// The set with one kind.
    public init(_ kind: DecisionKind) {
        switch kind {
        case .redirect: self = .redirect
        case .response: self = .response
        case .challenge: self = .challenge
        case .retry: self = .retry
        case .cache: self = .cache
        }
    }
}
