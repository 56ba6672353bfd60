/// A piece of a URL that a stub expects: as it is, or with * for any characters.
enum TextPattern: Sendable {
    case any
    case literal(String)
    /// The pieces between the stars.
    case glob([String])

    init(_ text: String) {
        let pieces = text.split(separator: "*", omittingEmptySubsequences: false).map(String.init)
        self = pieces.count == 1 ? .literal(text) : .glob(pieces)
    }

    /// As a recording has it: stars are stars, and what was redacted may be anything.
    init(recorded text: String) { self = text == Secrets.redacted ? .any : .literal(text) }

    /// Of a body as a recording has it: anything where something was redacted.
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

    // Where the first of it ends.
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
