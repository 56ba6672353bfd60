/// The API's texts are HTML. This removes tags and entities.
struct HTMLText: Decodable, Sendable, CustomStringConvertible {
    let description: String

    init(from decoder: any Decoder) throws {
        self.init(html: try decoder.singleValueContainer().decode(String.self))
    }

    init(html: String) {
        var text = ""
        var rest = html[...]
        while let next = rest.popFirst() {
            if next == "<", let end = rest.firstIndex(of: ">") {
                rest = rest[end...].dropFirst()
            } else if next == "&", let end = rest.firstIndex(of: ";"),
                let character = Self.character(named: rest[..<end])
            {
                text.append(character)
                rest = rest[end...].dropFirst()
            } else {
                text.append(next)
            }
        }
        description = text
    }

    /// The entities that the API uses, and all numeric ones: `#39`, `#x27`.
    private static func character(named name: Substring) -> Character? {
        let named: [Substring: Character] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "nbsp": "\u{A0}"]
        if let character = named[name] { return character }
        guard name.hasPrefix("#") else { return nil }
        let number = name.dropFirst()
        let code = number.hasPrefix("x") ? UInt32(number.dropFirst(), radix: 16) : UInt32(number)
        return code.flatMap(Unicode.Scalar.init).map(Character.init)
    }
}
