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

    /// The host, an IPv6 address without brackets, and the port, of the Host header or of the URL; nil when the URL cannot
    /// be sent.
    package var server: (address: String, port: Int)? {
        guard let origin = Origin(url: url) else { return nil }
        let named = headers["Host"].flatMap { Origin(url: "\(origin.scheme)://\($0)") } ?? origin
        let host = named.host
        return (host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host, named.port)
    }

    /// The error for what the program could not set.
    var mistake: APIError? {
        // Without the name of a header: it may be a token in the wrong place.
        refusedSetters.first.map { setter in
            .invalidRequest("\(setter.prefix { $0 != " " }): what it was given cannot be used, so nothing is sent")
        }
    }

    /// Why the request must not be sent: the program could not set what it wanted, or its body contains a secret that was
    /// given for another origin.
    var refusal: APIError? {
        if let mistake { return mistake }
        guard hasForeignBody else { return nil }
        return .invalidRequest(
            "the URL was changed to another origin, and the body contains a secret: set the body again after the URL")
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
