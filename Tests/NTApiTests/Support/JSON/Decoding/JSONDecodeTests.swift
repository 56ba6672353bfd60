import Testing

@testable import NTApi

/// `Decodable` types from JSON values.
@Suite struct JSONDecodeTests {
    struct City: Decodable, Equatable {
        enum Kind: String, Decodable { case capital, town }

        struct Coordinate: Decodable, Equatable { let lat, lon: Double }

        let id: Int
        let name: String
        let kind: Kind
        let coord: Coordinate
        let population: UInt32?
        let mayor: String?
        let twins: [String]
        let history: [Int: Double]
        let flags: [String: Bool]
        let isOnSea: Bool

        enum CodingKeys: String, CodingKey {
            case id, name, kind, coord, population, mayor, twins, history, flags
            case isOnSea = "is_on_sea"
        }
    }

    struct Box<Content: Decodable>: Decodable { let value: Content }

    static let city = """
        {"unknown":{"id":1,"deep":[{}]},"is_on_sea":false,"id":2643743,"name":"Z\\u00fcrich","mayor":null,"kind":"town",
         "coord":{"lon":8,"lat":47.5},"twins":["Kunming","San Francisco"],"history":{"1900":150703.0,"2000":3.4e5},
         "flags":{"a":true,"b":false},"more":[1,2,{"name":"x"}]}
        """

    @Test func decodesAType() throws {
        let city = try JSON(parsing: Self.city).decode(City.self)
        let expected = City(
            id: 2_643_743, name: "Zürich", kind: .town, coord: .init(lat: 47.5, lon: 8), population: nil, mayor: nil,
            twins: ["Kunming", "San Francisco"], history: [1900: 150_703, 2000: 340_000],
            flags: ["a": true, "b": false], isOnSea: false)
        #expect(city == expected)
        let cities: [City] = try JSON(parsing: "[\(Self.city),\(Self.city)]").decode()
        #expect(cities == [city, city])
        #expect(try JSON(parsing: #"{"x":[\#(Self.city)]}"#)["x"]?.decode([City].self) == [city])
    }

    @Test func decodesWhatTheProgramMade() throws {
        let made: JSON = ["lat": 1, "lon": -2.5]
        #expect(try made.decode(City.Coordinate.self) == City.Coordinate(lat: 1, lon: -2.5))
        #expect(try (["a", "é"] as JSON).decode([String].self) == ["a", "é"])
        #expect(try JSON(5).decode(Int8.self) == 5)
        #expect(try JSON.null.decode(Int?.self) == nil)
    }

    @Test func numbersArriveAsDeclared() throws {
        func decode<Value: Decodable>(_ text: String, _ type: Value.Type = Value.self) -> Value? {
            let value = try? JSON(parsing: text).decode(type)
            // The result must be the same in an array and as a member.
            let element = try? JSON(parsing: "[\(text)]").decode([Value].self)
            let member = try? JSON(parsing: #"{"value":\#(text)}"#).decode(Box<Value>.self)
            #expect((element?.first as? AnyHashable) == (value as? AnyHashable), "\(text)")
            #expect((member?.value as? AnyHashable) == (value as? AnyHashable), "\(text)")
            return value
        }
        #expect(decode("3.0") == Int(3) && decode("3e0") == Int8(3) && decode("3") == 3.0 && decode("3") == Float(3))
        #expect(decode("3.5", Int.self) == nil && decode("1e300", Int.self) == nil)
        #expect(decode("127") == Int8.max && decode("128", Int8.self) == nil && decode("-128") == Int8.min)
        #expect(decode("-1", UInt.self) == nil && decode("-0") == UInt(0) && decode("-0.0") == UInt(0))
        #expect(decode("65535") == UInt16.max && decode("65536", UInt16.self) == nil)
        #expect(
            decode("-32768") == Int16.min && decode("2147483647") == Int32.max && decode("4294967295") == UInt32.max)
        #expect(decode("9223372036854775807") == Int64.max && decode("9223372036854775808", Int64.self) == nil)
        // An integer beyond `JSON.int64` is still exact.
        #expect(decode("18446744073709551615") == UInt64.max && decode("18446744073709551616", UInt64.self) == nil)
        #expect(decode("1e19") == UInt64(10_000_000_000_000_000_000) && decode("1.5e19") != UInt64(1))
        #expect(decode("340282366920938463463374607431768211455") == UInt128.max)
        #expect(decode("-170141183460469231731687303715884105728") == Int128.min)
        #expect(decode("9007199254740993") == 9_007_199_254_740_992.0)
        #expect(decode("1e39", Float.self) == nil && decode("1e38") == Float(1e38))
        #expect(decode("0", Bool.self) == nil && decode("true", Int.self) == nil && decode("\"5\"", Int.self) == nil)
        #expect(decode("5", String.self) == nil && decode("true") == true && decode("\"a\\u0000\"") == "a\u{0}")
    }

