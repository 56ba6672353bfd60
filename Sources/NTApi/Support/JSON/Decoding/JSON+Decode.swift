extension JSON {
    /// Makes a value of a type of the program's own.
    ///
    /// Members that the type does not ask for are ignored, and null reads as absent where the type allows it. Numbers
    /// arrive as declared: 3.0 is the `Int` 3, and what does not fit is an error. A property of type `JSON` keeps what
    /// stands there as it is. Nesting beyond 512 levels is an error.
    ///
    /// - Parameters:
    ///   - path: where the value is, such as `list[0]`; the whole value, unless given. What is not there reads as null.
    ///   - options: how the JSON writes keys, dates and numbers.
    /// - Throws: `unexpected JSON`, which names the path, what was expected there and what was found, or an `APIError` that
    ///   the type itself throws.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, at path: String = "", options: DecodingOptions = DecodingOptions()
    ) throws(APIError) -> Value {
        let (document, root) = try parsed()
        let found = path.withBytes { document.place(atPath: UnsafeRawBufferPointer($0), from: root) }
        guard let index = found else { return try JSON.absent(type, path) }
        let decoding = JSONDecoding(document, root: root, options)
        do {
            return try decoding.value(type, at: index)
        } catch {
            throw decoding.apiError(error)
        }
    }

    /// What a type makes of nothing: nil, if it is optional.
    private static func absent<Value: Decodable>(_ type: Value.Type, _ path: String) throws(APIError) -> Value {
        if type is any ExpressibleByNilLiteral.Type { return try JSON.null.decode(type) }
        throw APIError(
            domain: .json, code: .unexpectedJSON, message: "\(path): \(type) expected, nothing found")
    }

    /// The document that this is in, or one with the same text if the program made it.
    func parsed() throws(APIError) -> (JSONDocument, Int) {
        if case .parsed(let document, let index) = storage { return (document, Int(index)) }
        switch utf8().withUnsafeBytes({ JSONParser.parse(copying: $0) }).map(\.storage) {
        case .success(.parsed(let document, let index)): return (document, Int(index))
        case .failure(let error): throw APIError(domain: .json, code: .unexpectedJSON, message: "\(error)")
        case .success: throw APIError(domain: .json, code: .unexpectedJSON)
        }
    }
}

extension JSON: Decodable {
    /// Keeps a part of the JSON that is decoded as it is.
    ///
    /// - Throws: when the decoder is another than ``decode(_:)`` has, which could only make a copy of lesser quality.
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? JSONValueDecoder else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "JSON is decoded by JSON.decode alone"))
        }
        self = JSON(decoder.decoding.document, decoder.index)
    }
}
