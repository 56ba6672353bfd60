enum DecisionAnswer: Sendable {
    /// What happens when nobody is asked.
    case proceed
    /// The program's answer cannot be carried out.
    case impossible(APIError)
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
