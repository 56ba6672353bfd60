extension JSON {
    /// Decodes the value as a type of the program.
    ///
    /// Members that the type does not ask for are ignored. Null reads as absent where the type allows it. A whole
    /// number decodes as an integer, also when it is written as 3.0. A number that does not fit is an error. A property
    /// of type `JSON` keeps its part of the document unchanged. Nesting beyond 512 levels is an error.
    ///
    /// - Parameters:
    ///   - path: where the value is, such as `list[0]`; the whole value by default. A missing value reads as null.
    ///   - options: how the JSON writes keys, dates and numbers.
    /// - Throws: `unexpected JSON`, which names the path, what was expected there and what was found, or an `APIError`
    ///   that the type itself throws.
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

    /// Decodes a missing value: nil, if the type is optional.
    private static func absent<Value: Decodable>(_ type: Value.Type, _ path: String) throws(APIError) -> Value {
        if type is any ExpressibleByNilLiteral.Type { return try JSON.null.decode(type) }
        throw APIError(
            domain: .json, code: .unexpectedJSON, message: "\(path): \(type) expected, nothing found")
    }

    /// The document that contains this value; a new one if the program made the value.
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
    /// Keeps a part of the decoded JSON unchanged.
    ///
    /// - Throws: when the decoder is not the one of ``decode(_:at:options:)``. Another decoder could only make an imprecise copy.
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? JSONValueDecoder else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "only JSON.decode can decode JSON"))
        }
        self = JSON(decoder.decoding.document, decoder.index)
    }
}

/// How a service writes the keys, dates and numbers that the program's types declare.
public struct DecodingOptions: Sendable {
    /// How the keys in the JSON are made from the coding keys of a type. The keys of dictionaries never change.
    public enum Keys: Sendable {
        /// The keys are the same as the coding keys.
        case asDeclared
        /// `tempMin` is `temp_min`, and `avatarURL` is `avatar_url`.
        case snakeCase
        /// The coding keys are paths: `case temperature = "main.temp"`, `case icon = "weather[0].icon"`.
        case paths
    }

    /// How the keys in the JSON are made from the coding keys of a type.
    public var keys: Keys
    /// The formats of dates, tried in order.
    public var dates: [DateFormat]
    /// Whether a string such as "5.0" is read as a number where a number is declared.
    public var numbersInStrings: Bool
    /// Whether 1 and 0, and the strings "true", "false", "1" and "0", are read as booleans where a boolean is declared.
    public var looseBooleans: Bool

    /// - Parameters:
    ///   - keys: as declared, by default.
    ///   - dates: ISO 8601, by default.
    ///   - numbersInStrings: false by default: a string is not a number.
    ///   - looseBooleans: false by default: only true and false are booleans.
    public init(
        keys: Keys = .asDeclared, dates: [DateFormat] = [.iso8601], numbersInStrings: Bool = false,
        looseBooleans: Bool = false
    ) {
        self.keys = keys
        self.dates = dates
        self.numbersInStrings = numbersInStrings
        self.looseBooleans = looseBooleans
    }
}

/// How a coding key is spelled in a service's JSON.
enum JSONKeySpelling {
    /// Calls the body with the key in snake_case: `tempMin` as `temp_min`, `avatarURL` as `avatar_url`, `URLPath` as
    /// `url_path`.
    static func withSnakeCase<Result>(
        _ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        guard key.contains(where: isCapital) else { return body(key) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: key.count * 2) { spelled in
            var count = 0
            for (index, byte) in key.enumerated() {
                if index > 0, beginsWord(key, index) {
                    spelled[count] = UInt8(ascii: "_")
                    count += 1
                }
                spelled[count] = byte.lowercasedASCII
                count += 1
            }
            return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(spelled)[..<count]))
        }
    }

    /// Whether keys that are spelled in several ways become this one: it has a digit, or capitals side by side.
    static func isAmbiguous(_ key: UnsafeRawBufferPointer) -> Bool {
        key.contains(where: \.isASCIIDigit) || zip(key, key.dropFirst()).contains { isCapital($0) && isCapital($1) }
    }

    /// The key in snake_case.
    static func snakeCase(_ key: String) -> String {
        key.withBytes { bytes in
            withSnakeCase(UnsafeRawBufferPointer(bytes)) { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Whether a capital begins a word: after a small letter or a digit, or as the last of several capitals before a
    /// small letter.
    private static func beginsWord(_ key: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        guard isCapital(key[index]), key[index - 1] != UInt8(ascii: "_") else { return false }
        if !isCapital(key[index - 1]) { return true }
        let next = index + 1
        return next < key.count && key[next].isASCIILetter && !isCapital(key[next])
    }

    private static func isCapital(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") }

    /// The coding key that snake_case may have come from: `temp_min` from `tempMin`.
    static func camelCase(_ key: String) -> String {
        var isNext = false
        var bytes: [UInt8] = []
        for byte in key.utf8 {
            if byte == UInt8(ascii: "_"), !bytes.isEmpty {
                isNext = true
            } else {
                bytes.append(isNext && byte.isASCIILetter ? byte & ~0x20 : byte)
                isNext = false
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A dictionary whose keys are data, so their spelling is never changed.
protocol StringKeyed {}

extension Dictionary: StringKeyed where Key: CodingKeyRepresentable {}
