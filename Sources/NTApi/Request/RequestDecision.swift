/// A question to the program that a request waits for. Answer it once: now or later, from any thread.
///
/// If it is released without an answer, or its request is cancelled or times out, it counts as ``proceed()``.
public final class RequestDecision: Sendable, RedactedMirror {
    /// The kind of question.
    public typealias Kind = DecisionKind
    /// A set of kinds.
    public typealias Kinds = DecisionKinds
    typealias Answer = DecisionAnswer

    /// What is asked.
    public let kind: Kind
    /// The request that waits for the answer.
    public let request: APIRequest
    /// For a challenge: what is asked for.
    public let challenge: AuthenticationChallenge?
    /// For a retry: the failed attempt, and what the policy would do.
    public let retry: RetryProposal?
    /// The status of the response that asks; 0 when there is none.
    public let status: Int
    /// The headers of the response that asks.
    public let headers: HTTPHeaders
    /// For a redirect: the request that would follow, without the secrets that must not leave its origin.
    public let redirectedRequest: HTTPRequest?
    /// For the cache: where the response is stored unless you answer otherwise.
    public let proposedStorage: CacheStorage
    private let ticket: UInt32
    private let isOpen = ProcessLock(Lock(true))

    init(_ question: Question, of request: APIRequest, _ ticket: UInt32) {
        kind = question.kind
        self.request = request
        self.ticket = ticket
        challenge = question.challenge
        retry = question.retry.map { retry in
            let response = APIResponse(request: request, ResponseContent.Box(retry.content))
            return RetryProposal(attempt: retry.attempt, wait: retry.wait, response: response)
        }
        status = question.head?.status ?? 0
        headers = question.head?.headers ?? HTTPHeaders()
        redirectedRequest = question.redirectedRequest
        proposedStorage = question.proposedStorage
    }

    deinit { answer(.proceed) }

    /// Whether it was answered.
    public var isAnswered: Bool { isOpen.withLock(inChild: true) { !$0 } }

    // MARK: Answers. Each returns false, and does nothing, if there was an answer before or it does not fit the kind.

    /// Does what happens when nobody is asked. A redirect is followed, a response is received, a challenge is not
    /// answered, an invalid certificate is not trusted, the retry policy decides, and the cache stores the response as
    /// proposed.
    @discardableResult public func proceed() -> Bool { answer(.proceed) }

    /// Ends the request with the error `request cancelled`.
    @discardableResult public func cancel() -> Bool {
        guard !isAnswered, request.cancel() else { return false }
        // The end of the request answers it too, but perhaps later.
        answer(.proceed)
        return true
    }

    /// For a redirect: does not follow it; the request ends with the redirect and its HTTP error. For a retry: makes no
    /// other attempt; the request ends with the failed response. For the cache: does not store the response.
    @discardableResult public func refuse() -> Bool {
        switch kind {
        case .redirect, .retry: answer(.refuse)
        case .cache: answer(.store(.none))
        case .response, .challenge: false
        }
    }

    /// For the cache: stores the response in memory, and never on disk.
    @discardableResult public func storeInMemory() -> Bool { kind == .cache && answer(.store(.memory)) }

    /// For a retry: sends the request again after this many seconds, whatever its policy says about the status and the
    /// wait.
    ///
    /// Makes no attempt after the total timeout.
    ///
    /// - Returns: false also for a negative number or NaN.
    @discardableResult public func retry(afterSeconds seconds: Double) -> Bool {
        kind == .retry && seconds >= 0 && answer(.retry(afterSeconds: seconds))
    }

    /// For a redirect: follows it with another request than the one that the server names.
    ///
    /// If the redirect leads to another origin, the secrets of the first request have been removed. What you add here
    /// is sent.
    ///
    /// - Returns: false also when the request may not be sent: a bad method, header or URL.
    @discardableResult public func follow(_ request: HTTPRequest) -> Bool {
        guard kind == .redirect, request.isValid(), let url = try? URLParts(request.url).text else { return false }
        var request = request
        request.url = url
        return answer(.follow(request))
    }

    /// For a response: writes its body to a file, like the arg `download`.
    ///
    /// - Parameter path: nil makes a temporary file: ``APIResponse/temporaryFile``.
    @discardableResult public func becomeDownload(to path: String? = nil) -> Bool {
        kind == .response && answer(.download(path.map { .file($0) } ?? .temporary))
    }

    /// For a challenge of a server or a proxy: answers with this user and password. If they are wrong, you are asked
    /// again, with one more failure.
    ///
    /// - Parameter persistence: whether the client's other requests to the same protection space use them without
    ///   asking.
    /// - Returns: false also for control characters, and for a colon in the user if the scheme is Basic.
    @discardableResult public func use(
        user: String, password: String, persistence: Credential.Persistence = .none
    ) -> Bool {
        let credential = Credential(user: user, password: password)
        guard let challenge, challenge.kind != .certificate, challenge.allows(credential) else { return false }
        return answer(.credential(credential, persistence))
    }

    /// Whether this user may answer, if the question is about a user.
    package func allows(user: String, password: String) -> Bool {
        challenge?.allows(Credential(user: user, password: password)) ?? true
    }

