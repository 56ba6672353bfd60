/// Parses JSON text, and response bodies that should be JSON text.
enum JSONParser {
    /// What the body of a response turned out to be.
    enum ResponseBody: Sendable, Equatable {
        /// Nothing but white space.
        case none
        /// JSON, with the stray text that came before it, if any did.
        case json(JSON, prefix: String?)
        /// Not JSON; the error is that of the whole body.
        case failure(JSONParseError)
    }

    /// Parses a copy of text that is one JSON value and nothing else.
    static func parse(copying text: UnsafeRawBufferPointer) -> Result<JSON, JSONParseError> {
        guard let bytes = Bytes.copy(text) else {
            return .failure(JSONParseError(at: 0, of: text, reason: "no memory"))
        }
        return parse(bytes)
    }

    /// Parses text that is one JSON value and nothing else. The value shares the bytes.
    static func parse(_ bytes: Bytes) -> Result<JSON, JSONParseError> {
        var loader = JSONLoader(bytes)
        switch loader.loadWhole(from: byteOrderMarkLength(of: bytes.buffer)) {
        case .value(let json, _): return .success(json)
        case .failure(let failure):
            return .failure(JSONParseError(at: failure.offset, of: bytes.buffer, reason: failure.reason))
        }
    }

    /// Parses a body. If that fails, looks for JSON at the end of the body after stray text, such as a PHP warning.
    ///
    /// `JSONRecovery` says which values are accepted and limits the work. The value shares the body's bytes.
    static func parseResponse(_ bytes: Bytes) -> ResponseBody {
        let buffer = bytes.buffer
        let start = byteOrderMarkLength(of: buffer)
        guard buffer[start...].contains(where: { !isWhiteSpace($0) }) else { return .none }
        var loader = JSONLoader(bytes)
        switch loader.loadWhole(from: start) {
        case .value(let json, _): return .json(json, prefix: nil)
        case .failure(let failure):
            var recovery = JSONRecovery(bytes, from: start)
            guard let (json, offset) = recovery.run() else {
                return .failure(JSONParseError(at: failure.offset, of: buffer, reason: failure.reason))
            }
            return .json(json, prefix: String(decoding: buffer[start..<offset], as: UTF8.self))
        }
    }

