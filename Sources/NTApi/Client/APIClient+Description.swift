extension APIClient: CustomStringConvertible {
    /// The class, the client's number in log lines, the base URL with its secrets redacted, and the kind of session.
    public var description: String {
        let base = defaults["baseUrl"]?.string.map { " \(Secrets.redactURL($0))" } ?? ""
        let session = sessionKind.map { " (\($0) session)" } ?? ""
        return "\(type(of: self)) #\(number)\(base)\(session)"
    }
}
