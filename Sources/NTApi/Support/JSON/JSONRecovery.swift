/// Finds JSON behind stray text: an array or object that begins somewhere in a body and ends it.
///
/// It has to be sure that there was an accident:
/// - A body that begins as JSON is never rescued. A connection that breaks leaves JSON without its end, and
///   `[{"id":1},{"id":2}` must not be read as `{"id":2}`; and of two documents in one body none is the answer.
/// - Nor is a body with another document in its stray text. Brackets such as `[0]`, which programs print, are none.
/// - A value inside something that began as JSON is never taken: where an attempt fails, the next begins where that one
///   stopped reading, not inside of what it read.
///
/// The last rule bounds the work, too, whatever the body: no byte is read by two attempts, but for those of the token at
/// which one stopped. Besides, there are at most 64 attempts.
struct JSONRecovery {
    static let maximumAttempts = 64

    private(set) var attempts = 0
    private(set) var loader: JSONLoader
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    /// Prepares the search in a text, from `start` on, that is no JSON as a whole.
    init(_ body: Bytes, from start: Int) {
        loader = JSONLoader(body)
        bytes = body.buffer
        position = start
        // NUL is no part of JSON.
        if let lastNUL = bytes.lastIndex(of: 0) { position = max(position, lastNUL + 1) }
        let first = bytes[start...].firstIndex { !JSONParser.isWhiteSpace($0) }
        if let first, bytes[first] == UInt8(ascii: "\"") || mayBegin(at: first) || isScalar(bytes[first...]) {
            position = bytes.count
        }
    }

    /// The first value found and its offset; nil when there is none.
    mutating func run() -> (JSON, offset: Int)? {
        guard let last = bytes.lastIndex(where: { !JSONParser.isWhiteSpace($0) }) else { return nil }
        guard bytes[last] == UInt8(ascii: "}") || bytes[last] == UInt8(ascii: "]") else { return nil }
        while let candidate = nextCandidate(before: last) {
            guard attempts < Self.maximumAttempts else { return nil }
            attempts += 1
            switch loader.loadFirst(from: candidate) {
            case .value(let json, let end):
                if end > last { return (json, candidate) }
                if isDocument(json) { return nil }
                position = end
            case .failure(let failure):
                skip(behind: failure, of: candidate)
            }
        }
        return nil
    }

    /// Moves on to where a failed attempt stopped reading: a bracket there that did not belong may begin the JSON.
    private mutating func skip(behind failure: JSONLoader.Failure, of start: Int) {
        // What nests too deep was JSON so far, and all that is left is inside of it.
        position = failure.cause == .depth ? bytes.count : max(start + 1, failure.offset - 1)
    }

    private func nextCandidate(before last: Int) -> Int? {
        guard position < last else { return nil }
        return bytes[position..<last].indices.first { mayBegin(at: $0) }
    }

    /// Whether a bracket with what belongs behind it stands there, so that `{color: red}` and `[notice]` cost no attempt.
    private func mayBegin(at index: Int) -> Bool {
        let isObject = bytes[index] == UInt8(ascii: "{")
        guard isObject || bytes[index] == UInt8(ascii: "[") else { return false }
        let rest = bytes[(index + 1)...].drop(while: JSONParser.isWhiteSpace)
        guard let next = rest.first else { return false }
        return switch next {
        case UInt8(ascii: "\""): true
        case UInt8(ascii: "}"): isObject
        case UInt8(ascii: "]"), UInt8(ascii: "["), UInt8(ascii: "{"): !isObject
        default: !isObject && isScalar(rest)
        }
    }

    /// Whether a text begins with a number, `true`, `false` or `null`, and not with a date or a word.
    private func isScalar(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        let token = text.prefix { $0.isASCIILetter || $0.isASCIIDigit || "+-._:/".utf8.contains($0) }
        guard let first = token.first else { return false }
        if first.isASCIILetter { return ["true", "false", "null"].contains { token.elementsEqual($0.utf8) } }
        guard first.isASCIIDigit || first == UInt8(ascii: "-"), token.allSatisfy(JSONNumber.isPart) else {
            return false
        }
        return Double(String(decoding: token, as: UTF8.self)) != nil
    }

    /// Whether a value in the stray text is one that a service answers with: an object with members, or an array of
    /// arrays or objects.
    private func isDocument(_ json: JSON) -> Bool {
        guard json.kind == .array else { return json.count > 0 }
        return json.array?.contains { $0.kind == .array || $0.kind == .object } ?? false
    }
}
