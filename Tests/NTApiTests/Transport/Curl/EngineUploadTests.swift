import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Each kind of body reaches the server unchanged.
@Suite struct EngineUploadTests {
    /// Sends a request and returns it as the server saw it.
    private func exchange(
        _ request: (String) -> HTTPRequest, recorder: Recorder = Recorder(), progress: Bool = false
    ) async throws -> (RawConnection.Request?, ExchangeResult) {
        let seen = Lock<RawConnection.Request?>(nil)
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            seen.withLock { $0 = request }
            connection.send(okResponse("ok"))
        }
        let engine = TestEngine()
        engine.begin(request(server.url + "/up"), recorder, progress: progress)
        let result = await recorder.result()
        return (seen.withLock { $0 }, result)
    }

    private func request(_ method: String, _ url: String, _ body: HTTPRequest.Body) -> HTTPRequest {
        var request = HTTPRequest(method: method, url: url)
        request.body = body
        return request
    }

    private func withFile<Result>(_ bytes: [UInt8], _ body: (String) async throws -> Result) async throws -> Result {
        var template = Array("/tmp/ntapi-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var written = 0
        while written < bytes.count {
            written += bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + written, bytes.count - written) }
        }
        close(descriptor)
        defer { unlink(path) }
        return try await body(path)
    }

    private func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 8)) }
    }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "REPORT"])
    func sendsBytesWithAnyMethod(_ method: String) async throws {
        let (seen, result) = try await exchange { self.request(method, $0, .bytes(Array("body".utf8))) }
        #expect(result.error == nil, "\(String(describing: result.error))")
        #expect(seen?.firstLine == "\(method) /up HTTP/1.1")
        #expect(seen?.bodyText == "body")
        #expect(seen?.has("Content-Length: 4") == true)
        #expect(seen?.head.containsSubstring("Content-Type") == false)
        #expect(seen?.head.containsSubstring("Expect") == false)
    }

    @Test(arguments: ["POST", "PUT", "PATCH"]) func saysThatThereIsNoBody(_ method: String) async throws {
        let (seen, result) = try await exchange { self.request(method, $0, .none) }
        #expect(result.error == nil)
        #expect(seen?.firstLine == "\(method) /up HTTP/1.1")
        #expect(seen?.has("Content-Length: 0") == true)
    }

    @Test(arguments: [0, 1, 65536, 65537, 1_000_000]) func sendsBytesOfAnySize(_ size: Int) async throws {
        let (seen, result) = try await exchange { self.request("POST", $0, .bytes(self.pattern(size))) }
        #expect(result.error == nil)
        #expect(seen?.firstLine == "POST /up HTTP/1.1")
        #expect(seen?.body == pattern(size))
        #expect(result.metrics.bytesSent == Int64(size))
    }

    @Test(arguments: [0, 1, 300_000]) func sendsAFile(_ size: Int) async throws {
        try await withFile(pattern(size)) { path in
            let recorder = Recorder()
            let (seen, result) = try await exchange(
                { self.request("POST", $0, .file(path: path, length: Int64(size))) }, recorder: recorder, progress: true
            )
            #expect(result.error == nil)
            #expect(seen?.body == pattern(size))
            #expect(recorder.sent.first.map { $0.0 == 0 && $0.1 == Int64(size) } == true)
            #expect(recorder.sent.last.map { $0.0 == Int64(size) && $0.1 == Int64(size) } == true)
            #expect(recorder.reportsAfterEnd == 0)
        }
    }

    @Test func refusesAFileThatIsNotThereOrTooShort() async throws {
        let (_, missing) = try await exchange {
            self.request("PUT", $0, .file(path: "/nonexistent/file", length: 3))
        }
        #expect(missing.error?.code == .invalidRequest && missing.error?.domain == .request)
        #expect(missing.error?.message.containsSubstring("/nonexistent/file") == true)
        #expect(missing.error?.message.containsSubstring("No such file") == true)
        try await withFile(pattern(10)) { path in
            let (_, short) = try await exchange { self.request("PUT", $0, .file(path: path, length: 11)) }
            #expect(short.error?.code == .invalidRequest)
        }
        let (_, directory) = try await exchange { self.request("PUT", $0, .file(path: "/tmp", length: 1)) }
        #expect(directory.error?.message.containsSubstring("regular file") == true)
    }

    @Test func noticesAFileThatShrinks() async throws {
        try await withFile(pattern(100)) { path in
            let file = UploadFile(path, length: 100)
            let first = try file.piece(after: 0).get()
            #expect(first == pattern(100))
            truncate(path, 50)
            let rest = try file.piece(after: 40).get()
            #expect(rest == Array(first[40..<50]))
            guard case .failure(let error) = file.piece(after: 50) else { return #expect(Bool(false)) }
            #expect(error.message.containsSubstring("shorter"))
        }
    }

    @Test func sendsParts() async throws {
        try await withFile(pattern(200_000)) { path in
            let parts = [
                HTTPRequest.Part(name: "text", content: .bytes(Array("hello".utf8))),
                HTTPRequest.Part(name: "empty", content: .bytes([])),
                HTTPRequest.Part(
                    name: "big", content: .bytes(pattern(100_000)), filename: "big.bin", contentType: "image/png"),
                HTTPRequest.Part(
                    name: "file", content: .file(path: path, length: 200_000), filename: "a\"b.txt",
                    contentType: "text/x"),
            ]
            let (seen, result) = try await exchange { self.request("POST", $0, .multipart(parts)) }
            #expect(result.error == nil, "\(String(describing: result.error))")
            let request = try #require(seen)
            #expect(request.head.containsSubstring("Content-Type: multipart/form-data; boundary="))
            let text = String(decoding: request.body, as: UTF8.self)
            #expect(text.containsSubstring("name=\"text\"\r\n\r\nhello\r\n"))
            #expect(text.containsSubstring("name=\"big\"; filename=\"big.bin\"\r\nContent-Type: image/png\r\n"))
            #expect(text.containsSubstring("filename=\"a%22b.txt\""))
            #expect(request.body.count > 300_000)
        }
    }

    /// The program may set its own multipart type. Its parameters are sent once, with the boundary of the body.
    @Test(arguments: ["; boundary=own", "; Boundary=\"own\"; start=x", ""])
    func sendsOneBoundary(_ parameters: String) async throws {
        let parts = [HTTPRequest.Part(name: "text", content: .bytes(Array("hello".utf8)))]
        let (seen, result) = try await exchange { url in
            var request = self.request("POST", url, .multipart(parts))
            request.headers.set("Content-Type", "multipart/related; type=\"a; boundary=b\"\(parameters)")
            return request
        }
        #expect(result.error == nil, "\(String(describing: result.error))")
        let request = try #require(seen)
        let type = try #require(request.head.split(separator: "\r\n").first { $0.hasPrefix("Content-Type: ") })
        let more = parameters.hasSuffix("start=x") ? "; start=x" : ""
        let start = "Content-Type: multipart/related; type=\"a; boundary=b\"\(more); boundary="
        #expect(type.hasPrefix(start), "\(type)")
        #expect(request.bodyText.hasPrefix("--\(type.dropFirst(start.utf8.count))\r\n"), "\(type)")
    }

    @Test func namesThePartThatCannotBeSent() async throws {
        let part = HTTPRequest.Part(name: "photo", content: .file(path: "/nonexistent/photo", length: 1))
        let (_, result) = try await exchange { self.request("POST", $0, .multipart([part])) }
        #expect(result.error?.code == .invalidRequest)
        #expect(result.error?.message.containsSubstring("part 'photo'") == true)
    }

    @Test(arguments: [nil, Int64(1_000_000)], [1_000_000]) func streams(_ length: Int64?, _ size: Int) async throws {
        let bytes = pattern(size)
        let offset = Lock(0)
        let stream = BodyStream(length: length) { buffer in
            offset.withLock { offset in
                // The pieces have odd sizes.
                let count = min(buffer.count, bytes.count - offset, 10_007)
                bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[offset..<(offset + count)])) }
                offset += count
                return count
            }
        }
        let recorder = Recorder()
        let (seen, result) = try await exchange(
            { self.request("POST", $0, .stream(stream)) }, recorder: recorder, progress: true)
        #expect(result.error == nil, "\(String(describing: result.error))")
        #expect(seen?.body == bytes)
        #expect(seen?.has("Transfer-Encoding: chunked") == (length == nil))
        #expect(
            recorder.sent.last.map { $0.0 == Int64(size) && $0.1 == Int64(size) } == true, "\(recorder.sent.suffix(2))")
    }

    struct Broken: Error, CustomStringConvertible {
        var description: String { "the disk is on fire" }
    }

    @Test func saysWhyAStreamFailed() async throws {
        let throwing = BodyStream { _ in throw Broken() }
        let (_, failed) = try await exchange { self.request("POST", $0, .stream(throwing)) }
        #expect(failed.error?.domain == .request && failed.error?.code == .generic)
        #expect(failed.error?.message.containsSubstring("the disk is on fire") == true)

        let short = BodyStream(length: 5) { _ in 0 }
        let (_, ended) = try await exchange { self.request("POST", $0, .stream(short)) }
        #expect(ended.error?.message.containsSubstring("ended after 0 of the announced 5") == true)

        let long = BodyStream(length: 5) { $0.count }
        let (_, more) = try await exchange { self.request("POST", $0, .stream(long)) }
        #expect(more.error?.message.containsSubstring("more than the announced 5") == true)

        let lying = BodyStream { $0.count + 1 }
        let (_, lied) = try await exchange { self.request("POST", $0, .stream(lying)) }
        #expect(lied.error?.code == .generic)
    }

    /// In the response handler, the caller may free the source of its stream.
    @Test func endsOnlyAfterTheStreamsLastCall() async throws {
        let isReading = Signal()
        let mayReturn = Signal()
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.waitForEnd()
        }
        let engine = TestEngine()
        let calls = Lock(0)
        let stream = BodyStream { _ in
            calls.withLock { $0 += 1 }
            isReading.set()
            mayReturn.block()
            return 1
        }
        let recorder = Recorder()
        let exchange = engine.begin(request("POST", server.url, .stream(stream)), recorder)
        await isReading.wait()
        engine.cancel(exchange)
        // When another exchange has ended, the cancel has taken effect.
        let other = try RawServer(answering(okResponse("x")))
        #expect(await engine.get(other.url).error == nil)
        #expect(recorder.endCount == 0)
        mayReturn.set()
        #expect(await recorder.result().error == .cancelled)
        #expect(calls.withLock { $0 } == 1)
    }
}
