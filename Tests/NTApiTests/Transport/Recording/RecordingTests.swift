import Testing

@testable import NTApi

/// Recording and replaying exchanges.
@Suite struct RecordingTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = "\(folder.path)/recording.json"
    }

    private func json() throws -> JSON { try JSON(parsing: try SystemFile.read(path) ?? []) }

    private func text() throws -> String { String(decoding: try SystemFile.read(path) ?? [], as: UTF8.self) }

    /// Runs the body twice, first with the servers and then with the recording, and compares the results.
    private func twice(
        anyOrigin: Bool = false, _ body: (TestClient) async throws -> [String]
    ) async throws {
        let client = try TestClient.of("fault")
        let recorder = NTApi.Recorder(path: path, secrets: ["session"])
        client.recorder = recorder
        let first = try await body(client)
        try recorder.save()
        let stub = try Stub(recording: path, anyOrigin: anyOrigin)
        let other = anyOrigin ? TestClient(at: "http://elsewhere.test") : try TestClient.of("fault")
        other.stub = stub
        let second = try await body(other)
        #expect(first == second && !first.isEmpty)
        try stub.verify()
    }

    @Test func aReplayIsAsTheRecording() async throws {
        let token = "t\(UInt64.random(in: 0 ... .max))"
        try await twice { client in
            var seen: [String] = []
            for index in 0..<3 {
                // The server answers differently each time.
                let response = await client.response("count-hit", args: [.url("token", token), .url("key", "k")])
                seen.append("\(response.status) \(response.json?["count"]?.int ?? 0) \(index)")
            }
            let posted = try await client.send("echo", args: [.json(["a": [1, 2.5, .null]]), .header("X-A", "b")])
            seen.append("\(posted.status) \(posted.json?["body"]?.string ?? "")")
            let redirected = await client.response("chain/2")
            seen.append("\(redirected.status) \(redirected.metrics.redirects)")
            let missing = await client.response("status/404")
            seen.append("\(missing.status) \(missing.error?.code.name ?? "")")
            let moved = await client.response("redirect/latin-1")
            seen.append("\(moved.status) \(moved.json?["target"]?.string ?? "")")
            let trailing = await client.response("chunked/trailer")
            #expect(trailing.trailers == HTTPHeaders([("X-Trailer", "end")]))
            seen.append("\(trailing.status) \(trailing.trailers.map(\.value))")
            return seen
        }
    }

    @Test func allBodiesAreFoundAgain() async throws {
        try await twice(anyOrigin: true) { client in
            var seen: [String] = []
            for args: [APIArg] in [
                [.form("a b", "c&d"), .form("e", "é")], [.data(Array("text".utf8), contentType: "text/plain")],
                [.data([0, 255, 1])], [.multipart("t", "text"), .multipart("f", data: [0, 1], fileExtension: "png")],
                [.stream(BodyStream(chunks: ["ab", "cd"]), contentType: "text/plain")],
            ] {
                let response = await client.response("echo", args: args)
                seen.append("\(response.status) \(response.error?.message ?? "")")
            }
            return seen
        }
        let bodies = try json()["exchanges"]?.array?.map { $0["request"]?["body"]?.keys.first } ?? []
        #expect(bodies == ["form", "text", "base64", "parts", "text"])
    }

    /// All digits of a body count when a request is looked up. The response has its numbers unchanged.
    @Test(arguments: ["recording.json", "traffic.har"]) func numbersKeepTheirDigits(_ name: String) async throws {
        let texts = ["18446744073709551617", "18446744073709551619", "1.123456789012345678", "1e2", "-0.10"]
        let client = try TestClient.of("fault")
        let recorder = NTApi.Recorder(path: "\(folder.path)/\(name)")
        func answers() async throws -> [String] {
            var answers: [String] = []
            // The last one is asked first, so the order does not help to find the recorded ones.
            for text in texts.reversed() {
                // This is a PUT, because it may be retried if another test has left a connection that breaks.
                let response = try await client.put("mirror", args: [.json(JSON(parsing: "[\(text)]"))])
                answers.append(String(decoding: response.data, as: UTF8.self))
            }
            return answers.reversed()
        }
        client.recorder = recorder
        #expect(try await answers() == texts.map { "[\($0)]" })
        client.recorder = nil
        try recorder.save()
        let stub = try Stub(recording: "\(folder.path)/\(name)")
        client.stub = stub
        #expect(try await answers() == texts.map { "[\($0)]" })
        try stub.verify()
    }

    /// A response to HEAD and a 304 describe a body that is not sent.
    @Test(arguments: ["recording.json", "traffic.har"]) func whatDescribesNoBodyIsKept(_ name: String) async throws {
        let client = try TestClient.of("fault")
        let recorder = NTApi.Recorder(path: "\(folder.path)/\(name)")
        let args: [[APIArg]] = [
            [.method("HEAD"), .url("status", 200)], [.method("HEAD"), .url("status", 404)], [.url("status", 304)],
        ]
        func answers() async -> [String] {
            var answers: [String] = []
            for args in args {
                let args = args + [.url("length", 12), .url("coding", "gzip")]
                let response = await client.response("no-body", args: args)
                let coding = response.headers["Content-Encoding"] ?? ""
                answers.append(
                    "\(response.status) \(response.headers["Content-Length"] ?? "") \(coding) \(response.data.count) "
                        + "\(response.error?.code.name ?? "")")
            }
            return answers
        }
        client.recorder = recorder
        let recorded = await answers()
        client.recorder = nil
        try recorder.save()
        #expect(recorded == ["200 12 gzip 0 ", "404 12 gzip 0 HTTP error", "304 12 gzip 0 HTTP error"])
        client.stub = try Stub(recording: "\(folder.path)/\(name)")
        #expect(await answers() == recorded)
    }

    @Test func theVersionOfHTTPIsKept() async throws {
        let request = #""request":{"method":"GET","url":"http://h.test/a"}"#
        let recorded = Self.exchange("{\(request),\(#""response":{"status":204,"httpVersion":2}"#)}")
        try SystemFile.replace(path, with: Array(recorded.utf8))
        let client = TestClient(at: "http://h.test")
        client.stub = try Stub(recording: path)
        let recorder = NTApi.Recorder(path: path)
        client.recorder = recorder
        #expect(try await client.send("a").metrics.httpVersion == 2)
        try recorder.save()
        #expect(try json()["exchanges"]?[0]?["response"]?["httpVersion"]?.double == 2)
    }

    @Test func secretsStayOut() async throws {
        let client = try TestClient.of("fault")
        let recorder = NTApi.Recorder(path: path, secrets: ["session"])
        client.recorder = recorder
        let secret = "hush"
        _ = await client.response(
            "echo",
            args: [.url("appid", secret), .url("mine", secret).secret, .bearer(secret), .header("X-Session", "x")])
        _ = await client.response("echo", args: [.json(["password": "hush", "session": ["hush"], "open": 1])])
        _ = await client.response("echo", args: [.form("token", secret), .form("open", "1")])
        _ = await client.response("echo", args: [.multipart("secret", secret), .header("session", secret)])
        _ = await client.response("ok", args: [.json(["a": "hush"]).secret])
        _ = await client.response("headers", args: [.url("Set-Cookie", "sid=hush; Path=/")])
        try recorder.save()
        let requests = try json()["exchanges"]?.array?.compactMap { $0["request"] } ?? []
        #expect(requests.count == 6 && recorder.count == 6)
        for request in requests.dropLast() {
            #expect(!String(decoding: request.utf8(), as: UTF8.self).containsSubstring(secret))
        }
        #expect(
            requests.map { $0["body"] }[1] == ["json": ["password": "<redacted>", "session": "<redacted>", "open": 1]])
        #expect(requests[0]["url"]?.string?.hasSuffix("?appid=<redacted>&mine=<redacted>") == true)
        #expect(try !text().containsSubstring("sid=hush"))
        // Redacted parts are not compared.
        client.recorder = nil
        client.stub = try Stub(recording: path)
        let other = await client.response("echo", args: [.json(["password": "other", "session": 5, "open": 1])])
        #expect(other.status == 200)
        let wrong = await client.response("echo", args: [.json(["password": "other", "session": 5, "open": 2])])
        #expect(wrong.error?.code == .noStub)
        let query = await client.response("echo", args: [.url("appid", "x"), .url("mine", "y")])
        #expect(query.status == 200)
    }

    /// The content type says little about the kind of a body.
    @Test func secretsOfEveryKindOfBodyStayOut() async throws {
        let client = try TestClient.of("fault")
        let recorder = NTApi.Recorder(path: path)
        client.recorder = recorder
        let bodies = [
            (#"{"pass\u0077ord":"hush","open":1}"#, "application/json"), (#"{"token":"hush"}"#, "text/plain"),
            ("{\"a\":1}\n{\"token\":\"hush\"}\n", "application/x-ndjson"), ("token=hush", "text/plain"),
            ("data: {\"a\":1,\"token\":\"hush\"}\n\n", "text/event-stream"),
            ("data: {\"token\":\ndata: \"hush\"}\n\n", "text/event-stream"),
            (#"Warning {"a":"hush"} password=hush {"open":1}"#, "application/json"),
        ]
        let secrets = [bodies[6].0: "a"]
        for (body, type) in bodies {
            client.recorder = secrets[body].map { NTApi.Recorder(path: path, secrets: [$0]) } ?? recorder
            _ = await client.response("mirror", args: [.data(Array(body.utf8), contentType: type), .option(.rawData)])
            try client.recorder?.save()
            #expect(try !text().containsSubstring("hush"), "\(body)")
        }
        client.recorder = recorder
        _ = await client.response("ok", args: [.multipart("a", #"{"token":"hush"}"#)])
        _ = await client.response(
            "headers", args: [.url("X-Next", "http://u:hush@h.test/"), .url("Link", "<http://h.test/?token=hush>")])
        try recorder.save()
        #expect(try !text().containsSubstring("hush") && recorder.count == 8)
        // Redacted parts are not compared.
        client.recorder = nil
        client.stub = try Stub(recording: path)
        for (body, type) in bodies.prefix(5) {
            let changed = body.split(separator: "hush", omittingEmptySubsequences: false).joined(separator: "other")
            let args: [APIArg] = [.data(Array(changed.utf8), contentType: type), .option(.rawData)]
            #expect(await client.response("mirror", args: args).error == nil, "\(body)")
        }
        let args: [APIArg] = [.data(Array("token=other&a=1".utf8), contentType: "text/plain")]
        #expect(await client.response("mirror", args: args).error?.code == .noStub)
    }

    @Test func faultsAreRecorded() async throws {
        let client = TestClient(at: "http://127.0.0.1:1")
        let recorder = NTApi.Recorder(path: path)
        client.recorder = recorder
        let refused = await client.response("a")
        client.defaults["baseUrl"] = JSON(try TestServers.url("fault"))
        let late = await client.response("hold", args: [.timeout(0.1)])
        try recorder.save()
        let faults = try json()["exchanges"]?.array?.map { $0["fault"]?.string } ?? []
        #expect(faults == ["no_connection", "timeout"])
        client.recorder = nil
        client.stub = try Stub(recording: path)
        #expect(await client.response("hold", args: [.timeout(0.1)]).error == late.error)
        client.defaults["baseUrl"] = "http://127.0.0.1:1"
        #expect(await client.response("a").error?.transportCode == refused.error?.transportCode)
    }

    @Test func streamsAndDownloadsAreRecorded() async throws {
        try await twice { client in
            var lines = 0
            for try await _ in client.lines("lines", args: [.url("count", 100)]) { lines += 1 }
            let file = "\(folder.path)/file"
            let response = await client.response("lines", args: [.url("count", 10), .download(to: file)])
            return ["\(lines)", "\(try SystemFile.read(file)?.count ?? 0)", "\(response.status)"]
        }
    }

    @Test func aFileIsReadable() async throws {
        let client = try TestClient.of("fault")
        let stub = Stub()
        stub.on("POST", "notes").answer(.json(["id": 7, "tags": ["a", "b"], "deep": [["x": .null]]], status: 201))
        client.stub = stub
        client.defaults["baseUrl"] = "http://api.test"
        let recorder = NTApi.Recorder(path: path)
        client.recorder = recorder
        _ = await client.response("notes", args: [.json(["title": "a: {b}, [c]"]), .bearer("x")])
        try recorder.save()
        let text = try text()
        #expect(
            text.hasPrefix(
                "{\n    \"format\": \"ntapi-recording\",\n    \"version\": 1,\n    \"exchanges\": [\n        {\n"))
        #expect(text.containsSubstring("                \"method\": \"POST\",\n"))
        #expect(text.containsSubstring("[\"Authorization\", \"<redacted>\"]"))
        #expect(text.containsSubstring("\"title\": \"a: {b}, [c]\"\n"))
        #expect(text.containsSubstring("\"tags\": [\"a\", \"b\"],\n"))
        #expect(text.hasSuffix("}\n"))
    }

    @Test(arguments: [
        ("nothing", "not JSON"), ("{}", "format"), (#"{"format":"ntapi-recording"}"#, "version"),
        (#"{"format":"ntapi-recording","version":2}"#, "its version is 2"),
        (#"{"format":"ntapi-recording","version":1}"#, "exchanges"), (exchange("{}"), "exchange 1, \"request\""),
        (exchange(#"{"request":{"method":"GET"}}"#), "request.url"),
        (exchange(#"{"request":{"method":"GET","url":"http://h/"}}"#), "neither"),
        (exchange(#"{"request":{"method":"GET","url":"http://h/"},"response":{"status":99}}"#), "response.status"),
        (
            exchange(
                #"{"request":{"method":"GET","url":"http://h/"},"response":{"status":200,"httpVersion":9}}"#),
            "response.httpVersion"
        ),
        (exchange(#"{"request":{"method":"GET","url":"http://h/"},"fault":"bad luck"}"#), "fault is not one of"),
        (exchange(#"{"request":{"method":"GET","url":"http://h/","body":{"base64":"!"}}}"#), "body.base64"),
        (exchange(#"{"request":{"method":"GET","url":"http://h/","headers":[["a"]]}}"#), "headers"),
    ]) func aBadFileIsAClearError(_ text: String, _ message: String) throws {
        try SystemFile.replace(path, with: Array(text.utf8))
        let error = thrown { _ = try Stub(recording: path) }
        #expect(error?.message.containsSubstring(message) == true, "\(String(describing: error))")
        #expect(error?.message.containsSubstring("recording.json") == true)
    }

    private static func exchange(_ text: String) -> String {
        #"{"format":"ntapi-recording","version":1,"exchanges":["# + text + "]}"
    }

    @Test func filesThatCannotBeAreErrors() {
        #expect(thrown { _ = try Stub(recording: "/nowhere/x") }?.message.containsSubstring("no such file") == true)
        #expect(
            thrown { try NTApi.Recorder(path: "/nowhere/x").save() }?.message.containsSubstring("not written") == true)
    }
}

extension BodyStream {
    fileprivate convenience init(chunks: [String]) {
        let rest = Lock(chunks)
        self.init { buffer in
            let chunk = rest.withLock { $0.isEmpty ? "" : $0.removeFirst() }
            buffer.copyBytes(from: chunk.utf8)
            return chunk.utf8.count
        }
    }
}
