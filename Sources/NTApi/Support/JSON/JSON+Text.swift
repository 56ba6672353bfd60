extension JSON {
    /// Parses JSON text: any value, alone but for white space and a byte order mark.
    ///
    /// The text must be UTF-8 as RFC 8259 has it. Integers beyond 64 bits become doubles, `\u0000` in strings is kept, and
    /// the last of duplicate keys wins. Nesting beyond 2,048 levels, numbers beyond double, lone surrogates, keys
    /// with U+0000 and anything after the value are errors.
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
    /// Members keep their order. Doubles are written with the fewest digits that read back as the same double.
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
