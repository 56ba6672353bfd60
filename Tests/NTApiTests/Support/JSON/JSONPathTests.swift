import Testing

@testable import NTApi

@Suite struct JSONPathTests {
    static let wellFormed: [(path: String, steps: [JSONPath.Step])] = [
        ("", []), ("a", [.key("a")]), ("a.b", [.key("a"), .key("b")]), ("[0]", [.index(0)]),
        ("a[12][3]", [.key("a"), .index(12), .index(3)]),
        ("list[0].name", [.key("list"), .index(0), .key("name")]),
        (#"headers["X-Y"]"#, [.key("headers"), .key("X-Y")]),
        (#"["a.b[0]"]"#, [.key("a.b[0]")]), (#"[""]"#, [.key("")]), (#"["\"\\"]"#, [.key(#""\"#)]),
        ("X-Y z.é😀", [.key("X-Y z"), .key("é😀")]), (#"a["b"]["c"].d"#, [.key("a"), .key("b"), .key("c"), .key("d")]),
        ("0.1", [.key("0"), .key("1")]), ("[007]", [.index(7)]), (#"["é"]"#, [.key("é")]),
        ("a\u{0}b", [.key("a\u{0}b")]),
    ]

    @Test(arguments: wellFormed)
    func takesApart(path: String, steps: [JSONPath.Step]) {
        #expect(JSONPath(path)?.steps == steps)
    }

    @Test(arguments: [
        ".", "a.", ".a", "a..b", "a.[0]", "[", "]", "[]", "a[", "a[0", "a]", "[0]a", "[0].", "[-1]", "[+1]", "[1.5]",
        "[ 0]",
        "[0 ]", "[a]", "[é]", "[99999999999999999999]", "a\"b", "\"a\"", "[\"a]", "[\"a\"", "[\"a\"b]", "[\"a\"]b",
        #"["\n"]"#, #"["\"#,
        #"["\"]"#, "[[0]]", "a[0]]", "['a']",
    ])
    func malformedIsNil(path: String) {
        #expect(JSONPath(path) == nil)
        #expect(JSONValueTests.sample[path: path] == nil)
    }

    @Test func findsValues() {
        let value: JSON = ["list": [["name": "x"], 2], "headers": ["X-Y": "z", "": 1], "n": .null]
        #expect(value[path: ""] == value)
        #expect(value[path: "list[0].name"]?.string == "x")
        #expect(value[path: "list[1]"]?.int == 2)
        #expect(value[path: #"headers["X-Y"]"#]?.string == "z")
        #expect(value[path: "headers.X-Y"]?.string == "z")
        #expect(value[path: #"headers[""]"#]?.int == 1)
        #expect(value[path: "n"]?.isNull == true)
        #expect(("scalar" as JSON)[path: ""]?.string == "scalar")
        for absent in ["list[2]", "list.name", "[0]", "list[0].name.x", "absent.x[0]"] {
            #expect(value[path: absent] == nil)
        }
    }
}
