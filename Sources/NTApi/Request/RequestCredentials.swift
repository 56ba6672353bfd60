/// What a request has to do with its client's authenticator.
struct RequestCredentials: Sendable {
    let authenticator: Authenticator
    let settings: Authenticator.Settings
    var history = Authenticator.Gate.History()
    /// Which token the request carries now; nil while it carries none.
    var generation: UInt64?

    /// Whether such an answer makes the request wait for another token, so that nobody else is to see it.
    func mayRefresh(_ status: Int) -> Bool {
        generation != nil && !history.wasRefreshed && settings.statuses.contains(status)
    }
}

// The way of a request whose client has an authenticator: it waits for a token before its first exchange, or between two.
extension APIRequest {
    /// As `beginExchange`, with credentials if the request is to have some.
    func beginFirstExchange(_ http: HTTPRequest) -> Bool {
        guard let authenticator = client.authenticator else { return beginExchange(http) }
        let settings = authenticator.settings
        guard authenticator.isMeant(for: http, options, client.settings.baseURL?.text, settings) else {
            return beginExchange(http)
        }
        let credentials = RequestCredentials(authenticator: authenticator, settings: settings)
        shared.withLock { $0.journey.credentials = credentials }
        if let grant = authenticator.grant(now) { return begin(http, with: grant, credentials) }
        let wait = makeWait(response: nil) { outcome, deliveries in
            switch outcome {
            case .send(let grant), .replay(let grant):
                if !self.begin(http, with: grant, credentials) { self.finishCancelled(deliveries) }
            case .fail(let error):
                if !self.waitsForLaterToken(error, deliveries) {
                    self.finish(self.journeyEnd(error: error), deliveries)
                }
            case .deliver, .ended: self.finishCancelled(deliveries)
            }
        }
        guard let wait else { return false }
        switch authenticator.admit(wait, now) {
        case .send(let grant, _): wait.end(.send(grant))
        case .fail(let error): wait.end(.fail(error))
        case .wait: RequestLog.waitsForCredentials(self, status: nil)
        }
        leaveIfOver(wait, authenticator)
        return true
    }

    /// The server has answered that the token has expired.
    ///
    /// - Returns: false when the answer stands as it is.
    func waitsForCredentials(_ result: ExchangeResult, _ http: HTTPRequest, _ deliveries: DeliveryBatch) -> Bool {
        guard let head = result.head, result.error == nil,
            let credentials = shared.withLock({ $0.journey.credentials }), let sent = credentials.generation,
            credentials.mayRefresh(head.status), Authenticator.meansExpired(head, credentials.settings)
        else { return false }
        if case .stream(let stream) = http.body, stream.rewind == nil {
            credentials.authenticator.rejectedForGood(sent)
            let reason = "the credentials have expired, and the body is a stream that cannot be sent twice"
            fail(result, APIError(domain: .http, code: .authentication, message: reason), deliveries)
            return true
        }
        let response = APIResponse(request: self, ResponseContent.Box(content(of: result, refusal: nil)))
        guard isOfThisProcess else { return true }
        let wait = makeWait(response: response) { outcome, deliveries in
            switch outcome {
            case .send(let grant):
                self.shared.withLock { $0.journey.credentials?.history.wasRefreshed = true }
                self.replay(http, with: grant, result, deliveries)
            case .replay(let grant):
                self.shared.withLock { $0.journey.credentials?.history.wasReplayed = true }
                self.replay(http, with: grant, result, deliveries)
            case .deliver: self.complete(result, refusal: nil, deliveries)
            case .fail(let error):
                if !self.waitsForLaterToken(error, deliveries) { self.fail(result, error, deliveries) }
            case .ended: self.finishCancelled(deliveries)
            }
        }
        guard let wait else {
            finishCancelled(deliveries)
            return true
        }
        switch credentials.authenticator.rejected(wait, sent, credentials.history, now) {
        case .replay(let grant): wait.end(.replay(grant))
        case .deliver: wait.end(.deliver)
        case .fail(let error): wait.end(.fail(error))
        case .wait: RequestLog.waitsForCredentials(self, status: head.status)
        }
        leaveIfOver(wait, credentials.authenticator)
        return true
    }

    func begin(
        _ http: HTTPRequest, with grant: Authenticator.Grant, _ credentials: RequestCredentials
    ) -> Bool {
        let settings = credentials.settings
        var http = http
        let value = settings.scheme.isEmpty ? grant.token : "\(settings.scheme) \(grant.token)"
        do throws(APIError) {
            try HeaderSyntax.check(name: settings.header, value: value)
        } catch {
            onWorker { self.finish(self.journeyEnd(error: error), $0) }
            return true
        }
        http.headers.set(settings.header, value, isSecret: true)
        if http.settings.context?.cache != nil {
            http.token = CarriedToken(settings.header, value, owner: grant.owner)
        }
        shared.withLock { $0.journey.credentials?.generation = grant.generation }
        return beginExchange(http)
    }

