import Testing

@testable import NTApi

@Suite struct AwaitTests {
    @Test func sendsAndThrows() async throws {
        let client = try TestClient.of("fault")
        #expect(try await client.send("ok").json?["ok"]?.bool == true)
        do throws(APIError) {
            _ = try await client.send("status/404")
            Issue.record("no error")
        } catch {
            #expect(error.domain == .http && error.httpStatus == 404)
        }
        let response = await client.response("status/404")
        #expect(response.status == 404 && response.error != nil && response.json?["status"]?.int == 404)
    }

    @Test func cancellingTheTaskCancelsTheRequest() async throws {
        let client = try TestClient.of("fault")
        let task = Task { await client.response("hold") }
        try await wait { client.requestsInFlight == 1 }
        task.cancel()
        let response = await task.value
        #expect(response.error == .cancelled && response.request.state == .cancelled)
    }

    @Test func aTaskThatIsCancelledAlready() async throws {
        let client = try TestClient.of("fault")
        let gate = Signal()
        let task = Task { () -> APIError? in
            await gate.wait()
            return await client.response("hold").error
        }
        task.cancel()
        gate.set()
        #expect(await task.value == .cancelled)
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }

    @Test func cancelAtAnyMoment() async throws {
        let client = try TestClient.of("fault")
        var generator = SeededGenerator(SeededGenerator.ofThisRun)
        let tasks = (0..<200).map { number in
            Task {
                await client.response("random", args: [.url("seed", 1), .url("n", number), .timeout(2, .attempt)]).error
            }
        }
        for task in tasks.shuffled(using: &generator) {
            if Bool.random(using: &generator) { task.cancel() }
            if Int.random(in: 0..<4, using: &generator) == 0 { await Task.yield() }
        }
        for task in tasks { _ = await task.value }
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }

    @Test func aHundredAtOnce() async throws {
        let client = try TestClient.of("fault")
        let numbers = try await withThrowingTaskGroup(of: Int?.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let query = try await client.send("echo", args: [.url("n", number)]).json?["query"]
                    return query?[path: "[0][1]"]?.string.flatMap { Int($0) }
                }
            }
            return try await group.reduce(into: Set<Int?>()) { $0.insert($1) }
        }
        #expect(numbers == Set(0..<100))
    }

    private actor Counter {
        var count = 0
        func send(_ client: APIClient) async throws {
            let before = count
            _ = try await client.send("ok")
            preconditionIsolated()
            count = before + 1
        }
    }

    @Test @MainActor func resumesOnTheActorOfTheCaller() async throws {
        let client = try TestClient.of("fault")
        _ = try await client.send("ok")
        MainActor.preconditionIsolated()
        let counter = Counter()
        try await counter.send(client)
        #expect(await counter.count == 1)
    }

    /// An async program runs no mailbox. So progress must not wait for the mailbox of the main thread.
    @Test func progressNeedsNoMailbox() async throws {
        let client = try TestClient.of("weather")
        let told = Log<TransferProgress>()
        _ = try await client.send(
            "download", args: [.url("size", 50_000), .option(.rawData)], downloadProgress: { told.append($0) })
        #expect(told.all.last == TransferProgress(bytes: 50_000, total: 50_000))
        #expect(!client.lines.all.contains { $0.message.containsSubstring("progress was dropped") })
        #expect(told.all.first == TransferProgress(bytes: 0, total: 50_000))
    }

    @Test func aTrailingClosureIsTheHandler() async throws {
        let client = try TestClient.of("fault")
        let statuses = Log<Int>()
        client.begin("ok", args: [.responseThread(.background)]) { response in statuses.append(response.status) }
        #expect(await statuses.first(1) == [200])
    }
}

extension APIClient {
    /// How many requests of the client are running.
    fileprivate var requestsInFlight: Int { drain(timeout: 0) }
}
