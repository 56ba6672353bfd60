// What `print` shows of a client, a request and a response. Secrets are redacted.

extension APIClient: RedactedMirror {
    /// The class, the client's number in log lines, the base URL with its secrets redacted, and the kind of session.
    public var description: String {
        var text = "\(type(of: self)) #\(number)"
        if let url = defaults["baseUrl"]?.string { text += " " + Secrets.redactURL(url) }
        if let sessionKind { text += " (\(sessionKind.words) session)" }
        return text
    }
}

extension APIRequest: RedactedMirror {
    /// The request's number in log lines, the method, the redacted URL, and the state.
    public var description: String { line + " (\(state.rawValue))" }

    fileprivate var line: String { printable("#" + logName + " " + summary) }
}

extension APIResponse: RedactedMirror {
    /// The request, followed by its error, or by its status, the size of the body and the time. Secrets are redacted.
    public var description: String {
        request.line + ": "
            + (error.map { printable(request.redact(message: $0.description)) }
                ?? "\(status), \(data.count) bytes, \(Int(elapsed * 1000)) ms")
    }
}
