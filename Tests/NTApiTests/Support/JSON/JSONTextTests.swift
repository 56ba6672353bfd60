import NTApi
import Testing

/// Text to values and back.
@Suite struct JSONTextTests {
    /// Texts, and how they are written again.
    static let accepted: [(text: String, written: String)] = [
        ("null", "null"), (" true\r\n\t", "true"), ("false", "false"), ("0", "0"), ("-0", "-0"), ("-0.0", "-0.0"),
        ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
        ("0.1", "0.1"), ("1.0", "1.0"), ("1E2", "1E2"), ("1e+2", "1e+2"), ("1.00", "1.00"), ("5e-324", "5e-324"),
        ("1e-999", "1e-999"),
        ("123456789.123", "123456789.123"), ("1e20", "1e20"), ("1.123456789012345678", "1.123456789012345678"),
        ("18446744073709551617", "18446744073709551617"), (#""""#, #""""#), (#""é\u00e9€😀""#, #""éé€😀""#),
        (#""\ud83d\ude00""#, #""😀""#), (#""\"\\\/\b\f\n\r\t\u001f""#, #""\"\\/\b\f\n\r\t\u001f""#),
        (#""a\u0000b""#, #""a\u0000b""#), ("\"\u{7F}\u{2028}\"", "\"\u{7F}\u{2028}\""), ("[]", "[]"), ("{}", "{}"),
        (" [ 1 , [ ] , { } ] ", "[1,[],{}]"), (#"{"b":1,"a":{"c":[]}}"#, #"{"b":1,"a":{"c":[]}}"#),
        (#"{"a":1,"b":2,"a":3}"#, #"{"a":3,"b":2}"#), (#"{"":""}"#, #"{"":""}"#),
        (#"["[",",","{"]"#, #"["[",",","{"]"#),
        (#"{"k\n\"":1}"#, #"{"k\n\"":1}"#), ("\u{FEFF}{}", "{}"), ("\u{FEFF} 1", "1"),
    ]

    @Test(arguments: accepted)
    func acceptsAndWrites(text: String, written: String) throws {
        let value = try JSON(parsing: text)
        #expect(value.text == written)
        #expect(value.description == written)
        #expect(value.utf8() == Array(written.utf8))
        #expect(try JSON(parsing: value.utf8()) == value)
    }

    /// Integers beyond 64 bits are read as doubles. Other numbers are not.
    @Test(arguments: [
        ("9223372036854775808", "9.223372036854775808e18", 0),
        ("-9223372036854775809", "-9.223372036854775809e18", 0),
        ("123456789012345678901234567890", "123456789012345678901234567890e0", 0),
        (#"[9007199254740993,18446744073709551615,"18446744073709551615"]"#, "18446744073709551615e0", 1),
        (#"{"a\"":"\\","b":[1]}"#, "", -1),
    ])
    func bigIntegers(text: String, double: String, index: Int) throws {
        let value = try JSON(parsing: text)
        guard index >= 0 else { return }
        let big = value.kind == .array ? value[index] : value
        #expect(big?.kind == .double)
        #expect(big?.double == Double(double))
        if value.kind == .array {
            #expect(value[0]?.int == 9_007_199_254_740_993)
            #expect(value[2]?.string == "18446744073709551615")
        }
    }

    @Test func bigIntegersKeepTheirNeighbours() throws {
        let text = #"{"99999999999999999999":"\"99999999999999999999\\","a":[99999999999999999999,-1,1e5,"x"]}"#
        let value = try JSON(parsing: text)
        #expect(
            value.text == #"{"99999999999999999999":"\"99999999999999999999\\","a":[99999999999999999999,-1,1e5,"x"]}"#)
    }

    @Test func doublesReadBackEqual() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let value = Double(bitPattern: generator.next())
            guard value.isFinite else { continue }
            #expect(try JSON(parsing: JSON(value).text).double == value)
        }
    }

    @Test func everyScalarValueRoundTrips() throws {
        let text = String(String.UnicodeScalarView((0...0x10FFFF).compactMap(Unicode.Scalar.init)))
        #expect(try JSON(parsing: JSON(text).text).string == text)
    }

    @Test func bytesNeedNoTerminator() throws {
        let bytes = Array("[1,2]garbage".utf8)
        let value = try bytes.withUnsafeBytes { buffer throws(JSONParseError) in
            try JSON(parsing: UnsafeRawBufferPointer(rebasing: buffer[..<5]))
        }
        #expect(value == [1, 2])
    }
}
