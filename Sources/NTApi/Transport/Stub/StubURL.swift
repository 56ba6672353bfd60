/// The URL or part of a URL that a stub expects.
///
/// `/notes/*` is the whole path on any server. `notes/*`, without the first slash, is the end of the path, like a
/// command below a base URL. With `https://…` the server must match, too. A * matches any characters within a path
/// segment or a query value; ** at the end of the path matches the rest. The query must have the given pairs, in any
/// order, and may have others.
struct StubURL: Sendable {
    private enum Extent: Sendable {
        case whole, beginning
        case end
    }

    private typealias Pair = (name: TextPattern, value: TextPattern)

    private let text: String
    /// scheme://host:port
    private var origin: String?
    private var segments: [TextPattern] = []
    private var extent = Extent.whole
    private var pairs: [Pair] = []
    private var isExact = false

    init(_ text: String) {
        self.text = text.isEmpty ? "**" : text
        var (path, query) = Self.split(text, at: "?")
        if path.containsSubstring("://") {
            let (server, rest) = Self.server(of: path)
            origin = server
            path = rest
        } else if !path.hasPrefix("/"), path != "**", !path.isEmpty {
            extent = .end
        }
        var texts = Self.segments(of: path)
        if texts.last == "**" || path.isEmpty {
            texts = texts.dropLast()
            // ** matches the rest: the path only has to begin like this.
            extent = .beginning
        }
        segments = texts.map { TextPattern(PercentEncoding.decode($0)) }
        pairs = Self.pairs(of: query ?? "").map { (TextPattern($0.name), TextPattern($0.value)) }
    }

    /// The URL of a recorded request, which must match exactly. Redacted parts match anything.
    ///
    /// - Parameter anyOrigin: whether to ignore the server.
    init(recorded url: String, anyOrigin: Bool) {
        text = url
        let (address, query) = Self.split(url, at: "?")
        let (server, path) = Self.server(of: address)
        if !anyOrigin { origin = server }
        segments = Self.segments(of: path).map { TextPattern(recorded: PercentEncoding.decode($0)) }
        pairs = Self.pairs(of: query ?? "").map { (TextPattern(recorded: $0.name), TextPattern(recorded: $0.value)) }
        isExact = true
    }

    var description: String { text }

    /// How a URL differs; nil when it matches.
    ///
    /// - Parameters:
    ///   - secrets: what the text must not show.
    ///   - closeness: grows with each part that matches.
    func mismatch(_ url: String, _ secrets: MarkedSecrets = MarkedSecrets(), closeness: inout Int) -> String? {
        let (address, query) = Self.split(Self.split(url, at: "#").0, at: "?")
        let (server, path) = Self.server(of: address)
        let found = Self.segments(of: path).map { PercentEncoding.decode($0) }
        let rightSegments = zip(segments, found).filter { $0.matches($1) }.count
        closeness += segments.isEmpty ? 0 : 4 * rightSegments / max(segments.count, found.count)
        guard matchesPath(found) else { return "the path is \(Self.server(of: secrets.redact(url: address)).1)" }
        closeness += 4
        if let origin, origin != server { return "the server is \(server)" }
        closeness += 1
        var rest = Self.pairs(of: query ?? "")
        for pair in pairs {
            guard let index = rest.firstIndex(where: { pair.name.matches($0.name) && pair.value.matches($0.value) })
            else {
                let others = rest.filter { pair.name.matches($0.name) }
                let name = pair.name.description
                guard let other = others.first else { return "the query has no \(name)" }
                let isSecret = Secrets.isSecretName(other.name) || secrets.names.contains(other.name)
                return "in the query, \(name) is \(quoted(isSecret ? Secrets.redacted : other.value))"
            }
            closeness += 1
            rest.remove(at: index)
        }
        if isExact, let more = rest.first { return "the query has \(more.name), too" }
        return nil
    }

