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

    let node: JSONNode

    init(_ node: JSONNode) {
        self.node = node
    }

    /// The kind of this value.
    public var kind: Kind { node.read { $0.kind } }

    /// Whether this is the literal null.
    public var isNull: Bool { kind == .null }

    /// The boolean; nil for any other kind. The numbers 0 and 1 are not booleans.
    public var bool: Bool? { node.read { $0.bool } }

    /// The integer; a double counts when its value is integral and in range, so that 3.0 and 3e0 read as 3.
    public var int: Int? { int64.flatMap(Int.init(exactly:)) }

    /// The 64-bit integer; a double counts when its value is integral and in range.
    public var int64: Int64? {
        node.read { ref in
            switch ref.kind {
            case .int: ref.integer
            case .double: ref.integralReal
            default: nil
            }
        }
    }

    /// The number as a double, integers too; those beyond 2^53 are rounded.
    public var double: Double? {
        node.read { ref in
            switch ref.kind {
            case .int: Double(ref.integer)
            case .double: ref.real
            default: nil
            }
        }
    }

    /// The string; nil for any other kind. It may contain U+0000.
    public var string: String? {
        node.read { ref in ref.utf8.map { String(decoding: $0, as: UTF8.self) } }
    }
}