    /// 3 when the text begins with U+FEFF in UTF-8, else 0.
    static func byteOrderMarkLength(of bytes: UnsafeRawBufferPointer) -> Int {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// White space (RFC 8259, 2).
    @inline(__always)
    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

/// Parses the text in a body's bytes, or a part of it, and counts the work.
struct JSONLoader {
    enum Outcome {
        /// A value, and the offset right after it.
        case value(JSON, end: Int)
        case failure(Failure)
    }

    struct Failure {
        enum Cause { case syntax, depth }

        /// Where reading stopped. A misplaced bracket is the byte before.
        let offset: Int
        let reason: String
        var cause = Cause.syntax
    }

    let bytes: Bytes
    /// Bytes read so far: the work that was done.
    private(set) var bytesRead = 0

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    /// Loads text that must be one value up to the end, with only white space around it.
    mutating func loadWhole(from start: Int) -> Outcome {
        let outcome = loadFirst(from: start)
        guard case .value(_, let end) = outcome else { return outcome }
        let rest = bytes.buffer[end...]
        guard let stray = rest.firstIndex(where: { !JSONParser.isWhiteSpace($0) }) else { return outcome }
        bytesRead += stray - end
        return .failure(JSONDiagnosis(bytes.buffer).stray(at: stray))
    }

    /// Loads the value that the text begins with at an offset, whatever follows it.
    mutating func loadFirst(from start: Int) -> Outcome {
        let buffer = bytes.buffer
        // The tape has 31 bits for an offset.
        guard buffer.count <= Int(Int32.max) else { return .failure(Failure(offset: start, reason: "more than 2 GiB")) }
        guard let base = buffer.baseAddress, start <= buffer.count else {
            return .failure(Failure(offset: start, reason: "no text"))
        }
        let text = base.assumingMemoryBound(to: UInt8.self)
        do throws(JSONScanner.Problem) {
            let scanned = try JSONScanner.scan(text, count: buffer.count, from: start)
            bytesRead += scanned.end - start
            return .value(JSON(JSONDocument(bytes, text: text, scanned), 0), end: scanned.end)
        } catch {
            let failure = JSONDiagnosis(buffer).failure(error, from: start)
            bytesRead += failure.offset - start
            return .failure(failure)
        }
    }
}

/// Why and where a text is not JSON.
///
/// The position is where the parser stopped: right after the wrong token, or at the byte that is not UTF-8.
public struct JSONParseError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The line, from 1.
    public let line: Int

    /// The column in characters (Unicode scalars), from 1.
    public let column: Int

    /// The bytes before this place; a byte order mark counts.
    public let offset: Int

    /// What is wrong, in English. It may quote up to 20 bytes of the text.
    public let reason: String

    /// The position and the reason in one line.
    public var description: String {
        printable("line \(line), column \(column) (byte \(offset)): \(reason)")
    }

    /// Makes an error at a byte of a text; the line and the column are counted.
    init(at offset: Int, of text: UnsafeRawBufferPointer, reason: String) {
        let before = text.prefix(max(0, offset))
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // Every byte that does not continue a UTF-8 sequence begins a character. A byte order mark is not counted.
        let characters = before[lineStart...].count { $0 & 0xC0 != 0x80 }
        let isMarked = lineStart == 0 && before.count >= 3 && JSONParser.byteOrderMarkLength(of: text) > 0
        self.line = before.count { $0 == UInt8(ascii: "\n") } + 1
        self.column = characters + (isMarked ? 0 : 1)
        self.offset = before.count
        self.reason = reason
    }
}

/// The limit of nesting. RFC 8259, 9 allows one, and freeing a built value or a jansson tree recurses.
///
/// The height of a value is 0 for a scalar, 1 for `[]`, 2 for `[[]]`. Measuring it walks over the whole value, which
/// would make building in a loop (`a = [a]`) quadratic. So each array and object has an upper bound, which building
/// maintains at no cost. The walk happens only when the bound exceeds the limit.
enum JSONDepth {
    static let limit = 2048

    /// A value for an array or object, with a bound of its height. Null when the limit would be exceeded.
    static func fit(_ value: JSON) -> (JSON, heightBound: Int) {
        let bound = heightBound(value)
        if bound < limit { return (value, bound) }
        guard let height = height(of: value, limit: limit - 1) else { return (.null, 0) }
        return (value, height)
    }

    /// The exact height; nil when it is more than `limit`.
    static func height(of value: JSON, limit: Int) -> Int? {
        var height = 0
        var open: [JSONCursor] = value.isContainer ? [JSONCursor(value)] : []
        while var cursor = open.popLast() {
            height = max(height, open.count + 1)
            guard height <= limit else { return nil }
            guard let child = cursor.next() else { continue }
            open.append(cursor)
            if child.value.isContainer { open.append(JSONCursor(child.value)) }
        }
        return height
    }

    private static func heightBound(_ value: JSON) -> Int {
        switch value.storage {
        case .array(let array): array.heightBound
        case .object(let object): object.heightBound
        // The height of the whole document, unless this is a scalar.
        case .parsed(let document, let index): document.tape.isContainer(Int(index)) ? document.height : 0
        default: 0
        }
    }
}

extension JSON {
    var isContainer: Bool { kind == .array || kind == .object }
}

/// Explains what is wrong with a text that the scanner refused. It reads the token at which the scanner stopped again,
/// slowly.
///
/// The scanner only knows that it found something unexpected. A message should say whether it is a misplaced bracket,
/// an unknown escape, or the end of the text.
struct JSONDiagnosis {
    private let text: UnsafeRawBufferPointer

    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
    }

