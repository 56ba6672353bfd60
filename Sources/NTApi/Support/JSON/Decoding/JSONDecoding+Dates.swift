// Dates, for which JSON has no form.
extension JSONDecoding {
    func date(at index: Int) throws -> APIDate { try date(at: index, options.dates) }

    /// - Parameter formats: tried in order.
    func date(at index: Int, _ formats: [DateFormat]) throws -> APIDate {
        for format in formats {
            if let date = read(format, at: index) { return date }
        }
        throw mismatch("date (\(formats.map(\.name).joined(separator: " or ")))", at: index)
    }

    private func read(_ format: DateFormat, at index: Int) -> APIDate? {
        switch format.kind {
        case .iso8601:
            document.withUTF8(at: index, ISO8601.seconds).flatMap { $0 }.map { APIDate(secondsSince1970: $0) }
        case .seconds: number(at: index).map { APIDate(secondsSince1970: $0) }
        case .milliseconds: number(at: index).map { APIDate(secondsSince1970: $0 / 1000) }
        case .http: document.string(at: index).flatMap(APIDate.init(http:))
        case .custom(let read, _): read(JSON(document, index))
        }
    }
}

extension APIDate: Decodable {
    /// Reads a date in the formats of the ``DecodingOptions``.
    ///
    /// - Throws: when the decoder is another than `JSON.decode` has, which knows of no formats.
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? JSONValueDecoder else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "APIDate is decoded by JSON.decode alone"))
        }
        self = try decoder.decoding.date(at: decoder.index)
    }
}

extension APIDate: APIArgValue {
    /// The date of ISO 8601 in UTC.
    public var argText: String? { secondsSince1970.isFinite ? description : nil }
}
