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
}
