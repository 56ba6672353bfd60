extension APIRequest: CustomStringConvertible {
    /// The request's number in log lines, the method, the URL with its secrets redacted, and the state.
    public var description: String { "#\(logName) \(summary) (\(state))" }
}

extension APIResponse: CustomStringConvertible {
    /// What was asked, the status, the size of the body and the time, or the error; secrets redacted.
    public var description: String {
        let line = "#\(request.logName) \(request.summary)"
        if let error {
            let names = request.built.request?.secrets.names ?? []
            return "\(line): \(Secrets.redactURLs(in: error.description, alsoNamed: names))"
        }
        return "\(line): \(status), \(data.count) bytes, \(Int(elapsed * 1000)) ms"
    }
}
