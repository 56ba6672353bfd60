/// An absolute http or https URL in a service's JSON, checked by libcurl's parser.
///
/// For other schemes and relative URLs, declare a `String`. With Foundation: `URL(string: url.text)`.
public struct APIURL: Sendable, Hashable, RedactedMirror {
    /// The URL, unchanged.
    public let text: String

    /// - Throws: `invalid request`, which says what is wrong with the URL.
    public init(_ text: String) throws(APIError) {
        _ = try URLParts(text)
        self.text = text
    }

    /// The URL with its secrets redacted, for printing. ``text`` is the URL to request.
    public var description: String { printable(Secrets.redactURL(text)) }
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
