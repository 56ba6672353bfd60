import Testing

@testable import NTApi

/// Slow responses of a stub, with a clock that stands still, and what ends them.
@Suite struct StubClockTests {
    private let stub = Stub()
    private let clock = ManualClock()
    private let client = TestClient(at: "http://api.test")

    init() {
        client.stub = stub
        client.clock = clock
    }

    @Test func anAnswerTakesItsTime() async throws {
        stub.on("GET", "a").answer(.json(1, delay: 5))
        async let response = client.response("a")
        try await clock.waitForSleepers()
        #expect(clock.nextWake == 5)
        clock.advance(by: 5)
        #expect(await response.json == 1)
        #expect(await response.elapsed == 5)
    }

    @Test func soDoesEachPiece() async throws {
        stub.on("GET", "a").answer(.data([1, 2, 3]).inPieces(of: 1, every: 2))
        let stream = try await client.stream("a")
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next().map { Array($0) } == [1])
        for expected: UInt8 in [2, 3] {
            try await clock.waitForSleepers()
            clock.advance(by: 2)
            #expect(try await iterator.next().map { Array($0) } == [expected])
        }
        #expect(try await iterator.next() == nil)
        #expect(clock.elapsed == 4)
    }

    @Test(arguments: [TimeoutClock.idle, .attempt, .total]) func timeoutsRunOut(_ kind: TimeoutClock) async throws {
        let asked = Signal()
        stub.on("GET", "a").answer { _ in
            asked.set()
            return .fault(.silence)
        }
        async let response = client.response("a", args: [.timeout(7.5, kind)])
        await asked.wait()
        clock.advance(by: 7)
        #expect(clock.sleepers == 0)
        clock.advance(by: 0.5)
        let error = await response.error
        #expect(error?.code == .timeout && error?.transportCode == 28 && error?.isRetryable == true)
        #expect(error?.message.containsSubstring("7.5 s (\(kind) timeout, api.test:80)") == true)
    }

    @Test func noTimePassesWhileItIsSuspended() async throws {
        let asked = Signal()
        stub.on("GET", "a").answer { _ in
            asked.set()
            return .json(1, delay: 5)
        }
        let ended = Log<APIResponse>()
        let request = client.begin(
            "a", args: [.responseThread(.background), .timeout(6)], handler: { ended.append($0) })
        await asked.wait()
        try await clock.waitForSleepers()
        #expect(request.suspend())
        clock.advance(by: 100)
        #expect(request.state == .suspended)
        #expect(request.resume())
        #expect(await ended.first(1).first?.json == 1)
    }

    @Test func aStreamOfEventsGoesOn() async throws {
        stub.on("GET", "events").answer(
            .text("id: 1\ndata: one\n\n", headers: ["Content-Type": "text/event-stream"]),
            .status(503, headers: ["Retry-After": "30"]),
            .text("id: 2\ndata: two\n\n", headers: ["Content-Type": "text/event-stream"]), .status(204))
        let reading = Task {
            var texts: [String] = []
            for try await event in client.events("events") { texts.append(event.data) }
            return texts
        }
        for _ in 0..<3 {
            try await clock.waitForSleepers()
            clock.advance(by: 60)
        }
        #expect(try await reading.value == ["one", "two"])
        #expect(stub.requests.map { $0.headers["last-event-id"] } == [nil, "1", "1", "2"])
    }

    /// An open circuit counts as a failure of the server, like a 503.
    @Test func aStreamOfEventsCountsAnOpenCircuit() async throws {
        let answer = StubAnswer.text("data: one\n\n", headers: ["Content-Type": "text/event-stream"])
        stub.on("GET", "events").answer(answer, .status(503))
        client.defaults["circuitBreaker"] = ["minimum_calls": 2, "open_seconds": 1000]
        let ended = Signal()
        let reading = Task {
            defer { ended.set() }
            for try await _ in client.events("events", args: [.option(.maximumFailures, 2)]) {}
        }
        while !ended.isSet {
            guard (try? await clock.waitForSleepers(timeout: 0.05)) != nil else { continue }
            clock.advance(by: clock.nextWake ?? 0)
        }
        let error = await #expect(throws: APIError.self) { try await reading.value }
        #expect(error?.code == .circuitOpen && stub.requests.count == 2)
    }

    /// An empty `id` resets the identifier, even one that the program sent first.
    @Test func aStreamOfEventsForgetsItsIdentifier() async throws {
        let events: KeyValuePairs = ["Content-Type": "text/event-stream"]
        stub.on("GET", "events").answer(.text("id\ndata: one\n\n", headers: events), .status(204))
        let reading = Task {
            for try await _ in client.events("events", args: [.header("Last-Event-ID", "6")]) {}
        }
        try await clock.waitForSleepers()
        clock.advance(by: 60)
        try await reading.value
        #expect(stub.requests.map { $0.headers["last-event-id"] } == ["6", nil])
    }

    // MARK: The end of a response

    /// Requests are cancelled at any moment. Each handler is called once, and nothing is left.
    @Test func eachIsAnsweredOnceWheneverItIsCancelled() async throws {
        stub.on("GET", "now").answer(.json(1))
        stub.on("GET", "later").answer(.json(1, delay: 1))
        stub.on("GET", "pieces").answer(.data([UInt8](repeating: 7, count: 1000)).inPieces(of: 10))
        stub.on("GET", "never").fail(.silence)
        stub.on("GET", "again").answer(.status(302, headers: ["Location": "/again"]))
        let calls = Log<Int>()
        var requests: [APIRequest] = []
        for index in 0..<400 {
            let command = ["now", "later", "pieces", "never", "again"][index % 5]
            requests.append(
                client.begin(
                    command, args: [.responseThread(.background), .option(.rawData)],
                    handler: { _ in calls.append(index) }))
            if index % 3 == 0 { requests[index / 2].cancel() }
            if index % 7 == 0 { requests[index].suspend() }
        }
        clock.advance(by: 1)
        for request in requests { request.cancel() }
        _ = await calls.first(400)
        let left = await onThread { [client] in client.drain(timeout: patience) }
        #expect(left == 0 && calls.count == 400 && Set(calls.all).count == 400)
        #expect(clock.sleepers == 0)
    }

    @Test func aCancelEndsASilence() async throws {
        let asked = Signal()
        stub.on("GET", "a").answer { _ in
            asked.set()
            return .fault(.silence)
        }
        let task = Task { await client.response("a") }
        await asked.wait()
        task.cancel()
        #expect(await task.value.error?.code == .cancelled)
    }

    @Test func closingTheClientEndsWhatRuns() async throws {
        stub.on("GET", "a").answer(.json(1, delay: 9))
        let ended = Log<APIResponse>()
        for _ in 0..<10 { client.begin("a", args: [.responseThread(.background)], handler: { ended.append($0) }) }
        try await clock.waitForSleepers(10)
        client.close()
        #expect(await ended.first(10).allSatisfy { $0.error?.code == .cancelled })
    }

    @Test func aStreamThatIsReadHoldsBackTheEnd() async throws {
        let (reading, goOn) = (Signal(), Signal())
        let stream = BodyStream { _ in
            reading.set()
            goOn.block()
            return 0
        }
        let ended = Log<APIResponse>()
        let request = client.begin(
            "a", args: [.stream(stream, contentType: nil), .responseThread(.background)], handler: { ended.append($0) })
        await reading.wait()
        request.cancel()
        #expect(ended.count == 0)
        goOn.set()
        #expect(await ended.first(1).first?.error?.code == .cancelled)
    }
}
