import NTApi
import NTApiTesting
import Testing

@Suite struct FindTests {
    @Test func failsThenWaits() async throws {
        let server = try await MockServer()
        let client = APIClient(baseURL: server.url, args: [.url("q", "London")])
        try await server.enqueue(["status": 503], ["json": ["name": "London"], "hold": "gate"])
        #expect(await client.response("v1/find").status == 503)

        async let found = client.response("v1/find")
        try await server.waitForLatch("gate")
        _ = try await server.takeRequest()
        #expect(try await server.takeRequest()["target"]?.string == "/v1/find?q=London")
        try await server.release("gate")
        #expect(await found.json?["name"]?.string == "London")
        try await server.close()
    }
}

/// What the page does not show.
@Suite struct MockServerTests {
    @Test func rulesAnswer() async throws {
        let server = try await MockServer()
        try await server.on("POST", "notes", ["status": 503], ["status": 201])
        let client = APIClient(baseURL: server.url)
        for status in [503, 201] { #expect(await client.response("notes", args: [.json([1])]).status == status) }
        #expect(try await server.takeRequest()["text"]?.string == "[1]")
        try await server.close()
    }

    @Test func closingVerifies() async throws {
        let server = try await MockServer()
        try await server.on("GET", "never", ["status": 200])
        let failure = await #expect(throws: MockServer.Failure.self) { try await server.close() }
        #expect(failure?.description.contains("never") == true)
    }

    @Test func aMistakeSaysWhatIsWrong() async throws {
        let server = try await MockServer()
        let failure = await #expect(throws: MockServer.Failure.self) { try await server.enqueue(["statu": 503]) }
        #expect(failure?.description.contains("statu") == true)
        try await server.close()
    }

    @Test func aSecureServerHasAnAuthority() async throws {
        let server = try await MockServer("--tls")
        try await server.enqueue(["status": 204])
        let client = APIClient(baseURL: server.url)
        client.defaults["caFile"] = try JSON(#require(server.caFile))
        #expect(await client.response().status == 204 && server.url.hasPrefix("https://"))
        try await server.close()
    }

    /// The server does not know that nobody waits any more. Its late reply goes to nobody, and the next one to its own.
    @Test func aWaitCanBeCancelled() async throws {
        let server = try await MockServer()
        let waiting = Task { try await server.takeRequest() }
        let client = APIClient(baseURL: server.url)
        try await server.enqueue(["status": 200], ["status": 201])
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        for status in [200, 201] { #expect(await client.response().status == status) }
        #expect(try await server.run(["do": "requests"])["requests"]?.count == 2)
        try await server.close()
    }

    @Test func aStartCanBeCancelled() async throws {
        let starting = Task { try await MockServer() }
        starting.cancel()
        await #expect(throws: CancellationError.self) { try await starting.value }
    }

    @Test func aServerThatHasEndedAnswersNobody() async throws {
        await #expect(throws: MockServer.Failure.self) { try await MockServer(python: "true") }
        let server = try await MockServer()
        try await server.close()
        await #expect(throws: MockServer.Failure.self) { try await server.takeRequest() }
    }

    @Test func commandsAtOnceGetTheirReplies() async throws {
        let server = try await MockServer()
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask { try await server.on("GET", "items/\(number)", ["json": JSON(number)]) }
            }
            try await group.waitForAll()
        }
        let client = APIClient(baseURL: server.url)
        for number in 0..<100 { #expect(await client.response("items/\(number)").json?.int == number) }
        try await server.close()
    }
}
