/// The members of an object, as a `Decodable` type asks for them.
struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let decoding: JSONDecoding
    private let object: Int
    /// The place after the object if its keys are plain, else 0.
    private let end: Int
    private let keys: DecodingOptions.Keys

    init(_ decoding: JSONDecoding, _ index: Int, _ keys: DecodingOptions.Keys) throws {
        guard decoding.tape.kind(index) == .object else { throw decoding.mismatch("object", at: index) }
        self.decoding = decoding
        object = index
        self.keys = keys
        if case .plain = decoding.document.members(of: index) {
            end = decoding.tape.next(index)
        } else {
            end = 0
        }
    }

    var codingPath: [any CodingKey] { decoding.path(to: object) }

    var allKeys: [Key] {
        JSON(decoding.document, object).keys.compactMap { key in
            Key(stringValue: key) ?? (keys == .snakeCase ? Key(stringValue: JSONKeySpelling.camelCase(key)) : nil)
        }
    }

    func contains(_ key: Key) -> Bool { find(key.stringValue) != nil }

    private func find(_ name: String) -> Int? {
        var name = name
        return name.withUTF8 { name in
            let name = UnsafeRawBufferPointer(name)
            if keys == .asDeclared { return decoding.find(name, in: object, to: end) }
            return decoding.find(name, spelled: keys, in: object, to: end)
        }
    }

    private func place(_ key: Key, _ type: Any.Type) throws -> Int {
        guard let place = find(key.stringValue) else { throw decoding.absent(key, type, in: object) }
        return place
    }

    /// Null counts as absent.
    private func present(_ key: Key) -> Int? {
        guard let place = find(key.stringValue), !decoding.isNull(place) else { return nil }
        return place
    }
}

extension JSONKeyedContainer {
    func decodeNil(forKey key: Key) throws -> Bool { decoding.isNull(try place(key, Never.self)) }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoding.bool(at: place(key, type)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoding.string(at: place(key, type)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoding.double(at: place(key, type)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoding.float(at: place(key, type)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoding.integer(type, at: place(key, type)) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoding.integer(type, at: place(key, type)) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try decoding.integer(type, at: place(key, type))
    }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try decoding.integer(type, at: place(key, type))
    }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try decoding.integer(type, at: place(key, type))
    }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try decoding.integer(type, at: place(key, type))
    }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoding.integer(type, at: place(key, type)) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try decoding.integer(type, at: place(key, type))
    }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try decoding.integer(type, at: place(key, type))
    }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try decoding.integer(type, at: place(key, type))
    }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try decoding.integer(type, at: place(key, type))
    }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try decoding.integer(type, at: place(key, type))
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoding.value(type, at: place(key, type))
    }
}

// The standard library's versions make three look-ups each.
extension JSONKeyedContainer {
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try present(key).map(decoding.bool)
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try present(key).map(decoding.string)
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try present(key).map(decoding.double)
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try present(key).map(decoding.float)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        try present(key).map { try decoding.integer(type, at: $0) }
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try present(key).map { try decoding.value(type, at: $0) }
    }
}

extension JSONKeyedContainer {
    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        KeyedDecodingContainer(try JSONKeyedContainer<Nested>(decoding, place(key, "object"), decoding.keys))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try JSONUnkeyedContainer(decoding, place(key, "array"))
    }

    func superDecoder() throws -> any Decoder {
        guard let place = find("super") else {
            throw decoding.absent(JSONPathKey.key("super"), "object", in: object)
        }
        return JSONValueDecoder(decoding: decoding, index: place)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        JSONValueDecoder(decoding: decoding, index: try place(key, "object"))
    }

    private func place(_ key: Key, _ expected: String) throws -> Int {
        guard let place = find(key.stringValue) else { throw decoding.absent(key, expected, in: object) }
        return place
    }
}

/// The elements of an array, one after another.
struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    private let decoding: JSONDecoding
    // Places and counts fit 32 bits. Three words in all fit an existential without an allocation.
    private let array: Int32
    private var place: Int32
    private var number: Int32 = 0
    private let total: Int32

    init(_ decoding: JSONDecoding, _ index: Int) throws {
        guard decoding.tape.kind(index) == .array else { throw decoding.mismatch("array", at: index) }
        self.decoding = decoding
        array = Int32(truncatingIfNeeded: index)
        place = Int32(truncatingIfNeeded: index + 2)
        total = Int32(truncatingIfNeeded: decoding.tape.count(index))
    }

    var codingPath: [any CodingKey] { decoding.path(to: Int(array)) }
    var count: Int? { Int(total) }
    var isAtEnd: Bool { number >= total }
    var currentIndex: Int { Int(number) }

    /// Decodes the next element, and moves past it on success.
    private mutating func next<Value>(_ expected: Any.Type, _ decode: (Int) throws -> Value) throws -> Value {
        guard !isAtEnd else { throw decoding.atEnd(expected, of: Int(array), number: Int(number)) }
        let value = try decode(Int(place))
        place = Int32(truncatingIfNeeded: decoding.tape.next(Int(place)))
        number += 1
        return value
    }
}

extension JSONUnkeyedContainer {
    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw decoding.atEnd(Never.self, of: Int(array), number: Int(number)) }
        guard decoding.isNull(Int(place)) else { return false }
        place += 1
        number += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try next(type, decoding.bool) }
    mutating func decode(_ type: String.Type) throws -> String { try next(type, decoding.string) }
    mutating func decode(_ type: Double.Type) throws -> Double { try next(type, decoding.double) }
    mutating func decode(_ type: Float.Type) throws -> Float { try next(type, decoding.float) }
    mutating func decode(_ type: Int.Type) throws -> Int { try next(type, decoding.int) }

    mutating func decode(_ type: Int8.Type) throws -> Int8 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: Int16.Type) throws -> Int16 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: Int32.Type) throws -> Int32 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: Int64.Type) throws -> Int64 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: UInt.Type) throws -> UInt {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try next(type) { [decoding] in try decoding.integer(type, at: $0) }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next(type) { [decoding] in try decoding.value(type, at: $0) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next(type) { [decoding] in
            KeyedDecodingContainer(try JSONKeyedContainer<Nested>(decoding, $0, decoding.keys))
        }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next([Any].self) { [decoding] in try JSONUnkeyedContainer(decoding, $0) }
    }

    mutating func superDecoder() throws -> any Decoder {
        try next(Any.self) { [decoding] in JSONValueDecoder(decoding: decoding, index: $0) }
    }
}
