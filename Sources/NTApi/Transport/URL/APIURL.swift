/// An absolute http or https URL that a service tells of, checked by the same parser that connects.
///
/// For URLs of other schemes and for relative ones, declare a `String`. With Foundation: `URL(string: url.text)`.
public struct APIURL: Sendable, Hashable, CustomStringConvertible {
    /// The URL as it was given.
    public let text: String

    /// - Throws: `invalid request`, which says what is wrong with the URL.
    public init(_ text: String) throws(APIError) {
        _ = try URLParts(text)
        self.text = text
    }

    /// The URL with its secrets redacted, to be printed; ``text`` is the one to ask for.
    public var description: String { Secrets.redactURL(text) }
}

extension APIURL: Decodable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do throws(APIError) {
            try self.init(text)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "URL expected: \(error.message)"))
        }
    }
}

extension APIURL: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension APIURL: APIArgValue {
    public var argText: String? { text }
}
