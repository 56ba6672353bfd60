import Testing

@testable import NTApi

/// A handle keeps its options, but nothing of one request may affect the next one.
@Suite struct EasyHandleTests {
    private struct Sent {
        var method: String
        var body: HTTPRequest.Body
        var text: String
        var headers: [(name: String, value: String)]
        var decompresses = true
        /// The body goes to a handler or a file, as `routesBody` says.
        var routesBody = false

        func request(_ url: String) -> HTTPRequest {
            var request = HTTPRequest(method: method, url: url, headers: HTTPHeaders(headers), body: body)
            request.settings.maximumConnectionsPerHost = 1
            request.settings.decompresses = decompresses
            return request
        }

        var acceptEncoding: String? {
            let own = headers.first { $0.name == "Accept-Encoding" }?.value
            return own ?? (decompresses ? (routesBody ? AcceptedEncodings.own : .curl).names : nil)
        }
    }

    private static func random(_ random: inout SeededGenerator) -> Sent {
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]
        let method = methods.randomElement(using: &random) ?? "GET"
        var headers: [(name: String, value: String)] = []
        if Bool.random(using: &random) { headers.append(("X-Test", "\(Int.random(in: 0..<3, using: &random))")) }
        if Bool.random(using: &random) {
            headers.append(("User-Agent", "agent/\(Int.random(in: 0..<3, using: &random))"))
        }
        if Bool.random(using: &random) { headers.append(("Accept-Encoding", "identity")) }
        let text = String(repeating: "x", count: [1, 10, 70_000].randomElement(using: &random) ?? 1)
        switch method == "HEAD" ? 0 : Int.random(in: 0..<4, using: &random) {
        case 0: return Sent(method: method, body: .none, text: "", headers: headers)
        case 1: return Sent(method: method, body: .bytes(Array(text.utf8)), text: text, headers: headers)
        case 2:
            headers.append(("Content-Type", "text/plain"))
            return Sent(method: method, body: .bytes(Array(text.utf8)), text: text, headers: headers)
        default:
            return Sent(method: method, body: .stream(stream(of: text)), text: text, headers: headers)
        }
    }

    private static func stream(of text: String) -> BodyStream {
        let left = Lock(text.utf8.count)
        return BodyStream { buffer in
            left.withLock { left in
                let count = min(left, buffer.count)
                for index in 0..<count { buffer[index] = UInt8(ascii: "x") }
                left -= count
                return count
            }
        }
    }

    @Test(arguments: [UInt64.random(in: 0 ... .max)]) func eachRequestIsItself(seed: UInt64) async throws {
        let received = Log<RawConnection.Request>()
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                received.append(request)
                connection.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let engine = TestEngine()
        var random = SeededGenerator(seed)
        for number in 0..<300 {
            var sent = Self.random(&random)
            sent.decompresses = Bool.random(using: &random)
            sent.routesBody = Bool.random(using: &random)
            let result = await engine.send(sent.request("\(server.url)/\(number)"), routesBody: sent.routesBody)
            #expect(result.error == nil && result.head?.status == 204, "seed \(seed), \(number)")
            let request = try #require(received.all.last)
            #expect(request.firstLine == "\(sent.method) /\(number) HTTP/1.1", "seed \(seed)")
            #expect(request.bodyText == sent.text, "seed \(seed), \(number): \(sent.method)")
            for name in ["X-Test", "User-Agent", "Content-Type", "Expect", "Range"] {
                let expected = sent.headers.first { $0.name == name }.map { "\($0.name): \($0.value)" }
                let line = request.head.split(separator: "\r\n").first { (line: Substring) in line.hasPrefix("\(name):")
                }
                #expect(line.map(String.init) == expected, "seed \(seed), \(number): \(sent.method)")
            }
            let encodings = request.head.split(separator: "\r\n").first { $0.hasPrefix("Accept-Encoding:") }
            let expected = sent.acceptEncoding.map { "Accept-Encoding: \($0)" }
            #expect(encodings.map(String.init) == expected, "seed \(seed), \(number)")
        }
        #expect(server.connectionCount == 1, "seed \(seed)")
    }

    /// A handle keeps the parts of its last URL, and changes only those that differ. Otherwise libcurl gets the whole
    /// text.
    @Test(arguments: [UInt64.random(in: 0 ... .max)]) func eachURLIsItself(seed: UInt64) async throws {
        let received = Log<RawConnection.Request>()
        let servers = try (0..<2).map { _ in
            try RawServer { connection in
                while let request = connection.readRequest() {
                    received.append(request)
                    connection.send("HTTP/1.1 204 No Content\r\n\r\n")
                }
            }
        }
        // Pairs of a URL and what the server should see of it.
        let long = "/long/" + String(repeating: "x", count: 5000)
        let asItIs = [
            "/", "/a", "/a?b=c", "/a?", "/?q=1?2&r=/../s", "/a//b/../c", "/a%2Fb%2e?c=%4A", "/a;b=c,(d)!$'*~[]@:",
            "/{a}|b\"^`?<c>\\d", long,
        ]
        let changed = [("", "/"), ("/a#part", "/a"), ("/a?b#part", "/a?b"), ("?a=b", "/?a=b")]
        let targets = asItIs.map { ($0, $0) } + changed
        let engine = TestEngine()
        var random = SeededGenerator(seed)
        for number in 0..<300 {
            let server = try #require(servers.randomElement(using: &random))
            let (asked, seen) = try #require(targets.randomElement(using: &random))
            let body: HTTPRequest.Body = number % 5 == 0 ? .stream(Self.stream(of: "x")) : .none
            let method = number % 5 == 0 ? "PUT" : "GET"
            let result = await engine.send(HTTPRequest(method: method, url: server.url + asked, body: body))
            #expect(result.error == nil && result.head?.status == 204, "seed \(seed), \(number): \(asked)")
            let request = try #require(received.all.last)
            #expect(request.firstLine == "\(method) \(seen) HTTP/1.1", "seed \(seed), \(number): \(asked)")
            #expect(request.has("Host: \(server.url.dropFirst(7))"), "seed \(seed), \(number): \(asked)")
        }
        #expect(servers.map(\.connectionCount) == [1, 1], "seed \(seed)")
    }
}
