/// The elements of an array, one after another.
struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    private let decoding: JSONDecoding
    // In 32 bits, which places on a tape and counts fit: three words in all are passed around without memory of their own.
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

    /// Decodes the next element, and moves behind it if that succeeds.
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
