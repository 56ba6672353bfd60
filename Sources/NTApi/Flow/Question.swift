/// What a ``RequestDecision`` asks.
public enum DecisionKind: Sendable, CaseIterable {
    /// Whether a redirect is followed, and how.
    case redirect
    /// Whether a response is received, now that its head is there, and where its body goes.
    case response
    /// Who asks, for a server or a proxy that wants to know, or whether a certificate is trusted: see `challenge`.
    case challenge
    /// Whether an attempt that has failed is followed by another, of a request with a retry policy: see `retry`.
    case retry
    /// Whether a response is stored in the cache, and where: see `proposedStorage`.
    case cache
}

/// The kinds of decisions that a client, or a request, wants to be asked for.
public struct DecisionKinds: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let redirect = DecisionKinds(rawValue: 1)
    public static let response = DecisionKinds(rawValue: 2)
    public static let challenge = DecisionKinds(rawValue: 4)
    public static let retry = DecisionKinds(rawValue: 8)
    public static let cache = DecisionKinds(rawValue: 16)
    public static let all: DecisionKinds = [.redirect, .response, .challenge, .retry, .cache]

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

enum DecisionAnswer: Sendable {
    /// What happens to a request that nobody asks about.
    case proceed
    case refuse
    case follow(HTTPRequest)
    case download(DownloadPlace)
    case credential(Credential, Credential.Persistence)
    case trust(forSession: Bool)
    case retry(afterSeconds: Double)
    case store(CacheStorage)
}

/// A question to the program.
struct Question: Sendable {
    var kind: DecisionKind
    var head: ResponseHead?
    var redirectedRequest: HTTPRequest?
    var challenge: AuthenticationChallenge?
    var retry: (attempt: Int, wait: Double?, content: ResponseContent)?
    var proposedStorage = CacheStorage.none

    init(_ kind: DecisionKind, _ head: ResponseHead?) {
        self.kind = kind
        self.head = head
    }
}
