/// A link of a `Link` header (RFC 8288, 3): `<https://api.example.com/issues?page=2>; rel="next"`.
struct WebLink: Equatable {
    /// The target as the server wrote it. It may be relative to the URL of the response.
    var target: String
    /// The relations, in lower case: `next`, `last`.
    var relations: [String]
    /// Whether the link starts from something other than the response.
    var hasAnchor = false

    /// The links in the lines of a header, in order. Skips malformed text and the rest of its line.
    static func parse(_ lines: [String]) -> [WebLink] {
        lines.flatMap { line in
            var reader = LinkReader(line)
            return reader.all()
        }
    }

    /// The target of the first link with this relation that starts from the response itself; nil when there is none.
    static func target(of relation: String, in lines: [String]) -> String? {
        let relation = relation.lowercasedASCII()
        return parse(lines).first { !$0.hasAnchor && $0.relations.contains(relation) }?.target
    }
}

/// Reads one line. Commas separate links, and semicolons come before parameters. Targets and quoted text may contain
/// both.
private struct LinkReader {
    private let bytes: [UInt8]
    private var index = 0

    /// Real servers send far fewer. A malicious line must not become a list of thousands.
    private static let maximumLinks = 64

    init(_ line: String) { bytes = Array(line.utf8) }

    mutating func all() -> [WebLink] {
        var links: [WebLink] = []
        while links.count < Self.maximumLinks {
            skip { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
            guard let link = takeLink() else { break }
            links.append(link)
        }
        return links
    }

    private mutating func takeLink() -> WebLink? {
        guard take(UInt8(ascii: "<")), let end = bytes[index...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
        var link = WebLink(target: String(decoding: bytes[index..<end], as: UTF8.self), relations: [])
        index = end + 1
        var hasRelation = false
        while takeAfterSpace(UInt8(ascii: ";")) {
            skip(Self.isSpace)
            let name = takeToken().lowercasedASCII()
            let value = takeAfterSpace(UInt8(ascii: "=")) ? takeValue() : ""
            switch name {
            case "anchor": link.hasAnchor = true
            // Only the first one counts (RFC 8288, 3.3).
            case "rel" where !hasRelation:
                hasRelation = true
                link.relations = value.lowercasedASCII().split(separator: " ").map(String.init)
            default: break
            }
        }
        return link
    }

    private mutating func takeValue() -> String {
        skip(Self.isSpace)
        guard take(UInt8(ascii: "\"")) else { return takeToken() }
        var value: [UInt8] = []
        while index < bytes.count, !take(UInt8(ascii: "\"")) {
            if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
            value.append(bytes[index])
            index += 1
        }
        return String(decoding: value, as: UTF8.self)
    }

    private mutating func takeToken() -> String {
        let start = index
        skip { !Self.isSpace($0) && !";,=\"".utf8.contains($0) }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func takeAfterSpace(_ byte: UInt8) -> Bool {
        skip(Self.isSpace)
        return take(byte)
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func skip(_ condition: (UInt8) -> Bool) {
        while index < bytes.count, condition(bytes[index]) { index += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
