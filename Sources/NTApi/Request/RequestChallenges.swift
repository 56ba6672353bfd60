/// What a request has been asked and has answered, over all its exchanges.
struct RequestChallenges: Sendable {
    /// What was answered last to a server or a proxy, and how often that was wrong.
    struct Attempt: Sendable {
        var credential: Credential?
        var failures = 0
        /// Who has asked last.
        var space: ProtectionSpace?
        /// Whether the client's own credential, or what it was told for the session, has been tried.
        var triedOwn = false
        /// Whether the one in the client's storage has been tried.
        var triedStored = false
        /// Where the credential is stored once it has proved right; nil when it is not to be stored.
        var unproven: ProtectionSpace?

        /// Another space may be answered with what is known for it.
        mutating func begin(in space: ProtectionSpace?) {
            self.space = space
            triedOwn = false
            triedStored = false
            unproven = nil
        }
    }

    /// The request at its own URL, as the program's answers have changed it. The next connection of a stream begins with it.
    struct Kept: Sendable {
        var http: HTTPRequest
        var server: Attempt
        var proxy: Attempt
    }

    var server = Attempt()
    var proxy = Attempt()
    var kept: Kept?
    /// What was answered for this request alone, wherever its redirects lead: its next connection does not ask again.
    var answers: [ProtectionSpace: Credential] = [:]
    var certificates: [Origin: String] = [:]
    /// Whether the trusted certificate is that of an earlier connection: the server may have another one by now.
    var hasEarlierTrust = false
    /// Why the certificate was not accepted, and of what, while it is looked at for the program to decide.
    var refused: (result: ExchangeResult, http: HTTPRequest)?
    var inspections = 0

    /// More answers than this were wrong, whatever they are.
    static let maximumFailures = 5

    /// Whether one of the answers is to be stored when it has proved right.
    var hasUnproven: Bool { server.unproven != nil || proxy.unproven != nil }

    /// The next connection of a stream begins with what was right for the one before, and may be asked as often as that.
    mutating func connectAgain() {
        server = kept?.server ?? Attempt()
        proxy = kept?.proxy ?? Attempt()
        for path in [\Self.server, \Self.proxy] {
            self[keyPath: path].failures = 0
            self[keyPath: path].begin(in: nil)
        }
        inspections = 0
        hasEarlierTrust = true
    }
}

// Questions that stand between a request and its answer: who asks, and whether a certificate is trusted.
extension APIRequest {
    /// - Returns: false when nobody is to be asked: the result stands as it is.
    func answersChallenge(_ result: ExchangeResult, _ http: HTTPRequest, _ deliveries: DeliveryBatch) -> Bool {
        guard result.question != nil || result.head?.status == 401 || result.head?.status == 407 || http.isInspection
        else { return false }
        switch (result.head?.status, result.question) {
        case (401, nil): return answerServer(result, http, deliveries)
        case (407, nil) where result.error == nil:
            guard let lines = result.head?.headers.all("Proxy-Authenticate"),
                let best = AuthenticationChallenge.best(of: lines), best.scheme == AuthenticationChallenge.basic
            else { return false }
            return answerProxy(result, http, realm: best.realm, deliveries)
        case (_, .proxyCredential): return answerProxy(result, http, realm: nil, deliveries)
        case (_, .untrusted): return inspect(result, http, deliveries)
        case (_, .certificates(let chain)): return askWhetherToTrust(chain, http, deliveries)
        case (_, .otherCertificate): return trustNoLonger(result, http, deliveries)
        default:
            guard http.isInspection else { return false }
            // It could not even be looked at.
            return askWhetherToTrust([], http, deliveries)
        }
    }

    // MARK: A server

