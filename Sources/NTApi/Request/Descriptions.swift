extension APIRequest: CustomStringConvertible {
    /// The request's number in log lines, the method, the redacted URL, and the state.
    public var description: String { line + " (\(state))" }

    fileprivate var line: String { "#" + logName + " " + summary }
}

extension APIResponse: CustomStringConvertible {
    /// The request, followed by its error, or by its status, the size of the body and the time. Secrets are redacted.
    public var description: String {
        request.line + ": "
            + (error.map { request.redact(message: $0.description) }
                ?? "\(status), \(data.count) bytes, \(Int(elapsed * 1000)) ms")
    }
}
