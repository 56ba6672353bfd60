// The client certificate is only for the origins of the settings.

extension HTTPRequest {
    /// The request as its origin may see it: the client certificate is only for the origins of the settings.
    var forItsOrigin: HTTPRequest {
        guard let session = settings.session, session.identity.clientCertificate != nil,
            !session.showsCertificate(at: url)
        else { return self }
        var request = self
        request.settings.leaveCertificate(session)
        return request
    }

    /// Shows no client certificate.
    mutating func leaveCertificate() {
        guard let session = settings.session, session.identity.clientCertificate != nil else { return }
        settings.leaveCertificate(session)
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
