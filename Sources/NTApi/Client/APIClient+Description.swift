extension APIClient: CustomStringConvertible {
    /// The class, the client's number in log lines, the base URL with its secrets redacted, and the kind of session.
    public var description: String {
        var text = "\(type(of: self)) #\(number)"
        if let url = defaults["baseUrl"]?.string { text += " " + Secrets.redactURL(url) }
        if let sessionKind { text += " (\(sessionKind) session)" }
        return text
    }
}
