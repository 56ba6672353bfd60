import NTApi
import Testing

@testable import byteclub

/// The client of the Byte Club example, with stubbed responses and a clock that stands still.
@Suite struct ByteClubTests {
    private let stub = Stub()
    private let clock = ManualClock()
    private let club = ByteClub(
        Session(url: "http://api.test", content: "http://content.test", token: "token", secret: "c d"))

    init() { [club.api, club.content, club.uploads].forEach(prepare) }

    private func prepare(_ client: APIClient) {
        client.stub = stub
        client.clock = clock
    }

    /// A file entry as the service describes it.
    private func entry(_ path: String, rev: String = "1f", isDir: Bool = false, contents: [JSON]? = nil) -> JSON {
        [
            "path": JSON(path), "rev": JSON(rev), "bytes": 5, "size": "5 bytes", "root": "dropbox",
            "is_dir": JSON(isDir), "thumb_exists": false, "modified": "Sat, 21 Aug 2010 22:31:20 +0000",
            "contents": contents.map { JSON($0) } ?? .null,
        ]
    }

    private func error(_ call: () async throws(APIError) -> Void) async -> APIError? {
        do throws(APIError) {
            try await call()
            return nil
        } catch {
            return error
        }
    }

    @Test func filesAreListedAndFoldersAreNot() async throws {
        let inside = [entry("/byteclub/a.txt"), entry("/byteclub/photos", isDir: true)]
        let folder = entry("/byteclub", isDir: true, contents: inside)
        stub.on("GET", "http://api.test/1/metadata/dropbox/byteclub?list=true").answer(.json(folder))
        let notes = try await club.notes()
        #expect(notes.map(\.name) == ["a.txt"] && notes[0].bytes == 5 && notes[0].rev == "1f")
        #expect(notes[0].modified == APIDate(iso8601: "2010-08-21T22:31:20Z"))
        try stub.verify()
    }

