import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The command line is run by a shell with the real curl. It sends what the request has sent.
@Suite struct CurlCommandSendsTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var command = "echo"
        let args: [APIArg]
    }

    private static let odd = "a;b,c=d\"e'f\\g \r\n[1-3]{x,y}%s$(id)`id`<@é💧!"
    private static let bytes: [UInt8] = Array(0...255) + Array("%s\\n'\"".utf8) + Array((0...255).reversed())

    private static let brackets = ((try? TestServers.url("fault")) ?? "") + "/echo/[1-3]/{a,b}/.x?x={a,b}&y=[a-c]"

    private static let samples: [Sample] = [
        Sample(testDescription: "a GET", args: [.url("q", "a b&c=[1]{2}")]),
        Sample(testDescription: "globs", command: "echo/[1-3]/a?x=[a-c]", args: []),
        Sample(testDescription: "globs in the base URL's query", args: [.url("u", "[1-2]"), .header("X", "{a}")]),
        Sample(testDescription: "globs in a base URL arg", args: [.baseURL(brackets)]),
        Sample(testDescription: "dots", command: "echo/.a/..b/c./...?x=/../y", args: []),
        Sample(testDescription: "dots that are resolved", command: "x/../echo/./a/%2e%2e/b", args: []),
        Sample(testDescription: "a path with odd characters", command: "echo/;,=:@!$&'()*+~", args: []),
        Sample(testDescription: "a path arg", command: "echo/{x}", args: [.path("x", odd)]),
        Sample(
            testDescription: "headers",
            args: [
                .header("X-A", "a;b,c=d\"e'f\\g %s$(id)`id`"), .header("X-Empty", ""), .addHeader("X-B", "1"),
                .addHeader("X-B", "@2"), .header("Accept", "a/b"), .header("User-Agent", "me"),
            ]),
        Sample(testDescription: "no encodings", args: [.header("Accept-Encoding", "identity")]),
        Sample(testDescription: "DELETE", args: [.method("DELETE")]),
        Sample(testDescription: "a method of its own", args: [.method("a'b")]),
        Sample(testDescription: "POST without a body", args: [.method("POST")]),
        Sample(testDescription: "PUT without a body", args: [.method("PUT")]),
        Sample(testDescription: "GET with a body", args: [.json(["a": 1]), .method("GET")]),
        Sample(testDescription: "a form", args: [.form("a b", odd), .form("@x", "@y")]),
        Sample(testDescription: "JSON", args: [.json(["it's": JSON(odd)])]),
        Sample(testDescription: "a text that looks like a file", args: [.data(Array("@/etc/hostname".utf8))]),
        Sample(testDescription: "an empty body", args: [.data([])]),
        Sample(testDescription: "a body without a type", args: [.data(Array("x".utf8)), .header("Content-Type", "")]),
        Sample(testDescription: "bytes", args: [.data(bytes, contentType: "a/b")]),
        Sample(testDescription: "a large text", args: [.data([UInt8](repeating: 0x61, count: 60000))]),
        Sample(testDescription: "bytes in a PUT", args: [.data(bytes), .method("PUT")]),
        Sample(testDescription: "HTTP/1.0", args: [.option(.httpVersion, "1.0"), .form("a", 1)]),
        Sample(
            testDescription: "texts in parts",
            args: [
                .multipart("t", odd), .multipart(";,\"'\\ @", "@/etc/hostname"), .multipart("x", "<y"),
                .multipart("e", ""), .multipart("q", "\"quoted\""),
            ]),
        Sample(
            testDescription: "names that end at an equals sign",
            args: [.multipart("a=b;\"c\"", odd), .multipart("=", "x")]
        ),
        Sample(
            testDescription: "bytes in parts",
            args: [
                .multipart("a", data: Array("it's; \"x\", \\y\n".utf8), filename: "a;b,\"c=\\.x", contentType: "a/b"),
                .multipart("b=c", data: Array("(x".utf8), filename: "photo.png", contentType: nil),
                .multipart("d", data: bytes, filename: "d.bin", contentType: "text/plain; charset=\"utf-8\", x=y"),
                .multipart("e", data: [], filename: "e.TXT", contentType: nil),
                .multipart("f", data: Array("@/etc/hostname".utf8), filename: "=.html", contentType: "odd"),
            ]),
    ]

    @Test(arguments: samples) func sendsTheSame(_ sample: Sample) async throws { try await check(sample) }

    @Test func filesAreTheSame() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a;b,c=d \"e'\\[1]{2}.txt"
        let file = try #require(fopen(path, "w"))
        Self.bytes.withUnsafeBytes { _ = fwrite($0.baseAddress, 1, $0.count, file) }
        fclose(file)
        try await check(Sample(testDescription: "a file", args: [.file(path), .method("PUT")]))
        try await check(
            Sample(
                testDescription: "files in parts",
                args: [
                    .multipart("f", file: path),
                    .multipart("g", file: path, filename: "x=\";y", contentType: "a/b;c=d"),
                    .multipart("h=", file: path),
                ]))
    }

    private func check(_ sample: Sample) async throws {
        let client = try TestClient.of("fault")
        let command = try #require(client.request(sample.command, args: sample.args).curlCommand)
        let response = await client.response(sample.command, args: sample.args)
        #expect(response.error == nil)
        let ours = Seen(response.json)
        let theirs = Seen(try JSON(parsing: await onThread { shell("{ \(command) --silent; } </dev/null") }))
        #expect(ours.target != nil && ours == theirs, "\(command)")
    }

    /// What the server saw, without the random boundary and the order of the headers.
    private struct Seen: Equatable {
        let target: String?
        let method: String?
        var headers: [String]
        var body: String

        init(_ json: JSON?) {
            target = json?["target"]?.string
            method = json?["method"]?.string
            headers = (json?["headers"]?.array ?? []).map { "\($0[0]?.string ?? ""): \($0[1]?.string ?? "")" }
            body = json?["body"]?.string ?? json?["body_base64"]?.string.map(Seen.decoded) ?? ""
            let type = json?[path: "header[\"content-type\"]"]?.string ?? ""
            if let mark = type.utf8.firstRange(of: Array("boundary=".utf8)) {
                let boundary = String(type[mark.upperBound...])
                headers = headers.map {
                    $0.split(separator: boundary, omittingEmptySubsequences: false).joined(separator: "B")
                }
                // For a part, curl puts the given headers after its own.
                let lines = body.split(separator: boundary, omittingEmptySubsequences: false).joined(separator: "B")
                body = lines.split(separator: "\r\n", omittingEmptySubsequences: false).sorted().joined(separator: "\n")
            }
            headers.sort()
        }

        private static func decoded(_ base64: String) -> String {
            String(
                decoding: (Base64.decode(base64) ?? []).flatMap { $0 < 0x80 ? [$0] : [0xC4, $0 & 0xBF] }, as: UTF8.self)
        }
    }
}