    private func matchesPath(_ found: [String]) -> Bool {
        let compared: ArraySlice<String>
        switch extent {
        case .whole: compared = found[...]
        case .beginning: compared = found.prefix(segments.count)
        case .end: compared = found.suffix(segments.count)
        }
        return compared.count == segments.count && zip(segments, compared).allSatisfy { $0.matches($1) }
    }

    // MARK: Parts

    private static func split(_ text: String, at mark: Character) -> (String, String?) {
        guard let index = text.firstIndex(of: mark) else { return (text, nil) }
        return (String(text[..<index]), String(text[text.index(after: index)...]))
    }

    /// - Returns: scheme://host:port in lower case, always with the port; and the path.
    private static func server(of address: String) -> (String, String) {
        guard let colon = address.firstIndex(of: ":"), address[colon...].hasPrefix("://") else { return ("", address) }
        let scheme = String(address[..<colon]).lowercasedASCII()
        let rest = address[address.index(colon, offsetBy: 3)...]
        let authority = rest.prefix { $0 != "/" }
        let host = String(authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority)
            .lowercasedASCII()
        let afterBracket = host.lastIndex(of: "]").map { host[$0...] } ?? host[...]
        let port = afterBracket.contains(":") ? "" : scheme == "https" ? ":443" : ":80"
        return ("\(scheme)://\(host)\(port)", String(rest[authority.endIndex...]))
    }

    private static func segments(of path: String) -> [String] {
        var segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if segments.first == "" { segments.removeFirst() }
        // Ignore a final slash, except for a path that is only a slash.
        if segments.last == "" { segments.removeLast() }
        return segments
    }

    private static func pairs(of query: String) -> [(name: String, value: String)] {
        query.split(separator: "&").map { pair in
            let (name, value) = split(String(pair), at: "=")
            return (
                PercentEncoding.decode(name, plusIsSpace: true), PercentEncoding.decode(value ?? "", plusIsSpace: true)
            )
        }
    }
}

/// A piece of an expected URL: literal, or with * for any characters.
enum TextPattern: Sendable {
    case any
    case literal(String)
    /// The pieces between the stars.
    case glob([String])

    init(_ text: String) {
        let pieces = text.split(separator: "*", omittingEmptySubsequences: false).map(String.init)
        self = pieces.count == 1 ? .literal(text) : .glob(pieces)
    }

    /// The pattern of a recorded text: stars are literal, and a redacted text matches anything.
    init(recorded text: String) { self = text == Secrets.redacted ? .any : .literal(text) }

    /// The pattern of a recorded body: redacted parts match anything.
    init(recordedBody text: String) {
        var pieces: [String] = []
        var rest = text[...]
        while let end = Self.end(of: Secrets.redacted, in: rest) {
            pieces.append(String(rest[..<end].dropLast(Secrets.redacted.count)))
            rest = rest[end...]
        }
        self = pieces.isEmpty ? .literal(text) : .glob(pieces + [String(rest)])
    }

    func matches(_ text: String) -> Bool {
        switch self {
        case .any: return true
        case .literal(let literal): return text == literal
        case .glob(let pieces):
            guard let first = pieces.first, let last = pieces.last, text.hasPrefix(first) else { return false }
            var rest = text.dropFirst(first.count)
            for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
                guard let end = Self.end(of: piece, in: rest) else { return false }
                rest = rest[end...]
            }
            return rest.count >= last.count && rest.hasSuffix(last)
        }
    }

    // The end of the first occurrence.
    private static func end(of piece: String, in text: Substring) -> Substring.Index? {
        var start = text.startIndex
        while start < text.endIndex {
            if text[start...].hasPrefix(piece) { return text.index(start, offsetBy: piece.count) }
            start = text.index(after: start)
        }
        return nil
    }

    var description: String {
        switch self {
        case .any: Secrets.redacted
        case .literal(let text): text
        case .glob(let pieces): pieces.joined(separator: "*")
        }
    }
}
