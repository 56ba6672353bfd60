/// A type of another library that is decoded and encoded by way of a type that the core knows.
///
/// Its own `init(from:)` and `encode(to:)` are written for another decoder. NTApiFoundation declares `Date` and others to
/// be such types, so they work in each program that links it.
package protocol BridgedJSON {
    associatedtype Bridge: Codable

    /// - Returns: nil when the value stands for none of this type.
    init?(bridge: Bridge)

    /// Nil when JSON cannot hold the value exactly.
    var bridge: Bridge? { get }
}

extension JSONDecoding {
    /// - Throws: when the JSON does not fit, or nobody can make such a type of JSON: `advice` says what can.
    func bridged<Value>(_ type: Value.Type, at index: Int, advice: String) throws -> Value {
        guard let bridged = type as? any BridgedJSON.Type else { throw refused(advice, at: index) }
        guard let value = try bridged.value(self, at: index) as? Value else { throw mismatch(type, at: index) }
        return value
    }
}

extension BridgedJSON {
    fileprivate static func value(_ decoding: JSONDecoding, at index: Int) throws -> Self? {
        Self(bridge: try decoding.value(Bridge.self, at: index))
    }

    /// - Returns: false when JSON cannot hold the value exactly.
    func write(_ encoding: JSONEncoding, to tree: JSONTree, _ path: [any CodingKey]) throws -> Bool {
        guard let bridge else { return false }
        try encoding.write(bridge, to: tree, path)
        return true
    }
}

extension JSON {
    /// The number with all the digits that were received: ``text`` has those that a double keeps. Nil when it is none.
    package var digits: String? {
        switch (kind, storage) {
        case (.double, .parsed(let document, let index)):
            String(decoding: document.tape.bytes(Int(index)), as: UTF8.self)
        case (.int, _), (.double, _): text
        default: nil
        }
    }
}
