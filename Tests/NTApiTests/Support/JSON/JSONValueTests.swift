import Testing

@testable import NTApi

/// Reading values, making them, and comparing them.
@Suite struct JSONValueTests {
    static let sample: JSON = [
        "null": .null, "true": true, "int": 20, "double": 2.5, "integral": 3.0, "string": "a\u{0}b", "": "empty key",
        "list": [1, "two", [3]], "object": ["b": 1, "a": 2], "big": 1e300, "é": "composed",
    ]

    @Test func literalsMakeTheirKinds() {
        let kinds = Self.sample.object?.map(\.value.kind)
        #expect(
            kinds == [.null, .bool, .int, .double, .double, .string, .string, .array, .object, .double, .string])
        let name = "London"
        #expect(("q=\(name)" as JSON).string == "q=London")
        #expect((-5 as JSON).int == -5)
        #expect(([] as JSON).kind == .array && ([:] as JSON).kind == .object)
    }

    @Test func initializersMakeTheirKinds() {
        #expect(JSON("x").string == "x")
        #expect(JSON("").string == "")
        #expect(JSON(true).bool == true)
        #expect(JSON(5).kind == .int)
        #expect(JSON(UInt8(5)).int == 5)
        #expect(JSON(5.0).kind == .double)
        #expect(JSON(UInt64.max).kind == .double)
        #expect(JSON(UInt64.max).double == 0x1p64 && JSON(UInt64.max).text == "18446744073709551615")
        #expect(JSON(Int128.min).text == "-170141183460469231731687303715884105728")
        #expect(JSON(UInt128.max).text == "340282366920938463463374607431768211455")
        #expect(JSON(Int64.min).int64 == .min)
        #expect(JSON([JSON(1), "x"]).count == 2)
        #expect(JSON([("a", 1), ("b", 2), ("a", 3)]).text == #"{"a":3,"b":2}"#)
    }

    @Test(arguments: [Double.nan, .signalingNaN, .infinity, -.infinity])
    func nonFiniteDoublesAreWrittenAsNull(value: Double) {
        #expect(JSON([JSON(value), 1]).text == "[null,1]")
        #expect(JSON(value).kind == .double && JSON(value).double?.isFinite == false && JSON(value).int64 == nil)
        #expect(JSON(value).dumped == "null")
    }

    /// If numbers have more digits than a double can keep, each digit counts.
    @Test(arguments: [
        ("18446744073709551617", "18446744073709551617", true), ("18446744073709551617", "18446744073709551619", false),
        ("18446744073709551616", "1.8446744073709551616e19", true),
        ("18446744073709551616", "18446744073709552000", false),
        ("1.123456789012345678", "1.123456789012345678", true), ("1.123456789012345678", "1.123456789012345679", false),
        ("1.123456789012345678", "11234567890123456.78000E-16", true),
        ("1.123456789012345678", "1.1234567890123457", false),
        ("-1.123456789012345678", "1.123456789012345678", false), ("0.1", "0.10000000000000001", true),
        ("0.1000000000000000055", "0.1", false), ("1e22", "10000000000000000000000", true), ("1e-999", "0.0", true),
        ("-0.0000000000000000000000", "0e5", true), ("100000000000000000000", "1e20", true),
    ])
    func longNumbersAreComparedByTheirDigits(left: String, right: String, isEqual: Bool) throws {
        let (left, right) = (try JSON(parsing: left), try JSON(parsing: right))
        #expect((left == right) == isEqual && (right == left) == isEqual)
        #expect((JSON([("a", left)]) == JSON([("a", right)])) == isEqual)
    }

    @Test func accessorsAnswerOnlyForTheirKind() {
        let sample = Self.sample
        #expect(sample["null"]?.isNull == true)
        #expect(sample["true"]?.bool == true)
        #expect(sample["int"]?.bool == nil)
        #expect(sample["true"]?.int == nil)
        #expect(sample["int"]?.int == 20)
        #expect(sample["int"]?.double == 20)
        #expect(sample["double"]?.int == nil)
        #expect(sample["double"]?.double == 2.5)
        #expect(sample["integral"]?.int == 3)
        #expect(sample["big"]?.int64 == nil)
        #expect(JSON(-0x1p63).int64 == .min)
        #expect(JSON(0x1p63).int64 == nil)
        #expect(JSON(-0x1.0000000000001p63).int64 == nil)
        #expect(sample["string"]?.string == "a\u{0}b")
        #expect(sample["int"]?.string == nil)
        #expect(sample["list"]?.object == nil)
        #expect(sample["object"]?.array == nil)
        #expect(sample["list"]?.array?.map(\.kind) == [.int, .string, .array])
    }

    @Test func scalarsOfADocumentAreNoContainers() throws {
        let document = try JSON(parsing: #"{"a":"text","b":1,"c":null,"d":[true]}"#)
        for value in ["a", "b", "c"].map({ document[$0] }) + [document["d"]?[0]] {
            #expect(value?.count == 0 && value?.keys == [] && value?.array == nil && value?.object == nil)
            #expect(value?[0] == nil && value?["a"] == nil && value?.cKey(at: 0) == nil)
        }
    }

    @Test func containersCountAndKeepOrder() {
        #expect(Self.sample["list"]?.count == 3)
        #expect(Self.sample["object"]?.count == 2)
        #expect(Self.sample["string"]?.count == 0)
        #expect(Self.sample["object"]?.keys == ["b", "a"])
        #expect(Self.sample["list"]?.keys == [])
        #expect(Self.sample["object"]?.object?.map(\.key) == ["b", "a"])
    }

    @Test func subscriptsAnswerNilForWhatIsNotThere() {
        let list = Self.sample["list"]
        #expect(list?[2]?[0]?.int == 3)
        #expect(list?[3] == nil)
        #expect(list?[-1] == nil)
        #expect(list?[.max] == nil)
        #expect(list?[.min] == nil)
        #expect(list?["0"] == nil)
        #expect(Self.sample[0] == nil)
        #expect(Self.sample["absent"] == nil)
        #expect(Self.sample[""]?.string == "empty key")
        // Null is a value; it does not mean that there is none.
        #expect(Self.sample["null"] != nil)
    }

    @Test func keysCompareByTheirBytes() {
        #expect(Self.sample["\u{E9}"]?.string == "composed")
        #expect(Self.sample["e\u{301}"] == nil)
    }

    @Test func optionalChainsRead() {
        let body: JSON? = ["list": [["name": "x"]]]
        #expect(body?["list"]?[0]?["name"]?.string == "x")
        #expect(body["list"][0]["name"]?.string == "x")
        let absent: JSON? = nil
        #expect(absent["list"][0] == nil)
    }

    @Test func aChildOutlivesItsDocument() throws {
        var document: JSON? = try JSON(parsing: #"{"a":{"b":["text"]}}"#)
        let child = document?["a"]?["b"]
        document = nil
        #expect(child?[0]?.string == "text")
    }

    @Test func equalityIsByValue() throws {
        #expect(try JSON(parsing: #"{"a":1,"b":[true,null]}"#) == ["b": [true, .null], "a": 1])
        #expect(JSON(1) == JSON(1.0))
        #expect(JSON(0) == JSON(-0.0))
        #expect(JSON(9_007_199_254_740_993) != JSON(9_007_199_254_740_992.0))
        #expect(JSON(Int64.max) != JSON(0x1p63))
        let different: [(JSON, JSON)] = [
            (1, 2), (1, "1"), (0, false), (.null, false), ("a", "b"), ("a", "a\u{0}"), ([1], [1, 2]),
            ([1, 2], [2, 1]),
            (["a": 1], ["b": 1]), (["a": 1], ["a": 2]), ([:], []), (["a": .null], [:]), ("\u{E9}", "e\u{301}"),
        ]
        for (left, right) in different {
            #expect(left != right)
            #expect(right != left)
            #expect(left == left)
        }
    }
}