    private func answerServer(_ result: ExchangeResult, _ http: HTTPRequest, _ deliveries: DeliveryBatch) -> Bool {
        let attempt = shared.withLock { $0.journey.challenges?.server } ?? .init()
        // With credentials that the program put in itself the answer stands.
        let isOwn = attempt.credential == nil && (http.digest != nil || http.headers["Authorization"] != nil)
        guard result.error == nil, let head = result.head, !isOwn,
            let best = AuthenticationChallenge.best(of: head.headers.all("WWW-Authenticate")),
            let parts = try? URLParts(http.url)
        else { return false }
        let space = ProtectionSpace(
            scheme: parts.scheme, host: parts.host, port: parts.port, realm: best.realm,
            authenticationScheme: best.scheme == AuthenticationChallenge.digest ? .digest : .basic)
        let challenge = AuthenticationChallenge(
            .server, host: parts.host, port: parts.port, scheme: best.scheme, realm: best.realm,
            failures: attempt.failures + (attempt.credential == nil ? 0 : 1), protectionSpace: space)
        return answer(challenge, space, attempt, \.server, result, http, deliveries) { credential in
            var next = http
            if challenge.isDigest {
                next.headers.remove("Authorization")
                next.digest = credential
            } else {
                let text = Base64.encode("\(credential.user):\(credential.password)".utf8)
                next.digest = nil
                next.headers.set("Authorization", "Basic \(text)", isSecret: true)
            }
            return next
        }
    }

    // MARK: A proxy

    private func answerProxy(
        _ result: ExchangeResult, _ http: HTTPRequest, realm: String?, _ deliveries: DeliveryBatch
    ) -> Bool {
        let attempt = shared.withLock { $0.journey.challenges?.proxy } ?? .init()
        // The settings' own were shown to it already.
        guard http.settings.session?.identity.proxy == nil || attempt.credential != nil,
            let parts = try? URLParts(http.url), let url = http.settings.proxy.url(for: parts.scheme)
        else { return false }
        // Whatever it is that is asked for: it is the proxy that is told.
        let space = ProtectionSpace(proxy: url)
        let challenge = AuthenticationChallenge(
            .proxy, host: parts.host, port: parts.port, scheme: AuthenticationChallenge.basic, realm: realm,
            failures: attempt.failures + (attempt.credential == nil ? 0 : 1), reason: Secrets.redactURL(url),
            protectionSpace: space)
        return answer(challenge, space, attempt, \.proxy, result, http, deliveries) { credential in
            var next = http
            next.settings.authenticate(toProxy: url, as: credential)
            // Others may not use the connection that is opened for this user.
            self.shared.withLock { $0.transport = nil }
            return next
        }
    }

    // MARK: Both

    private func answer(
        _ challenge: AuthenticationChallenge, _ space: ProtectionSpace, _ attempt: RequestChallenges.Attempt,
        _ path: any WritableKeyPath<RequestChallenges, RequestChallenges.Attempt> & Sendable, _ result: ExchangeResult,
        _ http: HTTPRequest, _ deliveries: DeliveryBatch, _ make: @escaping @Sendable (Credential) -> HTTPRequest
    ) -> Bool {
        var attempt = attempt
        attempt.failures = challenge.failures
        attempt.unproven = nil
        if attempt.space != space { attempt.begin(in: space) }
        if let wrong = attempt.credential { forget(wrong, for: space) }
        guard challenge.failures <= RequestChallenges.maximumFailures else { return false }
        if !attempt.triedOwn, let known = ownCredential(for: space, http), known != attempt.credential {
            attempt.triedOwn = true
            attempt.credential = known
            return send(make(known), instead: http, attempt, path, result, deliveries)
        }
        if !attempt.triedStored {
            attempt.triedStored = true
            let stored = storedCredential(for: space)
            guard isOfThisProcess else { return true }
            if let stored, stored != attempt.credential, challenge.allows(stored) {
                attempt.credential = stored
                return send(make(stored), instead: http, attempt, path, result, deliveries)
            }
        }
        guard asks(for: .challenge) else { return false }
        leaveTransport()
        ask(.challenge, result.head, challenge: challenge, deliveries) { [attempt] answer, deliveries in
            self.decisionIsOver()
            guard case .credential(let credential, let persistence) = answer,
                // The same again would only be wrong again.
                credential != attempt.credential
            else { return self.complete(result, refusal: nil, deliveries) }
            let isStored = persistence == .permanent && self.client.credentialStorage != nil
            self.remember(credential, for: space, ofSession: persistence != .none && !isStored)
            var attempt = attempt
            attempt.credential = credential
            attempt.unproven = isStored ? space : nil
            if !self.send(make(credential), instead: http, attempt, path, result, deliveries) {
                self.complete(result, refusal: nil, deliveries)
            }
        }
        return true
    }

