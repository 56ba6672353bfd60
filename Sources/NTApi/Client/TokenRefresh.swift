/// Asks for a new token. Answer it once, at once or later, on any thread.
///
/// Dropping it without an answer counts as a failure.
public final class TokenRefresh: Sendable {
    /// The token that has expired, or will soon; nil when there was none.
    public let expiredToken: String?
    /// The server's answer that says so; nil when there was none: there is no token, or its lifetime is over.
    public let response: APIResponse?
    /// The client whose request needs the token.
    ///
    /// Requests that the refresh makes while it runs go without the authenticator. Requests made later, on other
    /// threads or tasks, need the option `bypass_authentication`.
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

    /// Every waiting request is sent, or sent again, with this token.
    ///
    /// A token that is invalid in a header fails the refresh.
    @discardableResult public func succeed(_ token: Authenticator.Token) -> Bool { give(.token(token)) }

    /// Every waiting request ends with an error that mentions this one.
    @discardableResult public func fail(_ error: any Error) -> Bool {
        give(
            .failed((error as? APIError) ?? APIError(domain: .request, code: .generic, message: "\(error)")))
    }

    /// The response does not mean that the token has expired, and is delivered. Without a response: no token is
    /// available, and the waiting requests fail.
    @discardableResult public func decline() -> Bool { give(.none) }

    @discardableResult private func give(_ given: Answer) -> Bool {
        // In a forked child this is a copy that belongs to the parent.
        guard generation == Fork.generation else { return false }
        guard let answer = answer.withLock({ $0.take() }) else { return false }
        answer(given)
        return true
    }
}
