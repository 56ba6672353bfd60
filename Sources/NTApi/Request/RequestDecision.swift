/// A question to the program that a request waits for: answered once, at once or later, from any thread.
///
/// One that is dropped without an answer is answered by what happens to a request that nobody asks about, and so is one
/// whose request is cancelled or out of time.
public final class RequestDecision: Sendable {
    public typealias Kind = DecisionKind
    public typealias Kinds = DecisionKinds
    typealias Answer = DecisionAnswer

    public let kind: Kind
    public let request: APIRequest
    /// Of a challenge: what is asked for.
    public let challenge: AuthenticationChallenge?
    /// Of a retry: what has failed, and what the policy makes of it.
    public let retry: RetryProposal?
    /// The status of the response that asks; 0 when there is none.
    public let status: Int
    /// The headers of the response that asks.
    public let headers: HTTPHeaders
    /// Of a redirect: the request that would follow it, with what must not leave its origin taken out.
    public let redirectedRequest: HTTPRequest?
    /// Of the cache's: where the response is stored unless another answer says so.
    public let proposedStorage: CacheStorage
    private let ticket: UInt32
    private let isOpen = Lock(true)

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
    public var isAnswered: Bool { isOpen.withLock { !$0 } }

    // MARK: Answers. Each returns false, and does nothing, when there was one before, or it does not answer this kind.

    /// What happens to a request that nobody asks about: the redirect is followed, the response is received, who asks is
    /// not told, a certificate that cannot be verified is not trusted, the retry policy decides, and a response is stored as
    /// it is proposed.
    @discardableResult public func proceed() -> Bool { answer(.proceed) }

    /// The request ends with the error `request cancelled`.
    @discardableResult public func cancel() -> Bool {
        guard !isAnswered, request.cancel() else { return false }
        // The request answers it as it ends, if it has not by now.
        answer(.proceed)
        return true
    }

    /// Of a redirect: it is not followed; the response that points elsewhere is the request's, with its HTTP error. Of a retry:
    /// there is none; the response that has failed is the request's. Of the cache's: the response is not stored.
    @discardableResult public func refuse() -> Bool {
        switch kind {
        case .redirect, .retry: answer(.refuse)
        case .cache: answer(.store(.none))
        case .response, .challenge: false
        }
    }

    /// Of the cache's: the response is stored in memory, and never written to disk.
    @discardableResult public func storeInMemory() -> Bool { kind == .cache && answer(.store(.memory)) }

    /// Of a retry: the request is sent again after so many seconds, whatever its policy says of the status and the wait.
    ///
    /// Not when that would be after the total timeout.
    ///
    /// - Returns: false also for a number that is not from 0 up.
    @discardableResult public func retry(afterSeconds seconds: Double) -> Bool {
        kind == .retry && seconds >= 0 && answer(.retry(afterSeconds: seconds))
    }

    /// Of a redirect: another request follows than the one that the server points to.
    ///
    /// What is secret of the first request has been taken out where the redirect leads to another origin. What is added
    /// here is sent.
    ///
    /// - Returns: false also when the request may not be sent: a bad method, header or URL.
    @discardableResult public func follow(_ request: HTTPRequest) -> Bool {
        guard kind == .redirect, request.isValid, let url = try? URLParts(request.url).text else { return false }
        var request = request
        request.url = url
        return answer(.follow(request))
    }

    /// Of a response: its body is written to a file, as with the arg `download`.
    ///
    /// - Parameter path: nil is a temporary file: ``APIResponse/temporaryFile``.
    @discardableResult public func becomeDownload(to path: String? = nil) -> Bool {
        kind == .response && answer(.download(path.map { .file($0) } ?? .temporary))
    }

