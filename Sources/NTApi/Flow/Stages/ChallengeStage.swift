/// Answers challenges of servers and proxies with a user and a password, and asks whether to trust a certificate.
///
/// Adds an accepted answer again wherever the request leads on the same origin.
struct ChallengeStage: Stage, ~Copyable {
    /// The last answer to a server or a proxy, and how many were wrong.
    private struct Attempt: Sendable {
        var credential: Credential?
        var isDigest = false
        var failures = 0
        /// Who asked last.
        var space: ProtectionSpace?
        /// Whether the client's own credential, or one remembered for the session, has been tried.
        var triedOwn = false
        /// Whether the credential of the client's storage has been tried.
        var triedStored = false
        /// Where to store the credential once the server accepts it; nil when it is not to be stored.
        var unproven: ProtectionSpace?

        /// Starts with another space: the credentials known for it may be tried.
        mutating func begin(in space: ProtectionSpace?) {
            self.space = space
            triedOwn = false
            triedStored = false
            unproven = nil
        }

        mutating func connectAgain() {
            failures = 0
            begin(in: space)
        }
    }

    private enum Asker: Sendable {
        case server
        case proxy
    }

    /// The challenge that is being answered.
    private struct Open: Sendable {
        var asker: Asker
        var challenge: AuthenticationChallenge
        var space: ProtectionSpace
        var attempt: Attempt
    }

    /// The stage gives up after this many wrong answers.
    static let maximumFailures = 5

    private var given: HTTPRequest
    /// The state for the origin that the request is at now. `servers` keeps one for each origin that it visited.
    private var server = Attempt()
    private var servers: [Origin: Attempt] = [:]
    private var proxy = Attempt()
    /// The answers that hold for this request only, on all its redirects. A stream's next connection uses them without
    /// asking.
    private var answers: [ProtectionSpace: Credential] = [:]
    /// The trusted certificates.
    private var pins: [Origin: String] = [:]
    /// Whether the trusted certificates are from an earlier connection: the server may have another one now.
    private var hasEarlierTrust = false
    private var inspections = 0
    /// The answer that failed because of its certificate, while the program is asked about that.
    @Boxed private var refused: Answer?
    /// The certificate that the program is asked about.
    private var pinned: String?
    @Boxed private var open: Open?

    /// - Parameter request: the request that was sent, when the stage is added for an answer.
    init(_ request: HTTPRequest) { given = request }

    mutating func send(_ trip: inout Trip) -> Step {
        guard trip.reason != .inspection else { return .on }
        given = trip.request
        if trip.reason == .reconnect { connectAgain() }
        guard !servers.isEmpty || !pins.isEmpty || proxy.credential != nil,
            let origin = Origin(url: trip.request.url)
        else { return .on }
        server = servers[origin] ?? Attempt()
        if let credential = server.credential { trip.request.authenticate(as: credential, isDigest: server.isDigest) }
        if let leaf = pins[origin] { trip.request.settings.pin(to: leaf) }
        // After a redirect it may be another proxy, which must not see the credential of the first.
        guard let credential = proxy.credential,
            let url = trip.request.settings.proxy.url(scheme: origin.scheme, host: origin.host),
            proxy.space == ProtectionSpace(proxy: url)
        else {
            return .on
        }
        return .wait(.proxy(trip.request, url: url, credential))
    }

    /// Prepares a stream's next connection. It starts with the credentials that were right, and its failures count from
    /// 0.
    private mutating func connectAgain() {
        for origin in servers.keys { servers[origin]?.connectAgain() }
        proxy.connectAgain()
        inspections = 0
        hasEarlierTrust = true
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        keepProven(answer, &trip)
        let result = answer.result
        switch (result.head?.status, result.question) {
        case (401, nil): return answerServer(answer, &trip)
        case (407, nil) where result.error == nil:
            guard let lines = result.head?.headers.all("Proxy-Authenticate"),
                let best = AuthenticationChallenge.best(of: lines), best.scheme == AuthenticationChallenge.basic
            else { return .on }
            return answerProxy(answer, realm: best.realm, &trip)
        case (_, .proxyCredential): return answerProxy(answer, realm: nil, &trip)
        case (_, .untrusted): return answerUntrusted(answer, &trip)
        case (_, .certificates(let chain)): return askWhetherToTrust(chain, &answer)
        case (_, .otherCertificate):
            guard case .pinned(let leaf) = answer.sent.settings.trust,
                let origin = Origin(url: answer.sent.url)
            else { return .on }
            return .wait(.recall(.distrust(leaf, origin)))
        default:
            // The inspection failed: no certificate was seen.
            return trip.reason == .inspection ? askWhetherToTrust([], &answer) : .on
        }
    }

    mutating func resume(proxied request: HTTPRequest, _ trip: inout Trip) -> Step {
        trip.request = request
        return .on
    }