    @Test func requestsAreSigned() async throws {
        stub.on("GET", "/1/metadata/dropbox/byteclub").answer(.status(404))
        #expect(try await club.notes().isEmpty)
        #expect(
            stub.requests.first?.headers["authorization"]
                == "OAuth oauth_version=\"1.0\", oauth_signature_method=\"PLAINTEXT\", oauth_consumer_key=\"byteclub\", "
                + "oauth_token=\"token\", oauth_signature=\"club%2520secret%26c%2520d\"")
    }

    @Test func aNoteIsWrittenOverTheRevisionThatWasRead() async throws {
        let name = "50 %?.txt"
        let about = entry("/byteclub/\(name)", rev: "2a").text
        stub.on("GET", "http://content.test/1/files/dropbox/byteclub/50%20%25%3F.txt").answer(
            .text("hello", headers: ["x-dropbox-metadata": about]))
        let note = try await club.read(name)
        #expect(note.text == "hello" && note.entry.rev == "2a")
        stub.on(
            "PUT", "http://content.test/1/files_put/dropbox/byteclub/*?parent_rev=2a&overwrite=false",
            body: .containing("ciao")
        )
        .answer(.json(entry("/byteclub/\(name)")))
        _ = try await club.write(name, "ciao", replacing: note.entry)
        try stub.verify()
    }

    @Test func photosAreFoundAndUploadedWithOneConnection() async throws {
        stub.on("GET", "http://api.test/1/search/dropbox/byteclub/photos?query=.jpg")
            .answer(.json([entry("/byteclub/photos/b.jpg")]), .status(404))
        #expect(try await club.photos().map(\.name) == ["b.jpg"])
        #expect(try await club.photos().isEmpty)
        stub.on("PUT", "http://content.test/1/files_put/dropbox/byteclub/photos/*")
            .answer(.json(entry("/byteclub/photos/c.jpg")))
        for _ in 0..<2 { _ = try await club.upload("/etc/hostname") { _ in } }
        let names = Set(stub.requests.suffix(2).map { $0.url.split(separator: "/").last?.prefix { $0 != "?" } ?? "" })
        #expect(names.count == 2 && names.allSatisfy { $0.wholeMatch(of: /photo-[0-9a-f]{8}\.jpg/) != nil })
        #expect(club.uploads.defaults["maximumConnectionsPerHost"]?.int == 1)
        #expect(club.content.defaults["maximumConnectionsPerHost"] == nil)
    }

    @Test func aTokenIsAskedForUntilTheUserHasAnswered() async throws {
        let client = APIClient.storage("http://api.test", Token())
        prepare(client)
        stub.on("POST", "/1/oauth/request_token").answer(.text("oauth_token_secret=s&oauth_token=t"))
        let first = try await client.call(RequestToken())
        #expect(first.token == "t" && first.secret == "s")
        #expect(stub.requests[0].headers["authorization"]?.contains("oauth_token=") == false)

        let signed = APIClient.storage("http://api.test", first)
        prepare(signed)
        let rule = stub.on("POST", "/1/oauth/access_token")
            .answer(.status(401), .status(401), .text("oauth_token=access&oauth_token_secret=secret&uid=5"))
        async let access = signed.call(AccessToken())
        for _ in 0..<2 {
            try await clock.waitForSleepers(timeout: 120)
            clock.advance(by: 1)
        }
        #expect(try await access.token == "access")
        #expect(rule.callCount == 3)
        #expect(stub.requests[1].headers["authorization"]?.contains("oauth_token=\"t\"") == true)
    }

    @Test(arguments: ["", "oauth_token=t", "oauth_token=&oauth_token_secret=s", "{}"])
    func whatIsNoTokenIsAnError(_ text: String) async throws {
        let client = APIClient.storage("http://api.test", Token())
        prepare(client)
        stub.on("POST", "/1/oauth/request_token").answer(.text(text))
        await #expect(throws: APIError.self) { _ = try await client.call(RequestToken()) }
    }

    @Test func aBusyServiceIsAskedAgainWhenItSays() async throws {
        let rule = stub.on("GET", "/1/search/dropbox/byteclub?query=tea")
            .answer(.status(503, headers: ["Retry-After": "20"]), .json([entry("/byteclub/tea")]))
        async let found = club.search("tea")
        try await clock.waitForSleepers(timeout: 120)
        let wake = try #require(clock.nextWake)
        #expect(wake >= 20)
        clock.advance(by: wake)
        #expect(try await found.map(\.path) == ["/byteclub/tea"] && rule.callCount == 2)
    }

    @Test func aFileThatMayHaveBeenWrittenIsNotSentAgain() async throws {
        let put = stub.on("PUT", "/1/files_put/dropbox/byteclub/a.txt").fail(.connectionLost)
        let error = await error { () async throws(APIError) in _ = try await club.write("a.txt", "hello") }
        #expect(error?.domain == .network && put.callCount == 1)
    }

    @Test func aWaitThatIsTooLongIsTold() async throws {
        let rule = stub.on("GET", "account/info").answer(.status(429, headers: ["Retry-After": "300"]))
        let error = try #require(await error { () async throws(APIError) in _ = try await club.account() })
        #expect(explanation(of: error) == "too many requests: try again in 300 s" && rule.callCount == 1)
    }

    @Test(arguments: [
        (400, "the service does not accept this: why not"),
        (401, "not signed in any more: byteclub login URL"),
        (403, "not allowed: why not"), (404, "no such file or folder"),
        (405, "the service does not know this call: is the URL right?"),
        (507, "no room left: delete something first"), (418, "why not"),
    ])
    func statusesAreExplained(_ status: Int, _ text: String) async throws {
        stub.on("POST", "fileops/delete").answer(.json(["error": "why not"], status: status))
        let error = try #require(await error { () async throws(APIError) in try await club.delete("a.txt") })
        #expect(explanation(of: error) == text && error.domain == .http)
    }
}
