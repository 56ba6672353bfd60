import Testing

@testable import NTApi

@Suite struct EngineTests {
    @Test func getsAnAnswer() async throws {
        let seen = Lock<RawConnection.Request?>(nil)
        let server = try RawServer { connection in
            seen.withLock { $0 = connection.readRequest() }
            connection.send(okResponse("hello"))
        }
        let engine = TestEngine()
        var request = HTTPRequest(method: "GET", url: server.url + "/a/../b?c=%20#d")
        request.headers.add("X-One", "1")
        request.headers.add("X-One", "2")
        request.headers.add("X-Empty", "")
        let result = await engine.send(request)
        #expect(result.error == nil)
        #expect(result.head?.status == 200)
        #expect(result.head?.httpVersion == 1.1)
        #expect(result.head?.headers["content-length"] == "5")
        #expect(result.text == "hello")
        #expect(!result.metrics.connectionReused)
        #expect(result.metrics.bytesReceived == 5)
        let head = try #require(seen.withLock { $0 })
        #expect(head.firstLine == "GET /a/../b?c=%20 HTTP/1.1")
        #expect(head.has("X-One: 1") && head.has("X-One: 2") && head.has("X-Empty:"))
        #expect(!head.head.containsSubstring("Expect") && !head.head.containsSubstring("Content-"))
    }

    /// There may be other encodings, set by the caller or by the library.
    @Test(arguments: [nil, "identity", "br"]) func namesEncodingsOnce(_ own: String?) async throws {
        let seen = Lock("")
        let server = try RawServer { connection in
            seen.withLock { $0 = connection.readHead()?.lowercasedASCII() ?? "" }
            connection.send(okResponse("x"))
        }
        var request = HTTPRequest(method: "GET", url: server.url)
        if let own { request.headers.add("accept-encoding", own) }
        request.headers.add("User-Agent", "agent")
        #expect(await TestEngine().send(request).error == nil)
        let lines = seen.withLock { $0 }.split(separator: "\r\n").map(String.init)
        let encodings = lines.filter { $0.hasPrefix("accept-encoding:") }
        #expect(encodings.count == 1 && encodings.first?.hasSuffix(own.map { ": " + $0 } ?? "") == true)
        #expect(own != nil || encodings.first?.containsSubstring("gzip") == true)
        #expect(lines.filter { $0.hasPrefix("user-agent:") } == ["user-agent: agent"])
    }

    @Test func reusesAConnection() async throws {
        let server = try RawServer(answering(okResponse("x")))
        let engine = TestEngine()
        #expect(await engine.get(server.url).error == nil)
        let second = await engine.get(server.url)
        #expect(second.error == nil)
        #expect(second.metrics.connectionReused)
        #expect(server.connectionCount == 1)
    }

    /// libcurl counts dead connections for the life of a handle, and gives up at the sixth.
    @Test func survivesAnyNumberOfDeadConnections() async throws {
        // The connection looks alive until the second request comes.
        let server = try RawServer { connection in
            if connection.readRequest() != nil { connection.send(okResponse("x")) }
            _ = connection.readHead()
        }
        let engine = TestEngine()
        for number in 0..<12 {
            let result = await engine.get(server.url)
            #expect(result.error == nil, "\(number): \(String(describing: result.error))")
        }
    }

    @Test func saysThatNobodyListens() async throws {
        let port = try RawServer.closedPort()
        let engine = TestEngine()
        let result = await engine.send(HTTPRequest(method: "POST", url: "http://127.0.0.1:\(port)/"))
        let error = try #require(result.error)
        #expect(error.code == .network && error.domain == .network)
        #expect(error.isRetryable)
        #expect(error.transportCode == 7)
        #expect(error.message.containsSubstring("127.0.0.1:\(port)"))
    }

    /// No resolver is asked for a name that cannot exist. libcurl then keeps the buffer of the handle. The next request
    /// with this handle must not fail because of it.
    @Test func usesAHandleAgainAfterAFailedLookUp() async throws {
        let server = try RawServer(answering(okResponse("x")))
        let engine = TestEngine()
        let failed = await engine.get("http://a..b/")
        #expect(failed.error?.transportCode == 6)
        #expect(failed.error?.isRetryable == true)
        let result = await engine.get(server.url)
        #expect(result.error == nil, "\(String(describing: result.error))")
    }
}
