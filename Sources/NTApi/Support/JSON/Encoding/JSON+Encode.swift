extension JSON {
    /// Makes JSON of a value of a type of the program's own: the other way of ``decode(_:at:options:)``.
    ///
    /// A nil member is left out, unless the type writes null itself; a member of type `JSON` stays as it is.
    ///
    /// - Parameters:
    ///   - value: such as `NewIssue(title: "Broken")`.
    ///   - options: how the JSON writes keys and dates, these in the first of the formats.
    /// - Throws: `invalid request`, which names the path and what cannot be written there: NaN, an integer beyond 64 bits, a
    ///   date in a format of the program's own, nesting beyond 512 levels; or an `APIError` that the type itself throws.
    public init(encoding value: some Encodable, options: DecodingOptions = DecodingOptions()) throws(APIError) {
        let tree = JSONTree()
        let encoding = JSONEncoding(options: options)
        do {
            try encoding.write(value, to: tree, [])
        } catch {
            throw encoding.apiError(error)
        }
        self = tree.json
    }
}

extension JSON: Encodable {
    public func encode(to encoder: any Encoder) throws {
        switch kind {
        case .array:
            var container = encoder.unkeyedContainer()
            for element in array ?? [] { try container.encode(element) }
        case .object:
            var container = encoder.container(keyedBy: JSONPathKey.self)
            for (key, value) in object ?? [] { try container.encode(value, forKey: .key(key)) }
        default:
            var container = encoder.singleValueContainer()
            switch kind {
            case .bool: try container.encode(bool ?? false)
            case .int: try container.encode(int64 ?? 0)
            case .double: try container.encode(double ?? 0)
            case .string: try container.encode(string ?? "")
            default: try container.encodeNil()
            }
        }
    }
}

extension APIDate: Encodable {
    /// In the first format of the options of ``JSON/init(encoding:options:)``; to another encoder in ISO 8601.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
