/// The decoder of one value.
struct JSONValueDecoder: Decoder {
    let decoding: JSONDecoding
    let index: Int
    /// Whether the keys of the JSON are data.
    var isVerbatim = false

    var codingPath: [any CodingKey] { decoding.path(to: index) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try JSONKeyedContainer<Key>(decoding, index, isVerbatim ? .asDeclared : decoding.keys))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try JSONUnkeyedContainer(decoding, index) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { decoding.isNull(index) }
    func decode(_ type: Bool.Type) throws -> Bool { try decoding.bool(at: index) }
    func decode(_ type: String.Type) throws -> String { try decoding.string(at: index) }
    func decode(_ type: Double.Type) throws -> Double { try decoding.double(at: index) }
    func decode(_ type: Float.Type) throws -> Float { try decoding.float(at: index) }
    func decode(_ type: Int.Type) throws -> Int { try decoding.integer(type, at: index) }
    func decode(_ type: Int8.Type) throws -> Int8 { try decoding.integer(type, at: index) }
    func decode(_ type: Int16.Type) throws -> Int16 { try decoding.integer(type, at: index) }
    func decode(_ type: Int32.Type) throws -> Int32 { try decoding.integer(type, at: index) }
    func decode(_ type: Int64.Type) throws -> Int64 { try decoding.integer(type, at: index) }
    func decode(_ type: Int128.Type) throws -> Int128 { try decoding.integer(type, at: index) }
    func decode(_ type: UInt.Type) throws -> UInt { try decoding.integer(type, at: index) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try decoding.integer(type, at: index) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try decoding.integer(type, at: index) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try decoding.integer(type, at: index) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try decoding.integer(type, at: index) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try decoding.integer(type, at: index) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoding.value(type, at: index) }
}
