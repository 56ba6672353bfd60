import Testing

@testable import NTApi

/// Faults of servers, and the errors that callers get for them.
@Suite struct EngineFaultTests {
    private func error(_ method: String = "GET", _ handler: @escaping RawServer.Handler) async throws -> ExchangeResult
    {
        let server = try RawServer(handler)
        let engine = TestEngine()
        return await engine.send(HTTPRequest(method: method, url: server.url))
    }

    /// On a reused connection that has ended, libcurl would send the POST again and report success.
    @Test(arguments: [false, true]) func neverSendsAPostTwice(_ resets: Bool) async throws {
        let requests = Lock<[String]>([])
        let server = try RawServer { connection in
            guard let first = connection.readRequest() else { return }
            requests.withLock { $0.append(first.firstLine) }
            connection.send(okResponse("x"))
            if connection.index > 0 { return connection.waitForEnd() }
            // The server reads and performs the second request on the first connection, but does not answer.
            guard let second = connection.readRequest() else { return }
            requests.withLock { $0.append(second.firstLine) }
            if resets { connection.reset() }
        }
        let engine = TestEngine()
        #expect(await engine.get(server.url).error == nil)
        var request = HTTPRequest(method: "POST", url: server.url + "/pay")
        request.body = .bytes(Array("1".utf8))
        let result = await engine.send(request)
        #expect(result.error?.code == .network)
        #expect(result.error?.isRetryable == false)
        #expect(result.error?.message.containsSubstring("unknown whether") == true)
        #expect(requests.withLock { $0 } == ["GET / HTTP/1.1", "POST /pay HTTP/1.1"])
    }

