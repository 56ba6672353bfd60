import Testing

@testable import NTApi

/// The recording of the Python tests (bindings/python/tests/test_recorder.py).
@Suite struct ReplayTests {
    private let path = "\(TestServers.packageRoot)/Tests/conformance/recording.json"

    @Test func whatPythonHasRecordedIsReplayed() async throws {
        let stub = try Stub(recording: path, anyOrigin: true)
        let client = TestClient(at: "http://elsewhere.test")
        client.stub = stub
        let name = APIArg.url("name", "recorded")
        _ = try await client.send("token/expire", args: [name])
        #expect(await client.response("token/use", args: [name, .bearer("other")]).status == 401)
        _ = try await client.send("token/issue", args: [name])
        let posted = try await client.send("ok", args: [.json(["password": "another", "city": "Zürich"])])
        #expect(posted.status == 200)
        let form = try await client.send("ok", args: [.form("q", "a b"), .form("token", "another")])
        #expect(form.status == 200)
        _ = try await client.send("ok", args: [.url("appid", "another")])
        let redirected = try await client.send("chain/2")
        #expect(redirected.metrics.redirects == 2)
        #expect(await client.response("status/404").error?.code == .httpError)
        try stub.verify()
    }

    @Test func itIsWrittenAgainAsItIs() throws {
        let bytes = try #require(try SystemFile.read(path))
        #expect(IndentedJSON.text(try RecordingReader.read(path).json) == bytes)
    }

    /// A response to a request with `plainExchange` is not decompressed, so its replay keeps the content coding.
    @Test(arguments: ["json", "har"]) func aCompressedAnswerIsReplayedCompressed(_ kind: String) async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/compressed.\(kind)"
        let client = try TestClient.of("fault")
        let recorder = NTApi.Recorder(path: path)
        client.recorder = recorder
        let plain = APIArg.option(.plainExchange)
        func ask() async -> [(coding: String?, body: [UInt8])] {
            var answers: [(String?, [UInt8])] = []
            for args in [[plain], []] {
                let response = await client.response("encoding/gzip", args: args)
                answers.append((response.headers["Content-Encoding"], Array(response.data)))
            }
            return answers
        }
        let recorded = await ask()
        try recorder.save()
        client.recorder = nil
        client.stub = try Stub(recording: path)
        let replayed = await ask()
        #expect(recorded[0].coding == "gzip" && recorded[0].body != recorded[1].body)
        #expect(replayed.map(\.body) == recorded.map(\.body))
        #expect(replayed.map(\.coding) == ["gzip", nil])
    }

    /// A redacted part matches anything. But such a request must not take the responses of requests that match exactly.
    @Test(arguments: [
        (APIArg.json(["a": 1]), APIArg.json(["b": 2]).secret), (.url("q", "open"), .url("q", "hush").secret),
        (.form("note", "open"), .form("note", "hush").secret), (.url("q", "open"), .url("token", "hush")),
        (.json(["password": "x", "a": 1]), .json(["password": "x"]).secret),
    ]) func aSecretRequestLeavesTheAnswersOfOthers(_ open: APIArg, _ secret: APIArg) async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/secret.json"
        let requests = ["open": open, "secret": secret]
        for recorded in [["open", "secret"], ["secret", "open"]] {
            let client = TestClient(at: "http://api.test")
            let stub = Stub()
            for name in recorded { stub.on(nil).answer(.text(name)).usedUp() }
            let recorder = NTApi.Recorder(path: path)
            client.recorder = recorder
            client.stub = stub
            var names: [String: String] = [:]
            for name in recorded {
                let args = try [#require(requests[name])]
                names[name] = await client.response("notes", args: args).text
            }
            try recorder.save()
            client.recorder = nil
            for replayed in [recorded, recorded.reversed()] {
                client.stub = try Stub(recording: path)
                for name in replayed {
                    let args = try [#require(requests[name])]
                    #expect(await client.response("notes", args: args).text == names[name], "\(recorded) \(replayed)")
                }
            }
        }
    }
}
