import CJansson

// JSON text that a program hands in at the C boundary. The rules are those of all JSON, and the errors are jansson's.
extension JSON {
    /// Reads text with jansson's loader, and copies the tree. For bodies there is the tape, some 30 times as fast.
    package init(loading text: UnsafeRawBufferPointer) throws(JSONParseError) {
        self = try JanssonLoader.load(text).get()
    }
}

/// Reads with jansson what jansson can read by our rules. No flag of it helps with the rest, which goes onto the tape.
private enum JanssonLoader {
    /// The levels of arrays and objects up to which jansson is asked. It recurses, and needs some 90 bytes of stack for
    /// each: with its own limit it would overflow the stack of a small thread.
    private static let deepest = 256

    static func load(_ text: UnsafeRawBufferPointer) -> Result<JSON, JSONParseError> {
        // jansson takes a NUL byte behind a value for the end of the text.
        guard !text.contains(0), !isDeep(text) else { return JSONParser.parse(copying: text) }
        JSONHashSeed.plant()
        let mark = JSONParser.byteOrderMarkLength(of: text)
        var problem = json_error_t()
        let tree = JSON.withChars(UnsafeRawBufferPointer(rebasing: text[mark...])) {
            json_loadb($0, $1, Int(JSON_DECODE_ANY | JSON_ALLOW_NUL), &problem)
        }
        guard let tree else {
            let theirs = JSONParseError(at: Int(problem.position) + mark, of: text, reason: reason(problem))
            guard json_error_code(&problem) == json_error_numeric_overflow else { return .failure(theirs) }
            // An integer beyond 64 bits is a double, where jansson makes doubles of all integers or refuses.
            let parsed = JSONParser.parse(copying: text)
            if case .failure(let mine) = parsed, mine.offset == theirs.offset { return .failure(theirs) }
            return parsed
        }
        defer { json_decref(tree) }
        return JSON(jansson: UnsafeRawPointer(tree)).map(Result.success) ?? JSONParser.parse(copying: text)
    }

    /// Whether arrays and objects nest deeper than `deepest`, as far as the text is JSON.
    private static func isDeep(_ text: UnsafeRawBufferPointer) -> Bool {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in text {
            if isInString {
                if !isEscaped, byte == UInt8(ascii: "\"") { isInString = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > deepest { return true }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return false
    }

    private static func reason(_ problem: json_error_t) -> String {
        withUnsafeBytes(of: problem.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
