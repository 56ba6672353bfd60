/// A path inside a JSON document, taken apart: `list[0].name` is key list, index 0, key name.
///
///     path = [ ( key / bracket ) *( "." key / bracket ) ]
///     key = 1*( any character but . [ ] " )
///     bracket = "[" ( digits / quoted ) "]"
///     quoted = DQUOTE *( any character but DQUOTE and \ / "\" DQUOTE / "\\" ) DQUOTE
struct JSONPath: Sendable, Hashable {
    enum Step: Sendable, Hashable {
        case key(String)
        case index(Int)
    }

    let steps: [Step]

    /// Takes a path apart; nil when it is malformed, which includes indexes beyond `Int`.
    init?(_ text: String) {
        var parser = Parser(rest: text.utf8[...])
        guard let steps = parser.steps() else { return nil }
        self.steps = steps
    }
}

extension JSONPath: CustomStringConvertible {
    init(keys: [any CodingKey]) {
        steps = keys.map { key in key.intValue.map { .index($0) } ?? .key(key.stringValue) }
    }

    /// The path as it is written.
    var description: String {
        var text = ""
        for step in steps {
            switch step {
            case .index(let index): text += "[\(index)]"
            case .key(let key) where key.isEmpty || key.utf8.contains(where: Self.isSpecial):
                text += "[\""
                for character in key.unicodeScalars {
                    if character == "\"" || character == "\\" { text += "\\" }
                    text.unicodeScalars.append(character)
                }
                text += "\"]"
            case .key(let key): text += (text.isEmpty ? "" : ".") + key
            }
        }
        return text
    }

    /// Whether a byte may stand in quotes only.
    fileprivate static func isSpecial(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "\""): true
        default: false
        }
    }
}

/// Reads one step after another from the front of what is left.
private struct Parser {
    var rest: Substring.UTF8View

    mutating func steps() -> [JSONPath.Step]? {
        var steps: [JSONPath.Step] = []
        while let first = rest.first {
            let step: JSONPath.Step?
            if first == UInt8(ascii: "[") {
                rest.removeFirst()
                step = bracket()
            } else if steps.isEmpty {
                step = key()
            } else if take(".") {
                step = key()
            } else {
                return nil
            }
            guard let step else { return nil }
            steps.append(step)
        }
        return steps
    }

    private mutating func key() -> JSONPath.Step? {
        let key = rest.prefix { !JSONPath.isSpecial($0) }
        rest = rest[key.endIndex...]
        return key.isEmpty ? nil : .key(String(Substring(key)))
    }

    private mutating func bracket() -> JSONPath.Step? {
        let step = take("\"") ? quoted() : index()
        return take("]") ? step : nil
    }

    private mutating func index() -> JSONPath.Step? {
        // `Int` would also accept a sign.
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest[digits.endIndex...]
        return Int(Substring(digits)).map { .index($0) }
    }

    private mutating func quoted() -> JSONPath.Step? {
        var key: [UInt8] = []
        while var byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return .key(String(decoding: key, as: UTF8.self)) }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = rest.popFirst() else { return nil }
                guard escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else { return nil }
                byte = escaped
            }
            key.append(byte)
        }
        return nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }
}