    private func replay(
        _ http: HTTPRequest, with grant: Authenticator.Grant, _ result: ExchangeResult, _ deliveries: DeliveryBatch
    ) {
        let credentials = shared.withLock { shared in shared.machine.isCancelled ? nil : shared.journey.credentials }
        guard let credentials else { return finishCancelled(deliveries) }
        if case .stream(let stream) = http.body, Delivery.call({ stream.rewind?() }) != true {
            guard isOfThisProcess else { return }
            let reason = "the credentials have expired, and the body's stream could not be rewound"
            return fail(result, APIError(domain: .http, code: .authentication, message: reason), deliveries)
        }
        guard isOfThisProcess else { return }
        shared.withLock { $0.journey.retries += 1 }
        RequestLog.sentAgain(self)
        guard isOfThisProcess else { return }
        if !begin(http, with: grant, credentials) { finishCancelled(deliveries) }
    }

    /// The server's answer stays readable; the error says what else went wrong.
    func fail(_ result: ExchangeResult, _ error: APIError, _ deliveries: DeliveryBatch) {
        var content = content(of: result, refusal: nil)
        guard isOfThisProcess else { return }
        var error = error
        error.httpStatus = error.httpStatus ?? content.status
        content.error = error
        finishDownload(&content)
        finish(content, deliveries)
    }

    // MARK: Waiting

    /// - Returns: nil when the request was cancelled meanwhile.
    private func makeWait(
        response: APIResponse?, then body: @escaping @Sendable (CredentialWait.Outcome, DeliveryBatch) -> Void
    ) -> CredentialWait? {
        let wait = CredentialWait(client, response: response) { outcome in
            self.onWorker { deliveries in
                self.waitIsOver()
                body(outcome, deliveries)
            }
        }
        let isCancelled = shared.withLock { shared in
            guard !shared.machine.isCancelled else { return true }
            shared.credentialWait = wait
            // A caller that drove the exchange goes its way meanwhile.
            shared.transport = nil
            return false
        }
        guard !isCancelled else { return nil }
        watch(wait)
        return wait
    }

    /// Ends the wait in time. While the request is suspended no time passes: `resume` calls this anew.
    func watch(_ wait: CredentialWait) {
        let now = now
        let deadline = shared.withLock { shared in
            let deadline = shared.journey.waitDeadline(now)
            shared.credentialDeadline = deadline
            return deadline
        }
        guard deadline < .distantFuture else { return }
        let timer = clock.schedule(.limit, at: deadline) { [weak self, weak wait] in
            guard let self, let wait else { return }
            // A timer that rang in the suspension may be heard only after it.
            let isDue = shared.withLock { !$0.machine.isSuspended && $0.credentialDeadline == deadline }
            if isDue { timeOut(wait) }
        }
        let replaced = shared.withLock { shared -> ScheduledJob? in
            guard shared.credentialWait === wait else { return timer }
            return exchange(&shared.credentialTimer, with: timer)
        }
        replaced?.cancel()
    }

    private func timeOut(_ wait: CredentialWait) {
        let isTotal = shared.withLock { now >= $0.journey.deadline }
        var error = APIError(
            domain: .network, code: .timeout,
            message: "the credentials were not refreshed in time (\(isTotal ? "total" : "idle") timeout, \(summary))",
            isRetryable: true)
        error.clock = isTotal ? .total : .idle
        guard wait.end(.fail(error)) else { return }
        leave(wait)
    }

    private func waitIsOver() {
        let (timer, wait) = shared.withLock { ($0.credentialTimer.take(), $0.credentialWait.take()) }
        timer?.cancel()
        withExtendedLifetime(wait) {}
    }

    /// Cancelled while it was put in line.
    private func leaveIfOver(_ wait: CredentialWait, _ authenticator: Authenticator) {
        if wait.isOver { authenticator.leave(wait) }
    }

    private func leave(_ wait: CredentialWait) {
        shared.withLock { $0.journey.credentials }?.authenticator.leave(wait)
    }

    /// The request was cancelled: it ends at once, the refresh goes on for others.
    func dismissCredentialWait() {
        guard let wait = shared.withLock({ $0.credentialWait }), wait.end(.ended) else { return }
        leave(wait)
    }
}

extension RequestJourney {
    /// What comes with such an answer is no part of what was asked for.
    var quietStatuses: Set<Int> {
        guard let credentials, !credentials.history.wasRefreshed, credentials.generation != nil else { return [] }
        return credentials.settings.statuses
    }

    /// How long the request may wait for something that is not on the network: no byte moves meanwhile.
    fileprivate func waitDeadline(_ now: MonotonicTime) -> MonotonicTime {
        let idle = current?.settings.timeouts.idle.map { now.advanced(bySeconds: $0) } ?? .distantFuture
        return min(deadline, idle)
    }
}
