// What belongs to the origin of a request's URL, and stays with it.
//
// Everything that changes the URL of a request sets `HTTPRequest.url`, which comes here: redirects, hooks, decisions and
// interceptors. `APIClient+Origin` asks the same of args when an arg gives the whole URL.

extension HTTPRequest {
    /// Removes what the origin that the request leaves may know, but not the next one.
    mutating func leaveOrigin() {
        headers.removeWhatBelongsToOrigin()
        digest = nil
        if settings.allowsInvalidCertificate { settings.allowsInvalidCertificate = false }
        if settings.trust != .verified { settings.trust = .verified }
        if hasSecretBody, !body.isNone { hasForeignBody = true }
    }

    /// Why the request must not be sent: its body contains a secret that was given for another origin.
    var refusal: APIError? {
        guard hasForeignBody else { return nil }
        return .invalidRequest(
            "the URL was changed to another origin, and the body contains a secret: set the body again after the URL")
    }

    /// The request as its origin may see it: the client certificate is only for the origins of the settings.
    var forItsOrigin: HTTPRequest {
        guard let session = settings.session, session.identity.clientCertificate != nil,
            !session.showsCertificate(at: url)
        else { return self }
        var request = self
        request.settings.leaveCertificate(session)
        return request
    }
}

extension HTTPHeaders {
    /// Whether a header is meant for one origin. An Idempotency-Key identifies a request for one server only.
    static func belongsToOrigin(_ name: String) -> Bool {
        Secrets.isSecretHeader(name) || name.equalsIgnoringASCIICase("host")
            || name.equalsIgnoringASCIICase(IdempotencyKey.header)
    }

    fileprivate mutating func removeWhatBelongsToOrigin() {
        removeSecrets()
        remove("Host")
        remove(IdempotencyKey.header)
    }
}

extension SessionSettings {
    fileprivate func showsCertificate(at url: String) -> Bool {
        guard let origin = Origin(url: url) else { return false }
        return certificateOrigins.contains(origin)
    }
}

extension TransferSettings {
    /// Whether the client has a certificate to show.
    var hasClientCertificate: Bool { self.session?.identity.clientCertificate != nil }

    /// Allows the client certificate also for the origin of this URL.
    mutating func showCertificate(at url: String) {
        guard let session = self.session, let origin = Origin(url: url), !session.certificateOrigins.contains(origin)
        else { return }
        self.session = SessionSettings(
            identity: session.identity, credential: session.credential,
            certificateOrigins: session.certificateOrigins + [origin])
    }

    /// Shows no certificate, over connections on which none was shown.
    fileprivate mutating func leaveCertificate(_ session: SessionSettings) {
        var identity = session.identity
        identity.clientCertificate = nil
        identity.clientKey = nil
        identity.clientKeyPassword = nil
        self.session = SessionSettings(identity: identity, credential: session.credential)
        guard let known = context else { return }
        let isShared = known.connections?.isOfOne != true
        let connections = isShared && !identity.needsOwnConnections ? nil : known.connections?.opened(as: identity)
        context = SessionContext(connections: connections, cookies: known.cookies, cache: known.cache)
    }
}
