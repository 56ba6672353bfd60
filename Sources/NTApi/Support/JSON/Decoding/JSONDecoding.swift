import Synchronization

/// One call of a decoder for a part of a document. All its containers share it.
///
/// A container is only this object and a place on the tape, which is small enough for an existential without an
/// allocation. The path to a place is computed from the tape when an error needs it.
///
/// Not `Sendable`: it belongs to one call of `decode`, on one thread.
final class JSONDecoding {
    /// Recursive types must not exhaust the stack of the decoding thread.
    static let depthLimit = 512

    let document: JSONDocument
    let tape: JSONTape
    let root: Int
    let options: DecodingOptions
    /// Copied from the options, because each member needs it.
    let keys: DecodingOptions.Keys
    var numbersInStrings: Bool
    var looseBooleans: Bool

    private var depth = 0

    /// Where the next requested member probably is: after the last one, because most texts list members in the order of
    /// the declaration. Valid for one object, identified by its place on the tape.
    private var expected = (object: -1, key: -1)

    /// - Parameter root: where the paths in errors begin.
    init(_ document: JSONDocument, root: Int, _ options: DecodingOptions) {
        self.document = document
        tape = document.tape
        self.root = root
        self.options = options
        keys = options.keys
        numbersInStrings = options.numbersInStrings
        looseBooleans = options.looseBooleans
    }

    /// Decodes the value at a place on the tape.
    ///
    /// Conversions for types without a JSON form belong here.
    func value<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        // Arrays, dictionaries and optionals ask for these types, so they skip the single-value container. The bit
        // casts are between equal types; `as?` would check that again for each value.
        if type == String.self { return unsafeBitCast(try string(at: index), to: type) }
        if type == Int.self { return unsafeBitCast(try integer(Int.self, at: index), to: type) }
        if type == Double.self { return unsafeBitCast(try double(at: index), to: type) }
        if type == Bool.self { return unsafeBitCast(try bool(at: index), to: type) }
        if type == APIDate.self { return unsafeBitCast(try date(at: index), to: type) }
        if type == JSON.self { return unsafeBitCast(JSON(document, index), to: type) }
        if tape.kind(index) == .array {
            if type == [String].self { return unsafeBitCast(try elements(at: index, string), to: type) }
            if type == [Int].self { return unsafeBitCast(try elements(at: index, int), to: type) }
            if type == [Double].self { return unsafeBitCast(try elements(at: index, double), to: type) }
        }
        if let advice = ForeignTypes.advice(for: type) { return try bridged(type, at: index, advice: advice) }
        guard depth < Self.depthLimit else { throw tooDeep(at: index) }
        depth += 1
        defer { depth -= 1 }
        let isVerbatim = keys != .asDeclared && tape.kind(index) == .object && type is any StringKeyed.Type
        return try Value(from: JSONValueDecoder(decoding: self, index: index, isVerbatim: isVerbatim))
    }

    /// Decodes arrays of scalars, without a container call for each element.
    private func elements<Element>(at index: Int, _ element: (Int) throws -> Element) throws -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(tape.count(index))
        var place = index + 2
        let end = tape.next(index)
        while place < end {
            elements.append(try element(place))
            place = tape.next(place)
        }
        return elements
    }
}

// MARK: Members of objects
extension JSONDecoding {
    /// The place of the member's value; nil when there is none.
    ///
    /// - Parameter end: the place after the object if its keys are plain, else 0.
    func find(_ name: UnsafeRawBufferPointer, in object: Int, to end: Int) -> Int? {
        // A tape does not store such a length.
        guard end > 0, name.count < JSONTape.longest else { return document.member(name, of: object) }
        let first = object &+ 2
        let start = expected.object == object ? expected.key : first
        return find(name, in: object, from: start, to: end) ?? find(name, in: object, from: first, to: start)
    }

    /// The same for keys that are spelled differently in JSON.
    @inline(never)
    func find(_ name: UnsafeRawBufferPointer, spelled keys: DecodingOptions.Keys, in object: Int, to end: Int) -> Int? {
        switch keys {
        case .asDeclared: return find(name, in: object, to: end)
        case .snakeCase:
            return JSONKeySpelling.withSnakeCase(name) { find($0, in: object, to: end) }
                ?? find(name, in: object, to: end) ?? findConverted(name, in: object, to: end)
        case .paths:
            guard name.contains(where: JSONPath.isSpecial) else { return find(name, in: object, to: end) }
            return document.place(atPath: name, from: object)
        }
    }

    /// A key that becomes the name when it is written in camelCase, such as `line_1` for `line1`.
    private func findConverted(_ name: UnsafeRawBufferPointer, in object: Int, to end: Int) -> Int? {
        guard JSONKeySpelling.isAmbiguous(name) else { return nil }
        let wanted = String(decoding: name, as: UTF8.self)
        let found = JSON(document, object).keys.first { JSONKeySpelling.camelCase($0) == wanted }
        return found?.withBytes { find(UnsafeRawBufferPointer($0), in: object, to: end) }
    }

    @inline(__always)
    private func find(_ name: UnsafeRawBufferPointer, in object: Int, from start: Int, to end: Int) -> Int? {
        var key = start
        while key < end {
            let value = key &+ 1
            if tape.isPlain(key, name) {
                expected = (object, tape.next(value))
                return value
            }
            key = tape.next(value)
        }
        return nil
    }
}

// MARK: Scalars
extension JSONDecoding {
    func isNull(_ index: Int) -> Bool { tape.kind(index) == .null }