    /// Of a challenge of a server or a proxy: this user asks. Whether that was right the next answer shows; if not, this is
    /// asked again, with one failure more.
    ///
    /// - Parameter persistence: whether the client's other requests to the same protection space use it, too, without asking.
    /// - Returns: false also for control characters, and for a colon in the user where the scheme is Basic.
    @discardableResult public func use(
        user: String, password: String, persistence: Credential.Persistence = .none
    ) -> Bool {
        let credential = Credential(user: user, password: password)
        guard let challenge, challenge.kind != .certificate, challenge.allows(credential) else { return false }
        return answer(.credential(credential, persistence))
    }

    /// Whether such a user can be answered with, if it is a user that is asked for.
    package func allows(user: String, password: String) -> Bool {
        challenge?.allows(Credential(user: user, password: password)) ?? true
    }

    /// Of a challenge about a certificate: this one is trusted. The request is sent to whoever shows it, and to nobody else.
    ///
    /// - Parameter forSession: the client's other requests to the same host and port trust it, too, without asking.
    @discardableResult public func trust(forSession: Bool = false) -> Bool {
        challenge?.kind == .certificate && answer(.trust(forSession: forSession))
    }

    @discardableResult func answer(_ answer: Answer) -> Bool {
        // A forked child has a copy of it: the question is the parent's.
        guard request.isOfThisProcess else { return false }
        let isFirst = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard isFirst else { return false }
        request.decided(ticket, answer)
        return true
    }
}

extension APIRequest {
    /// Answers the questions of a request.
    public typealias DecisionHandler = @Sendable (RequestDecision) -> Void

    /// Asks the request's own handler or else the client: the answer comes to `decided`.
    ///
    /// In the meantime the request waits: it is answered for when it is cancelled, or its time is over.
    func ask(_ question: Question, _ ticket: UInt32, _ deliveries: DeliveryBatch) {
        let kinds = RequestDecision.Kinds(question.kind)
        let decision = RequestDecision(question, of: self, ticket)
        // Who cancels after this finds the decision.
        guard begin(.decision(WeakDecision(decision: decision)), ticket) else { return }
        watchWait()
        let (handler, makeEvent) = shared.withLock { shared in
            guard shared.handlers.decisionKinds.contains(kinds) else {
                return (DecisionHandler?.none, EventMaker?.none)
            }
            let isEvent = shared.handlers.eventKinds.contains(.decision)
            return (shared.handlers.decision, isEvent ? shared.handlers.makeEvent : nil)
        }
        let client = client
        let run: @Sendable () -> Void = {
            self.callDecisionHandler(isAnswered: decision.isAnswered) {
                if let handler { handler(decision) } else { client.decide(decision) }
            }
        }
        let runOrphaned: @Sendable () -> Void = {
            self.warnThatThreadEnded()
            run()
        }
        if let makeEvent {
            let event = DeliveryBatch.Event(take: { makeEvent(.decision(decision)) }, runOrphaned: runOrphaned)
            if decisionDestination.send(event, deliveries) { return }
        }
        guard handler != nil else { return deliveries.add(Job { run() }) }
        decisionDestination.send(Job(run, orphaned: runOrphaned), deliveries)
    }

    /// Unless it was answered meanwhile, by a cancel or the clock. The response waits until the handler has returned.
    func callDecisionHandler(isAnswered: @autoclosure () -> Bool, _ handler: () -> Void) {
        guard shared.withLock({ $0.flow.gate.decisionBegins() }) else { return }
        if !isAnswered() { Delivery.run(self, handler) }
        guard isOfThisProcess else { return }
        if shared.withLock({ $0.flow.gate.decisionReturned() }) == .deliverResponse {
            onWorker { self.postResponse($0) }
        }
    }

    /// The question is answered, or does not matter any more. Returns at once.
    func decided(_ ticket: UInt32, _ answer: RequestDecision.Answer) {
        onWorker { self.told(ticket, self.reply(to: answer, ticket), $0) }
    }

    private func reply(to answer: RequestDecision.Answer, _ ticket: UInt32) -> Reply {
        guard case .download(let place) = answer, waits(ticket) else { return .decision(answer) }
        do throws(APIError) {
            try becomeDownload(place)
            return .decision(answer)
        } catch {
            return .failed(error)
        }
    }
}
