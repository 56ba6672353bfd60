import Testing

@testable import NTApi

/// Events on a connection before it is used again.
@Suite struct EngineReuseTests {
    private let smuggled = okResponse("smuggled")

    /// Bytes that nobody asked for would be taken for the next response. Nothing of the request has been sent yet, so
    /// even a POST may use another connection.
    @Test(arguments: ["GET", "POST"]) func whatCameUnaskedIsNoAnswer(method: String) async throws {
        let (go, gone) = (Signal(), Signal())
        let server = try RawServer { [smuggled] connection in
            guard connection.readRequest() != nil else { return }
            connection.send(okResponse("\(connection.index)"))
            guard connection.index == 0 else { return connection.waitForEnd() }
            go.block()
            connection.send(smuggled)
            gone.set()
            #expect(connection.readRequest() == nil, "a request came on a connection that is not clean")
        }
        let engine = TestEngine()
        #expect(await engine.get(server.url).text == "0")
        go.set()
        await gone.wait()
        var request = HTTPRequest(method: method, url: server.url)
        if method == "POST" { request.body = .bytes(Array("x=1".utf8)) }
        let result = await engine.send(request)
        #expect(result.error == nil && result.text == "1", "\(result.error?.message ?? "")")
        #expect(server.connectionCount == 2)
    }

