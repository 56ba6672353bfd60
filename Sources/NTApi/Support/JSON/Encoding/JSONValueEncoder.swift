/// What an `Encodable` type writes itself to: a place in the JSON.
struct JSONValueEncoder: Encoder {
    let encoding: JSONEncoding
    let keys: DecodingOptions.Keys
    let tree: JSONTree
    let codingPath: [any CodingKey]

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        tree.makeObject()
        return KeyedEncodingContainer(JSONKeyedWriter<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        tree.makeArray()
        return JSONUnkeyedWriter(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { JSONSingleWriter(encoder: self) }

    fileprivate func below(_ key: any CodingKey, _ tree: JSONTree) -> JSONValueEncoder {
        JSONValueEncoder(encoding: encoding, keys: encoding.options.keys, tree: tree, codingPath: codingPath + [key])
    }

    /// For the place of a key.
    fileprivate func below(_ key: any CodingKey) throws -> JSONValueEncoder {
        below(key, try encoding.place(key, keys, in: tree, codingPath))
    }

    /// For the next element.
    fileprivate func next() -> JSONValueEncoder { below(JSONPathKey.index(tree.count), tree.append()) }

    /// Where a place cannot be made and no error be thrown, what is written goes nowhere.
    fileprivate func nested(_ key: any CodingKey) -> JSONValueEncoder { (try? below(key)) ?? below(key, JSONTree()) }
}

private struct JSONKeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    private func single(_ key: Key) throws -> JSONSingleWriter { JSONSingleWriter(encoder: try encoder.below(key)) }

    func encodeNil(forKey key: Key) throws { try single(key).encodeNil() }
    func encode(_ value: Bool, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: String, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: Double, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: Float, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: Int, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: Int8, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: Int16, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: Int32, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: Int64, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt8, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt16, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt32, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt64, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try single(key).encode(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { encoder.nested(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.nested(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.nested(JSONPathKey.key("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.nested(key) }
}

private struct JSONUnkeyedWriter: UnkeyedEncodingContainer {
    let encoder: JSONValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.tree.count }

    private var single: JSONSingleWriter { JSONSingleWriter(encoder: encoder.next()) }

    func encodeNil() throws { single.encodeNil() }
    func encode(_ value: Bool) throws { single.encode(value) }
    func encode(_ value: String) throws { single.encode(value) }
    func encode(_ value: Double) throws { try single.encode(value) }
    func encode(_ value: Float) throws { try single.encode(value) }
    func encode(_ value: Int) throws { try single.encode(value) }
    func encode(_ value: Int8) throws { try single.encode(value) }
    func encode(_ value: Int16) throws { try single.encode(value) }
    func encode(_ value: Int32) throws { try single.encode(value) }
    func encode(_ value: Int64) throws { try single.encode(value) }
    func encode(_ value: UInt) throws { try single.encode(value) }
    func encode(_ value: UInt8) throws { try single.encode(value) }
    func encode(_ value: UInt16) throws { try single.encode(value) }
    func encode(_ value: UInt32) throws { try single.encode(value) }
    func encode(_ value: UInt64) throws { try single.encode(value) }
    func encode(_ value: some Encodable) throws { try single.encode(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.next().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.next().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder.next() }
}

private struct JSONSingleWriter: SingleValueEncodingContainer {
    let encoder: JSONValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() { encoder.tree.set(.null) }
    func encode(_ value: Bool) { encoder.tree.set(JSON(value)) }
    func encode(_ value: String) { encoder.tree.set(JSON(value)) }
    func encode(_ value: Double) throws { try encoder.encoding.write(value, to: encoder.tree, codingPath) }
    // Of the digits that read back the same: 0.1, and not 0.10000000149011612.
    func encode(_ value: Float) throws { try encode(Double(value.description) ?? Double(value)) }
    func encode(_ value: Int) throws { try integer(value) }
    func encode(_ value: Int8) throws { try integer(value) }
    func encode(_ value: Int16) throws { try integer(value) }
    func encode(_ value: Int32) throws { try integer(value) }
    func encode(_ value: Int64) throws { try integer(value) }
    func encode(_ value: UInt) throws { try integer(value) }
    func encode(_ value: UInt8) throws { try integer(value) }
    func encode(_ value: UInt16) throws { try integer(value) }
    func encode(_ value: UInt32) throws { try integer(value) }
    func encode(_ value: UInt64) throws { try integer(value) }
    func encode(_ value: some Encodable) throws { try encoder.encoding.write(value, to: encoder.tree, codingPath) }

    private func integer(_ value: some BinaryInteger & Sendable) throws {
        try encoder.encoding.write(value, to: encoder.tree, codingPath)
    }
}
