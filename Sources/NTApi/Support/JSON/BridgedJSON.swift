/// A type of another library that is decoded and encoded through a type that the core knows.
///
/// Its own `init(from:)` and `encode(to:)` are written for another decoder. NTApiFoundation makes `Date` and others
/// such types, so they work in each program that links it.
package protocol BridgedJSON {
    associatedtype Bridge: Codable

    /// - Returns: nil when the value is not one of this type.
    init?(bridge: Bridge)

    /// Nil when JSON cannot represent the value exactly.
    var bridge: Bridge? { get }
}

extension JSONDecoding {
    /// - Throws: when the JSON does not fit, or when the type cannot be decoded: `advice` says what to use instead.
    func bridged<Value>(_ type: Value.Type, at index: Int, advice: String) throws -> Value {
        guard let bridged = type as? any BridgedJSON.Type else { throw refused(advice, at: index) }
        guard let value = try bridged.value(self, at: index) as? Value else { throw mismatch(type, at: index) }
        return value
    }
}

extension JSONEncoding {
    /// - Throws: when JSON cannot represent the value, or when the type cannot be encoded: `advice` says what to use
    ///   instead.
    func writeBridged(_ value: Any, to tree: JSONTree, _ path: [any CodingKey], advice: String) throws {
        guard let bridged = value as? any BridgedJSON else {
            throw Self.invalid(value, path, "cannot be encoded as " + advice)
        }
        try bridged.write(self, to: tree, path)
    }
}

extension BridgedJSON {
    fileprivate static func value(_ decoding: JSONDecoding, at index: Int) throws -> Self? {
        Self(bridge: try decoding.value(Bridge.self, at: index))
    }

    fileprivate func write(_ encoding: JSONEncoding, to tree: JSONTree, _ path: [any CodingKey]) throws {
        guard let bridge else {
            throw JSONEncoding.invalid(self, path, "\(self) is no number that JSON keeps: a string could hold it")
        }
        try encoding.write(bridge, to: tree, path)
    }
}

extension JSON {
    /// The number with all its digits; nil for any other kind.
    package var digits: String? { double == nil ? nil : text }
}
