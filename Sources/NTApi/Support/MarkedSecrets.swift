/// What the caller marked as secret, beside what is so by its name: it must not be seen in a log either.
struct MarkedSecrets: Sendable {
    /// Names of query pairs, form fields and parts.
    private(set) var names: Set<String> = []
    /// Values of path args, as they stand in the URL.
    private var pathValues: Set<String> = []
    private(set) var isWholeBody = false
    /// Whether the body holds a secret, and so is not sent on to another origin.
    private(set) var isInBody = false
    /// Whether the body is pairs, whatever its content type says.
    var isForm = false

    init() {}

    /// A query pair, a form field or a part of a body of several parts.
    mutating func mark(name: String) { names.insert(name) }

    /// All pairs of a URL's query.
    mutating func mark(queryOf url: String) { names.formUnion(Secrets.queryNames(of: url)) }

    /// The value of a path arg.
    mutating func mark(pathValue value: String) {
        pathValues.insert(PercentEncoding.component(value))
        // What `{name*}` makes of it.
        if value.contains("/") {
            pathValues.formUnion(value.split(separator: "/").map { PercentEncoding.component(String($0)) })
        }
    }

    /// Something in the body, which its name tells; the whole body without one.
    mutating func markBody(name: String? = nil) {
        if let name { names.insert(name) } else { isWholeBody = true }
        isInBody = true
    }

    /// As a background session keeps them.
    var json: JSON {
        [
            "names": JSON(names.sorted().map { JSON($0) }), "pathValues": JSON(pathValues.sorted().map { JSON($0) }),
            "isWholeBody": JSON(isWholeBody), "isInBody": JSON(isInBody),
        ]
    }

    init(_ json: JSON?) {
        names = Set(json?["names"]?.array?.compactMap(\.string) ?? [])
        pathValues = Set(json?["pathValues"]?.array?.compactMap(\.string) ?? [])
        isWholeBody = json?["isWholeBody"]?.bool == true
        isInBody = json?["isInBody"]?.bool == true
    }

    /// The text of a body, or the beginning of it, without its secrets.
    func redact(body text: String) -> String {
        if isWholeBody { return Secrets.redacted }
        return isForm ? Secrets.redactPairs(text, alsoNamed: names) : Secrets.redact(text, alsoNamed: names)
    }

    func redact(url: String) -> String {
        let redacted = Secrets.redactURL(url, alsoNamed: names)
        guard !pathValues.isEmpty else { return redacted }
        let end = redacted.firstIndex(of: "?") ?? redacted.endIndex
        let segments = redacted[..<end].split(separator: "/", omittingEmptySubsequences: false)
        return segments.map { hasSecret($0) ? Secrets.redacted : String($0) }.joined(separator: "/") + redacted[end...]
    }

    // A value may be only a piece of its segment: the whole segment is hidden then.
    private func hasSecret(_ segment: Substring) -> Bool {
        pathValues.contains { !$0.isEmpty && String(segment).containsSubstring($0) }
    }

    func isSecret(part name: String) -> Bool { names.contains(name) || Secrets.isSecretName(name) }
}
