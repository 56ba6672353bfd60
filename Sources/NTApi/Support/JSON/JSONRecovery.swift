/// Finds JSON behind stray text: an array or object that begins somewhere in a body and ends it.
///
/// A connection that breaks leaves JSON without its end, and `[{"id":1},{"id":2}` must not be read as `{"id":2}`. So a
/// value inside something that began as JSON is never taken: where an attempt fails, the next begins where that one
/// stopped reading, not inside of what it read.
///
/// The same rule bounds the work, whatever the body: no byte is read by two attempts, but for those of the token at which
/// one stopped. Besides, there are at most 64 attempts.
struct JSONRecovery {
    static let maximumAttempts = 64

    private(set) var attempts = 0
    private(set) var loader: JSONLoader
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    /// Prepares the search after the whole text, from `start` on, failed.
    init(_ body: Bytes, from start: Int, whole failure: JSONLoader.Failure) {
        loader = JSONLoader(body)
        bytes = body.buffer
        position = start
        // That failure was the first attempt, if the text begins as JSON does.
        if let first = bytes[start...].firstIndex(where: { !JSONParser.isWhiteSpace($0) }), mayBegin(at: first) {
            skip(behind: failure, of: start)
        }
        // NUL is no part of JSON.
        if let lastNUL = bytes.lastIndex(of: 0) { position = max(position, lastNUL + 1) }
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
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): !isObject
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            !isObject && ["true", "false", "null"].contains { rest.starts(with: $0.utf8) }
        default: false
        }
    }
}
