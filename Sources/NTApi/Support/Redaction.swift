// Removes secrets from text. Everything that the library prints of a message passes through here. Names are decoded
// before they are compared, because a reader could decode them too.
extension Secrets {
    /// How many levels of JSON inside strings, and of URLs inside queries, are searched. Deeper levels are hidden
    /// completely.
    static let maximumNesting = 4

    /// Redacts a body or a part of it: JSON, JSON lines, events, or text with names and values.
    static func redact(_ text: String, alsoNamed names: Set<String> = [], nesting: Int = 0) -> String {
        guard nesting < maximumNesting else { return redacted }
        if isJSON(text) { return redactText(text, names, isJSON: true, nesting) }
        return redactLines(text, names, nesting) ?? redactText(text, names, isJSON: false, nesting)
    }

    /// Redacts the URLs in a text. The rest of the text does not change.
    static func redactURLs(in text: String, alsoNamed names: Set<String> = [], nesting: Int = 0) -> String {
        var output: [UInt8] = []
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            if let end = URLText.end(bytes, from: index) {
                let url = String(decoding: bytes[index..<end], as: UTF8.self)
                output += Array(redactURL(url, alsoNamed: names, nesting: nesting).utf8)
                index = end
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Redacts the secret query pairs of a URL, and a user:password before the host. Also works on text that is not a
    /// URL, which error messages quote.
    static func redactURL(_ url: String, alsoNamed names: Set<String> = [], nesting: Int = 0) -> String {
        let withoutUser = URLText.redactUser(url)
        let end = withoutUser.firstIndex { $0 == "?" || $0 == "#" } ?? withoutUser.endIndex
        // Parameters of a segment: `/list;jsessionid=...`.
        let path = withoutUser[..<end].split(separator: "/", omittingEmptySubsequences: false).map { segment in
            segment.split(separator: ";", omittingEmptySubsequences: false).map {
                redactPair($0, names, nesting)
            }.joined(separator: ";")
        }.joined(separator: "/")
        // The fragment may also be pairs: OAuth's implicit grant passes its token there.
        let marks: [Character] = ["?", "#"]
        return marks.reduce(path + withoutUser[end...]) { text, mark in
            guard let start = text.firstIndex(of: mark) else { return text }
            let pairs = text[text.index(after: start)...].split(
                separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            return text[...start] + redactPairs(pairs[0], alsoNamed: names, nesting: nesting)
                + pairs.dropFirst().map { "#\($0)" }.joined()
        }
    }

    /// The names of the pairs in a URL's query.
    static func queryNames(of url: String) -> [String] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        let query = url[url.index(after: mark)...].prefix { $0 != "#" }
        return query.split(separator: "&").map { pair in
            PercentEncoding.decode(pair.prefix { $0 != "=" }, plusIsSpace: true)
        }
    }

    /// Redacts the values of secret name=value pairs.
    static func redactPairs(
        _ pairs: some StringProtocol, alsoNamed names: Set<String> = [], nesting: Int = 0
    ) -> String {
        pairs.split(separator: "&", omittingEmptySubsequences: false).map { redactPair($0, names, nesting) }
            .joined(separator: "&")
    }

    private static func redactPair(_ pair: some StringProtocol, _ names: Set<String>, _ nesting: Int) -> String {
        guard let equals = pair.firstIndex(of: "="), pair.index(after: equals) < pair.endIndex else {
            return String(pair)
        }
        let name = PercentEncoding.decode(pair[..<equals], plusIsSpace: true)
        if isSecretName(name) || names.contains(name) { return "\(pair[...equals])\(redacted)" }
        let value = PercentEncoding.decode(pair[pair.index(after: equals)...], plusIsSpace: true)
        return isRedacted(value, names, nesting) ? "\(pair[...equals])\(redacted)" : String(pair)
    }

    /// Whether a value contains secrets itself: a URL with a token, or JSON.
    private static func isRedacted(_ value: String, _ names: Set<String>, _ nesting: Int) -> Bool {
        let isJSON = value.hasASCIIPrefix("{") || value.hasASCIIPrefix("[")
        guard isJSON || value.containsSubstring("://") else { return false }
        guard nesting + 1 < maximumNesting else { return true }
        return isJSON
            ? redact(value, alsoNamed: names, nesting: nesting + 1) != value
            : redactURLs(in: value, alsoNamed: names, nesting: nesting + 1) != value
    }

    /// Redacts the value of a setting. A text may be a URL without a scheme, as for a proxy.
    static func redact(setting name: String, _ value: JSON) -> String {
        // Headers in another form than an object have no names to tell the secrets by.
        guard !isSecretName(name), name != "additionalHeaders" || value.object != nil else { return redacted }
        return value.string.map { JSON(redactURL($0)).text } ?? redact(value.text)
    }

    // MARK: Bodies

    private static func redactText(_ text: String, _ names: Set<String>, isJSON: Bool, _ nesting: Int) -> String {
        var redactor = TextRedactor(text, names, isJSON: isJSON, nesting)
        return redactor.run()
    }

    private static func isJSON(_ text: String) -> Bool { (try? JSON(parsing: text)) != nil }

    /// Redacts JSON lines and events line by line; nil when a line has incomplete JSON, or no line has JSON.
    private static func redactLines(_ text: String, _ names: Set<String>, _ nesting: Int) -> String? {
        var lines: [String] = []
        var hasJSON = false
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            let field = line.hasPrefix("data:") ? line.prefix(5) : line.prefix(0)
            let value = line.dropFirst(field.count)
            if let first = value.first(where: { $0 != " " }), first == "{" || first == "[" || !field.isEmpty {
                guard isJSON(String(value)) else { return nil }
                hasJSON = true
                lines.append(field + redactText(String(value), names, isJSON: true, nesting))
            } else {
                lines.append(redactText(String(line), names, isJSON: false, nesting))
            }
        }
        guard hasJSON else { return nil }
        // Keep the original line breaks.
        var result = ""
        var rest = text[...]
        for line in lines {
            result += line
            rest = rest.drop { !$0.isNewline }
            if let end = rest.popFirst() { result.append(end) }
        }
        return result
    }
}

/// Finds URLs in a text, and the user part of a URL.
enum URLText {
    /// The end of the URL that begins here; nil when no URL begins here.
    static func end(_ bytes: [UInt8], from start: Int) -> Int? {
        guard bytes[start].isASCIILetter, start == 0 || !isOfScheme(bytes[start - 1]) else { return nil }
        guard let colon = bytes[start...].firstIndex(where: { !isOfScheme($0) }),
            bytes[colon...].starts(with: "://".utf8)
        else { return nil }
        let outside = Array("\"'<>`\\".utf8)
        var end = colon
        while let next = bytes[end...].firstIndex(where: { $0 <= 0x20 || $0 == 0x7F || outside.contains($0) }) {
            // An earlier redaction is part of the URL.
            guard bytes[next...].starts(with: Secrets.redacted.utf8) else { return next }
            end = next + Secrets.redacted.utf8.count
        }
        return bytes.count
    }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    /// Hides the user part before the host, even when the scheme or slashes are missing or there are too many slashes.
    static func redactUser(_ url: String) -> String {
        let bytes = Array(url.utf8)
        guard bytes.contains(UInt8(ascii: "@")), let start = startOfAuthority(bytes) else { return url }
        let ends = Array("/?#\\".utf8)
        let end = bytes[start...].firstIndex { ends.contains($0) } ?? bytes.count
        var at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@"))
        if at == nil, hasPasswordCutOff(bytes[start..<end]) { at = bytes.lastIndex(of: UInt8(ascii: "@")) }
        guard let at else { return url }
        return String(decoding: bytes[..<start] + Array(Secrets.redacted.utf8) + bytes[at...], as: UTF8.self)
    }

    /// Nil when the text is a path.
    private static func startOfAuthority(_ bytes: [UInt8]) -> Int? {
        let slashes = Array("/\\".utf8)
        let colon = bytes.firstIndex { !isOfScheme($0) }
        if let colon, colon > 0, bytes[colon] == UInt8(ascii: ":"), colon + 1 < bytes.count,
            slashes.contains(bytes[colon + 1])
        {
            return bytes[(colon + 1)...].firstIndex { !slashes.contains($0) } ?? bytes.count
        }
        let start = bytes.firstIndex { !slashes.contains($0) } ?? bytes.count
        return start == 1 ? nil : start
    }

    /// `user:pa/ss@host`: what follows the colon is not a port, so the slash belongs to a password.
    private static func hasPasswordCutOff(_ authority: ArraySlice<UInt8>) -> Bool {
        guard authority.first != UInt8(ascii: "["), let colon = authority.lastIndex(of: UInt8(ascii: ":")) else {
            return false
        }
        return !authority[(colon + 1)...].allSatisfy(\.isASCIIDigit)
    }
}
