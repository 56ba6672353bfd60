/// A JSON value: null, a boolean, a number, a string, an array or an object; immutable and cheap to copy.
///
/// Values come from a response, from ``init(parsing:)-(String)``, or from Swift literals:
///
/// ```swift
/// let body: JSON = ["q": "London", "count": 20, "tags": ["a", "b"], "note": .null]
/// body["tags"]?[0]?.string          // "a"
/// body[path: "tags[1]"]?.string     // "b"
/// ```
///
/// Reading never traps: a missing value, or one of another kind, is `nil`. A value may be read from many threads at
/// once. A value taken out of a document stays valid after the document is gone.
///
/// Nesting is limited to 2,048 levels, as RFC 8259, 9 allows. Text that nests deeper is an error; a value built deeper
/// gets null where the limit is passed.
public struct JSON: Sendable {
    /// The kinds of JSON values. Numbers are either 64-bit integers or doubles.
    public enum Kind: String, Sendable, Hashable {
        /// The literal null.
        case null
        /// The literal true or false.
        case bool
        /// A number written as an integer that fits 64 bits.
        case int
        /// Any other number.
        case double
        /// A string.
        case string
        /// An array.
        case array
        /// An object.
        case object
    }

    /// Where the value is stored.
    enum Storage {
        case null
        case bool(Bool)
        case int(Int64)
        case double(Double)
        /// UTF-8, made by the program.
        case string(Bytes)
        case array(JSONArray)
        case object(JSONObject)
        /// A place on the tape of a text that was parsed.
        case parsed(JSONDocument, Int32)
    }

    let storage: Storage

    init(_ storage: Storage) {
        self.storage = storage
    }

    /// The value at a place on the tape of a document.
    init(_ document: JSONDocument, _ index: Int) {
        // A tape has less than 2^31 words.
        storage = .parsed(document, Int32(truncatingIfNeeded: index))
    }

    /// The kind of this value.
    public var kind: Kind {
        switch storage {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .double: .double
        case .string: .string
        case .array: .array
        case .object: .object
        case .parsed(let document, let index): Kind(document.tape.kind(Int(index)))
        }
    }

    /// Whether this is the literal null.
    public var isNull: Bool { kind == .null }

    /// The boolean; nil for any other kind. The numbers 0 and 1 are not booleans.
    public var bool: Bool? {
        switch storage {
        case .bool(let value): value
        case .parsed(let document, let index): document.bool(at: Int(index))
        default: nil
        }
    }

    /// The integer; a double counts when its value is integral and in range, so that 3.0 and 3e0 read as 3.
    public var int: Int? { int64.flatMap(Int.init(exactly:)) }

    /// The 64-bit integer; a double counts when its value is integral and in range.
    public var int64: Int64? {
        switch storage {
        case .int(let value): value
        case .double(let value): JSONNumber.integral(value)
        case .parsed(let document, let index): document.int64(at: Int(index))
        default: nil
        }
    }

    /// The number as a double, integers too; those beyond 2^53 are rounded.
    public var double: Double? {
        switch storage {
        case .int(let value): Double(value)
        case .double(let value): value
        case .parsed(let document, let index): document.double(at: Int(index))
        default: nil
        }
    }

    /// The string; nil for any other kind. It may contain U+0000.
    public var string: String? {
        switch storage {
        case .string(let bytes): String(decoding: bytes.buffer, as: UTF8.self)
        case .parsed(let document, let index): document.string(at: Int(index))
        default: nil
        }
    }
}

extension JSON.Kind {
    init(_ kind: JSONTape.Kind) {
        self =
            switch kind {
            case .null: .null
            case .no, .yes: .bool
            case .int: .int
            case .double: .double
            case .plainString, .escapedString: .string
            case .array: .array
            case .object: .object
            }
    }
}

extension JSON {
    /// Makes a string.
    public init(_ value: String) {
        self.init(.string(Bytes.copy(value)))
    }

    /// Makes a boolean.
    public init(_ value: Bool) {
        self.init(.bool(value))
    }

    /// Makes an integer; one that does not fit 64 bits is of the kind double, as when it is parsed, and keeps its digits.
    public init(_ value: some BinaryInteger) {
        guard let integer = Int64(exactly: value) else {
            // A text beyond double is not parsed.
            self = (try? JSON(parsing: String(value))) ?? JSON(Double(value))
            return
        }
        self.init(.int(integer))
    }

    /// Makes a double. JSON has no text for infinities and NaN: they are written as null, and the arg `json` refuses
    /// them.
    public init(_ value: Double) {
        self.init(.double(value))
    }

    /// Makes an array; an element that would nest deeper than 2,048 levels becomes null.
    public init(_ elements: [JSON]) {
        self.init(.array(JSONArray(elements)))
    }

    /// Makes an object; the last of duplicate keys wins, and a value that would nest deeper than 2,048 levels becomes
    /// null.
    ///
    /// The members keep their order. A key may contain U+0000, but ``init(parsing:)-(String)`` refuses such a key.
    public init(_ members: [(String, JSON)]) {
        self.init(.object(JSONObject(members.map { (Bytes.copy($0), $1) })))
    }
}

