/// A request for a new token. Answer it once, at once or later, on any thread.
///
/// A refresh that is released without an answer has failed.
public final class TokenRefresh: Sendable, RedactedMirror {
    /// The token that has expired or will soon expire; nil when there was none.
    public let expiredToken: String?
    /// The refresh token that the last new token came with, in whichever process; nil when there was none.
    public let refreshToken: String?
    /// The server's answer that rejected the token. Nil when there was no answer: there is no token, or its lifetime is
    /// over.
    public let response: APIResponse?
    /// The client whose request needs the token.
    ///
    /// Requests that the refresh makes while it runs do not use the authenticator. Requests made later, on other
    /// threads or tasks, need the option `bypass_authentication`.
    public let client: APIClient
    private let answer: ProcessLock<(@Sendable (Answer) -> Void)?>

    enum Answer: Sendable {
        case token(Authenticator.Token)
        case none
        case failed(APIError)
    }

    init(
        _ expiredToken: String?, refreshToken: String?, _ response: APIResponse?, _ client: APIClient,
        _ answer: @escaping @Sendable (Answer) -> Void
    ) {
        self.expiredToken = expiredToken
        self.refreshToken = refreshToken
        self.response = response
        self.client = client
        self.answer = ProcessLock(Lock(answer))
    }

    deinit {
        give(
            .failed(APIError(domain: .request, code: .generic, message: "the refresh was released without an answer")))
    }

    /// Whether it was answered.
    public var isAnswered: Bool { answer.withLock(inChild: true) { $0 == nil } }

    // MARK: Answers. Each returns false, and does nothing, after the first.

    /// Sends every waiting request, or sends it again, with this token.
    ///
    /// A token that cannot be sent in a header fails the refresh.
    @discardableResult public func succeed(_ token: Authenticator.Token) -> Bool { give(.token(token)) }

    /// Ends every waiting request with an error that mentions this one.
    @discardableResult public func fail(_ error: any Error) -> Bool {
        give(
            .failed((error as? APIError) ?? APIError(domain: .request, code: .generic, message: "\(error)")))
    }

    /// Says that the response does not mean that the token has expired. The response is then delivered. Without a
    /// response there is no token, and the waiting requests fail.
    @discardableResult public func decline() -> Bool { give(.none) }

    @discardableResult private func give(_ given: Answer) -> Bool {
        guard let answer = answer.withLock(inChild: nil, { $0.take() }) else { return false }
        answer(given)
        return true
    }
}
