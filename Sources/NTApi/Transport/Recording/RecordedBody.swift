/// A body in a recording, readable if possible, and without secrets.
enum RecordedBody: Sendable {
    case none
    case json(JSON)
    case form([(name: String, value: String)])
    case parts([Part])
    case text(String)
    case bytes([UInt8])
    /// The whole body is secret.
    case redacted
    /// It was too large to be kept. Only in a HAR.
    case omitted

    struct Part: Sendable {
        var name: String
        var filename: String?
        var contentType: String?
        var content: Content
    }

    enum Content: Sendable {
        case text(String)
        case bytes([UInt8])

        init(_ bytes: [UInt8]) {
            // The bytes are unreadable, or JSON cannot represent them.
            let isText = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || [0x09, 0x0A, 0x0D].contains($0) }
            let text = isText ? String(validating: bytes, as: UTF8.self) : nil
            self = text.map { .text($0) } ?? .bytes(bytes)
        }

        var bytes: [UInt8] {
            switch self {
            case .text(let text): Array(text.utf8)
            case .bytes(let bytes): bytes
            }
        }

        /// Redacts text of any type: JSON, lines, events. A picture is not changed.
        ///
        /// - Parameter names: additional names of secrets.
        func redacted(_ names: Set<String>) -> Content {
            switch self {
            case .text(let text): .text(Secrets.redact(text, alsoNamed: names))
            case .bytes: self
            }
        }

        /// Whether another content equals this one. Redacted parts match anything.
        func matches(_ other: [UInt8]) -> Bool {
            guard case .text(let text) = self, text.containsSubstring(Secrets.redacted) else { return bytes == other }
            let found = String(decoding: other, as: UTF8.self)
            if let json = try? JSON(parsing: text), let other = try? JSON(parsing: found) {
                return RecordedBody.matches(json, other)
            }
            return RecordedBody.matches(text, found)
        }
    }

    /// - Parameters:
    ///   - type: the Content-Type.
    ///   - names: additional names of secrets.
    init(_ bytes: [UInt8], type: String?, secretsNamed names: Set<String>) {
        let essence = String((type ?? "").prefix { $0 != ";" }).lowercasedASCII()
        let content = Content(bytes)
        if bytes.isEmpty {
            self = .none
        } else if essence == "application/x-www-form-urlencoded", case .text(let text) = content {
            self = .form(Self.pairs(Secrets.redactPairs(text, alsoNamed: names)))
        } else if essence.isEmpty || essence == "application/json" || essence.hasSuffix("+json"),
            let text = String(validating: bytes, as: UTF8.self),
            (try? JSON(parsing: text)) != nil,
            let json = try? JSON(parsing: Secrets.redact(text, alsoNamed: names))
        {
            self = .json(json)
        } else {
            switch content.redacted(names) {
            case .text(let text): self = .text(text)
            case .bytes(let bytes): self = .bytes(bytes)
            }
        }
    }

    /// The bytes for a replayed answer, and its Content-Type if none was recorded.
    var bytes: [UInt8] {
        switch self {
        case .none, .parts, .omitted: []
        case .json(let json): json.utf8()
        case .form(let pairs):
            Array(
                pairs.map {
                    "\(PercentEncoding.formComponent($0.name))=\(PercentEncoding.formComponent($0.value))"
                }.joined(separator: "&").utf8)
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        case .redacted: Array(Secrets.redacted.utf8)
        }
    }

    static func pairs(_ text: String) -> [(name: String, value: String)] {
        text.split(separator: "&").map { pair in
            let name = pair.prefix { $0 != "=" }
            let value = pair.dropFirst(name.count + 1)
            return (PercentEncoding.decode(name, plusIsSpace: true), PercentEncoding.decode(value, plusIsSpace: true))
        }
    }

    // MARK: Comparison

    /// Whether a request has this body. Redacted parts match anything.
    func matches(_ request: StubRequest) -> Bool {
        switch self {
        case .redacted, .omitted: return true
        case .none: return request.body.isEmpty
        case .json(let json):
            return request.json.map { Self.matches(json, $0) } ?? false
        case .form(let pairs):
            let found = Self.pairs(request.text)
            return found.count == pairs.count
                && zip(pairs, found).allSatisfy {
                    $0.name == $1.name && ($0.value == Secrets.redacted || $0.value == $1.value)
                }
        case .parts(let parts):
            let found = request.parts
            return found.count == parts.count
                && zip(parts, found).allSatisfy { mine, other in
                    mine.name == other.name && mine.filename == other.filename && mine.contentType == other.contentType
                        && (mine.isRedacted || mine.content.matches(other.content.bytes))
                }
        case .text(let text): return Content.text(text).matches(request.body)
        case .bytes(let bytes): return request.body == bytes
        }
    }

    /// Whether JSON matches the recorded one. Redacted values match anything.
    fileprivate static func matches(_ recorded: JSON, _ found: JSON) -> Bool {
        if recorded == found { return true }
        let names = redactedNames(in: recorded)
        let expected = try? JSON(parsing: Secrets.redact(recorded.text, alsoNamed: names))
        return expected != nil && expected == (try? JSON(parsing: Secrets.redact(found.text, alsoNamed: names)))
    }

    /// Whether a text matches the recorded one: all its pieces in order, with anything in place of redacted parts.
    fileprivate static func matches(_ recorded: String, _ found: String) -> Bool {
        TextPattern(recordedBody: recorded).matches(found)
    }

    private static func redactedNames(in json: JSON) -> Set<String> {
        var names: Set<String> = []
        var open = [JSONCursor(json)]
        while var cursor = open.popLast() {
            guard let child = cursor.next() else { continue }
            open.append(cursor)
            if let key = child.key, child.value.string == Secrets.redacted { names.insert(key.string) }
            open.append(JSONCursor(child.value))
        }
        return names
    }
}

extension RecordedBody.Part {
    var isRedacted: Bool {
        if case .text(Secrets.redacted) = content { true } else { false }
    }

    /// - Parameter names: additional names of secrets.
    init(_ part: HTTPRequest.Part, secretsNamed names: Set<String> = []) throws(APIError) {
        name = part.name
        filename = part.filename
        contentType = part.contentType
        let isSecret = names.contains(part.name) || (Secrets.isSecretName(part.name) && part.filename == nil)
        content = isSecret ? .text(Secrets.redacted) : .init(try MultipartText.content(of: part)).redacted(names)
    }
}
