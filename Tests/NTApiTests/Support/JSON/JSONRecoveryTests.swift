import Testing

@testable import NTApi

/// JSON after stray text, and the limit of the search for such JSON.
@Suite struct JSONRecoveryTests {
    private func response(_ text: String) -> JSONParser.ResponseBody {
        response(Array(text.utf8))
    }

    private func response(_ bytes: [UInt8]) -> JSONParser.ResponseBody {
        JSONParser.parseResponse(bytes.withUnsafeBytes { Bytes.copy($0) } ?? .empty)
    }

    @Test(arguments: ["", " ", "\r\n\t ", "\u{FEFF}", "\u{FEFF}\n"])
    func whiteSpaceIsNone(text: String) {
        #expect(response(text) == .none)
    }

    @Test(arguments: ["{}", "\u{FEFF}{}\n", " 5 ", #""x""#, "null"])
    func wholeBodiesHaveNoPrefix(text: String) throws {
        #expect(response(text) == .json(try JSON(parsing: text), prefix: nil))
    }

    static let recovered: [(prefix: String, json: String)] = [
        ("Warning: x\n", #"{"a":1}"#), ("x", "[1]"),
        ("<br />\n<b>Notice</b>: Undefined index [foo] in [0] {x}\n", #"{"a":[1]}"#),
        ("body {color: red} a { b: c }", "[{}]"), ("x [0] => [] {} ", #"{"a":1}"#),
        (#"array(1) { ["x"]=> int(1) } "#, #"{"a":1}"#), ("x [1 ", #"{"a":1}"#),
        ("[2024-01-01] [true] [null] [not] [t] ", "[false]"), ("[20-Nov-2013 10:00:00 UTC] ", #"{"a":1}"#),
        ("2024-01-01 10:00:00 x ", "[]"), ("10:30 ", "[]"), ("127.0.0.1 ", "[]"), ("5px ", "[]"), ("nullable ", "{}"),
        ("truer ", "[]"), ("x \"unbalanced ", #"{"a":1}"#), ("\u{0}\u{0}", "{}"), ("x [\"a\u{0}", "[1]"),
        ("é€", "[\"é\"]"), ("big [99999999999999999999] ", "[99999999999999999999]"),
        ("x [{", #"[{"a":{"b":[{}]}}]"#),
    ]

    @Test(arguments: recovered)
    func recovers(prefix: String, json: String) throws {
        #expect(response(prefix + json) == .json(try JSON(parsing: json), prefix: prefix))
        #expect(response("\u{FEFF}\(prefix)\(json) \r\n") == .json(try JSON(parsing: json), prefix: prefix))
    }

    /// Two documents are not a valid response. A text that begins as JSON has no stray text before it.
    @Test(arguments: [
        #"{"a":1}{"a":2}"#, "{\"a\":1}\n{\"a\":2}\n", "[1] [2]", "[][]", "{} []", "[0] => {\"a\":1}", "5 [1]",
        "-1.5e3[1]",
        #""x" {"a":1}"#, #""x {"a":1}"#, #"null {"a":1}"#, "true[1]", #"{"a":1,} {"a":2}"#, #"[1 {"a":1}"#, "[{[{}]",
        "{\"a\":1}\nWarning: x\n{\"a\":2}", "\u{1E}{\"a\":1}\n\u{1E}{\"a\":2}\n", #"x {"a":1} {"a":2}"#,
        "x [[1]] [2]", "x [{}]\n[2]", "data: {\"a\":1}\n\ndata: {\"a\":2}\n\n", "[\"a\u{0}[1]",
    ])
    func twoDocumentsFail(text: String) {
        for text in [text, "\u{FEFF}\(text)", " \r\n\(text) \n"] {
            guard case .failure = response(text) else {
                Issue.record("taken for JSON: \(text)")
                continue
            }
        }
    }

    @Test func prefixesThatAreNotUTF8AreRepaired() {
        #expect(response([0xE9, 0x20] + Array("{}".utf8)) == .json([:], prefix: "\u{FFFD} "))
    }

    /// Incomplete JSON must not be taken for the last value in it.
    @Test(arguments: [
        #"[{"id":1},{"id":2}"#, "[[1],[2]", #"{"a":{"b":{"c":1}}"#, #"{"a":[1,2]"#, #"Warning: x {"a":{"b":1}"#,
        "x [99999999999999999999,[1]", #"{"a":"{}"#, "[[[[]]",
        // This must hold even if it is too deep: the parser stops before it finds that the end is missing.
        String(repeating: "[", count: 2_049) + "]",
    ])
    func truncatedJSONFails(text: String) {
        guard case .failure = response(text) else {
            Issue.record("taken for JSON: \(text)")
            return
        }
    }

    @Test func theErrorIsThatOfTheWholeBody() throws {
        for text in ["Warning: x", "Warning [1] x {\"a\":", "\u{FEFF}[1,}", "{}\u{0}", "x {} trailing"] {
            let error = #expect(throws: JSONParseError.self) { try JSON(parsing: text) }
            #expect(response(text) == .failure(try #require(error)))
        }
    }

    /// Bodies that try to be expensive. The test counts steps, and does not measure time.
    static let adversarial: [(name: String, body: String)] = [
        ("brackets", String(repeating: "[", count: 1 << 20)),
        ("brackets, closed once", String(repeating: "[", count: 1 << 20) + "]"),
        ("open objects", String(repeating: #"{"a":"#, count: 60_000) + "}"),
        ("values", "x" + String(repeating: "[0]", count: 60_000) + "x]"),
        ("bad values", "x" + String(repeating: "[0 ", count: 60_000) + "]"),
        (
            "long bad values",
            "x" + String(repeating: "[" + String(repeating: "1,", count: 5_000) + "x", count: 20) + "]"
        ),
        ("strings", "x" + String(repeating: "[\"", count: 60_000) + "]"),
        ("big integers", "x" + String(repeating: "[99999999999999999999 ", count: 10_000) + "]"),
        ("white space", "x" + String(repeating: "[" + String(repeating: " ", count: 1_000), count: 1_000) + "]"),
    ]

    @Test(arguments: adversarial, ["", "x"])
    func workIsBounded(_ sample: (name: String, body: String), behind stray: String) {
        let bytes = Bytes.copy(stray + sample.body)
        var whole = JSONLoader(bytes)
        guard case .failure = whole.loadWhole(from: 0) else {
            Issue.record("not meant to be JSON")
            return
        }
        var recovery = JSONRecovery(bytes, from: 0)
        #expect(recovery.run() == nil)
        #expect(recovery.attempts <= JSONRecovery.maximumAttempts)
        // Each byte is read at most once, except for the byte at which an attempt stops.
        #expect(recovery.loader.bytesRead <= bytes.count + JSONRecovery.maximumAttempts)
    }

    @Test func attemptsEndAtTheLimit() {
        let stray = String(repeating: "[0 x", count: JSONRecovery.maximumAttempts - 1)
        #expect(response("x\(stray){}") == .json([:], prefix: "x\(stray)"))
        guard case .failure = response("x[0 x\(stray){}") else {
            Issue.record("an attempt too many")
            return
        }
    }
}
