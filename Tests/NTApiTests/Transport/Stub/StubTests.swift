import Testing

@testable import NTApi

/// Requests that are answered in memory. They pass the same pipeline as with the network.
@Suite struct StubTests {
    private let stub = Stub()
    private let client = TestClient(at: "http://api.test/v1")

    init() { client.stub = stub }

    // MARK: Which rule answers

    @Test func aRequestGetsItsAnswer() async throws {
        stub.on("GET", "/v1/find?q=London").answer(.json(["list": [["name": "London"]]], headers: ["X-A": "b"]))
        let response = try await client.send("find", args: [.url("q", "London"), .url("cnt", 5)])
        #expect(response.json?["list"]?[0]?["name"]?.string == "London")
        #expect(response.status == 200 && response.headers["x-a"] == "b")
        #expect(
            response.headers["content-type"] == "application/json" && response.url.hasPrefix("http://api.test/v1/find"))
        #expect(response.metrics.httpVersion == 1.1)
        try stub.verify()
    }

    @Test func whatIsNotMeantIsAClearError() async throws {
        stub.on("POST", "/v1/find")
        stub.on("GET", "/v1/find?q=London")
        stub.on("GET", "/far/away")
        let error = try #require(await client.response("find", args: [.url("q", "Paris"), .url("appid", "k")]).error)
        #expect(error.code == .noStub && error.domain == .request && !error.isRetryable)
        #expect(
            error.message == "no stub matches GET http://api.test/v1/find?q=Paris&appid=<redacted>; the nearest: "
                + "GET /v1/find?q=London (in the query, q is \"Paris\"), POST /v1/find (the method is GET), "
                + "GET /far/away (the path is /v1/find)",
            "\(error.message)")
        stub.reset()
        #expect(await client.response("x").error?.message.hasSuffix("the stub has no expectations") == true)
    }

    @Test func aMarkedSecretIsInNoText() async throws {
        let secret = "s3cret"
        for rule in ["/v1/other/{id}", "/v1/customers/1", "/v1/customers/{id}?q=London"] {
            stub.reset()
            stub.on("GET", rule)
            let args: [APIArg] = [.path("id", secret).secret, .url("q", secret).secret]
            let error = try #require(await client.response("customers/{id}", args: args).error)
            #expect(error.code == .noStub && !error.message.containsSubstring(secret), "\(error.message)")
            let request = try #require(stub.requests.first)
            #expect(request.url.containsSubstring(secret) && !"\(request)".containsSubstring(secret), "\(request)")
            #expect(stub.problems.allSatisfy { !$0.containsSubstring(secret) }, "\(stub.problems)")
            #expect(thrown { try stub.verify() }?.message.containsSubstring(secret) == false)
        }
    }

    @Test func theLastAddedComesFirst() async throws {
        stub.on(nil).answer(.json("all"))
        stub.on("GET", "find").answer(.json("find")).usedUp()
        #expect(try await client.send("find").json == "find")
        #expect(try await client.send("find").json == "all")
        #expect(try await client.send("other").json == "all")
    }

    @Test func answersComeInTurn() async throws {
        let rule = stub.on("GET", "a").answer(.status(503), .json(1)).answer(.json(2))
        #expect(await client.response("a").status == 503)
        for expected in [1, 2, 2, 2] { #expect(try await client.send("a").json?.int == expected) }
        #expect(rule.callCount == 5)
        let limited = stub.on("GET", "b").answer(.json(1), .json(2)).usedUp()
        for expected in [1, 2] { #expect(try await client.send("b").json?.int == expected) }
        let error = await client.response("b").error
        #expect(error?.message.containsSubstring("all its answers are used up") == true)
        #expect(limited.callCount == 2)
    }

    @Test func bodiesAreCompared() async throws {
        stub.on("POST", "a", body: .json(["x": 1, "y": [2.0]])).answer(.json("json"))
        stub.on("POST", "a", body: .containing("needle")).answer(.json("text"))
        stub.on("POST", "a", where: { $0.headers["X-Kind"] == "asked" }).answer(.json("asked"))
        #expect(try await client.send("a", args: [.json(["y": [2], "x": 1])]).json == "json")
        #expect(try await client.send("a", args: [.form("q", "a needle here")]).json == "text")
        #expect(try await client.send("a", args: [.data([0]), .header("X-Kind", "asked")]).json == "asked")
        #expect(await client.response("a", args: [.data([0])]).error?.code == .noStub)
    }

    @Test func functionsDecideAndAnswer() async throws {
        stub.on("POST", "a", where: { $0.json?["n"]?.int == 7 && WorkerPool.isWorkerThread })
            .answer { .json(["echo": $0.json ?? .null, "method": JSON($0.method)]) }
        let json = try await client.send("a", args: [.json(["n": 7])]).json
        #expect(json == ["echo": ["n": 7], "method": "POST"])
        let error = await client.response("a", args: [.json(["n": 8])]).error
        #expect(error?.message.containsSubstring("its function returned false") == true)
        stub.on("GET", "bad").answer { _ in .status(101) }
        #expect(await client.response("bad").error?.message.containsSubstring("status 101") == true)
    }

    // MARK: Received requests

    @Test func whatCameCanBeAskedFor() async throws {
        let rule = stub.on("POST", "notes").answer(.status(201))
        let args: [APIArg] = [.json(["title": "x"]), .header("X-A", "1"), .bearer("secret")]
        _ = try await client.send("notes", args: args)
        _ = await client.response("nobody")
        let request = try #require(rule.requests.first)
        #expect(request.method == "POST" && request.url == "http://api.test/v1/notes")
        #expect(request.json == ["title": "x"] && request.headers["x-a"] == "1")
        #expect(request.headers["authorization"] == "Bearer secret")
        #expect(request.headers["content-type"] == "application/json")
        #expect(stub.requests.map(\.isMatched) == [true, false])
        #expect("\(request)" == "POST http://api.test/v1/notes")
    }

    @Test func whatIsMissingIsTold() async throws {
        stub.on("GET", "never")
        stub.on("GET", "twice").answer(.json(1), .json(2)).usedUp()
        stub.on("GET", "once").answer(.json(1))
        _ = await client.response("twice")
        _ = await client.response("once")
        _ = await client.response("what")
        #expect(
            stub.problems == [
                "GET never was never requested", "GET twice was requested 1 of 2 times",
                "no stub has matched GET http://api.test/v1/what",
            ])
        #expect(thrown { try stub.verify() }?.code == .noStub)
        stub.forgetRequests()
        #expect(try await client.send("twice").json == 1)
    }

    @Test func everyKindOfBodyIsReceived() async throws {
        let rule = stub.on("POST", "a")
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/b.txt"
        try SystemFile.replace(path, with: Array("from a file".utf8))
        let rest = Lock(3)
        let stream = BodyStream { buffer in
            let isOver = rest.withLock { rest in
                rest -= 1
                return rest < 0
            }
            guard !isOver else { return 0 }
            buffer.copyBytes(from: "ab".utf8)
            return 2
        }
        for args: [APIArg] in [
            [.form("a b", "c&d")], [.file(path, contentType: "text/plain")], [.stream(stream, contentType: nil)],
            [.multipart("t", "text"), .multipart("f", data: Array("bytes".utf8), fileExtension: "png")],
        ] { _ = try await client.send("a", args: args) }
        let bodies = rule.requests.map(\.text)
        #expect(Array(bodies.prefix(3)) == ["a%20b=c%26d", "from a file", "ababab"] || bodies[0] == "a+b=c%26d")
        #expect(bodies[3].containsSubstring("name=\"f\"; filename=\"f.png\"\r\n"))
        #expect(rule.requests[3].headers["content-type"]?.hasPrefix("multipart/form-data; boundary=") == true)
    }

    /// A file is sent as long as it was when the request was built.
    @Test func aFileThatGrowsIsSentAsItWas() async throws {
        let folder = try TemporaryFolder()
        let rule = stub.on("POST", "a")
        for (path, args): (String, (String) -> APIArg) in [
            ("body", { .file($0) }), ("part", { .multipart("f", file: $0) }),
        ] {
            let path = "\(folder.path)/\(path)"
            try SystemFile.replace(path, with: Array("as it was".utf8))
            let responses = Log<APIResponse>()
            let requests = (0..<2).map { _ in client.request("a", args: [args(path), .responseThread(.background)]) }
            for request in requests { request.setHandler { responses.append($0) } }
            try SystemFile.replace(path, with: Array("as it was, and more".utf8))
            requests[0].resume()
            #expect(await responses.first(1).last?.status == 200)
            let text = try #require(rule.requests.last).text
            #expect(text.containsSubstring("as it was") && !text.containsSubstring("more"))
            try SystemFile.replace(path, with: Array("less".utf8))
            requests[1].resume()
            let error = try #require(await responses.first(2).last?.error)
            #expect(error.code == .invalidRequest)
            #expect(error.message.containsSubstring("has 4 bytes, but 9 were announced"))
        }
    }

    // MARK: The pipeline

    @Test func errorsAreThoseOfTheNetwork() async throws {
        for (fault, code, number, isRetryable) in [
            (.noConnection, .network, 7, true), (.noInternet, .noInternet, 7, true), (.unknownHost, .network, 6, true),
            (.untrustedCertificate, .tls, 60, false), (.timeout, .timeout, 28, true),
            (.connectionLost, .network, 52, true), (.connectionLost(after: 2), .network, 56, true),
        ] as [(StubFault, ErrorCode, Int, Bool)] {
            stub.on("GET", "a").answer(.text("0123").with(fault))
            let response = await client.response("a")
            #expect(response.error?.code == code && response.error?.transportCode == number, "\(fault)")
            #expect(response.error?.isRetryable == isRetryable && response.error?.domain == .network)
        }
        #expect(await client.response("a").text == "01")
        stub.on("GET", "a").answer(.status(404), .text("no JSON", status: 200, headers: ["Content-Type": "text/plain"]))
        #expect(await client.response("a").error?.code == .httpError)
        #expect(await client.response("a").error?.code == .invalidJSON)
        stub.on("GET", "a").answer(.text("0123", headers: ["Content-Length": "9"]))
        let cut = await client.response("a").error
        #expect(cut?.message.containsSubstring("middle of the body") == true, "\(String(describing: cut))")
    }

    @Test func trailersComeAfterTheBody() async throws {
        var answer = StubAnswer.text("body")
        answer.trailers = HTTPHeaders([("X-Sum", "7"), ("X-Sum", "8")])
        stub.on(nil, "a").answer(answer)
        let response = try await client.send("a", args: [.option(.rawData)])
        #expect(response.text == "body" && response.trailers == answer.trailers)
        // Over HTTP/1.1, a body that is followed by trailers has no length.
        #expect(response.headers["Content-Length"] == nil)
        let stream = try await client.stream("a")
        var bytes: [UInt8] = []
        for try await piece in stream { bytes += Array(piece) }
        #expect(bytes == Array("body".utf8) && stream.request.response?.trailers == answer.trailers)
        // Without a body, there are no trailers.
        #expect(await client.response("a", args: [.method("HEAD")]).trailers.isEmpty)
        answer.status = 204
        stub.on(nil, "b").answer(answer)
        #expect(await client.response("b").trailers.isEmpty)
    }

    @Test func redirectsAreFollowed() async throws {
        stub.on("POST", "a").answer(.status(303, headers: ["Location": "/v1/b"]))
        let target = stub.on("GET", "b").answer(.json("there"))
        let response = try await client.send("a", args: [.form("x", 1), .header("X-Api-Key", "k")])
        #expect(response.json == "there" && response.metrics.redirects == 1 && response.url == "http://api.test/v1/b")
        #expect(target.requests.first?.headers["x-api-key"] == "k")
        stub.on("GET", "away").answer(.status(302, headers: ["Location": "https://other.test/b"]))
        _ = try await client.send("away", args: [.header("X-Api-Key", "k")])
        #expect(
            target.requests.last?.headers["x-api-key"] == nil && target.requests.last?.url == "https://other.test/b")
    }

    @Test func credentialsAreRefreshed() async throws {
        stub.on("GET", "me").answer(.status(401), .json("me"))
        client.authenticator = Authenticator(token: .init("old")) { _ in .init("new") }
        #expect(try await client.send("me").json == "me")
        #expect(stub.requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new"])
    }

    @Test func challengesAreAnswered() async throws {
        stub.on("GET", "me", where: { $0.headers["authorization"] == nil })
            .answer(.status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        stub.on("GET", "me", where: { $0.headers["authorization"] == "Basic dTpw" }).answer(.json("me"))
        let request = client.request("me", args: [.responseThread(.background)])
        request.setDecisionHandler(for: .challenge) { $0.use(user: "u", password: "p") }
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        #expect(await responses.first(1).first?.json == "me")
    }

    @Test func headsHaveNoBody() async throws {
        stub.on(nil, "a").answer(.text("0123"))
        let response = await client.response("a", args: [.method("HEAD"), .option(.rawData)])
        #expect(response.error == nil && response.data.isEmpty && response.headers["content-length"] == "4")
    }

    @Test func sizesAreLimited() async throws {
        stub.on("GET", "a").answer(.data([UInt8](repeating: 65, count: 1000)))
        let response = await client.response("a", args: [.option(.maximumResponseSize, "999"), .option(.rawData)])
        #expect(response.error?.code == .responseTooLarge)
    }

    @Test func progressIsTold() async throws {
        stub.on("PUT", "a").answer(.data([UInt8](repeating: 65, count: 200_000)).inPieces(of: 50_000))
        let told = Log<(Bool, TransferProgress)>()
        let response = await client.response(
            "a", args: [.data([UInt8](repeating: 66, count: 300_000)), .method("PUT"), .option(.rawData)],
            uploadProgress: { told.append((true, $0)) }, downloadProgress: { told.append((false, $0)) })
        #expect(response.error == nil && response.data.count == 200_000)
        for (isUpload, total) in [(true, 300_000), (false, 200_000)] as [(Bool, Int64)] {
            let mine = told.all.filter { $0.0 == isUpload }.map(\.1)
            #expect(mine.first?.bytes == 0 && mine.last?.bytes == total && mine.allSatisfy { $0.total == total })
            #expect(mine.map(\.bytes) == mine.map(\.bytes).sorted())
        }
        #expect(response.metrics.bytesSent == 300_000 && response.metrics.bytesReceived == 200_000)
    }

    @Test func downloadsAreResumed() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/file"
        let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        stub.on("GET", "file").answer(.data(body, headers: ["ETag": "\"1\""]).with(.connectionLost(after: 60_000)))
        let first = await client.response("file", args: [.download(to: path)])
        let resumeData = try #require(first.resumeData)
        let rest = stub.on("GET", "file") { $0.headers["If-Range"] == "\"1\"" }.answer { request in
            .data(
                Array(body[60_000...]), status: 206,
                headers: ["ETag": "\"1\"", "Content-Range": "bytes 60000-99999/100000"])
        }
        let response = await client.response(args: [.resume(resumeData)])
        #expect(response.error == nil && response.file == path, "\(String(describing: response.error))")
        #expect(rest.requests.first?.headers["Range"] == "bytes=60000-")
        #expect(try SystemFile.read(path) == body)
    }

    @Test func bodiesAreStreamed() async throws {
        let lines = (0..<1000).map { "{\"n\":\($0)}\n" }.joined()
        stub.on("GET", "lines").answer(.text(lines).inPieces(of: 7))
        var numbers: [Int] = []
        for try await value in client.lines("lines") { numbers.append(value["n"]?.int ?? -1) }
        #expect(numbers == Array(0..<1000))
    }

    @Test func aSlowReaderHoldsUpTheStub() async throws {
        stub.on("GET", "big").answer(.data([UInt8](repeating: 1, count: 3_000_000)))
        let stream = try await client.stream("big")
        var count = 0
        for try await chunk in stream { count += chunk.count }
        #expect(count == 3_000_000)
    }

    @Test func decisionsAreAskedFor() async throws {
        let folder = try TemporaryFolder()
        stub.on("GET", "a").answer(.data(Array("body".utf8)))
        let request = client.request("a", args: [.responseThread(.background)])
        request.setDecisionHandler(for: .response) { $0.becomeDownload(to: "\(folder.path)/x") }
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        #expect(await responses.first(1).first?.file == "\(folder.path)/x")
        #expect(try SystemFile.read("\(folder.path)/x") == Array("body".utf8))
    }

    @Test func whoWaitsOnItsThreadIsAnswered() async throws {
        stub.on("GET", "a").answer(.json(1))
        let client = client
        #expect(await onThread { client.perform("a").json?.int } == 1)
    }

    @Test func requestsAreWaitedFor() async throws {
        let stub = Stub()
        stub.on("GET", "first").answer(.json(1))
        let client = APIClient(baseURL: "http://api.test")
        client.stub = stub
        client.logFlags = []
        #expect(try await stub.waitForRequests(0).isEmpty)
        async let waiting = stub.waitForRequests(2, timeout: patience)
        #expect(try await client.send("first").json == 1)
        do throws(APIError) {
            try await stub.waitForRequests(2, timeout: 0.01)
            Issue.record("there is one request")
        } catch {
            #expect(error.message == "1 of 2 requests have come within 0.01 s: GET http://api.test/first")
        }
        // A request that no rule has matched is counted, too.
        _ = await client.response("second")
        #expect(try await waiting.map(\.url) == ["http://api.test/first", "http://api.test/second"])
    }
}
