/// A wish for a new token: answered once, at once or later, from any thread.
///
/// One that is dropped without an answer has failed.
public final class TokenRefresh: Sendable {
    /// The token that has expired, or will soon; nil when there was none.
    public let expiredToken: String?
    /// The server's answer that says so; nil when nobody was asked yet: there is no token, or its time is over.
    public let response: APIResponse?
    /// The client whose request needs the token.
    ///
    /// What the refresh asks it for while it runs goes without the authenticator; of what it asks for later, from other
    /// threads or tasks, the option `bypass_authentication` says so.
    public let client: APIClient
    private let answer: Lock<(@Sendable (Answer) -> Void)?>
    private let generation = Fork.generation

    enum Answer: Sendable {
        case token(Authenticator.Token)
        case none
        case failed(APIError)
    }

    init(
        _ expiredToken: String?, _ response: APIResponse?, _ client: APIClient,
        _ answer: @escaping @Sendable (Answer) -> Void
    ) {
        self.expiredToken = expiredToken
        self.response = response
        self.client = client
        self.answer = Lock(answer)
    }

    deinit {
        give(
            .failed(APIError(domain: .request, code: .generic, message: "the refresh was dropped without an answer")))
    }

    /// Whether it was answered.
    public var isAnswered: Bool { answer.withLock { $0 == nil } }

    // MARK: Answers. Each returns false, and does nothing, when there was one before.

    /// Every request that waits is sent, or sent again, with this token.
    ///
    /// A token that cannot stand in a header fails the refresh.
    @discardableResult public func succeed(_ token: Authenticator.Token) -> Bool { give(.token(token)) }

    /// Every request that waits ends with an error that tells of this one.
    @discardableResult public func fail(_ error: any Error) -> Bool {
        give(
            .failed((error as? APIError) ?? APIError(domain: .request, code: .generic, message: "\(error)")))
    }

    /// The response does not mean that the token has expired: it is delivered as it is. Without a response: there is no
    /// token to be had, and the requests that wait for one fail.
    @discardableResult public func decline() -> Bool { give(.none) }

    @discardableResult private func give(_ given: Answer) -> Bool {
        // A forked child has a copy of it: the wish is the parent's.
        guard generation == Fork.generation else { return false }
        guard let answer = answer.withLock({ $0.take() }) else { return false }
        answer(given)
        return true
    }
}
