extension JSON {
    /// Encodes a value of a type of the program, the reverse of ``decode(_:at:options:)``.
    ///
    /// A nil member is left out, unless the type writes null itself. A member of type `JSON` is not changed.
    ///
    /// - Parameters:
    ///   - value: such as `NewIssue(title: "Broken")`.
    ///   - options: how the JSON writes keys and dates. Dates use the first format.
    /// - Throws: `invalid request`, which names the path and what cannot be written there: NaN, a date in a format that
    ///   can only be read, nesting beyond 512 levels; or an `APIError` that the type itself throws.
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
            case .double:
                if let integer = digits.flatMap({ UInt64($0) }) { return try container.encode(integer) }
                try container.encode(double ?? 0)
            case .string: try container.encode(string ?? "")
            default: try container.encodeNil()
            }
        }
    }
}

extension APIDate: Encodable {
    /// Uses the first format of the options of ``JSON/init(encoding:options:)``. Another encoder gets ISO 8601.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Encodes values of the program's types.
struct JSONEncoding {
    let options: DecodingOptions

    /// Writes a value to a place.
    ///
    /// - Parameter path: of the place, for errors.
    func write<Value: Encodable>(_ value: Value, to tree: JSONTree, _ path: [any CodingKey]) throws {
        switch value {
        case let json as JSON: tree.set(json)
        case let date as APIDate:
            guard let written = Self.write(date, as: options.dates.first ?? .iso8601) else {
                throw Self.invalid(date, path, "a date cannot be written as \(options.dates.first?.name ?? "ISO 8601")")
            }
            tree.set(written)
        default:
            if let advice = ForeignTypes.advice(for: Value.self) {
                return try writeBridged(value, to: tree, path, advice: advice)
            }
            guard path.count < JSONDecoding.depthLimit else {
                throw Self.invalid(value, [], "it nests deeper than \(JSONDecoding.depthLimit) levels")
            }
            // The keys of a dictionary are data, so they stay unchanged.
            let keys = value is any StringKeyed ? .asDeclared : options.keys
            try value.encode(to: JSONValueEncoder(encoding: self, keys: keys, tree: tree, codingPath: path))
            tree.makeObject()
        }
    }

    /// Writes a floating-point number, for which JSON may have no text.
    func write(_ number: Double, to tree: JSONTree, _ path: [any CodingKey]) throws {
        guard number.isFinite else { throw Self.invalid(number, path, "\(number) is not a JSON number") }
        tree.set(JSON(number))
    }

    /// The place of a key below another one.
    func place(_ key: any CodingKey, _ keys: DecodingOptions.Keys, in tree: JSONTree, _ path: [any CodingKey]) throws
        -> JSONTree
    {
        do {
            return try tree.place(try steps(of: key, keys, path))
        } catch let clash as JSONTree.Clash {
            throw Self.invalid(key.stringValue, path + [key], clash.message)
        }
    }

    private func steps(
        of key: any CodingKey, _ keys: DecodingOptions.Keys, _ path: [any CodingKey]
    ) throws -> [JSONPath.Step] {
        switch keys {
        case .asDeclared: return [.key(key.stringValue)]
        case .snakeCase: return [.key(JSONKeySpelling.snakeCase(key.stringValue))]
        case .paths:
            guard let path = JSONPath(key.stringValue), !path.steps.isEmpty else {
                throw Self.invalid(key.stringValue, path, "\(quoted(key.stringValue)) is no path")
            }
            return path.steps
        }
    }

    /// - Returns: nil for infinity, NaN and formats that can only be read.
    static func write(_ date: APIDate, as format: DateFormat) -> JSON? {
        let seconds = date.secondsSince1970
        guard seconds.isFinite else { return nil }
        switch format.kind {
        case .iso8601: return JSON(date.description)
        case .seconds: return number(seconds)
        case .milliseconds: return number((seconds * 1000).rounded())
        case .http: return HTTPDate.text(seconds).map { JSON($0) }
        case .custom(_, let write): return write?(date)
        }
    }

    /// Writes whole numbers as integers: 1384941600, not 1384941600.0.
    private static func number(_ value: Double) -> JSON { Int64(exactly: value).map { JSON($0) } ?? JSON(value) }

    static func invalid(_ value: Any, _ path: [any CodingKey], _ message: String) -> EncodingError {
        .invalidValue(value, .init(codingPath: path, debugDescription: message))
    }

    /// The error for the caller, with paths as they are in the JSON.
    func apiError(_ error: any Error) -> APIError {
        if let error = error as? APIError { return error }
        guard case .invalidValue(_, let context) = error as? EncodingError else { return .invalidRequest("\(error)") }
        let steps = context.codingPath.flatMap { key in
            key.intValue.map { [.index($0)] } ?? (try? self.steps(of: key, options.keys, [])) ?? [.key(key.stringValue)]
        }
        let path = JSONPath(steps: steps).description
        return .invalidRequest((path.isEmpty ? "" : "\(path): ") + context.debugDescription)
    }
}