    mutating func resume(recalled known: Recalled, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        switch known {
        case .certificate(let leaf): return recalled(leaf, answer, &trip)
        case .credential(let credential, let isOwn):
            if isOwn { open?.attempt.triedOwn = true } else { open?.attempt.triedStored = true }
            if let credential { return use(credential, &trip) }
            guard trip.facts.asks.contains(.challenge), let open else { return .on }
            var question = Question(.challenge, answer.result.head)
            question.challenge = open.challenge
            return .wait(.ask(question))
        }
    }

    mutating func resume(decision: DecisionAnswer, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        if case .credential(let credential, let persistence) = decision { return take(credential, persistence, &trip) }
        if case .trust(let forSession) = decision { return trust(forSession: forSession, answer, &trip) }
        if let refused = refused.take() { answer = refused }
        return .accept
    }

    mutating func cannotSendAgain(_ reason: String, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        answer.failure = APIError(
            domain: .http, code: .authentication, message: "credentials are required, and \(reason)")
        return .accept
    }

    // MARK: Servers and proxies

    private mutating func answerServer(_ answer: Answer, _ trip: inout Trip) -> Step {
        // The program set its own credentials on the request: pass on the answer.
        let isOwn =
            server.credential == nil && (answer.sent.digest != nil || answer.sent.headers["Authorization"] != nil)
        guard answer.result.error == nil, let head = answer.result.head, !isOwn,
            let best = AuthenticationChallenge.best(of: head.headers.all("WWW-Authenticate")),
            let parts = try? URLParts(answer.sent.url)
        else { return .on }
        let space = ProtectionSpace(
            scheme: parts.scheme, host: parts.host, port: parts.port, realm: best.realm,
            authenticationScheme: best.scheme == AuthenticationChallenge.digest ? .digest : .basic)
        let challenge = AuthenticationChallenge(
            .server, host: parts.host, port: parts.port, scheme: best.scheme, realm: best.realm,
            failures: server.failures + (server.credential == nil ? 0 : 1), protectionSpace: space)
        return begin(Open(asker: .server, challenge: challenge, space: space, attempt: server), &trip)
    }

    private mutating func answerProxy(_ answer: Answer, realm: String?, _ trip: inout Trip) -> Step {
        // The proxy has already seen the credentials of the settings.
        guard answer.sent.settings.session?.identity.proxy == nil || proxy.credential != nil,
            let parts = try? URLParts(answer.sent.url),
            let url = answer.sent.settings.proxy.url(scheme: parts.scheme, host: parts.host)
        else { return .on }
        // The URL's host does not matter here: the credential is for the proxy.
        let space = ProtectionSpace(proxy: url)
        let proxy = proxy.space == space ? proxy : Attempt()
        let challenge = AuthenticationChallenge(
            .proxy, host: parts.host, port: parts.port, scheme: AuthenticationChallenge.basic, realm: realm,
            failures: proxy.failures + (proxy.credential == nil ? 0 : 1), reason: Secrets.redactURL(url),
            protectionSpace: space)
        return begin(Open(asker: .proxy, challenge: challenge, space: space, attempt: proxy), &trip)
    }

    private mutating func begin(_ challenge: Open, _ trip: inout Trip) -> Step {
        var challenge = challenge
        challenge.attempt.failures = challenge.challenge.failures
        challenge.attempt.unproven = nil
        if challenge.attempt.space != challenge.space { challenge.attempt.begin(in: challenge.space) }
        if let wrong = challenge.attempt.credential {
            if answers[challenge.space] == wrong { answers[challenge.space] = nil }
            trip.effects.append(.forget(wrong, challenge.space))
        }
        guard challenge.challenge.failures <= Self.maximumFailures else { return .on }
        challenge.attempt.isDigest = challenge.challenge.isDigest
        open = challenge
        return .wait(
            .recall(
                .credential(
                    challenge.challenge, challenge.space, given, own: answers[challenge.space],
                    wrong: challenge.attempt.credential, asksOwn: !challenge.attempt.triedOwn,
                    asksStorage: !challenge.attempt.triedStored)))
    }

    /// Handles the program's answer.
    private mutating func take(
        _ credential: Credential, _ persistence: Credential.Persistence, _ trip: inout Trip
    ) -> Step {
        // The same credential again would be wrong again.
        guard let open, credential != open.attempt.credential else { return .accept }
        let isStored = persistence == .permanent && trip.facts.keepsCredentials
        if persistence != .none, !isStored {
            trip.effects.append(.remember(credential, open.space))
        } else {
            answers[open.space] = credential
        }
        self.open?.attempt.unproven = isStored ? open.space : nil
        return use(credential, &trip)
    }

    private mutating func use(_ credential: Credential, _ trip: inout Trip) -> Step {
        open?.attempt.credential = credential
        return sendAgain(&trip)
    }

