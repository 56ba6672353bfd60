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

        init(_ step: JSONPathReader.Step) {
            switch step {
            case .key(let key): self = .key(String(decoding: key, as: UTF8.self))
            case .index(let index): self = .index(index)
            }
        }
    }

    let steps: [Step]

    /// Takes a path apart; nil when it is malformed, which includes indexes beyond `Int`.
    init?(_ text: String) {
        var text = text
        var steps: [Step] = []
        let isWellFormed = text.withUTF8 { utf8 in
            JSONPathReader.read(UnsafeRawBufferPointer(utf8)) { step in
                steps.append(Step(step))
                return true
            }
        }
        guard isWellFormed else { return nil }
        self.steps = steps
    }
}

extension JSONPath: CustomStringConvertible {
    init(steps: [Step]) { self.steps = steps }

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
    static func isSpecial(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "\""): true
        default: false
        }
    }
}
