import Testing

@testable import NTApi

/// Texts that are refused, and the position in the error.
@Suite struct JSONErrorTests {
    static let refused: [(text: String, line: Int, column: Int, offset: Int)] = [
        ("", 1, 1, 0), ("  ", 1, 3, 2), ("\u{FEFF}", 1, 1, 3), ("{", 1, 2, 1), ("[1,]", 1, 5, 4), ("[1,}", 1, 5, 4),
        ("{\"a\":1,}", 1, 9, 8), ("[1 2]", 1, 5, 4), ("nul", 1, 4, 3), ("NaN", 1, 4, 3), ("Infinity", 1, 9, 8),
        ("01", 1, 2, 1), ("+1", 1, 2, 1), (".5", 1, 2, 1), ("1.", 1, 3, 2), ("1e", 1, 3, 2), ("'a'", 1, 2, 1),
        ("\"a", 1, 3, 2), ("\"\t\"", 1, 2, 1), ("\"\\x\"", 1, 4, 3), ("{a:1}", 1, 3, 2), ("{1:1}", 1, 3, 2),
        ("\"\\ud800\"", 1, 9, 8), ("\"\\udc00\\ud800\"", 1, 15, 14), ("\"\\ud800x\"", 1, 10, 9),
        ("{\"a\\u0000\":1}", 1, 11, 10), ("1e999", 1, 6, 5), ("[-1e999]", 1, 8, 7), ("{}x", 1, 4, 3), ("{}{}", 1, 4, 3),
        ("[\n\"é€😀\",\n x]", 3, 3, 17), ("\u{FEFF}[é]", 1, 3, 6), ("[\n\u{FEFF}1]", 2, 2, 5), ("// c\n1", 1, 2, 1),
        // Positions refer to the original text, not to the text with rewritten big integers.
        ("[99999999999999999999,99999999999999999999,x]", 1, 45, 44), ("[99999999999999999999,\n1e999]", 2, 6, 28),
        ("0\u{0}", 1, 2, 1), ("[1\u{0}]", 1, 3, 2), ("\"a\u{0}b\"", 1, 3, 2),
    ]

    @Test(arguments: refused)
    func refusesAndSaysWhere(text: String, line: Int, column: Int, offset: Int) {
        let error = #expect(throws: JSONParseError.self) { try JSON(parsing: text) }
        #expect(error?.line == line)
        #expect(error?.column == column)
        #expect(error?.offset == offset)
        #expect(error?.reason.isEmpty == false)
    }

    /// jansson stops at the same positions, even in text that breaks only our rules.
    @Test(arguments: refused)
    func refusesWhatIsHandedInAtTheSamePlace(text: String, line: Int, column: Int, offset: Int) {
        let bytes = Array(text.utf8)
        let error = #expect(throws: JSONParseError.self) { try bytes.withUnsafeBytes { _ = try JSON(loading: $0) } }
        #expect(error?.line == line)
        #expect(error?.column == column)
        #expect(error?.offset == offset)
    }

    static let notUTF8: [[UInt8]] = [
        [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC3], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
        [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0x80, 0x22],
    ]

    @Test(arguments: notUTF8)
    func refusesWhatIsNotUTF8(bytes: [UInt8]) {
        let error = #expect(throws: JSONParseError.self) { try JSON(parsing: bytes) }
        #expect(error?.offset == 1)
        #expect(error?.column == 2)
    }

    @Test func numbersBeyondDoubleAreErrors() {
        let digits = String(repeating: "9", count: 400)
        for text in [digits, "-" + digits, "[1,\(digits).5]", digits + "e5"] {
            let error = #expect(throws: JSONParseError.self) { try JSON(parsing: text) }
            #expect(error?.reason.contains("overflow") == true)
        }
    }

    @Test func describesItselfInOneLine() {
        let error = #expect(throws: JSONParseError.self) { try JSON(parsing: "[\n1,}") }
        #expect(error?.description == "line 2, column 4 (byte 5): unexpected token near '}'")
    }
}