    private mutating func sendAgain(_ trip: inout Trip) -> Step {
        guard let open = open.take() else { return .accept }
        switch open.asker {
        case .server:
            server = open.attempt
            servers[open.space.origin] = server
        case .proxy:
            proxy = open.attempt
            // Other requests must not use a connection that is authenticated as this user.
            trip.effects.append(.leaveTransport)
        }
        trip.request = given
        return .again(Again(.credentials, .sentAgain))
    }

    /// Stores a credential that the program wants to keep, now that the server or the proxy has accepted it.
    private mutating func keepProven(_ answer: Answer, _ trip: inout Trip) {
        // A failure of the server, or of a gateway before it, says nothing about the credential.
        guard let status = answer.result.head?.status, answer.result.error == nil, status < 500,
            status != 407, status != 429
        else { return }
        if status != 401, let space = server.unproven.take(), let credential = server.credential {
            servers[space.origin] = server
            trip.effects.append(.keep(credential, space))
        }
        if let space = proxy.unproven.take(), let credential = proxy.credential {
            trip.effects.append(.keep(credential, space))
        }
    }

    // MARK: Certificates

    private mutating func answerUntrusted(_ answer: Answer, _ trip: inout Trip) -> Step {
        guard let origin = Origin(url: answer.sent.url) else { return .on }
        guard answer.sent.settings.trust == .verified else { return inspect(answer, &trip) }
        return .wait(.recall(.certificate(origin)))
    }

    private mutating func recalled(_ leaf: String?, _ answer: Answer, _ trip: inout Trip) -> Step {
        guard let origin = Origin(url: answer.sent.url) else { return .on }
        if case .pinned = answer.sent.settings.trust {
            // The server shows another certificate than the trusted one. That trust came from the session, or from an
            // earlier connection of a stream, and no longer holds.
            let isEarlier = hasEarlierTrust
            guard leaf != nil || isEarlier else { return .on }
            if isEarlier { hasEarlierTrust = false }
            pins[origin] = nil
            return inspect(answer, &trip)
        }
        guard let leaf else { return inspect(answer, &trip) }
        pins[origin] = leaf
        trip.request = given
        return .again(Again(.trust))
    }

    /// Connects once more, only to see the server's certificate.
    private mutating func inspect(_ answer: Answer, _ trip: inout Trip) -> Step {
        inspections += 1
        guard inspections <= Self.maximumFailures, trip.facts.asks.contains(.challenge) else { return .on }
        refused = answer
        var look = answer.sent
        look.settings.trust = .inspected
        look.settings.httpVersion = .http11
        look.body = .none
        look.leaveCertificate()
        trip.request = look
        return .again(Again(.inspection))
    }

    private mutating func askWhetherToTrust(_ chain: [String], _ answer: inout Answer) -> Step {
        guard let refused else { return .on }
        guard !chain.isEmpty, let parts = try? URLParts(refused.sent.url) else {
            answer = refused
            self.refused = nil
            return .accept
        }
        pinned = chain.first
        var question = Question(.challenge, nil)
        question.challenge = AuthenticationChallenge(
            .certificate, host: parts.host, port: parts.port, certificates: chain,
            reason: refused.result.error?.message ?? "")
        return .wait(.ask(question))
    }

    private mutating func trust(forSession: Bool, _ answer: Answer, _ trip: inout Trip) -> Step {
        refused = nil
        guard let leaf = pinned.take(), let origin = Origin(url: answer.sent.url) else { return .accept }
        if forSession { trip.effects.append(.trust(certificate: leaf, origin)) }
        pins[origin] = leaf
        trip.request = given
        return .again(Again(.trust))
    }
}

/// A lookup of what is already known for a challenge.
indirect enum Recall: Sendable {
    /// A credential other than the wrong one.
    ///
    /// - own: the answer that was given for this request.
    case credential(
        AuthenticationChallenge, ProtectionSpace, HTTPRequest, own: Credential?, wrong: Credential?, asksOwn: Bool,
        asksStorage: Bool)
    /// The certificate that the session trusts for a server.
    case certificate(Origin)
    /// Stops trusting this certificate for the session.
    case distrust(String, Origin)
}

/// What is already known for a challenge.
enum Recalled: Sendable {
    /// Nil when none is known. Whether it is the client's own, or one of this request or its session.
    case credential(Credential?, isOwn: Bool)
    /// Nil when no certificate is trusted.
    case certificate(String?)
}

extension HTTPRequest {
    fileprivate mutating func authenticate(as credential: Credential, isDigest: Bool) {
        if isDigest {
            headers.remove("Authorization")
            digest = credential
        } else {
            let text = Base64.encode("\(credential.user):\(credential.password)".utf8)
            digest = nil
            headers.set("Authorization", "Basic \(text)", isSecret: true)
        }
    }

    /// Whether an answer that asks for credentials might be answered.
    func mayBeChallenged(_ kinds: DecisionKinds) -> Bool {
        kinds.contains(.challenge) || settings.session?.credential != nil
    }
}