    private func remember(_ credential: Credential, for space: ProtectionSpace, ofSession: Bool) {
        if ofSession {
            client.answers[space] = credential
            return
        }
        changeChallenges { $0.answers[space] = credential }
    }

    private func forget(_ wrong: Credential, for space: ProtectionSpace) {
        if client.answers[space] == wrong { client.answers[space] = nil }
        changeChallenges { if $0.answers[space] == wrong { $0.answers[space] = nil } }
    }

    private func changeChallenges(_ change: (inout RequestChallenges) -> Void) {
        shared.withLock { shared in
            var challenges = shared.journey.challenges ?? RequestChallenges()
            change(&challenges)
            shared.journey.challenges = challenges
        }
    }

    /// What the client's storage has for a protection space, where nobody has seen anything of the answer that asks.
    private func storedCredential(for space: ProtectionSpace) -> Credential? {
        guard let storage = client.credentialStorage, shared.withLock({ $0.quietStatuses.contains(401) }) else {
            return nil
        }
        do throws(APIError) {
            return try storage.defaultCredential(for: space)
        } catch {
            log(.warn, error.message)
            return nil
        }
    }

    /// Stores what the program wants to be kept, now that the server or the proxy has taken it.
    func storeProvenCredentials(_ result: ExchangeResult) {
        guard let status = result.head?.status, status != 407, let storage = client.credentialStorage else { return }
        let proven = shared.withLock { shared -> [(space: ProtectionSpace, credential: Credential)] in
            guard var challenges = shared.journey.challenges, challenges.hasUnproven else { return [] }
            var proven: [(ProtectionSpace, Credential)] = []
            for path in [\RequestChallenges.server, \.proxy] where path == \.proxy || status != 401 {
                let attempt = challenges[keyPath: path]
                guard let space = attempt.unproven, let credential = attempt.credential else { continue }
                proven.append((space, credential))
                challenges[keyPath: path].unproven = nil
            }
            shared.journey.challenges = challenges
            return proven
        }
        for (space, credential) in proven {
            do throws(APIError) {
                try storage.setDefaultCredential(credential, for: space)
            } catch {
                log(.warn, error.message)
                guard isOfThisProcess else { return }
            }
        }
    }

    /// What an earlier connection of the request was told, or the client for the session, or its configuration says: that
    /// goes to its own server alone.
    private func ownCredential(for space: ProtectionSpace, _ http: HTTPRequest) -> Credential? {
        if let known = shared.withLock({ $0.journey.challenges?.answers[space] }) { return known }
        if let known = client.answers[space] { return known }
        guard !space.isProxy, let own = http.settings.session?.credential,
            let base = client.settings.baseURL?.text, Authenticator.origin(of: base) == space.origin
        else { return nil }
        return own
    }

    private func send(
        _ next: HTTPRequest, instead http: HTTPRequest, _ attempt: RequestChallenges.Attempt,
        _ path: any WritableKeyPath<RequestChallenges, RequestChallenges.Attempt> & Sendable, _ result: ExchangeResult,
        _ deliveries: DeliveryBatch
    ) -> Bool {
        guard !shared.withLock({ $0.machine.isCancelled }) else {
            finishCancelled(deliveries)
            return true
        }
        // What never came to the server need not be rewound.
        if result.head != nil, case .stream(let stream) = http.body {
            let reason =
                stream.rewind == nil
                ? "the body is a stream that cannot be sent twice" : "the body's stream could not be rewound"
            guard Delivery.call({ stream.rewind?() }) == true else {
                guard isOfThisProcess else { return true }
                let error = APIError(
                    domain: .http, code: .authentication, message: "credentials are wanted, and \(reason)")
                fail(result, error, deliveries)
                return true
            }
        }
        guard isOfThisProcess else { return true }
        changeChallenges { $0[keyPath: path] = attempt }
        keepForNextConnection(next)
        shared.withLock { $0.journey.retries += 1 }
        RequestLog.sentAgain(self)
        guard isOfThisProcess else { return true }
        if !beginExchange(next) { finishCancelled(deliveries) }
        return true
    }

