import Testing

@testable import NTApi

/// The recording that the tests of Python have made (bindings/python/tests/test_recorder.py).
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
        let posted = try await client.send("echo", args: [.json(["password": "another", "city": "Zürich"])])
        #expect(posted.json?["method"] == "POST")
        let form = try await client.send("echo", args: [.form("q", "a b"), .form("token", "another")])
        #expect(form.json?["method"] == "POST")
        let redirected = try await client.send("chain/2", args: [.url("appid", "another")])
        #expect(redirected.metrics.redirects == 2)
        #expect(await client.response("status/404").error?.code == .httpError)
        try stub.verify()
    }

    @Test func itIsWrittenAgainAsItIs() throws {
        let bytes = try #require(try SystemFile.read(path))
        #expect(IndentedJSON.text(try RecordingReader.read(path).json) == bytes)
    }
}
