import Testing

@testable import NTApi

/// A request has the same result wherever it ends: on the network thread, on a worker, or on the thread of a waiting
/// caller.
@Suite struct ConclusionPlaceTests {
    /// What a program can see of the end of a request.
    private struct Seen: Equatable {
        var handlerCalls = 0
        var state: APIRequest.State
        var status: Int
        var body: [UInt8]
        var headers: [String]
        var json: JSON?
        var prefix: String?
        var error: APIError?
        var url: String
        var source: ResponseSource
        var redirects: Int
        var retries: Int
        var received: TransferProgress
        var decoded: Int64
        var transactions: [String]

        init(_ response: APIResponse, handlerCalls: Int) {
            let request = response.request
            self.handlerCalls = handlerCalls
            state = request.state
            status = response.status
            body = Array(response.data)
            headers = response.headers.map { "\($0.name): \($0.value)" }
            json = response.json
            prefix = response.prefixText
            error = response.error
            url = response.url
            source = response.source
            redirects = response.metrics.redirects
            retries = response.metrics.retries
            received = request.bytesReceived
            decoded = request.bytesDecoded
            transactions = response.requestMetrics.transactions.map(\.description)
        }
    }

    private enum Place: CaseIterable {
        /// On the thread where the response arrives, if the response is small and successful.
        case atOnce
        case worker
        case caller
    }

    private static func answer(_ random: inout SeededGenerator) -> StubAnswer {
        let bodies = [
            "", "{\"a\":1}", "[1, 2", "Warning: old\n{\"b\":2}", "plain text",
            "{\"long\":\"\(String(repeating: "x", count: 40_000))\"}", "\u{feff}[]", "null",
        ]
        let types = ["application/json", "text/plain", "application/problem+json"]
        let status = [200, 200, 200, 201, 204, 302, 404, 500, 503].randomElement(using: &random) ?? 200
        guard Int.random(in: 0..<12, using: &random) > 0 else { return .fault(.timeout) }
        let body = status == 204 ? "" : bodies.randomElement(using: &random) ?? ""
        let headers = HTTPHeaders([
            ("Content-Type", types.randomElement(using: &random) ?? ""), ("X-Two", "1"), ("X-Two", "2"),
        ])
        return StubAnswer(status: status, headers: headers, body: Array(body.utf8))
    }

    private static func args(_ random: inout SeededGenerator) -> [APIArg] {
        var args: [APIArg] = []
        if Bool.random(using: &random) { args.append(.option(.ignoreHTTPErrors)) }
        if Int.random(in: 0..<4, using: &random) == 0 { args.append(.option(.rawData)) }
        if Int.random(in: 0..<4, using: &random) == 0 { args.append(.retry(RetryPolicy(attempts: 2, base: 0))) }
        if Int.random(in: 0..<4, using: &random) == 0 { args.append(.option(.maximumResponseSize, 20_000)) }
        return args
    }

    /// - Parameter isCached: whether the response is stored first, and then comes from the cache.
    private func see(_ answer: StubAnswer, _ args: [APIArg], at place: Place, isCached: Bool) async throws -> Seen {
        let stub = Stub()
        var answer = answer
        if isCached { answer.headers.add("Cache-Control", "max-age=100") }
        stub.on("GET", "things").answer(answer)
        // A hook needs a worker.
        let hooks = place == .worker ? APIClient.Hooks(metricsCollected: { _, _ in }) : .init()
        let configuration: SessionConfiguration? = isCached ? .ephemeral : nil
        let client = APIClient(baseURL: "https://api.example", configuration: configuration, hooks: hooks)
        client.logFlags = []
        client.stub = stub
        if isCached {
            client.clock = ManualClock()
            _ = await client.response("things", args: args)
        }
        if place == .caller {
            let response = await onThread { client.perform("things", args: args) }
            return Seen(response, handlerCalls: 1)
        }
        let calls = Log<APIResponse>()
        let request = client.begin("things", args: args + [.responseThread(.background)]) { calls.append($0) }
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
        let response = try #require(calls.all.first)
        return Seen(response, handlerCalls: calls.count)
    }

    @Test func theProgramSeesTheSame() async throws {
        var random = SeededGenerator(SeededGenerator.ofThisRun)
        for number in 0..<300 {
            let (answer, args) = (Self.answer(&random), Self.args(&random))
            let isCached = number % 2 == 0
            let expected = try await see(answer, args, at: .worker, isCached: isCached)
            for place in [Place.atOnce, .caller] {
                let seen = try await see(answer, args, at: place, isCached: isCached)
                #expect(
                    seen == expected,
                    "\(place), number \(number) of seed \(SeededGenerator.ofThisRun): \(answer.status) \(args)")
            }
        }
    }
}
