import Testing

@testable import NTApi

/// The fast path to a URL gives the same result as the slow path, for any input.
@Suite struct PlainURLTests {
    private typealias Pair = (name: String, value: String)

    private static func long(_ base: String, _ command: String, _ path: [Pair], _ query: [Pair]) -> String? {
        try? URLBuilder.parsed(base: base, replacement: nil, command: command, path: path, query: query).text
    }

    private static func short(_ base: String, _ command: String, _ path: [Pair], _ query: [Pair]) -> String? {
        PlainURL(base: base)?.url(command, path: path, query: query)
    }

    @Test(arguments: [
        ("http://h", ""), ("http://h/", "/"), ("https://api.example.org:8443/data/2.5", "find"),
        ("http://[::1]:80/a/", "b/{id}/c"), ("http://h//", "//x//"), ("http://h/a;b=c,d@e:f", "-._~/a.."),
    ]) func isTakenForWhatIsPlain(_ base: String, _ command: String) {
        let path = [Pair("id", "x"), Pair("id", "a b..")]
        for query in [[], [Pair("q", "London")], [Pair("a b", "\u{e9}&="), Pair("", "")]] {
            let url = Self.short(base, command, path, query)
            #expect(url != nil && url == Self.long(base, command, path, query))
        }
    }

    @Test(arguments: [
        ("http://h?a=b", ""), ("http://h#x", ""), ("HTTP://h", "x"), ("http://b\u{fc}cher.example", "x"), ("h", "x"),
        ("http://user:pass@h", "x"), ("http://h\r\n", "x"), ("ftp://h", "x"), ("http://h:080", "x"), ("", ""),
        ("http://h", "x?y"), ("http://h", "x#y"), ("http://h", "a b"), ("http://h", "%41"),
        ("http://h", "http://evil/"),
        ("http://h", "{"), ("http://h", "{none}"), ("http://h", "{empty}"), ("http://h", "\u{e9}"), ("http://h", "x\0"),
        ("http://h/a/..", "x"), ("http://h/./a", "x"), ("http://h", ".."), ("http://h", "a/./b"),
        ("http://h", "a/.{id}"),
        ("http://h", "{dots}"), ("http://h", "a{slash}"), ("http://h", "a{backslash}"),
    ]) func isNotTakenOtherwise(_ base: String, _ command: String) {
        let path = [
            Pair("empty", ""), Pair("id", "x"), Pair("dots", ".."), Pair("slash", "/.."), Pair("backslash", "\\.."),
        ]
        #expect(Self.short(base, command, path, []) == nil)
    }

    @Test func isNotTakenForWhatIsLong() {
        let long = String(repeating: "a", count: 65536)
        #expect(Self.short("http://h", "x", [], [Pair("a", long)]) == nil)
        #expect(
            Self.short("http://h", String(repeating: "{x}", count: 65), [Pair("x", long.dropLast(1000) + "")], [])
                == nil)
        #expect(Self.short("http://h/\(long)", "x", [], []) == nil)
    }

    /// Random combinations of plain, odd and hostile pieces.
    @Test(arguments: [SeededGenerator.ofThisRun]) func saysWhatTheLongWaySays(seed: UInt64) {
        var random = SeededGenerator(seed)
        let bases = [
            "http://h", "http://h/", "https://api.example.org:8443/data/2.5", "http://[::1]:80/a/", "http://h//",
            "HTTP://H",
            "http://h?a=b", "http://h/#x", "http://127.1/x", "http://user@h/x", "http://h:0",
            "http://b\u{fc}cher.example",
            "http://h/a%20b", "http://h/a\\b", "http://h/../a", "http://h..", "http://a_b/x", "http://-/", "http://h/ ",
            "x",
        ]
        let pieces = [
            "", "a", "find", "/", "//", ".", "..", "-", "~", "{id}", "{id}", "{", "}", "{}", "{{id}}", "{none}", "?",
            "#",
            "%", "%2F", "%zz", ":", "://", "@", "\\", " ", "+", "&", "=", "http://evil", "\r\n", "\0", "\u{7F}",
            "\u{e9}",
            "e\u{301}", "\u{301}", "\u{1F4A7}", "\u{2028}", ";", "'", "\"", "<", "[", "|", "^", "`", "{\u{e9}}",
        ]
        let plain = ["find", "/", "a-b", "{id}", "2.5", "~x_", "..", "{\u{e9}}"]
        func text(of pieces: [String], _ random: inout SeededGenerator) -> String {
            (0..<Int.random(in: 0...4, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
        }
        var taken = 0
        for _ in 0..<20000 {
            let base = bases.randomElement(using: &random) ?? ""
            let command = text(of: Bool.random(using: &random) ? plain : pieces, &random)
            let path = ["id", "\u{e9}", "e\u{301}", ""].shuffled(using: &random).prefix(3).map {
                Pair($0, text(of: pieces, &random))
            }
            let query = (0..<Int.random(in: 0...2, using: &random)).map { _ in
                Pair(text(of: pieces, &random), text(of: pieces, &random))
            }
            guard let url = Self.short(base, command, path, query) else { continue }
            taken += 1
            let expected = Self.long(base, command, path, query)
            #expect(url == expected, "\(base.debugDescription) \(command.debugDescription) \(path) \(query)")
        }
        #expect(taken > 2000)
    }

    /// The fast path agrees with the parser, whatever follows the base.
    @Test(arguments: ["https://api.test", "https://api.test/", "https://api.test/v1", "http://[::1]:8000/a/"])
    func anOriginIsThatOfTheParser(_ base: String) {
        let known = BaseURL(base)
        let ends = [
            "", "/", "/x", "?q", "#f", ".evil/", ":443/", ":1/", "@evil.test/", "evil", "/../..", "//evil.test/",
            "\\@evil",
        ]
        let others = ["http://api.test/v1", "https://API.test/v1/x", "https://evil.test/https://api.test/v1", ""]
        for url in ends.map({ base + $0 }) + others {
            let isSame = Origin(url: url).map { $0 == Origin(url: base) } ?? false
            // A URL that the parser refuses is never sent, so either result is right.
            if Origin(url: url) != nil { #expect(known.isOrigin(of: url) == isSame, "\(url)") }
        }
    }
}
