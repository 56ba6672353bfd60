import Testing

@testable import NTApi

@Suite struct FileNameTests {
    @Test(arguments: [
        ("com.example.app", "com.example.app"), ("a_b-C.9", "a_b-C.9"), ("..", "%2E."), (".", "%2E"),
        (".hidden", "%2Ehidden"),
        ("../../etc", "%2E.%2F..%2Fetc"), ("/", "%2F"), ("a b", "a%20b"), ("%2F", "%252F"), ("é", "%C3%A9"),
        ("a\u{0}\n", "a%00%0A"), ("C:\\x", "C%3A%5Cx"), ("~", "%7E"),
    ]) func noNameLeadsOutOfItsFolder(_ text: String, _ expected: String) throws {
        #expect(try FileName.encode(text, "x") == expected)
    }

    @Test func namesHaveALength() throws {
        #expect(try FileName.encode(String(repeating: "a", count: 200), "x").utf8.count == 200)
        for text in [String(repeating: "a", count: 201), String(repeating: "/", count: 67)] {
            let error = try #require(thrown { _ = try FileName.encode(text, "the identifier") })
            #expect(error.code == .invalidRequest && error.message.hasASCIIPrefix("the identifier is too long"))
        }
        #expect(thrown { _ = try FileName.encode("", "the identifier") }?.message.containsSubstring("empty") == true)
    }

    @Test func differentTextsHaveDifferentNames() throws {
        var random = SeededGenerator(SeededGenerator.ofThisRun)
        var texts: [String: String] = [:]
        for _ in 0..<5000 {
            let text = String(
                (0..<3).compactMap { _ in ["a", ".", "%", "2", "F", "/", "E"].randomElement(using: &random)?.first })
            let name = try FileName.encode(text, "x")
            #expect(texts[name] ?? text == text && !name.contains("/") && name.first != ".")
            texts[name] = text
        }
    }

    @Test(
        arguments: [
            (["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/ntapi"), (["HOME": "/h"], "/h/.local/state/ntapi"),
            (["XDG_STATE_HOME": "", "HOME": "/h"], "/h/.local/state/ntapi"),
            (["XDG_STATE_HOME": "state", "HOME": "/h"], "/h/.local/state/ntapi"), (["HOME": "h"], nil), ([:], nil),
        ] as [([String: String], String?)]) func theStateFolderIsWhereTheEnvironmentSays(
            _ variables: [String: String], _ expected: String?
        ) throws
    {
        #expect((try? StateFolder.path { variables[$0] }) == expected)
        if expected == nil {
            #expect(
                thrown { _ = try StateFolder.path { variables[$0] } }?.message.containsSubstring("XDG_STATE_HOME")
                    == true)
        }
    }
}
