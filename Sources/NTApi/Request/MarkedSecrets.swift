/// What the caller marked as secret, beside what is so by its name: it must not be seen in a log either.
struct MarkedSecrets: Sendable {
    /// Names of query pairs, form fields and parts.
    private(set) var names: Set<String> = []
    /// Values of path args, as they stand in the URL.
    private var pathValues: Set<String> = []
    private var isWholeBody = false
    /// Whether the body holds a secret, and so is not sent on to another origin.
    private(set) var isInBody = false
    /// Whether the body is pairs, whatever its content type says.
    var isForm = false

    mutating func mark(_ kind: APIArg.Kind) {
        switch kind {
        case .url(let name, _): names.insert(name)
        case .path(_, let value): pathValues.insert(PercentEncoding.component(value))
        case .form(let name, _):
            names.insert(name)
            isInBody = true
        case .multipart(let part):
            names.insert(part.name)
            isInBody = true
        case .data, .json, .file, .stream:
            isWholeBody = true
            isInBody = true
        default: break
        }
    }

    /// The text of a body, or the beginning of it, without its secrets.
    func redact(body text: String) -> String {
        if isWholeBody { return Secrets.redacted }
        return isForm ? Secrets.redactPairs(text, alsoNamed: names) : Secrets.redactJSON(text)
    }

    func redact(url: String) -> String {
        let redacted = Secrets.redactURL(url, alsoNamed: names)
        guard !pathValues.isEmpty else { return redacted }
        let end = redacted.firstIndex(of: "?") ?? redacted.endIndex
        let segments = redacted[..<end].split(separator: "/", omittingEmptySubsequences: false)
        return segments.map { pathValues.contains(String($0)) ? Secrets.redacted : String($0) }.joined(separator: "/")
            + redacted[end...]
    }

    func isSecret(part name: String) -> Bool { names.contains(name) || Secrets.isSecretName(name) }
}
