import Testing

@testable import NTApi

/// A command is right if a shell splits it into the intended words.
@Suite struct CurlCommandTests {
    private func words(_ args: [APIArg], command: String = "c") throws -> [String] {
        let text = try #require(TestClient(at: "http://h/a", args: args).request(command).curlCommand)
        #expect(text.hasASCIIPrefix("curl "))
        // The shell's printf ends each of its words with a NUL.
        let printed = shell("printf '%s\\0' \(text.dropFirst(5))")
        return printed.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private let headers = ["-H", "User-Agent: ntapi/\(ntapiVersion)", "-H", "Accept: application/json, */*;q=0.5"]

    @Test func aPlainGET() throws {
        let encodings = ["-H", "Accept-Encoding: \(AcceptedEncodings.curl.names ?? "")", "--compressed"]
        let manners = ["--location", "--fail-with-body"]
        #expect(try words([.url("q", "a&b")]) == headers + encodings + manners + ["http://h/a/c?q=a%26b"])
    }

    @Test func redirectsAndStatuses() throws {
        let none = try words([.option(.maximumRedirects, 0), .option(.ignoreHTTPErrors)])
        #expect(!none.contains("--location") && !none.contains("--fail-with-body"))
        let some = try words([.option(.maximumRedirects, 3)])
        #expect(some.contains("--location") && some.firstIndex(of: "--max-redirs").map { some[$0 + 1] } == "3")
    }

    @Test func aPlainExchange() throws {
        #expect(try words([.option(.plainExchange)]) == ["-H", "User-Agent:", "-H", "Accept:", "http://h/a/c"])
    }

    @Test(arguments: [
        "plain", "two words", "it's", "''", "$(reboot) `reboot` $HOME", "\"double\"", "a\\b\\", "*?[a]{b,c}", "~", "#x",
        ";|&<>",
        "é💧", "!history", "-n", "%s",
    ]) func everyWordSurvivesTheShell(_ nasty: String) throws {
        let found = try words([.header("X-A", nasty), .data(Array(nasty.utf8)), .option(.rawData)])
        #expect(found.contains("X-A: \(nasty)"))
        let index = try #require(found.firstIndex(of: "--data-raw"))
        #expect(found[index + 1] == nasty)
    }

    @Test func newLinesInABodySurvive() throws {
        #expect(try words([.json(["a": "x"]), .data(nil)]).contains(#"{"a":"x"}"#))
        #expect(try words([.data(Array("line 1\nline '2'\n".utf8))]).contains("line 1\nline '2'\n"))
    }

    @Test func methods() throws {
        #expect(try words([.method("HEAD")]).first == "--head")
        #expect(try words([.method("DELETE")]).prefix(2) == ["-X", "DELETE"])
        #expect(try !words([.form("a", 1)]).contains("-X"))
        #expect(try words([.form("a", 1), .method("GET")]).prefix(2) == ["-X", "GET"])
    }

    @Test func bodies() throws {
        let client = TestClient(at: "http://h")
        let bytes = try #require(client.request("c", args: [.data([0, 0xFF, 0x25])]).curlCommand)
        #expect(bytes.hasPrefix(#"printf '\000\377%%' | curl "#) && bytes.containsSubstring(" --data-binary @- "))
        #expect(try words([.data([UInt8](repeating: 0, count: 70000))]).contains("<70000 bytes>"))
        #expect(try words([.file(#filePath)]).contains("@\(#filePath)"))
        #expect(try words([.stream(BodyStream { _ in 0 })]).prefix(2) == ["-X", "POST"])
        #expect(try words([.stream(BodyStream { _ in 0 })]).contains("-T"))
        #expect(try words([.stream(BodyStream(length: 3) { _ in 0 })]).contains("@-"))
        #expect(try words([.header("X-Empty", "")]).contains("X-Empty;"))
        let parts = try words([
            .multipart("t", "a;b"), .multipart("at", "@/etc/passwd"),
            .multipart("f", file: #filePath, contentType: "a/b"),
        ])
        // -F would read a value that begins with @ or < from a file.
        #expect(parts.indices.contains { parts[$0] == "--form-string" && parts[$0 + 1] == "at=@/etc/passwd" })
        #expect(parts.contains("f=@\"\(#filePath)\";filename=\"CurlCommandTests.swift\";type=a/b"))
    }

    @Test func settings() throws {
        let found = try words([.option(.allowInvalidCertificate), .option(.httpVersion, "2")])
        #expect(found.contains("--insecure") && found.contains("--http2-prior-knowledge"))
    }

    @Test func secretsAreRedacted() throws {
        let secrets: [[APIArg]] = [
            [.basicAuth("s3cr3t", "s3cr3t")], [.bearer("s3cr3t")], [.header("Cookie", "s3cr3t")],
            [.header("X-Mine", "s3cr3t").secret], [.url("appid", "s3cr3t")], [.url("mine", "s3cr3t").secret],
            [.form("password", "s3cr3t")], [.form("mine", "s3cr3t").secret], [.json(["token": "s3cr3t"])],
            [.json(["a": "s3cr3t"]).secret], [.data(Array("s3cr3t".utf8)).secret], [.multipart("secret", "s3cr3t")],
            [.data(Array("{\"password\": \"s3cr3t\", \"x\": \"".utf8) + [0xFF] + Array("\"}".utf8))],
            [.data([0] + Array("s3cr3t".utf8)).secret], [.multipart("secret", data: [0] + Array("s3cr3t".utf8))],
            [.multipart("mine", "s3cr3t").secret], [.form("mine", "s3cr3t").secret, .header("Content-Type", "a/b")],
        ]
        for args in secrets {
            let text = try #require(TestClient(at: "http://h", args: args).request().curlCommand)
            #expect(!text.containsSubstring("s3cr3t"), "\(text)")
        }
    }

    @Test func whatMakesNoRequestHasNoCommand() {
        #expect(TestClient(at: "http://h").request("{x}").curlCommand == nil)
    }

    @Test func whatWasMarkedIsHiddenWhereverItStands() throws {
        let client = TestClient(at: "http://h")
        func command(_ path: String, _ args: [APIArg]) -> String? { client.request(path, args: args).curlCommand }
        let shown = [
            command("echo/key-{t}", [.path("t", "s3cr3t").secret]), command("x", [.form("f", "s3cr3t").secret]),
            command("x", [.json(["deep": ["x": "s3cr3t"]]).secret]), command("x", [.data(Array("s3cr3t".utf8)).secret]),
            command("x", [.multipart("p", "s3cr3t").secret]), command("x", [.baseURL("http://h/?k=s3cr3t").secret]),
            command("x", [.data(Array("password=s3cr3t".utf8), contentType: "application/x-www-form-urlencoded")]),
        ]
        for text in shown { #expect(text?.containsSubstring("s3cr3t") == false) }
    }
}
