/// The parsed form of a path in a JSON document: `list[0].name` is key list, index 0, key name.
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

    /// Parses a path; nil when it is malformed or has an index beyond `Int`.
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

    /// Whether a byte is allowed only in quotes.
    static func isSpecial(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "\""): true
        default: false
        }
    }
}

/// Reads the steps of a path one after another, from its bytes, without making strings of the keys.
struct JSONPathReader {
    enum Step {
        /// The bytes are valid during the call.
        case key(UnsafeRawBufferPointer)
        case index(Int)
    }

    private let path: UnsafeRawBufferPointer
    private var position = 0

    /// Parses a path.
    ///
    /// - Parameter step: gets each step, and returns whether to continue.
    /// - Returns: whether the whole path was read. A path that is malformed may have had some steps.
    static func read(_ path: UnsafeRawBufferPointer, _ step: (Step) -> Bool) -> Bool {
        var reader = JSONPathReader(path: path)
        while reader.position < path.count {
            let isFirst = reader.position == 0
            let isRead =
                if reader.take("[") {
                    reader.bracket(step)
                } else {
                    (isFirst || reader.take(".")) && reader.key(step)
                }
            guard isRead else { return false }
        }
        return true
    }

    private init(path: UnsafeRawBufferPointer) {
        self.path = path
    }

    private mutating func key(_ step: (Step) -> Bool) -> Bool {
        let start = position
        while position < path.count, !JSONPath.isSpecial(path[position]) { position += 1 }
        return position > start && step(.key(UnsafeRawBufferPointer(rebasing: path[start..<position])))
    }

    private mutating func bracket(_ step: (Step) -> Bool) -> Bool {
        if take("\"") { return quoted(step) }
        let start = position
        var index = 0
        while position < path.count, path[position].isASCIIDigit {
            let (tens, tooMany) = index.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = tens.addingReportingOverflow(Int(path[position] - UInt8(ascii: "0")))
            guard !tooMany, !overflow else { return false }
            index = sum
            position += 1
        }
        return position > start && take("]") && step(.index(index))
    }

    private mutating func quoted(_ step: (Step) -> Bool) -> Bool {
        var key: [UInt8] = []
        while position < path.count {
            if take("\"") { return take("]") && key.withUnsafeBytes { step(.key($0)) } }
            if take("\\") {
                guard position < path.count else { return false }
                guard path[position] == UInt8(ascii: "\"") || path[position] == UInt8(ascii: "\\") else { return false }
            }
            key.append(path[position])
            position += 1
        }
        return false
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < path.count, path[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }
}

extension JSON {
    /// The value at a path such as `list[0].name` or `headers["X-Y"]`; nil when nothing is there.
    ///
    /// Keys are separated by dots and indexes stand in brackets. A key that is empty or contains any of `.[]"` stands
    /// in brackets and quotes, where `\"` and `\\` are the quote and the backslash. The empty path is the value itself.
    /// A malformed path is nil too.
    public subscript(path path: String) -> JSON? {
        var path = path
        return path.withUTF8 { value(atPath: UnsafeRawBufferPointer($0)) }
    }

    /// The value at a path in UTF-8.
    package func value(atPath path: UnsafeRawBufferPointer) -> JSON? {
        guard case .parsed(let document, let start) = storage else {
            var value: JSON? = self
            let isFound = JSONPathReader.read(path) { step in
                switch step {
                case .key(let key): value = value?.member(key)
                case .index(let index): value = value?[index]
                }
                return value != nil
            }
            return isFound ? value : nil
        }
        return document.place(atPath: path, from: Int(start)).map { JSON(document, $0) }
    }
}

extension JSONDocument {
    /// The place of the value at a path from another place. The values between are skipped.
    func place(atPath path: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var place = start
        let isFound = JSONPathReader.read(path) { step in
            let next: Int? =
                switch (step, tape.kind(place)) {
                case (.key(let key), .object): member(key, of: place)
                case (.index(let index), .array): element(index, of: place)
                default: nil
                }
            place = next ?? place
            return next != nil
        }
        return isFound ? place : nil
    }
}
