/// What the caller marked as secret, beside what is so by its name: it must not be seen in a log either.
struct MarkedSecrets: Sendable {
    /// Names of query pairs, form fields and parts.
    private(set) var names: Set<String> = []
    private var isWholeBody = false
    /// Whether the body is pairs, whatever its content type says.
    var isForm = false

    mutating func mark(_ kind: APIArg.Kind) {
        switch kind {
        case .url(let name, _), .form(let name, _): names.insert(name)
        case .multipart(let part): names.insert(part.name)
        case .data, .json: isWholeBody = true
        default: break
        }
    }

    /// The text of a body, or the beginning of it, without its secrets.
    func redact(body text: String) -> String {
        if isWholeBody { return Secrets.redacted }
        return isForm ? Secrets.redactPairs(text, alsoNamed: names) : Secrets.redactJSON(text)
    }

    func redact(url: String) -> String { Secrets.redactURL(url, alsoNamed: names) }

    func isSecret(part name: String) -> Bool { names.contains(name) || Secrets.isSecretName(name) }
}
