import Testing

@testable import NTApi

/// Recorders that replay. A stub takes the place of the server.
@Suite struct RecordModeTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = "\(folder.path)/recording.json"
    }

    /// A server that numbers its responses, and repeats the body of the request in them.
    private static func numbering() -> Stub {
        let stub = Stub()
        stub.on(nil).answer { request in .json([JSON(stub.requests.count), JSON(request.text)]) }
        return stub
    }

    /// A client with a recorder. Without a server, it has a stub without expectations.
    private func client(
        _ mode: RecordMode, _ server: Stub = Stub(), at path: String? = nil
    ) throws -> (client: TestClient, recorder: NTApi.Recorder) {
        let client = TestClient(at: "http://api.test")
        let recorder = try NTApi.Recorder(path: path ?? self.path, mode: mode)
        client.stub = server
        client.recorder = recorder
        return (client, recorder)
    }

    private func text() throws -> String { String(decoding: try SystemFile.read(path) ?? [], as: UTF8.self) }

    private func urls() throws -> [String] {
        try RecordingReader.read(path).exchanges.map(\.url)
    }

    @Test func theWordsAreThoseOfPython() {
        #expect(RecordMode.allCases.map(\.rawValue) == ["none", "once", "new_episodes", "all"])
    }

    @Test func withoutAFileNoneFailsAndSaysWhatToDo() async throws {
        let (client, recorder) = try client(.none, Self.numbering())
        let error = try #require(await client.response("a").error)
        #expect(error.code == .noStub)
        let advice =
            "to make the recording \"\(path)\", run the test with NTAPI_RECORD_MODE=once, or give the recorder this mode"
        #expect(error.message.hasSuffix("GET http://api.test/a; the stub has no expectations; \(advice)"))
        try recorder.save()
        #expect(try SystemFile.read(path) == nil)
    }

    @Test func onceRecordsAndThenReplays() async throws {
        let server = Self.numbering()
        let (first, recorder) = try client(.once, server)
        #expect(try await first.send("a").json == [1, ""])
        #expect(recorder.count == 1)
        try recorder.save()
        let before = try text()

        let (second, replayer) = try client(.once, server)
        #expect(try await second.send("a").json == [1, ""])
        let error = try #require(await second.response("b").error)
        #expect(error.code == .noStub)
        #expect(error.message.containsSubstring("the nearest: GET http://api.test/a (the path is /b); to add it to"))
        #expect(error.message.hasSuffix("NTAPI_RECORD_MODE=new_episodes, or give the recorder this mode"))
        #expect(replayer.count == 0 && server.requests.count == 1)
        try replayer.save()
        #expect(try text() == before)
        // Without its recorder, the client works as before.
        second.recorder = nil
        #expect(try await second.send("b").json == [2, ""])
    }

    @Test func allReplacesTheFile() async throws {
        for command in ["a", "b"] {
            let (client, recorder) = try client(.all, Self.numbering())
            _ = try await client.send(command)
            try recorder.save()
            #expect(try urls() == ["http://api.test/\(command)"])
        }
    }

    @Test func newEpisodesReplaysEveryKindOfRequest() async throws {
        let upload = "\(folder.path)/upload"
        try SystemFile.replace(upload, with: Array("from a file".utf8))
        let server = Stub()
        server.on("GET", "old").answer(.status(302, headers: ["Location": "/moved"]))
        server.on("GET", "moved").answer(.text("here", headers: ["X-Mine": "1"]))
        server.on("GET", "lost").fail(.noConnection)
        server.on("GET", "missing").answer(.json(["error": "gone"], status: 404))
        server.on("POST", "echo").answer { .text($0.text) }

        func steps(_ client: TestClient) async -> [String] {
            let raw = APIArg.option(.rawData)
            let moved = await client.response("old", args: [raw])
            let lost = await client.response("lost")
            let missing = await client.response("missing")
            var seen = [
                "\(moved.status) \(moved.text) \(moved.headers["X-Mine"] ?? "") \(moved.metrics.redirects)",
                "\(lost.error?.description ?? "") \(lost.error?.isRetryable ?? false)",
                "\(missing.status) \(missing.error?.description ?? "")",
            ]
            let pieces = Lock(["one ", "two"])
            let stream = BodyStream { buffer in
                let piece = pieces.withLock { $0.isEmpty ? "" : $0.removeFirst() }
                buffer.copyBytes(from: piece.utf8)
                return piece.utf8.count
            }
            let bodies: [APIArg] = [
                .data(Array("bytes".utf8)), .json(["password": "hush", "x": 1]), .form("q", "a b"),
                .multipart("part", "text"), .file(upload), .stream(stream),
            ]
            for body in bodies {
                let echo = await client.response("echo", args: [.method("POST"), raw, body])
                seen.append(
                    "\(echo.status) \(echo.text.components(between: "hush").joined(separator: "<redacted>"))")
            }
            return seen
        }

        let (first, recorder) = try client(.newEpisodes, server)
        let seen = await steps(first)
        #expect(seen.last == "200 one two")
        try recorder.save()
        let before = try text()
        #expect(recorder.count == 10 && !before.containsSubstring("hush"))

        server.forgetRequests()
        let (second, adder) = try client(.newEpisodes, server)
        #expect(await steps(second) == seen)
        #expect(server.requests.isEmpty && adder.count == 0)
        // A further request of each kind is new.
        #expect(await steps(second).last == seen.last)
        #expect(server.requests.count == 10 && adder.count == 10)
        try adder.save()
        #expect(try text().hasPrefix(before.dropLast("\n    ]\n}\n".count)))
        #expect(try urls().count == 20)
        let (third, _) = try client(.none)
        #expect(await steps(third) == seen)
        #expect(await steps(third) == seen)
    }

    /// The second case has its body in a file.
    @Test func trailersAndTheVersionAreReplayed() async throws {
        var answer = StubAnswer.json([1])
        answer.trailers = HTTPHeaders([("X-Trailer", "end")])
        answer.httpVersion = 2
        let server = Stub()
        server.on(nil).answer(answer)
        let (first, recorder) = try client(.newEpisodes, server)
        _ = try await first.send("a")
        _ = try await first.send("b")
        try recorder.save()
        let (second, _) = try client(.newEpisodes)
        let response = try await second.send("a")
        #expect(response.trailers == answer.trailers && response.metrics.httpVersion == 2)
        let file = try await second.send("b", args: [.download(to: "\(folder.path)/b")])
        #expect(file.metrics.httpVersion == 2)
        #expect(file.trailers == answer.trailers && shell("cat '\(folder.path)/b'") == Array("[1]".utf8))
    }

    @Test func whatTheFileHasIsNotWrittenAnew() async throws {
        let digits = String(repeating: "1234567890", count: 3)
        let byHand =
            #"{"note":{"exchanges":["]"]}, "version":1,"exchanges" :[{"request":{"method":"GET","#
            + #""url":"http://api.test/a"},"response":{"status":200,"body":{"json":["\"]",1.50,"# + digits
            + #"]}}}"# + "\n] ,\"format\":\"ntapi-recording\"}"
        try SystemFile.replace(path, with: Array(byHand.utf8))
        let (client, recorder) = try client(.newEpisodes, Self.numbering())
        try recorder.save()
        #expect(try text() == byHand)
        _ = try await client.send("b")
        try recorder.save()
        // Saving a second time changes nothing.
        try recorder.save()
        let end = "\n] ,\"format\":\"ntapi-recording\"}"
        #expect(try text().hasPrefix(byHand.dropLast(end.count)) && text().hasSuffix(end))
        #expect(try urls() == ["http://api.test/a", "http://api.test/b"])

        try SystemFile.replace(path, with: Array(#"{"format":"ntapi-recording","version":1,"exchanges":[]}"#.utf8))
        let (other, second) = try self.client(.newEpisodes, Self.numbering())
        _ = try await other.send("c")
        try second.save()
        #expect(try urls() == ["http://api.test/c"])
    }

    @Test func aHARIsReplayedAndAddedTo() async throws {
        let har = "\(folder.path)/traffic.HAR"
        for (command, expected) in [("a", JSON([1, ""])), ("b", [1, ""]), ("a", [1, ""])] {
            let (client, recorder) = try client(.newEpisodes, Self.numbering(), at: har)
            #expect(try await client.send(command).json == expected)
            try recorder.save()
        }
        let log = try JSON(parsing: try SystemFile.read(har) ?? [])["log"]
        #expect(log?["version"]?.string == "1.2" && log?["entries"]?.count == 2)
        // The format is that of the file, whatever the file's name is.
        let copy = "\(folder.path)/copy.json"
        try SystemFile.replace(copy, with: try SystemFile.read(har) ?? [])
        let (client, recorder) = try client(.newEpisodes, Self.numbering(), at: copy)
        _ = try await client.send("c")
        try recorder.save()
        #expect(try JSON(parsing: try SystemFile.read(copy) ?? [])["log"]?["entries"]?.count == 3)
    }

    @Test func manyThreadsShareARecorder() async throws {
        let names = (0..<100).map { "n\($0)" }
        let (first, recorder) = try client(.all, Self.numbering())
        var recorded: [String: JSON?] = [:]
        for name in names[..<50] { recorded[name] = try await first.send(name).json }
        try recorder.save()
        let server = Self.numbering()
        let (second, adder) = try client(.newEpisodes, server)
        let answers = try await withThrowingTaskGroup(of: (String, JSON?).self) { group in
            for name in names { group.addTask { (name, try await second.send(name).json) } }
            return try await group.reduce(into: [String: JSON?]()) { $0[$1.0] = $1.1 }
        }
        for (name, answer) in recorded { #expect(answers[name] == answer) }
        #expect(server.requests.count == 50 && adder.count == 50)
        try adder.save()
        #expect(try urls().count == 100)
    }

    @Test func anUnreadableFileIsAnError() throws {
        try SystemFile.replace(path, with: Array("{".utf8))
        for mode in [RecordMode.none, .once, .newEpisodes] {
            #expect { try NTApi.Recorder(path: path, mode: mode) } throws: {
                ($0 as? APIError)?.message.containsSubstring("recording.json\": it is not JSON") == true
            }
            #expect(throws: APIError.self) { try NTApi.Recorder(path: folder.path, mode: mode) }
        }
        _ = try NTApi.Recorder(path: path, mode: .all)
    }

    @Test func problemsNameWhatWasNearest() async throws {
        let stub = Stub()
        stub.on("POST", "notes")
        stub.on("GET", "unused/**")
        let client = TestClient(at: "http://api.test")
        client.stub = stub
        _ = await client.response("note", args: [.method("POST")])
        #expect(
            stub.explainedProblems == [
                "POST notes was never requested; the nearest request: POST http://api.test/note (the path is /note)",
                "GET unused/** was never requested; the nearest request: POST http://api.test/note (the path is /note)",
                "no stub matches POST http://api.test/note; the nearest: POST notes (the path is /note), "
                    + "GET unused/** (the path is /note)",
            ])
        #expect(stub.problems.count == 3)
    }
}

extension APIResponse {
    fileprivate var text: String { String(decoding: Array(data), as: UTF8.self) }
}