    /// Unless a redirect has led elsewhere: the next connection begins at the request's own URL.
    private func keepForNextConnection(_ next: HTTPRequest) {
        shared.withLock { shared in
            guard shared.stream != nil, shared.journey.redirectsOfConnection == 0 else { return }
            var next = next
            // The authenticator gives each connection the token that is good then.
            if let credentials = shared.journey.credentials, credentials.generation != nil {
                next.headers.remove(credentials.settings.header)
            }
            var challenges = shared.journey.challenges ?? RequestChallenges()
            challenges.kept = .init(http: next, server: challenges.server, proxy: challenges.proxy)
            shared.journey.challenges = challenges
        }
    }

    // MARK: A certificate

    /// Connects once more, only to see what the server shows.
    private func inspect(_ result: ExchangeResult, _ http: HTTPRequest, _ deliveries: DeliveryBatch) -> Bool {
        guard let origin = Authenticator.origin(of: http.url) else { return false }
        var challenges = shared.withLock { $0.journey.challenges } ?? RequestChallenges()
        if let known = challenges.certificates[origin] ?? client.answers[certificateOf: origin],
            http.settings.trust == .verified
        {
            send(http, trusting: known, deliveries)
            return true
        }
        challenges.inspections += 1
        challenges.refused = (result, http)
        guard challenges.inspections <= RequestChallenges.maximumFailures, asks(for: .challenge) else { return false }
        shared.withLock { [challenges] in $0.journey.challenges = challenges }
        var look = http
        look.settings.trust = .inspected
        look.settings.httpVersion = .http11
        look.body = .none
        if !beginExchange(look) { finishCancelled(deliveries) }
        return true
    }

    private func askWhetherToTrust(_ chain: [String], _ look: HTTPRequest, _ deliveries: DeliveryBatch) -> Bool {
        let known = shared.withLock { shared in
            defer { shared.journey.challenges?.refused = nil }
            return shared.journey.challenges?.refused
        }
        guard let (refused, http) = known else { return false }
        guard let leaf = chain.first, let parts = try? URLParts(http.url) else {
            complete(refused, refusal: nil, deliveries)
            return true
        }
        let challenge = AuthenticationChallenge(
            .certificate, host: parts.host, port: parts.port, certificates: chain, reason: refused.error?.message ?? "")
        leaveTransport()
        ask(.challenge, nil, challenge: challenge, deliveries) { answer, deliveries in
            self.decisionIsOver()
            guard case .trust(let forSession) = answer else {
                return self.complete(refused, refusal: nil, deliveries)
            }
            let origin = Origin(scheme: parts.scheme, host: parts.host, port: parts.port)
            if forSession {
                self.client.answers[certificateOf: origin] = leaf
            } else {
                self.changeChallenges { $0.certificates[origin] = leaf }
            }
            self.send(http, trusting: leaf, deliveries)
        }
        return true
    }

    private func send(_ http: HTTPRequest, trusting certificate: String, _ deliveries: DeliveryBatch) {
        var next = http
        next.settings.pin(to: certificate)
        keepForNextConnection(next)
        if !beginExchange(next) { finishCancelled(deliveries) }
    }

    /// The server shows another certificate than the one that was trusted for the session, or for an earlier connection of a
    /// stream: that answer does not hold any more.
    private func trustNoLonger(_ result: ExchangeResult, _ http: HTTPRequest, _ deliveries: DeliveryBatch) -> Bool {
        guard case .pinned(let leaf) = http.settings.trust, let origin = Authenticator.origin(of: http.url) else {
            return false
        }
        let isOfSession = client.answers[certificateOf: origin] == leaf
        let isEarlier = shared.withLock { shared in
            guard var challenges = shared.journey.challenges, challenges.hasEarlierTrust else { return false }
            challenges.hasEarlierTrust = false
            challenges.certificates[origin] = nil
            shared.journey.challenges = challenges
            return true
        }
        guard isOfSession || isEarlier else { return false }
        if isOfSession { client.answers[certificateOf: origin] = nil }
        return inspect(result, http, deliveries)
    }
}

extension HTTPRequest {
    /// Whether an answer that asks for credentials might be answered.
    func mayBeChallenged(_ kinds: RequestDecision.Kinds) -> Bool {
        kinds.contains(.challenge) || settings.session?.credential != nil
    }

    /// Whether it is only made to see the server's certificate.
    fileprivate var isInspection: Bool { settings.trust == .inspected }
}
