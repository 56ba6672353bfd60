extension JSON {
    /// Makes a string.
    public init(_ value: String) {
        self.init(.string(Bytes.copy(value)))
    }

    /// Makes a boolean.
    public init(_ value: Bool) {
        self.init(.bool(value))
    }

    /// Makes an integer; one that does not fit 64 bits becomes a double, as it does when parsed.
    public init(_ value: some BinaryInteger) {
        guard let integer = Int64(exactly: value) else {
            self.init(Double(value))
            return
        }
        self.init(.int(integer))
    }

    /// Makes a double; infinities and NaN become null, because JSON has no text for them.
    public init(_ value: Double) {
        self.init(value.isFinite ? .double(value) : .null)
    }

    /// Makes an array; an element that would nest deeper than 2,048 levels becomes null.
    public init(_ elements: [JSON]) {
        self.init(.array(JSONArray(elements)))
    }

    /// Makes an object; the last of duplicate keys wins, and a value that would nest deeper than 2,048 levels becomes null.
    ///
    /// The members keep their order. A key may contain U+0000, but ``init(parsing:)-(String)`` refuses such a key.
    public init(_ members: [(String, JSON)]) {
        self.init(.object(JSONObject(members.map { (Bytes.copy($0), $1) })))
    }
}

// Not by the nil literal: where a `JSON?` is wanted, `condition ? value : nil` would make JSON null of it.
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
