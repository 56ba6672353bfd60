import Testing

@testable import NTApi

/// HAR files of browsers, used as recordings. Browsers add members of their own, and leave out others.
@Suite struct BrowserHARTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = "\(folder.path)/www.test.har"
    }

    @Test func aHAROfABrowserIsReplayed() async throws {
        let stub = try Stub(recording: "\(TestServers.packageRoot)/Tests/conformance/browser.har")
        let client = TestClient(at: "https://www.test")
        client.stub = stub
        let found = try await client.send("find", args: [.url("q", "London"), .url("token", "another")])
        #expect(found.json?["name"]?.string == "London" && found.headers["X-Kept"] == "yes")
        #expect(found.headers.all("Set-Cookie") == ["a=1", "b=2"])
        #expect(found.headers["Content-Encoding"] == nil)
        let icon = await client.response("icon.png", args: [.option(.rawData)])
        #expect(icon.data.elementsEqual([0, 255, 1]))
        let redirected = await client.response("old")
        #expect(redirected.metrics.redirects == 1 && redirected.status == 200)
        let form = await client.response("login", args: [.form("user", "ann"), .form("password", "another")])
        #expect(form.status == 204)
        let file = APIArg.multipart("file", data: [1, 2, 3], filename: "a.png", contentType: "image/png")
        let upload = await client.response("upload", args: [.multipart("title", "Ein Bild"), file])
        #expect(upload.status == 201)
        #expect(await client.response("refused").error?.transportCode == 7)
        #expect(await client.response("socket").error?.code == .noStub)
    }

    @Test(arguments: [
        ("HTTP/1.0", 1.0), ("HTTP/1.1", 1.1), ("http/2.0", 2), ("h2", 2), ("h3", 3), ("HTTP/3", 3), ("unknown", 1.1),
        ("", 1.1), ("h2c", 1.1), ("HTTP/9", 1.1),
    ]) func theVersionIsKept(_ text: String, _ version: Double) async throws {
        let entry =
            #"{"request":{"method":"GET","url":"http://h/"},"response":{"status":204,"httpVersion":"\#(text)"}}"#
        try SystemFile.replace(path, with: Array(Self.har(entry).utf8))
        let client = TestClient(at: "http://h")
        client.stub = try Stub(recording: path)
        #expect(await client.response().metrics.httpVersion == version)
    }

    @Test(arguments: [
        (#"{"log":{}}"#, "log.entries"), (har("{}"), "entry 1, \"request\""),
        (har(#"{"request":{"method":"GET","url":"http://h/"}}"#), "\"response\""),
        (har(#"{"request":{"url":"http://h/"},"response":{"status":200}}"#), "request.method"),
        (har(#"{"request":{"method":"GET"},"response":{"status":200}}"#), "request.url"),
        (har(#"{"request":{"method":"GET","url":"http://h/"},"response":{"status":"x"}}"#), "response.status"),
        (
            har(
                #"{"request":{"method":"GET","url":"http://h/"},"#
                    + #""response":{"status":200,"content":{"text":"!","encoding":"base64"}}}"#),
            "response.content.text is not base64"
        ),
        (
            har(
                #"{"request":{"method":"GET","url":"http://h/"},"#
                    + #""response":{"status":200,"content":{"text":"!","encoding":"x"}}}"#),
            "response.content: the encoding"
        ),
        (
            har(#"{"request":{"method":"GET","url":"http://h/","headers":[{}]},"response":{"status":200}}"#),
            "request.headers: a header has no name"
        ),
    ]) func aBadFileIsAClearError(_ text: String, _ message: String) throws {
        try SystemFile.replace(path, with: Array(text.utf8))
        let error = thrown { _ = try Stub(recording: path) }
        #expect(error?.message.containsSubstring(message) == true, "\(String(describing: error))")
        #expect(error?.message.containsSubstring("www.test.har") == true)
    }

    private static func har(_ entry: String) -> String { #"{"log":{"version":"1.2","entries":["# + entry + "]}}" }
}