    func bool(at index: Int) throws -> Bool {
        guard let value = truth(at: index) else { throw mismatch(Bool.self, at: index) }
        return value
    }

    /// A boolean, or a number or string that is read as one.
    func truth(at index: Int) -> Bool? { document.bool(at: index) ?? looseBoolean(at: index) }

    @inline(never)
    private func looseBoolean(at index: Int) -> Bool? {
        guard looseBooleans else { return nil }
        if let text = document.string(at: index) {
            switch text {
            case "true", "1": return true
            case "false", "0": return false
            default: return nil
            }
        }
        switch document.double(at: index) {
        case 1?: return true
        case 0?: return false
        default: return nil
        }
    }

    func string(at index: Int) throws -> String {
        guard let value = document.string(at: index) else { throw mismatch(String.self, at: index) }
        return value
    }

    func double(at index: Int) throws -> Double {
        guard let value = number(at: index) else { throw mismatch(Double.self, at: index) }
        return value
    }

    /// A number, or a string that is read as one.
    @inline(__always)
    func number(at index: Int) -> Double? { document.double(at: index) ?? numberInString(at: index) }

    @inline(never)
    private func numberInString(at index: Int) -> Double? {
        guard let text = numericText(at: index), let value = Double(text), value.isFinite else { return nil }
        return value
    }

    @inline(never)
    private func integerInString<Value: FixedWidthInteger>(_ type: Value.Type, at index: Int) -> Value? {
        guard let text = numericText(at: index) else { return nil }
        return Value(text) ?? Double(text).flatMap(JSONNumber.integral).flatMap { Value(exactly: $0) }
    }

    private func numericText(at index: Int) -> String? {
        guard numbersInStrings, let text = document.string(at: index),
            text.utf8.allSatisfy(JSONNumber.isPart)
        else { return nil }
        return text
    }

    func float(at index: Int) throws -> Float {
        guard let value = number(at: index).map(Float.init), value.isFinite else {
            throw mismatch(Float.self, at: index)
        }
        return value
    }

    func int(at index: Int) throws -> Int { try integer(Int.self, at: index) }

    @inline(__always)
    func integer<Value: FixedWidthInteger>(_ type: Value.Type, at index: Int) throws -> Value {
        guard let value = fitting(type, at: index) else { throw mismatch(type, at: index) }
        return value
    }

    /// An integer, or a number or string that is read as one; nil when it does not fit.
    @inline(__always)
    func fitting<Value: FixedWidthInteger>(_ type: Value.Type, at index: Int) -> Value? {
        if let value = document.int64(at: index) { return Value(exactly: value) }
        if tape.kind(index) == .double { return JSONNumber.bigInteger(tape.bytes(index), type) }
        return integerInString(type, at: index)
    }
}

// MARK: Dates (JSON has no type for them)
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
    /// - Throws: when the decoder is not the one of `JSON.decode`: another decoder knows no formats.
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? JSONValueDecoder else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "only JSON.decode can decode an APIDate"))
        }
        self = try decoder.decoding.date(at: decoder.index)
    }
}

/// The decoder of one value.
struct JSONValueDecoder: Decoder {
    let decoding: JSONDecoding
    let index: Int
    /// Whether the keys in the JSON are data.
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

/// Foundation's types that only Foundation's coders handle correctly.
///
/// Foundation's `JSONDecoder` and `JSONEncoder` handle these types specially. With other coders they have forms that
/// nobody wants: `Date` becomes the seconds since 2001, `URL` and `Decimal` become objects of their parts, and `Data`
/// becomes an array of numbers. The core must not import Foundation, so it recognizes them by name.
/// NTApiFoundation makes them ``BridgedJSON``.
enum ForeignTypes {
    /// What to use instead of such a type; nil for all other types.
    static func advice(for type: Any.Type) -> String? {
        // Called for each value, and the name of a type costs far more than decoding a small value.
        let address = UInt(bitPattern: ObjectIdentifier(type))
        let place = fine + Int((address >> 4 ^ address >> 12) % UInt(capacity))
        if place.pointee.load(ordering: .relaxed) == address { return nil }
        let advice = advice(named: _typeName(type, qualified: true))
        if advice == nil { place.pointee.store(address, ordering: .relaxed) }
        return advice
    }

    private static func advice(named name: String) -> String? {
        guard let dot = name.firstIndex(of: "."), ["Foundation", "FoundationEssentials"].contains(name[..<dot]) else {
            return nil
        }
        return switch name[name.index(after: dot)...] {
        case "Date":
            "Foundation's Date: import NTApiFoundation, or use an APIDate, and Date(timeIntervalSince1970: date.secondsSince1970)"
        case "URL": "Foundation's URL: import NTApiFoundation, or use an APIURL or a String, and URL(string: url.text)"
        case "Decimal": "Foundation's Decimal: import NTApiFoundation, or use a JSON, and Decimal(string: number.text)"
        case "Data": "Foundation's Data: import NTApiFoundation, or use a String, and Data(base64Encoded: text)"
        default: nil
        }
    }

    private static let capacity = 256

    // Safe to share: made once, never freed, with atomic content. Each slot has one type that passed the check; types
    // are never freed either.
    nonisolated(unsafe) private static let fine: UnsafeMutablePointer<Atomic<UInt>> = {
        let places = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: capacity)
        for number in 0..<capacity { (places + number).initialize(to: Atomic(0)) }
        return places
    }()
}
