import Testing

@testable import NTApi

/// How headers are read whose values have a form of their own.
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
}
