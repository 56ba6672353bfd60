import Testing

@testable import NTApi

/// HAR files are written for browsers, and can be replayed.
@Suite struct HARTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = "\(folder.path)/traffic.har"
    }

    private func log() throws -> JSON {
        let json = try JSON(parsing: try SystemFile.read(path) ?? [])
        return try #require(json["log"])
    }

    private func entries() throws -> [JSON] { try log()["entries"]?.array ?? [] }

    /// Records requests to a server.
    private func record(_ body: (TestClient) async throws -> Void) async throws {
        let client = try TestClient.of("fault")
        let recorder = NTApi.Recorder(path: path)
        client.recorder = recorder
        try await body(client)
        try recorder.save()
    }

    private func header(_ json: JSON?, _ name: String) -> String? {
        json?["headers"]?.array?.first { $0["name"]?.string?.lowercasedASCII() == name }?["value"]?.string
    }

    @Test func anEntryHasWhatWasSentAndReceived() async throws {
        try await record { client in
            _ = await client.response(
                "mirror", args: [.json(["city": "Zürich"]), .url("q", "a b"), .url("q", "c"), .option(.rawData)])
        }
        let entry = try #require(try entries().first)
        let (request, response) = (entry["request"], entry["response"])
        #expect(request?["method"]?.string == "POST" && request?["httpVersion"]?.string == "HTTP/1.1")
        #expect(
            request?["queryString"] == [["name": "q", "value": "a b"], ["name": "q", "value": "c"]])
        // Headers that libcurl has added are there, too.
        #expect(header(request, "host") != nil && header(request, "content-length") == "18")
        #expect(request?["postData"]?["text"]?.string == #"{"city":"Zürich"}"#)
        #expect(request?["bodySize"]?.int == 18 && (request?["headersSize"]?.int ?? 0) > 50)
        #expect(response?["status"]?.int == 200 && response?["statusText"]?.string == "OK")
        #expect(response?["content"]?["text"]?.string == #"{"city":"Zürich"}"#)
        #expect(response?["content"]?["size"]?.int == 18 && response?["bodySize"]?.int == 18)
        #expect(response?["_transferSize"]?.int == 18)
        #expect(header(response, "content-length") != nil)
        #expect(entry["serverIPAddress"]?.string == "127.0.0.1")
        #expect(try TestServers.url("fault").hasSuffix(":\(entry["connection"]?.string ?? "")"))
        #expect(Int(entry["_connectionId"]?.string ?? "") ?? 0 > 0)
        let date = try #require(entry["startedDateTime"]?.string)
        #expect(date.utf8.count == 24 && APIDate(iso8601: date) != nil)
        #expect(try log()["version"]?.string == "1.2" && log()["creator"]?["version"]?.string == ntapiVersion)
    }

    @Test func trailersAreKept() async throws {
        try await record { _ = await $0.response("chunked/trailer") }
        let expected: JSON = [["name": "X-Trailer", "value": "end"]]
        #expect(try entries().first?["response"]?["_trailers"] == expected)
        let client = try TestClient.of("fault")
        client.stub = try Stub(recording: path)
        #expect(await client.response("chunked/trailer").trailers == HTTPHeaders([("X-Trailer", "end")]))
    }

    /// The times of an exchange on a new connection, and of one on the same connection later.
    @Test func theTimesOfTheStepsAddUp() async throws {
        // This client has its own connections.
        let client = APIClient(baseURL: try TestServers.url("fault"), configuration: .ephemeral)
        let recorder = NTApi.Recorder(path: path)
        client.recorder = recorder
        for _ in 0..<2 { _ = try await client.send("ok") }
        try recorder.save()
        let all = try entries()
        #expect(all.count == 2)
        for entry in all {
            let times = try #require(entry["timings"])
            let steps = ["blocked", "dns", "connect", "send", "wait", "receive"].map { times[$0]?.double ?? -2 }
            let sum = steps.filter { $0 >= 0 }.reduce(0, +)
            #expect(abs(sum - (entry["time"]?.double ?? 0)) < 0.001 && !steps.contains(-2))
            #expect(times["ssl"]?.double == -1)
            #expect(steps[0] >= 0 && steps[3] >= 0 && steps[4] > 0 && steps[5] >= 0)
        }
        #expect(all[0]["timings"]?["connect"]?.double ?? -1 >= 0)
        if all[0]["_connectionId"] == all[1]["_connectionId"] {
            #expect(all[1]["timings"]?["connect"]?.double == -1 && all[1]["timings"]?["dns"]?.double == -1)
        }
    }

    @Test func timesAreCutAtTheirSteps() {
        var metrics = ExchangeMetrics(
            queued: 1, nameLookup: 2, connect: 3, tls: 5, firstByte: 9, total: 12)
        var times = ExchangeTimes(metrics, sentHead: 6, sent: 7.5)
        // After the handshake, the request waited for its turn.
        #expect(times.blocked == 2 && times.nameLookup == 2 && times.connect == 3 && times.tls == 2)
        #expect(times.send == 1.5 && times.wait == 1.5 && times.receive == 3)
        // The clocks of libcurl and of this process differ by a little.
        times = ExchangeTimes(metrics, sentHead: 6, sent: 5.9)
        #expect(times.send == 0 && times.wait == 3)
        times = ExchangeTimes(metrics, sentHead: 6, sent: 20)
        #expect(times.send == 3 && times.wait == 0 && times.receive == 3)
        // These requests failed: in the handshake, in the connection, and in the name look-up.
        times = ExchangeTimes(metrics, sentHead: nil, sent: nil)
        #expect(times.nameLookup == 2 && times.connect == 10 && times.tls == 9 && times.wait == 0)
        metrics.connect = 0
        times = ExchangeTimes(metrics, sentHead: nil, sent: nil)
        #expect(times.connect == 10 && times.tls == nil)
        metrics.nameLookup = 0
        times = ExchangeTimes(metrics, sentHead: nil, sent: nil)
        #expect(times.nameLookup == 12 && times.connect == nil && times.blocked == 1)
        // First an open connection, then a stub.
        times = ExchangeTimes(ExchangeMetrics(firstByte: 2, total: 3), sentHead: 1, sent: 1)
        #expect(times.blocked == 1 && times.nameLookup == nil && times.connect == nil && times.receive == 1)
        times = ExchangeTimes(withoutNetwork: ExchangeMetrics(total: 3))
        #expect(times.wait == 3 && times.send == 0 && times.receive == 0)
    }

    @Test func secretsStayOut() async throws {
        try await record { client in
            let header = APIArg.header("Cookie", "c=hush")
            _ = await client.response("ok", args: [.url("appid", "hush"), .bearer("hush"), header])
            _ = await client.response("mirror", args: [.json(["token": "hush", "open": 1]), .option(.rawData)])
            _ = await client.response("ok", args: [.form("password", "hush"), .form("open", "1")])
            _ = await client.response("ok", args: [.multipart("secret", "hush"), .multipart("open", "1")])
            _ = await client.response("ok", args: [.json(["a": "hush"]).secret])
            _ = await client.response("ok", args: [.header("X-Mine", "hush").secret, .url("mine", "hush").secret])
            _ = await client.response("headers", args: [.url("Set-Cookie", "sid=hush; Path=/; HttpOnly")])
        }
        let all = try entries()
        #expect(all.count == 7)
        for entry in all.dropLast() { #expect(!entry.text.containsSubstring("hush"), "\(entry.text)") }
        #expect(header(all[0]["request"], "authorization") == Secrets.redacted)
        #expect(all[0]["request"]?["cookies"] == [["name": "c", "value": "<redacted>"]])
        #expect(all[2]["request"]?["postData"]?["params"]?[0] == ["name": "password", "value": "<redacted>"])
        let cookie: JSON = ["name": "sid", "value": "<redacted>", "path": "/", "httpOnly": true]
        #expect(all[6]["response"]?["cookies"] == [cookie])
        #expect(try #require(all[6]["response"]).text.containsSubstring("sid=<redacted>; Path=/"))
    }

    @Test func aReplayIsAsTheHAR() async throws {
        func ask(_ client: TestClient) async throws -> [String] {
            var seen: [String] = []
            for args: [APIArg] in [
                [.form("a b", "c&d"), .form("token", "x")], [.data(Array("text".utf8), contentType: "text/plain")],
                [.data([0, 255, 1])], [.multipart("t", "text"), .multipart("f", data: [0, 1], fileExtension: "png")],
                [.json(["a": [1, .null], "password": "x"])],
            ] {
                let response = await client.response("echo", args: args + [.url("q", "ä")])
                seen.append("\(response.status) \(response.error?.message ?? "")")
            }
            let redirected = await client.response("chain/2")
            seen.append("\(redirected.status) \(redirected.metrics.redirects)")
            return seen + ["\(await client.response("status/404").status)"]
        }
        var recorded: [String] = []
        try await record { recorded = try await ask($0) }
        #expect(try entries().count == 9)
        #expect(try entries()[5]["response"]?["redirectURL"]?.string?.isEmpty == false)
        let stub = try Stub(recording: path, anyOrigin: true)
        let client = TestClient(at: "http://elsewhere.test")
        client.stub = stub
        #expect(try await ask(client) == recorded)
        try stub.verify()
    }

    @Test func aFailureHasStatus0() async throws {
        try await record { client in
            client.defaults["baseUrl"] = "http://127.0.0.1:1"
            _ = await client.response("a")
        }
        let response = try #require(try entries().first?["response"])
        #expect(response["status"]?.int == 0 && response["_error"]?.string == "no_connection")
        #expect(response["comment"]?.string?.isEmpty == false && response["bodySize"]?.int == -1)
        let client = TestClient(at: "http://127.0.0.1:1")
        client.stub = try Stub(recording: path)
        #expect(await client.response("a").error?.code == .network)
    }

    // MARK: Limits

    @Test func largeBodiesAndLaterExchangesAreLeftOut() async throws {
        let client = TestClient(at: "http://api.test")
        let stub = Stub()
        stub.on("POST", "large").answer(.text(String(repeating: "x", count: 101)))
        stub.on("POST", "small").answer(.text(String(repeating: "y", count: 40)))
        client.stub = stub
        let limits = NTApi.Recorder.Limits(body: 100, bodies: 150, exchanges: 4)
        let recorder = NTApi.Recorder(path, isHAR: true, limits)
        client.recorder = recorder
        _ = await client.response("large", args: [.data(Array("small".utf8))])
        _ = await client.response("small", args: [.data([UInt8](repeating: 7, count: 101))])
        _ = await client.response("small", args: [.stream(BodyStream(repeating: 7, count: 101))])
        // Now there is no longer room for two bodies.
        _ = await client.response("small", args: [.data([UInt8](repeating: 7, count: 90))])
        _ = await client.response("small")
        try recorder.save()
        let all = try entries()
        #expect(all.count == 4 && recorder.count == 4)
        #expect(all.map { $0["response"]?["content"]?["text"] != nil } == [false, true, true, true])
        #expect(all[0]["response"]?["content"]?["comment"]?.string?.containsSubstring("too large") == true)
        #expect(all[0]["response"]?["content"]?["size"]?.int == 101)
        #expect(all.map { $0["request"]?["postData"]?["text"] != nil } == [true, false, false, false])
        #expect(try log()["comment"]?.string?.hasPrefix("1 later exchange") == true)
        // A part that was left out matches anything.
        client.recorder = nil
        client.stub = try Stub(recording: path)
        let answer = await client.response("small", args: [.data([UInt8](repeating: 9, count: 3))])
        #expect(answer.text == String(repeating: "y", count: 40))
    }

    @Test func oneRecorderRecordsAllClients() async throws {
        let stub = Stub()
        stub.on("GET")
        let own = NTApi.Recorder(path: "\(folder.path)/own.json")
        let recorder = NTApi.Recorder(path: path)
        let name = "all\(UInt64.random(in: 0 ... .max))"
        func ask(_ recorder: NTApi.Recorder?) async {
            let client = TestClient(at: "http://api.test")
            client.stub = stub
            client.recorder = recorder
            _ = await client.response(name)
        }
        // Tests of other clients run at the same time.
        func count() throws -> Int {
            try recorder.save()
            return try entries().count { $0["request"]?["url"]?.string?.containsSubstring(name) == true }
        }
        await ask(nil)
        #expect(!recorder.recordsAllClients)
        recorder.recordsAllClients = true
        #expect(recorder.recordsAllClients)
        await ask(nil)
        await ask(own)
        await ask(recorder)
        #expect(try count() == 3 && own.count == 1)
        recorder.recordsAllClients = false
        await ask(nil)
        #expect(try count() == 3 && !recorder.recordsAllClients)
    }

    @Test func eachProcessHasAFileOfItsOwn() {
        func path(_ file: String, isChild: Bool = false) -> String {
            EnvironmentRecorder.path(file, process: 42, isChild: isChild)
        }
        #expect(path("/tmp/a.har") == "/tmp/a.har")
        #expect(path("/tmp/a.har", isChild: true) == "/tmp/a.42.har")
        #expect(path("a", isChild: true) == "a.42")
        #expect(path("a-%p.har") == "a-42.har" && path("a-%p.har", isChild: true) == "a-42.har")
    }
}

extension BodyStream {
    fileprivate convenience init(repeating byte: UInt8, count: Int) {
        let rest = Lock(count)
        self.init { buffer in
            let count = rest.withLock { exchange(&$0, with: 0) }
            buffer.copyBytes(from: repeatElement(byte, count: count))
            return count
        }
    }
}
