/// What a server says about an error in `application/problem+json` (RFC 9457).
///
/// A member of a wrong type counts as absent (3.1). The texts come from the server: they are neither redacted nor cut
/// nor escaped.
public struct ProblemDetails: Sendable, Equatable, CustomStringConvertible {
    /// A URI reference that names the kind of problem; "about:blank" if there is none: the status says all.
    public let type: String
    /// The kind of problem, for people.
    public let title: String?
    /// The status that the server gave the error. ``APIError/httpStatus`` is the one that arrived.
    public let status: Int?
    /// This occurrence of the problem, for people.
    public let detail: String?
    /// A URI reference that names this occurrence.
    public let instance: String?
    /// The other members, as an object.
    public let extensions: JSON

    /// Reads the members of a JSON object; nil for any other JSON.
    public init?(_ json: JSON) {
        guard let members = json.object else { return nil }
        type = json["type"]?.string ?? "about:blank"
        title = json["title"]?.string
        status = json["status"]?.int
        detail = json["detail"]?.string
        instance = json["instance"]?.string
        extensions = JSON(members.filter { !Self.defines($0.key) }.map { ($0.key, $0.value) })
    }

    private static func defines(_ name: String) -> Bool {
        switch name {
        case "type", "title", "status", "detail", "instance": true
        default: false
        }
    }

    /// All members as an object, without those of a wrong type.
    public var json: JSON {
        let own: [(String, JSON?)] = [
            ("type", JSON(type)), ("title", title.map { JSON($0) }), ("status", status.map { JSON($0) }),
            ("detail", detail.map { JSON($0) }), ("instance", instance.map { JSON($0) }),
        ]
        let others = (extensions.object ?? []).map { ($0.key, $0.value) }
        return JSON(own.compactMap { name, value in value.map { (name, $0) } } + others)
    }

    /// The title and the detail; the type if there is neither.
    public var description: String { printable(words.isEmpty ? type : words.joined(separator: ": ")) }

    /// What the server says for people: the title, then the detail.
    var words: [String] { [title, detail].compactMap(\.self).filter { !$0.isEmpty } }
}