    @Test func sendsAGetAgainOnANewConnection() async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.send(okResponse("\(connection.index)"))
            if connection.index > 0 { return connection.waitForEnd() }
            _ = connection.readRequest()
        }
        let engine = TestEngine()
        #expect(await engine.get(server.url).text == "0")
        let second = await engine.get(server.url)
        #expect(second.error == nil)
        #expect(second.text == "1")
    }

    @Test func saysThatTheServerHungUp() async throws {
        let get = try await error { _ = $0.readRequest() }
        #expect(get.head == nil)
        #expect(get.error?.code == .network && get.error?.isRetryable == true)
        #expect(get.error?.transportCode == 52)
        let post = try await error("POST") { _ = $0.readRequest() }
        #expect(post.error?.isRetryable == false)
        #expect(post.error?.message.containsSubstring("unknown whether it acted on the POST") == true)
    }

    @Test func keepsTheHeadOfABrokenBody() async throws {
        let result = try await error { connection in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf")
        }
        #expect(result.head?.status == 201)
        #expect(result.text == "half")
        #expect(result.error?.code == .network)
        #expect(result.error?.httpStatus == 201)
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1\r\n\r\n", "\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc", "HTTP/1.1 101 Switching\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 0\r\n\r\n",
    ])
    func survivesNonsense(_ answer: String) async throws {
        let result = try await error { connection in
            _ = connection.readRequest()
            connection.send(answer)
        }
        #expect(result.error != nil, "\(answer.debugDescription): \(String(describing: result.head))")
        #expect(result.error?.domain == .network)
    }

    /// The server keeps the connection open, as it would after a switch that the client had asked for.
    @Test(arguments: [("Upgrade: web\u{1B}socket\r\n", "(101, Upgrade: web\\u{1b}socket)"), ("", "(101)")])
    func endsWhenTheServerSwitchesProtocols(_ header: String, _ shown: String) async throws {
        let result = try await error("POST") { connection in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\(header)\r\n")
            connection.waitForEnd()
        }
        #expect(result.head == nil && result.error?.code == .network && result.error?.isRetryable == false)
        #expect(result.error?.failure == .notHTTP)
        let message = result.error?.message ?? ""
        #expect(message.containsSubstring("switched to another protocol \(shown)"), "\(message)")
    }

    /// libcurl reads only the first line or number of such a length. It takes the rest of the body for the next
    /// response.
    @Test(arguments: [
        "Content-Length: 5 0", "Content-Length: 5\r\n 0", "Content-Length: 5\t0, 5 0", "Content-Length:\r\n\t5\r\n 0",
    ])
    func refusesALengthOfTwoNumbers(_ header: String) async throws {
        let result = try await error { connection in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\n\(header)\r\n\r\n\(String(repeating: "x", count: 50))")
            connection.waitForEnd()
        }
        #expect(result.error?.code == .network && result.body.count == 0)
    }

    @Test(arguments: ["HTTP/1.1 2000 OK", "HTTP/1.1 200OK", "HTTP/1.1 1000 Odd"])
    func refusesAStatusOfOtherThanThreeDigits(_ line: String) async throws {
        let result = try await error { connection in
            _ = connection.readRequest()
            connection.send("\(line)\r\nContent-Length: 2\r\n\r\nok")
            connection.waitForEnd()
        }
        #expect(result.head == nil && result.error?.code == .network)
    }

    /// For a request that is too large, libcurl reports a lack of memory, and only after it has connected.
    @Test(arguments: [(1_000_000, 0), (10, 1_000_000), (500_000, 500_000)])
    func saysThatARequestIsTooLarge(_ query: Int, _ header: Int) async throws {
        let server = try RawServer { connection in
            while connection.readHead() != nil { connection.send(okResponse("x")) }
        }
        let engine = TestEngine()
        var request = HTTPRequest(method: "GET", url: "\(server.url)/?\(String(repeating: "q", count: query))")
        request.headers.set("X-Large", String(repeating: "h", count: header))
        let result = await engine.send(request)
        #expect(result.error?.domain == .request && result.error?.code == .invalidRequest)
        let sizes = "the URL has \(request.url.utf8.count) bytes and the headers have \(header + 11)"
        #expect(result.error?.message.containsSubstring(sizes) == true, "\(result.error?.message ?? "")")
        // The largest request that is sent, and then a small one with the same handle.
        let room = 1_000_000 - "\(server.url)/?".utf8.count
        #expect(await engine.get("\(server.url)/?\(String(repeating: "q", count: room))").error == nil)
        #expect(await engine.get(server.url).error == nil)
    }

    /// Two more parts count: a small body that is sent with the head, and cookies that libcurl would cut.
    @Test func saysThatARequestIsTooLargeWithItsBody() async throws {
        let server = try RawServer { connection in
            while connection.readHead() != nil { connection.send(okResponse("x")) }
        }
        var request = HTTPRequest(method: "POST", url: server.url)
        request.headers.set("X-Large", String(repeating: "h", count: 990_000))
        request.body = .bytes([UInt8](repeating: 120, count: 65_536))
        let result = await TestEngine().send(request)
        #expect(result.error?.code == .invalidRequest)
        #expect(
            result.error?.message.containsSubstring(", the body 65536: together they may have 1000000") == true,
            "\(result.error?.message ?? "")")
    }

    @Test func endsEndlessHeaders() async throws {
        let result = try await error { connection in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\n")
            while connection.send("X-Header: \(String(repeating: "x", count: 1000))\r\n") {}
        }
        #expect(result.error?.code == .network)
        #expect(result.error?.message.containsSubstring("header") == true)
    }

    @Test func endsAnEndlessHeaderLine() async throws {
        let result = try await error { connection in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nX-Header: ")
            while connection.send(String(repeating: "x", count: 10000)) {}
        }
        #expect(result.error?.domain == .network)
        #expect(result.error?.message.containsSubstring("header") == true)
    }

    @Test(arguments: [1, 100, 10_000, 100_000]) func boundsInterimResponses(_ count: Int) async throws {
        let result = try await error { connection in
            _ = connection.readRequest()
            for _ in 0..<count { guard connection.send("HTTP/1.1 100 Continue\r\n\r\n") else { return } }
            connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            connection.send(okResponse("done"))
        }
        if count <= 10_000 {
            #expect(result.error == nil)
            #expect(result.head?.status == 200)
            #expect(result.head?.headers["link"] == nil)
            #expect(result.text == "done")
        } else {
            #expect(result.error?.code == .network)
        }
    }

    /// The limit counts the bytes of the body: a chunked or compressed body has no usable announced length.
    @Test func boundsTheBody() async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while connection.send("3e8\r\n\(String(repeating: "x", count: 1000))\r\n") {}
        }
        let engine = TestEngine()
        var request = HTTPRequest(method: "GET", url: server.url)
        request.settings.maximumResponseSize = 100_000
        let result = await engine.send(request)
        #expect(result.error?.code == .responseTooLarge)
        #expect(result.head?.status == 200)
        #expect(result.body.count <= 100_000)
    }

    @Test func ignoresTrailersAndUnfoldsLines() async throws {
        let result = try await error { connection in
            _ = connection.readRequest()
            connection.send(
                "HTTP/1.1 200 OK\r\nX-Folded: one\r\n  two\r\nX-Raw: \u{fffd}\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "2\r\nhi\r\n0\r\nHTTP/1.1 500 No: way\r\nX-Trailer: 1\r\n\r\n")
        }
        #expect(result.error == nil)
        #expect(result.head?.status == 200)
        #expect(result.head?.headers["x-folded"] == "one two")
        #expect(result.head?.headers["x-trailer"] == nil)
        #expect(result.text == "hi")
    }

    @Test(arguments: ["Bad Name", "", "X\r\nY", "X:"]) func sendsNoInjectedHeaders(_ name: String) async throws {
        let engine = TestEngine()
        var request = HTTPRequest(method: "GET", url: "http://127.0.0.1:1/")
        request.headers.add(name, "v")
        #expect(await engine.send(request).error?.code == .invalidRequest)
        request = HTTPRequest(method: "GET", url: "http://127.0.0.1:1/")
        request.headers.add("X", "v\(name)\r\nEvil: 1")
        #expect(await engine.send(request).error?.code == .invalidRequest)
        request = HTTPRequest(method: "G\(name)\n", url: "http://127.0.0.1:1/")
        #expect(await engine.send(request).error?.code == .invalidRequest)
    }

    /// A write to a connection that was reset must not end the process.
    @Test func survivesAPeerThatResetsAnUpload() async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.reset()
        }
        let engine = TestEngine()
        var request = HTTPRequest(method: "POST", url: server.url)
        request.body = .bytes([UInt8](repeating: 1, count: 20_000_000))
        let result = await engine.send(request)
        #expect(result.error?.code == .network)
        #expect(result.error?.isRetryable == false)
    }

    @Test func reportsProgress() async throws {
        let body = String(repeating: "y", count: 500_000)
        let server = try RawServer(answering(okResponse(body)))
        let engine = TestEngine()
        let recorder = Recorder()
        engine.begin(HTTPRequest(method: "GET", url: server.url), recorder, progress: true)
        let result = await recorder.result()
        #expect(result.text == body)
        #expect(recorder.received.first.map { $0.0 == 0 && $0.1 == 500_000 } == true)
        #expect(recorder.received.last.map { $0.0 == 500_000 && $0.1 == 500_000 } == true)
        let counts = recorder.received.map(\.0)
        #expect(counts == counts.sorted() && Set(counts).count == counts.count)
        #expect(recorder.sent.isEmpty)
        #expect(recorder.reportsAfterEnd == 0)
    }

    private final class CountingSink: BodySink {
        private let bytes = Lock(0)
        var count: Int { bytes.withLock { $0 } }

        func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
            self.bytes.withLock { $0 += bytes.count }
            return .taken
        }
    }

    /// A few kilobytes may become megabytes. Other transfers must not wait for all of them, even if these bytes decode
    /// to nothing in a second step.
    @Test(arguments: [false, true], ["gzip-bomb", "gzip-nothing"])
    func decompressesSomeInEachTurn(intoMemory: Bool, _ scenario: String) async throws {
        let url = try TestServers.url("fault") + "/\(scenario)?mib=16"
        let (sink, workers) = (CountingSink(), WorkerPool())
        let recorder = intoMemory ? Recorder() : Recorder(route: .sink(sink))
        let turns = await onThread { () -> Int? in
            let commands = CommandQueue(.running)
            guard let loop = EngineLoop(commands: commands, workers: workers, connections: nil) else { return nil }
            let exchange = Exchange(
                request: HTTPRequest(method: "GET", url: url), priority: 0.5, deadline: .distantFuture,
                reportsProgress: false, routesBody: !intoMemory, observer: recorder)
            _ = commands.add(.begin(exchange))
            var turns = 0
            repeat {
                if turns > 0 { loop.sleep(until: .distantFuture) }
                loop.turn()
                turns += 1
            } while recorder.endCount == 0
            loop.close()
            return turns
        }
        let result = await recorder.result()
        #expect(result.error == nil)
        #expect((intoMemory ? result.body.count : sink.count) == (scenario == "gzip-bomb" ? 16 << 20 : 0))
        // Each turn decodes about 1 MB.
        #expect(turns ?? 0 >= 16)
    }
}
