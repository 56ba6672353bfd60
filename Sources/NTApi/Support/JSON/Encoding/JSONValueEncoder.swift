/// The encoder for an `Encodable` type. It writes to a place in the JSON.
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

    /// If the place cannot be made, the written value is lost, because this cannot throw.
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
    func encode(_ value: Int128, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt8, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt16, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt32, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt64, forKey key: Key) throws { try single(key).encode(value) }
    func encode(_ value: UInt128, forKey key: Key) throws { try single(key).encode(value) }
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
    func encode(_ value: Int) throws { single.encode(value) }
    func encode(_ value: Int8) throws { single.encode(value) }
    func encode(_ value: Int16) throws { single.encode(value) }
    func encode(_ value: Int32) throws { single.encode(value) }
    func encode(_ value: Int64) throws { single.encode(value) }
    func encode(_ value: Int128) throws { single.encode(value) }
    func encode(_ value: UInt) throws { single.encode(value) }
    func encode(_ value: UInt8) throws { single.encode(value) }
    func encode(_ value: UInt16) throws { single.encode(value) }
    func encode(_ value: UInt32) throws { single.encode(value) }
    func encode(_ value: UInt64) throws { single.encode(value) }
    func encode(_ value: UInt128) throws { single.encode(value) }
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
    // Uses the shortest digits that read back the same: 0.1, not 0.10000000149011612.
    func encode(_ value: Float) throws { try encode(Double(value.description) ?? Double(value)) }
    func encode(_ value: Int) { integer(value) }
    func encode(_ value: Int8) { integer(value) }
    func encode(_ value: Int16) { integer(value) }
    func encode(_ value: Int32) { integer(value) }
    func encode(_ value: Int64) { integer(value) }
    func encode(_ value: Int128) { integer(value) }
    func encode(_ value: UInt) { integer(value) }
    func encode(_ value: UInt8) { integer(value) }
    func encode(_ value: UInt16) { integer(value) }
    func encode(_ value: UInt32) { integer(value) }
    func encode(_ value: UInt64) { integer(value) }
    func encode(_ value: UInt128) { integer(value) }
    func encode(_ value: some Encodable) throws { try encoder.encoding.write(value, to: encoder.tree, codingPath) }

    private func integer(_ value: some BinaryInteger) { encoder.tree.set(JSON(value)) }
}

/// JSON under construction: values can be set at any place, in any order.
final class JSONTree {
    private enum Content {
        case nothing
        case value(JSON)
        case array([JSONTree])
        case object([(key: String, value: JSONTree)], places: [String: Int])
    }

    /// Why a value cannot be set at a place.
    struct Clash: Error {
        let message: String
    }

    private var content = Content.nothing

    var isEmpty: Bool { if case .nothing = content { true } else { false } }

    /// The result; an empty object when nothing was written.
    var json: JSON {
        switch content {
        case .nothing: JSON([(String, JSON)]())
        case .value(let value): value
        case .array(let elements): JSON(elements.map(\.json))
        case .object(let members, _): JSON(members.map { ($0.key, $0.value.json) })
        }
    }

    func set(_ value: JSON) { content = .value(value) }

    /// Makes it an object, if it is still empty.
    func makeObject() { if isEmpty { content = .object([], places: [:]) } }

    func makeArray() { if isEmpty { content = .array([]) } }

    var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

    func append() -> JSONTree {
        let element = JSONTree()
        if case .array(var elements) = content {
            content = .nothing  // or the array would be copied
            elements.append(element)
            content = .array(elements)
        } else {
            content = .array([element])
        }
        return element
    }

    /// The place at the end of a path. Makes missing containers.
    func place(_ steps: [JSONPath.Step]) throws -> JSONTree {
        try steps.reduce(self) { tree, step in
            switch step {
            case .key(let key): try tree.member(key)
            case .index(let index): try tree.element(index)
            }
        }
    }

    private func member(_ key: String) throws -> JSONTree {
        makeObject()
        guard case .object(var members, var places) = content else {
            throw Clash(message: "it needs an object where there is another value")
        }
        if let place = places[key] { return members[place].value }
        content = .nothing
        let member = JSONTree()
        places[key] = members.count
        members.append((key, member))
        content = .object(members, places: places)
        return member
    }

    private func element(_ index: Int) throws -> JSONTree {
        makeArray()
        guard case .array(let elements) = content else {
            throw Clash(message: "it needs an array where there is another value")
        }
        guard index <= elements.count else { throw Clash(message: "the elements before it must be written first") }
        return index < elements.count ? elements[index] : append()
    }
}
