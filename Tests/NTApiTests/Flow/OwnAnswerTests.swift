import Testing

@testable import NTApi

/// The body of an interceptor's own response goes where a server's body would go.
@Suite struct OwnAnswerTests {
    private let intercepted = InterceptedStub()
    private var stub: Stub { intercepted.stub }

    /// What the interceptor answers.
    enum Way: CaseIterable {
        /// The request, which is not sent.
        case request
        /// A failed response, whose body is in memory.
        case failure
        /// The head of a successful response, before its body has a place.
        case head
    }

    private static let ways: [(Interceptor.Scope, Way)] = [
        (.call, .request), (.call, .failure), (.attempt, .request), (.attempt, .failure), (.attempt, .head),
    ]

    private func client(_ scope: Interceptor.Scope, _ way: Way, _ response: HTTPResponse) -> TestClient {
        stub.on("GET", "way").answer(way == .failure ? .text("server", status: 500) : .text("server"))
        return intercepted.client([
            Interceptor(handling: scope) { interception in
                if way != .request, interception.response == nil {
                    interception.send()
                } else {
                    interception.respond(response)
                }
            }
        ])
    }

    private static func text(_ text: String, _ type: String = "text/plain") -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: HTTPHeaders([("Content-Type", type), ("Content-Length", "3")]),
            body: ResponseData(text.utf8))
    }

    @Test(arguments: ways) func intoAFile(_ scope: Interceptor.Scope, _ way: Way) async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/file"
        let client = client(scope, way, Self.text("own body"))
        let response = await client.response("way", args: [.download(to: path), .option(.rawData)])
        #expect(response.error == nil && response.file == path && response.text == "")
        #expect(try SystemFile.read(path).map { String(decoding: $0, as: UTF8.self) } == "own body")
        #expect(stub.requests.count == (way == .request ? 0 : 1))
    }

    @Test(arguments: ways) func intoAnEmptyFile(_ scope: Interceptor.Scope, _ way: Way) async throws {
        // Here, an answer without a body replaces only the head. The server's body would follow.
        guard way != .head else { return }
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/file"
        let client = client(scope, way, HTTPResponse(status: 200))
        let response = await client.response("way", args: [.download(to: path), .option(.rawData)])
        #expect(response.error == nil && response.file == path)
        #expect(try SystemFile.read(path)?.isEmpty == true)
    }

    @Test(arguments: ways) func toAHandler(_ scope: Interceptor.Scope, _ way: Way) async {
        let client = client(scope, way, Self.text("own body"))
        let data = Log<String>()
        let request = client.request(
            "way", args: [.option(.rawData), .dataThread(.background), .responseThread(.background)])
        request.setDataHandler { data.append(String(decoding: $0, as: UTF8.self)) }
        let response = await client.response(of: request)
        #expect(response.error == nil && response.text == "" && data.all == ["own body"])
    }

    /// Larger than what the network may receive ahead of the reader.
    private static let large = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

    @Test(arguments: ways) func toAStream(_ scope: Interceptor.Scope, _ way: Way) async throws {
        let body = Self.large
        let client = client(scope, way, HTTPResponse(status: 200, body: ResponseData(body)))
        let stream = try await client.stream("way")
        var received: [UInt8] = []
        for try await piece in stream { piece.withUnsafeBytes { received += $0 } }
        #expect(received == body)
        #expect(stream.request.response?.error == nil)
    }

    @Test(arguments: ways) func asLines(_ scope: Interceptor.Scope, _ way: Way) async throws {
        let client = client(scope, way, Self.text("{\"a\": 1}\n{\"a\": 2}\n"))
        var lines: [Int] = []
        for try await line in client.lines("way") { lines.append(line["a"]?.int ?? 0) }
        #expect(lines == [1, 2])
    }

    @Test(arguments: ways) func asLinesThatAreWrong(_ scope: Interceptor.Scope, _ way: Way) async {
        let client = client(scope, way, Self.text("{\"a\": 1}\nno JSON\n"))
        let error = await #expect(throws: APIError.self) { for try await _ in client.lines("way") {} }
        #expect(error?.code == .invalidJSON)
    }

    @Test(arguments: ways) func asEvents(_ scope: Interceptor.Scope, _ way: Way) async throws {
        let client = client(scope, way, Self.text("data: 1\n\ndata: 2\n\n", "text/event-stream"))
        var events: [String] = []
        for try await event in client.events("way", args: [.option(.reconnect, false)]) { events.append(event.data) }
        #expect(events == ["1", "2"])
    }

    /// An attempt interceptor stands for the server, so the stream connects again. A call interceptor is asked once.
    @Test(arguments: [(Interceptor.Scope.call, 1), (.attempt, 3)]) func eventsOfAnAttemptConnectAgain(
        _ scope: Interceptor.Scope, _ connections: Int
    ) async throws {
        let client = TestClient(at: "https://api.example")
        client.stub = stub
        let asked = Log<Int>()
        client.interceptors = [
            Interceptor(handling: scope) { interception in
                asked.append(interception.number)
                guard asked.count < 3 else {
                    interception.respond(HTTPResponse(status: 204))
                    return
                }
                interception.respond(Self.text("retry: 1\ndata: \(asked.count)\n\n", "text/event-stream"))
            }
        ]
        var events: [String] = []
        for try await event in client.events("way") { events.append(event.data) }
        #expect(events == ["1", "2"].dropLast(connections == 1 ? 1 : 0))
        #expect(asked.count == connections)
    }

    @Test(arguments: ways) func theProgramDecidesAboutItsHead(_ scope: Interceptor.Scope, _ way: Way) async throws {
        let client = client(scope, way, Self.text("own body"))
        let request = client.request("way", args: [.option(.rawData), .responseThread(.background)])
        let statuses = Log<Int>()
        request.setDecisionHandler(for: .response) { decision in
            statuses.append(decision.status)
            decision.becomeDownload()
        }
        let response = await client.response(of: request)
        let file = try #require(response.temporaryFile)
        #expect(try SystemFile.read(file).map { String(decoding: $0, as: UTF8.self) } == "own body")
        #expect(statuses.all == [200])
    }

    @Test(arguments: ways) func aCancelEndsIt(_ scope: Interceptor.Scope, _ way: Way) async {
        let client = client(
            scope, way, HTTPResponse(status: 200, body: ResponseData([UInt8](repeating: 1, count: 1 << 20))))
        let request = client.request(
            "way", args: [.option(.rawData), .dataThread(.background), .responseThread(.background)])
        let pieces = Log<Int>()
        request.setDataHandler { [weak request] piece in
            pieces.append(piece.count)
            request?.cancel()
        }
        let response = await client.response(of: request)
        #expect(response.error?.code == .cancelled && pieces.count == 1)
    }

    /// The handler or the file has already got the server's body. So the new body is in the response.
    @Test func afterTheServersBodyItIsInTheResponse() async {
        let client = client(.call, .head, Self.text("own body"))
        let data = Log<String>()
        let request = client.request(
            "way", args: [.option(.rawData), .dataThread(.background), .responseThread(.background)])
        request.setDataHandler { data.append(String(decoding: $0, as: UTF8.self)) }
        let response = await client.response(of: request)
        #expect(response.error == nil && response.text == "own body" && data.all == ["server"])
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt], [Int.min, -1, 0, 100, 199, 1000, .max])
    func aStatusThatNoAnswerHasIsAnError(_ scope: Interceptor.Scope, _ status: Int) async {
        let client = client(scope, .request, HTTPResponse(status: status))
        let error = await client.response("way").error
        #expect(error?.code == .invalidRequest && error?.message.contains("\(status)") == true)
    }
}