    /// - Parameter start: where the scanner began.
    func failure(_ problem: JSONScanner.Problem, from start: Int) -> JSONLoader.Failure {
        switch problem {
        case .memory: return JSONLoader.Failure(offset: start, reason: "no memory")
        case .depth(let offset):
            return JSONLoader.Failure(
                offset: offset + 1, reason: "more than \(JSONDepth.limit) levels of arrays and objects", cause: .depth)
        case .unexpected(let offset, let expected, let isInObject):
            let token = JSONToken(text, at: offset)
            switch (expected, token.kind) {
            case (_, .wrong), (_, .end): return failure(token, "")
            case (.value, _): return failure(token, "unexpected token")
            case (.commaOrEnd, _): return failure(token, "',' or '\(isInObject ? "}" : "]")' expected")
            case (.key, .string), (.keyOrEnd, .string): return failure(ofMember: token)
            case (.key, _): return failure(token, "unexpected token")
            case (.keyOrEnd, _): return failure(token, "a key in quotes or '}' expected")
            }
        }
    }

    /// There is text after the value.
    func stray(at offset: Int) -> JSONLoader.Failure {
        failure(JSONToken(text, at: offset), "unexpected text after the value")
    }

    /// The key is well-formed. Either it is not allowed, or no colon follows it.
    private func failure(ofMember key: JSONToken) -> JSONLoader.Failure {
        if key.containsNUL { return JSONLoader.Failure(offset: key.end, reason: "U+0000 in a key") }
        let next = text[key.end...].firstIndex { !JSONParser.isWhiteSpace($0) } ?? text.endIndex
        return failure(JSONToken(text, at: next), "':' expected")
    }

    private func failure(_ token: JSONToken, _ expectation: String) -> JSONLoader.Failure {
        let reason =
            switch token.kind {
            case .wrong(let reason): reason
            case .end: text.isEmpty ? "no text" : "unexpected end of the text"
            case .string, .other: expectation + token.quotation
            }
        return JSONLoader.Failure(offset: token.end, reason: reason)
    }
}

/// Finds JSON after stray text: an array or object that begins somewhere in a body and ends with it.
///
/// It must be certain that the text before is an accident:
/// - A body that begins as JSON is never recovered. A broken connection leaves JSON without its end, and
///   `[{"id":1},{"id":2}` must not be read as `{"id":2}`. If a body has two documents, neither is the answer.
/// - A body with another document in its stray text is not recovered either. Short brackets that programs print, such
///   as `[0]`, do not count.
/// - A value inside text that began as JSON is never used: after a failed attempt, the next begins where that one
///   stopped.
///
/// The last rule also limits the work for any body: no byte is read by two attempts, except the token at which one
/// stopped. There are at most 64 attempts.
struct JSONRecovery {
    static let maximumAttempts = 64

    private(set) var attempts = 0
    private(set) var loader: JSONLoader
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    /// Prepares the search from `start` in a text that is not JSON as a whole.
    init(_ body: Bytes, from start: Int) {
        loader = JSONLoader(body)
        bytes = body.buffer
        position = start
        // JSON contains no NUL.
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

    /// Moves to where a failed attempt stopped reading: the misplaced bracket there may begin the JSON.
    private mutating func skip(behind failure: JSONLoader.Failure, of start: Int) {
        // Text that nests too deep was JSON so far, and the rest is inside of it.
        position = failure.cause == .depth ? bytes.count : max(start + 1, failure.offset - 1)
    }

    private func nextCandidate(before last: Int) -> Int? {
        guard position < last else { return nil }
        return bytes[position..<last].indices.first { mayBegin(at: $0) }
    }

    /// Whether a bracket and a valid next token are here, so that `{color: red}` and `[notice]` cost no attempt.
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

    /// Whether a value in the stray text could be a service's answer: an object with members, or an array of arrays or
    /// objects.
    private func isDocument(_ json: JSON) -> Bool {
        guard json.kind == .array else { return json.count > 0 }
        return json.array?.contains { $0.kind == .array || $0.kind == .object } ?? false
    }
}
