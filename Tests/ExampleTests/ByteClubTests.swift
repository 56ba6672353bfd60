import NTApi
import Testing

@testable import byteclub

/// The client of the example Byte Club, with answers from memory and time that stands still.
@Suite struct ByteClubTests {
    private let stub = Stub()
    private let clock = ManualClock()
    private let club = ByteClub(
        "http://api.test", Credentials(key: "key", secret: "a&b", token: "token", tokenSecret: "c d"))

    init() {
        club.api.stub = stub
        club.api.clock = clock
    }

    /// A file as the service describes it.
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
        let folder = entry("/notes", isDir: true, contents: [entry("/notes/a.txt"), entry("/notes/old", isDir: true)])
        stub.on("GET", "/1/metadata/dropbox/notes?list=true").answer(.json(folder))
        let notes = try await club.notes()
        #expect(notes.map(\.name) == ["a.txt"] && notes[0].bytes == 5 && notes[0].rev == "1f")
        #expect(notes[0].modified == APIDate(iso8601: "2010-08-21T22:31:20Z"))
        try stub.verify()
    }

    @Test func requestsAreSigned() async throws {
        stub.on("GET", "/1/metadata/dropbox/notes").answer(.status(404))
        #expect(try await club.notes().isEmpty)
        #expect(
            stub.requests.first?.headers["authorization"]
                == "OAuth oauth_version=\"1.0\", oauth_signature_method=\"PLAINTEXT\", oauth_consumer_key=\"key\", "
                + "oauth_token=\"token\", oauth_signature=\"a%2526b%26c%2520d\"")
    }

    @Test func aNoteIsWrittenOverTheRevisionThatWasRead() async throws {
        let name = "50 %?.txt"
        let about = entry("/notes/\(name)", rev: "2a").text
        stub.on("GET", "/1/files/dropbox/notes/50%20%25%3F.txt").answer(
            .text("hello", headers: ["x-dropbox-metadata": about]))
        let note = try await club.read(name)
        #expect(note.text == "hello" && note.entry.rev == "2a")
        stub.on("PUT", "/1/files_put/dropbox/notes/*?parent_rev=2a&overwrite=false", body: .containing("ciao"))
            .answer(.json(entry("/notes/\(name)")))
        _ = try await club.write(name, "ciao", replacing: note.entry)
        try stub.verify()
    }

    @Test func aBusyServiceIsAskedAgainWhenItSays() async throws {
        let rule = stub.on("GET", "/1/search/dropbox?query=tea")
            .answer(.status(503, headers: ["Retry-After": "20"]), .json([entry("/notes/tea")]))
        async let found = club.search("tea")
        #expect(await clock.waitForSleepers())
        let wake = try #require(clock.nextWake)
        #expect(wake >= 20)
        clock.advance(by: wake)
        #expect(try await found.map(\.path) == ["/notes/tea"] && rule.callCount == 2)
    }

    @Test func aFileThatMayHaveBeenWrittenIsNotSentAgain() async throws {
        let put = stub.on("PUT", "/1/files_put/dropbox/notes/a.txt").fail(.connectionLost)
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
        (401, "not signed in: renew BYTECLUB_TOKEN and BYTECLUB_TOKEN_SECRET"),
        (403, "not allowed: why not"), (404, "no such file or folder"),
        (405, "the service does not know this call: is the URL right?"),
        (507, "no room left: delete something first"), (418, "why not"),
    ])
    func statusesAreExplained(_ status: Int, _ text: String) async throws {
        stub.on("POST", "fileops/delete").answer(.json(["error": "why not"], status: status))
        let error = try #require(await error { () async throws(APIError) in try await club.delete("/notes/a.txt") })
        #expect(explanation(of: error) == text && error.domain == .http)
    }
}
