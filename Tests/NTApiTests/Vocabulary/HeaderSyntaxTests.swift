import Testing

@testable import NTApi

/// How the library reads headers whose values have a syntax of their own.
@Suite struct HeaderSyntaxTests {
    /// RFC 9110, 8.3.
    @Test(
        arguments: [
            (["text/event-stream"], "text/event-stream"), (["Text/Event-Stream ; charset=utf-8"], "text/event-stream"),
            (["\ttext/event-stream\t;x"], "text/event-stream"), (["text / event-stream"], nil),
            (["text/ event-stream"], nil),
            (["text/html", "text/event-stream"], "text/event-stream"),
            (["text/html, text/event-stream"], "text/event-stream"),
            (["text/event-stream", "text/html;x=1"], "text/html"),
            (["text/event-stream", "nothing"], "text/event-stream"),
            (["text/event-stream,"], "text/event-stream"), ([], nil), ([""], nil), (["text/"], nil), (["/x"], nil),
            (["text/a/b"], nil), (["text"], nil),
        ] as [([String], String?)])
    func readsTheContentType(_ lines: [String], _ type: String?) {
        let found = HTTPHeaders(lines.map { ("Content-Type", $0) }).contentType
        #expect((found == nil) == (type == nil), "\(found ?? "none")")
        if let type { #expect(HeaderSyntax.isMediaType(found ?? "", type), "\(found ?? "none")") }
    }

    @Test(arguments: [
        ("application/json", true), ("Application/Problem+JSON; charset=utf-8", true), ("application/x-ndjson", false),
        ("application/json-seq", false), ("text/html", false), ("+json", false),
    ]) func knowsJSON(_ type: String, _ isJSON: Bool) { #expect(HeaderSyntax.isJSON(type) == isJSON) }

    @Test(arguments: [
        ("multipart/related; type=\"a; boundary=b\"; boundary=own", "multipart/related; type=\"a; boundary=b\""),
        ("multipart/form-data;BOUNDARY=\"a;b\\\";c\";x=1", "multipart/form-data;x=1"),
        ("multipart/mixed", "multipart/mixed"),
        ("boundary", "boundary"), ("a/b; xboundary=1; boundary = 2", "a/b; xboundary=1"), ("", ""), ("a/b;", "a/b;"),
        ("a/b; x=\"open; boundary=1", "a/b; x=\"open; boundary=1;"),
    ]) func removesTheBoundary(_ type: String, _ expected: String) {
        #expect(HeaderSyntax.withoutBoundary(type) == expected)
    }

    @Test func bytesOfAReference() {
        var assembler = HeaderAssembler()
        let start = Array("Location: /caf".utf8)
        for line in [Array("HTTP/1.1 302".utf8), start + [0xE9] + Array("%20?a b".utf8), start + [0xC3, 0xA9], []] {
            _ = line.withUnsafeBytes { assembler.append($0) }
        }
        #expect(assembler.head?.headers.references("location") == ["/caf%E9%20?a b", "/caf\u{E9}"])
        #expect(assembler.head?.redirectLocation == "/caf%E9%20?a b")
        #expect(HTTPHeaders([("Link", "\u{E9}")]).references("link") == ["\u{E9}"])
    }
}