    @Test func nullReadsAsAbsent() throws {
        struct Optionals: Decodable, Equatable {
            var a: Int?
            var b: String?
            var c: [Double]?
            var d: City.Coordinate?
            var e: Bool?
            var f: [Int?]?
        }
        #expect(try JSON(parsing: "{}").decode(Optionals.self) == Optionals())
        let nulls = #"{"a":null,"b":null,"c":null,"d":null,"e":null,"f":null}"#
        #expect(try JSON(parsing: nulls).decode(Optionals.self) == Optionals())
        let full = #"{"f":[1,null],"e":true,"d":{"lat":0,"lon":1},"c":[1,2],"b":"","a":0}"#
        #expect(
            try JSON(parsing: full).decode(Optionals.self)
                == Optionals(a: 0, b: "", c: [1, 2], d: .init(lat: 0, lon: 1), e: true, f: [1, nil]))
        #expect(try JSON(parsing: "[1,null,2]").decode([Int?].self) == [1, nil, 2])
        #expect(try JSON(parsing: "[\"a\",null]").decode([String?].self) == ["a", nil])
    }

    @Test func keepsJSON() throws {
        struct Envelope: Decodable {
            let data: JSON
            let extra: JSON?
        }
        let envelope = try JSON(parsing: #"{"data":{"b":[1,null]},"extra":null}"#).decode(Envelope.self)
        #expect(envelope.data == ["b": [1, .null]] && envelope.data[path: "b[0]"]?.int == 1)
        #expect(envelope.extra == nil)
        #expect(try JSON(parsing: #"[1,"a"]"#).decode([JSON].self) == [1, "a"])
    }

    @Test func membersAreFoundWhereverTheyStand() throws {
        struct Three: Decodable, Equatable { let first, second, third: Int }
        let expected = Three(first: 1, second: 2, third: 3)
        for text in [
            #"{"first":1,"second":2,"third":3}"#, #"{"third":3,"second":2,"first":1}"#,
            #"{"x":[],"third":3,"y":{"first":9},"first":1,"z":"second","second":2}"#,
            #"{"first":9,"second":2,"third":3,"first":1}"#, #"{"\u0066irst":1,"second":2,"third":3}"#,
            #"{"first":1,"second":2,"third":9,"\u0074hird":3}"#,
            "{" + (0..<200).map { #""k\#($0)":\#($0),"# }.joined() + #""third":3,"second":2,"first":1}"#,
        ] {
            #expect(try JSON(parsing: text).decode(Three.self) == expected, "\(text)")
            #expect(try JSON(parsing: "[\(text),\(text)]").decode([Three].self) == [expected, expected])
        }
    }

    @Test func aRecursiveTypeEndsAtTheLimit() throws {
        struct Comment: Decodable { let replies: [Comment] }
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"replies":["#, count: levels) + String(repeating: "]}", count: levels)
        }
        // Each comment is an object in an array.
        let depth = JSONDecoding.depthLimit / 2
        _ = try JSON(parsing: nested(depth)).decode(Comment.self)
        let error = #expect(throws: APIError.self) { try JSON(parsing: nested(depth + 1)).decode(Comment.self) }
        #expect(error?.code == .unexpectedJSON && error?.message.contains("512 levels") == true)
    }
}
