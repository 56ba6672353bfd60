/// A request that waits for credentials, until it is told once how to go on.
final class CredentialWait: Sendable, Hashable {
    enum Outcome: Sendable {
        case send(Authenticator.Grant)
        /// There was another token already: no refresh was needed.
        case replay(Authenticator.Grant)
        /// The server's answer stands.
        case deliver
        case fail(APIError)
        /// It does not matter any more: the request was cancelled.
        case ended
    }

    typealias Continuation = @Sendable (Outcome) -> Void

    /// What the server has answered, of a request that was rejected.
    let response: APIResponse?
    let client: APIClient
    private let continuation: Once<Outcome>

    init(_ client: APIClient, response: APIResponse?, _ continuation: @escaping Continuation) {
        self.client = client
        self.response = response
        self.continuation = Once(continuation)
    }

    /// - Returns: false when it was told before.
    @discardableResult func end(_ outcome: Outcome) -> Bool { continuation.tell(outcome) }

    var isOver: Bool { continuation.isTold }

    static func == (left: CredentialWait, right: CredentialWait) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