    /// For a challenge about a certificate: trusts it. The request is sent only to a server that shows this
    /// certificate.
    ///
    /// - Parameter forSession: whether the client's other requests to the same host and port trust it without asking.
    @discardableResult public func trust(forSession: Bool = false) -> Bool {
        challenge?.kind == .certificate && answer(.trust(forSession: forSession))
    }

    @discardableResult func answer(_ answer: Answer) -> Bool {
        let isFirst = isOpen.withLock(inChild: false) { exchange(&$0, with: false) }
        guard isFirst else { return false }
        request.decided(ticket, answer)
        return true
    }
}

extension APIRequest {
    /// Answers the questions of a request.
    public typealias DecisionHandler = @Sendable (RequestDecision) -> Void

    /// Asks the request's own handler, or else the client. The answer goes to `decided`.
    ///
    /// The request waits meanwhile. A cancel or its deadline answers for the program.
    func ask(_ question: Question, _ ticket: UInt32, _ deliveries: DeliveryBatch) throws(Forked) {
        let kinds = RequestDecision.Kinds(question.kind)
        let decision = RequestDecision(question, of: self, ticket)
        // A cancel from here on finds the decision.
        guard try begin(.decision(WeakDecision(decision: decision)), ticket) != nil else { return }
        try watchWait()
        try observation?.waitBegins(.decision, self)
        let (isOwn, isEvent) = try handlers {
            guard $0.decisionKinds.contains(kinds) else { return (false, false) }
            return ($0.decision != nil, $0.eventKinds.contains(.decision))
        }
        let run: Job.Body = { () throws(Forked) in
            try self.callDecisionHandler { if !decision.isAnswered { self.decide(decision, isOwn: isOwn) } }
        }
        let runOrphaned: Job.Body = { () throws(Forked) in
            try self.warnThatThreadEnded()
            try run()
        }
        if isEvent {
            let event = DeliveryBatch.Event(
                take: { () throws(Forked) in try self.takeEvent(decision) }, runOrphaned: runOrphaned)
            if decisionDestination.send(event, deliveries) { return }
        }
        guard isOwn else { return deliveries.add(Job(run)) }
        try decisionDestination.send(Job(run, orphaned: runOrphaned, of: self), deliveries)
    }

    // A separate function, so that no job holds a reference to the handler when the request ends on another thread.
    @inline(never) private func decide(_ decision: RequestDecision, isOwn: Bool) {
        guard isOwn else { return client.decide(decision) }
        let handler = entered(inChild: nil) { () throws(Forked) in try handlers(\.decision) }
        handler?(decision)
    }

    /// - Returns: nil when the question no longer matters: the response may have been taken already.
    private func takeEvent(_ decision: RequestDecision) throws(Forked) -> AnyObject? {
        guard try flow({ $0.callBegins() }) else { return nil }
        let event = decision.isAnswered ? nil : try handlers(\.makeEvent)?(.decision(decision))
        try callReturned()
        return event
    }

    /// Calls the program, unless the request was cancelled meanwhile. The response waits until the call has returned.
    func callDecisionHandler(_ handler: () -> Void) throws(Forked) {
        guard try flow({ $0.callBegins() }) else { return }
        try Delivery.run(self, handler)
        try callReturned()
    }

    /// The program has returned from a call that the response waits for.
    func callReturned() throws(Forked) {
        if try flow({ $0.callReturned() }) == .deliverResponse { onWorker(postResponse) }
    }

    /// The process ends: the response comes even if such a call, a hook or the function of a stub has not returned.
    func stopWaitingForCalls() {
        entered { () throws(Forked) in
            let cancelled = ResponseContent.Box(try content(error: .cancelled))
            let action = try shared.withLock { shared in
                let action = shared.flow.stopWaitingForCalls()
                // A hook that maps the error still has the content.
                if action == .deliverResponse { shared.content = shared.content ?? cancelled }
                return action
            }
            if action == .deliverResponse { onWorker(postResponse) }
            if let (transport, exchange) = try running { (transport as? StubTransport)?.abandon(exchange) }
        }
    }

    /// The question is answered, or no longer matters. Returns at once.
    func decided(_ ticket: UInt32, _ answer: RequestDecision.Answer) {
        onWorker { (deliveries) throws(Forked) in
            try self.replied(ticket, self.reply(to: answer, ticket), deliveries)
        }
    }

    private func reply(to answer: RequestDecision.Answer, _ ticket: UInt32) -> Reply {
        guard case .download(let place) = answer, waits(ticket) else { return .decision(answer) }
        do throws(APIError) {
            try becomeDownload(place)
            return .decision(answer)
        } catch {
            return .decision(.impossible(error))
        }
    }
}

/// A failed attempt, and what the request's retry policy would do: see ``RequestDecision/retry``.
public struct RetryProposal: Sendable {
    /// The number of attempts so far.
    public let attempt: Int
    /// The seconds until the next attempt; nil when the policy makes none.
    public let wait: Double?
    /// The failed attempt's response, with its error, body and JSON.
    public let response: APIResponse
}