// There is no nil literal: for a `JSON?`, `condition ? value : nil` would become JSON null.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// JSON null.
    public static let null = JSON(.null)

    /// Makes a boolean from `true` or `false`.
    public init(booleanLiteral value: Bool) {
        self.init(value)
    }

    /// Makes an integer from an integer literal.
    public init(integerLiteral value: Int64) {
        self.init(value)
    }

    /// Makes a double from a floating-point literal.
    public init(floatLiteral value: Double) {
        self.init(value)
    }

    /// Makes a string from a string literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// Makes an array from an array literal.
    public init(arrayLiteral elements: JSON...) {
        self.init(elements)
    }

    /// Makes an object from a dictionary literal, in the literal's order; the last of duplicate keys wins.
    public init(dictionaryLiteral members: (String, JSON)...) {
        self.init(members)
    }
}

extension JSON: Equatable {
    /// Whether two values are the same: numbers by value (1 equals 1.0), strings by bytes, objects in any order.
    ///
    /// Numbers of at most 17 digits are the same when they are the same double; of longer ones, each digit counts.
    public static func == (left: JSON, right: JSON) -> Bool {
        var pairs = [(left, right)]
        while let (left, right) = pairs.popLast() {
            if left.isSame(as: right) { continue }
            guard left.kind == .array || left.kind == .object else {
                guard areEqualScalars(left, right) else { return false }
                continue
            }
            // Keys are unique, so with equal counts it is enough to find each left key on the right.
            guard left.kind == right.kind, left.count == right.count else { return false }
            var leftCursor = JSONCursor(left)
            var rightCursor = JSONCursor(right)
            while let child = leftCursor.next() {
                // It is usually at the same place.
                let other = rightCursor.next()
                guard let key = child.key else {
                    guard let other else { return false }
                    pairs.append((child.value, other.value))
                    continue
                }
                let value = key.withUTF8 { key in
                    other?.key?.withUTF8({ $0.isEqual(to: key) }) == true ? other?.value : right.member(key)
                }
                guard let value else { return false }
                pairs.append((child.value, value))
            }
        }
        return true
    }

    /// Whether both are the same value in the same place, so that the content need not be compared.
    private func isSame(as other: JSON) -> Bool {
        switch (storage, other.storage) {
        case (.array(let left), .array(let right)): left === right
        case (.object(let left), .object(let right)): left === right
        case (.parsed(let left, let leftIndex), .parsed(let right, let rightIndex)):
            left === right && leftIndex == rightIndex
        default: false
        }
    }

    private static func areEqualScalars(_ left: JSON, _ right: JSON) -> Bool {
        switch (left.kind, right.kind) {
        case (.null, .null): true
        case (.bool, .bool): left.bool == right.bool
        case (.string, .string): left.withUTF8 { left in right.withUTF8 { $0.isEqual(to: left) } } == true
        case (.int, .int): left.int64 == right.int64
        case (.double, .double): areEqualDigits(left, right) ?? (left.double == right.double)
        // Swift compares an integer and a double by their exact values: 2^53 + 1 does not equal 2^53 as a double.
        case (.int, .double), (.double, .int):
            areEqualDigits(left, right) ?? (left.int64 != nil && left.int64 == right.int64)
        default: false
        }
    }

    /// Whether two numbers have the same digits; nil when doubles keep the digits of both.
    private static func areEqualDigits(_ left: JSON, _ right: JSON) -> Bool? {
        guard left.hasExcessDigits || right.hasExcessDigits else { return nil }
        return JSONDigits(left.utf8()) == JSONDigits(right.utf8())
    }

    /// Whether this is a number of a text that has more digits than a double keeps.
    var hasExcessDigits: Bool {
        guard kind == .double, case .parsed(let document, let index) = storage else { return false }
        let bytes = document.tape.bytes(Int(index))
        return bytes.count > JSONDigits.ofDouble && JSONDigits(bytes).digits.count > JSONDigits.ofDouble
    }

    /// Calls the body with the bytes of a string, without escapes; nil for any other kind.
    func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        switch storage {
        case .string(let bytes): body(bytes.buffer)
        case .parsed(let document, let index): document.withUTF8(at: Int(index), body)
        default: nil
        }
    }
}

extension JSON {
    /// Parses JSON text: one value of any kind, with optional white space and a byte order mark.
    ///
    /// The text must be UTF-8, as RFC 8259 requires. Integers beyond 64 bits are of the kind double, `\u0000` in strings
    /// is kept, and the last of duplicate keys wins. Nesting beyond 2,048 levels, numbers beyond double, lone
    /// surrogates, keys with U+0000 and anything after the value are errors.
    /// - Parameter bytes: the text; it need not be NUL-terminated, and is copied.
    /// - Throws: ``JSONParseError``, which says where and why.
    public init(parsing bytes: UnsafeRawBufferPointer) throws(JSONParseError) {
        self = try JSONParser.parse(copying: bytes).get()
    }

    /// Parses JSON text given as bytes; see the initializer above for what is accepted.
    public init(parsing bytes: [UInt8]) throws(JSONParseError) {
        self = try bytes.withUnsafeBytes { JSONParser.parse(copying: $0) }.get()
    }

    /// Parses JSON text given as a string.
    public init(parsing text: String) throws(JSONParseError) {
        var text = text
        self = try text.withUTF8 { JSONParser.parse(copying: UnsafeRawBufferPointer($0)) }.get()
    }

    /// The value as compact JSON text, which parses to an equal value.
    ///
    /// Members keep their order. Numbers that were parsed are written as they were in their text, with all digits. Doubles
    /// of the program are written with the fewest digits that read back as the same double.
    public var text: String {
        String(decoding: utf8(), as: UTF8.self)
    }

    /// The value as compact JSON text in UTF-8, without a byte order mark or a final NUL.
    public func utf8() -> [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }
}

extension JSON: CustomStringConvertible {
    /// The value as compact JSON text, the same as ``text``.
    public var description: String { text }
}
