/// A JSON value: null, a boolean, a number, a string, an array or an object; immutable and cheap to copy.
///
/// Values come from a response, from ``init(parsing:)-(String)``, or from Swift literals:
///
/// ```swift
/// let body: JSON = ["q": "London", "count": 20, "tags": ["a", "b"], "note": nil]
/// body["tags"]?[0]?.string          // "a"
/// body[path: "tags[1]"]?.string     // "b"
/// ```
///
/// Reading never fails loudly: what is missing or of another kind is `nil`. A value may be read from many threads at
/// once. A value taken out of a document stays valid after the document is gone.
///
/// Nesting is limited to 2,048 levels, as in RFC 8259 section 9. Text that nests deeper is an error; a value built deeper
/// gets null where the limit is passed.
public struct JSON: Sendable {
    /// The kinds of JSON values; numbers are told apart by whether they are 64-bit integers.
    public enum Kind: Sendable, Hashable {
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

    /// What a value is made of.
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