    /// A server closes an idle connection. It has not seen the next request, which was not written to this connection.
    @Test func aPostFindsAClosedConnection() async throws {
        let (go, gone) = (Signal(), Signal())
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send(okResponse("\(connection.index)"))
            guard connection.index == 0 else { return connection.waitForEnd() }
            go.block()
            connection.end()
            gone.set()
            connection.waitForEnd()
        }
        let engine = TestEngine()
        #expect(await engine.get(server.url).text == "0")
        go.set()
        await gone.wait()
        var request = HTTPRequest(method: "POST", url: server.url)
        request.body = .bytes(Array("x=1".utf8))
        let result = await engine.send(request)
        #expect(result.error == nil && result.text == "1", "\(result.error?.message ?? "")")
    }

    /// libcurl remembers on the connection that a response was HTTP/1.0. It would send the next request as HTTP/1.0,
    /// too, which cannot carry a stream of unknown length.
    @Test func anAnswerOfHTTP10SaysNothingOfTheNextRequest() async throws {
        let lines = Log<String>()
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                lines.append(request.firstLine)
                connection.send("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let engine = TestEngine()
        #expect(await engine.get(server.url).text == "ok")
        let isSent = Lock(false)
        let stream = BodyStream(length: nil) { buffer in
            guard isSent.withLock({ !exchange(&$0, with: true) }) else { return 0 }
            buffer[0] = 120
            return 1
        }
        for body in [HTTPRequest.Body.stream(stream), .none] {
            let result = await engine.send(HTTPRequest(method: "POST", url: server.url, body: body))
            #expect(result.error == nil && result.text == "ok", "\(result.error?.message ?? "")")
        }
        #expect(lines.all.allSatisfy { $0.hasSuffix(" HTTP/1.1") }, "\(lines.all)")
    }

    /// libcurl before 8.9 remembers on the connection that the first request has waited for a challenge. It would send
    /// the next requests without their bodies.
    @Test(arguments: ["POST", "PUT", "PATCH"], [302, 403, 404, 500])
    func digestWithoutABodyLeavesBodiesAlone(method: String, status: Int) async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                let isFirst = request.firstLine.containsSubstring("/first")
                let start = isFirst ? "HTTP/1.1 \(status) No\r\nLocation: /x" : "HTTP/1.1 200 OK"
                connection.send("\(start)\r\nContent-Length: \(request.body.count)\r\n\r\n\(request.bodyText)")
            }
        }
        let engine = TestEngine()
        var first = HTTPRequest(method: method, url: server.url + "/first")
        first.digest = Credential(user: "ann", password: "pw")
        #expect(await engine.send(first).head?.status == status)
        for text in ["{}", String(repeating: "x", count: 200_000)] {
            var next = HTTPRequest(method: "POST", url: server.url)
            next.body = .bytes(Array(text.utf8))
            #expect(await engine.send(next).text == text)
        }
    }

    /// libcurl before 8.3 would append such a line to an earlier header of the same handle, whose memory is freed.
    @Test(arguments: [" X: y", "\tX: y", " "]) func aFirstHeaderLineThatBeginsWithABlank(line: String) async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                let isOdd = request.firstLine.containsSubstring("odd")
                connection.send(
                    isOdd
                        ? "HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nX-Before: \(String(repeating: "x", count: 200))\r\nContent-Length: 2\r\n\r\nok"
                )
            }
        }
        let engine = TestEngine()
        for _ in 0..<20 {
            #expect(await engine.get(server.url + "/even").text == "ok")
            let result = await engine.get(server.url + "/odd")
            #expect(result.error?.domain == .network && result.error?.code == .network)
        }
    }

    /// Each scheme has its own connections, even to the same port (libcurl 8.14 forgets that: curl #19007).
    @Test func plainHTTPDoesNotGoOverTLS() async throws {
        let engine = TestEngine()
        var secure = HTTPRequest(method: "GET", url: try TestServers.url("fault_tls") + "/echo")
        secure.settings.caFile = try TestServers.url("ca")
        for _ in 0..<3 {
            #expect(await engine.send(secure).head?.status == 200)
            let plain = await engine.get(try TestServers.url("plain_to_tls") + "/echo")
            #expect(plain.error?.code == .network && plain.head == nil)
        }
    }

    // MARK: HTTP/2

    private func odd(_ kind: String, _ method: String, body: HTTPRequest.Body = .none) throws -> HTTPRequest {
        let url = try TestServers.url("h2_silent")
        let port = url.split(separator: ":").last.map(String.init) ?? ""
        var request = HTTPRequest(method: method, url: "https://\(kind).localhost:\(port)/", body: body)
        request.settings.allowsInvalidCertificate = true
        return request
    }

    /// If the server says that it has not processed a request, the request is sent again, whatever its method.
    @Test(arguments: ["GET", "POST"]) func sendsAgainWhatAGoawayLeavesOut(method: String) async throws {
        let engine = TestEngine()
        let name = "goaway-\(UInt64.random(in: 0 ... .max))"
        #expect(await engine.send(try odd(name, "GET")).error == nil)
        let body = HTTPRequest.Body.bytes(Array("x=1".utf8))
        let result = await engine.send(try odd(name, method, body: method == "POST" ? body : .none))
        #expect(result.error == nil && result.head?.status == 200, "\(result.error?.message ?? "")")
    }

    /// A server may answer before it has the whole request, and refuse the rest (RFC 9113, 8.1).
    @Test(arguments: [1, 65535], [200, 401, 403, 413])
    func anAnswerBeforeTheEndOfTheRequest(_ size: Int, _ status: Int) async throws {
        let body = HTTPRequest.Body.bytes([UInt8](repeating: 120, count: size))
        let result = await TestEngine().send(try odd("early-\(status)-swift", "POST", body: body))
        #expect(result.error == nil && result.text == "early", "\(result.error?.message ?? "")")
        #expect(result.head?.status == status)
    }

    @Test func trailersOverHTTP2() async throws {
        let result = await TestEngine().send(try odd("trailers-swift", "GET"))
        #expect(result.error == nil && result.text == "body", "\(result.error?.message ?? "")")
        #expect(result.trailers?["X-Trailer"] == "end")
    }

    /// libcurl before 8.12 loses such an answer over HTTP/2 when the body fills the stream's window.
    @Test(arguments: [65535, 65536, 1 << 20], [200, 404])
    func anEarlyAnswerToALongBody(_ size: Int, _ status: Int) async throws {
        let engine = TestEngine()
        let url = try TestServers.url("nginx_tls") + (status == 200 ? "/ping" : "/404")
        for _ in 0..<10 {
            let chunks = Lock(size)
            let stream = BodyStream(length: nil) { buffer in
                chunks.withLock { left in
                    let count = min(left, buffer.count)
                    left -= count
                    return count
                }
            }
            for body in [HTTPRequest.Body.bytes([UInt8](repeating: 120, count: size)), .stream(stream)] {
                var request = HTTPRequest(method: "POST", url: url, body: body)
                request.settings.caFile = try TestServers.url("ca")
                let result = await engine.send(request)
                #expect(result.error == nil && result.head?.status == status, "\(result.error?.message ?? "")")
                guard case .bytes = body else { continue }
                let isHTTP1 = EasyOptions.losesEarlyAnswers && size > 65535
                #expect(result.head?.headers["X-Protocol"] == (isHTTP1 ? "HTTP/1.1" : "HTTP/2.0"))
            }
        }
    }
}
