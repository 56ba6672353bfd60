import Testing

@testable import NTApi

/// HTTP/2 over TLS with real servers. nginx adds the number of the connection, and of the request on it, to its
/// responses.
@Suite struct EngineMultiplexTests {
    private func request(
        _ server: String, _ path: String = "/ping", limit: Int = 64, method: String = "GET"
    ) throws -> HTTPRequest {
        var request = HTTPRequest(method: method, url: try TestServers.url(server) + path)
        request.settings.caFile = try TestServers.url("ca")
        request.settings.maximumConnectionsPerHost = limit
        return request
    }

    private struct Outcome {
        var results: [ExchangeResult] = []

        var errors: [APIError] { results.compactMap(\.error) }

        /// The number of requests on each connection.
        var connections: [String: Int] {
            results.reduce(into: [:]) { $0[$1.head?.headers["X-Connection"] ?? "none", default: 0] += 1 }
        }
    }

    private func send(_ requests: [HTTPRequest], with engine: TestEngine) async -> Outcome {
        let recorders = requests.map { _ in Recorder() }
        for (request, recorder) in zip(requests, recorders) { engine.begin(request, recorder) }
        var outcome = Outcome()
        for recorder in recorders { outcome.results.append(await recorder.result()) }
        return outcome
    }

    /// The server responds only when all requests have come. A request that waited for another's response would wait
    /// forever.
    @Test(arguments: [64, 2, 1]) func aHundredShareOneConnectionAtOnce(limit: Int) async throws {
        let engine = TestEngine()
        let gate = try request("nginx_tls", "/gate?for=100&name=\(UInt64.random(in: 0 ... .max))", limit: limit)
        let outcome = await send(Array(repeating: gate, count: 100), with: engine)
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.connections.count == 1)
        #expect(outcome.results.allSatisfy { $0.head?.httpVersion == 2 })
    }

    /// Requests beyond a connection's capacity open one more connection at a time. libcurl would open one for each.
    @Test func aThousandNeedFewConnections() async throws {
        let outcome = await send(Array(repeating: try request("nginx_tls"), count: 1000), with: TestEngine())
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.connections.count <= 10, "\(outcome.connections)")
    }

    /// The server allows eight streams on a connection. This limit and that of the connections must both be used fully.
    @Test(arguments: [2, 5]) func findsOutHowManyStreamsThereMayBe(limit: Int) async throws {
        let engine = TestEngine()
        // The gate needs this many requests at once, and the server allows no more.
        let gate = try request(
            "nginx_narrow", "/gate?for=\(8 * limit)&name=\(UInt64.random(in: 0 ... .max))", limit: limit)
        let outcome = await send(Array(repeating: gate, count: 8 * limit), with: engine)
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.connections.values.allSatisfy { $0 <= 8 }, "\(outcome.connections)")
    }

    /// Without HTTP/2, each request needs its own connection. There must not be more than the limit.
    @Test(arguments: [1, 3, 8]) func keepsTheLimitWithoutHTTP2(limit: Int) async throws {
        let requests = Array(repeating: try request("nginx_tls1", limit: limit), count: 200)
        let outcome = await send(requests, with: TestEngine())
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.connections.count <= limit, "\(outcome.connections)")
    }

    /// The server responds only when all requests have come. No request may wait for a connection that cannot be
    /// shared.
    @Test func nobodyWaitsForAConnectionWithoutHTTP2() async throws {
        let gate = try request("nginx_tls1", "/gate?for=8&name=\(UInt64.random(in: 0 ... .max))")
        let outcome = await send(Array(repeating: gate, count: 8), with: TestEngine())
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.connections.count == 8)
    }

    @Test func severalThreadsHaveConnectionsOfTheirOwn() async throws {
        let engine = TestEngine(threads: 3)
        let outcome = await send(Array(repeating: try request("nginx_tls", limit: 64), count: 90), with: engine)
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.connections.values.sorted() == [30, 30, 30])
    }

    /// The server closes each connection after twenty requests, and says so (GOAWAY). Requests that it has not
    /// processed are sent again, whatever their method. No request is processed twice.
    @Test(arguments: ["GET", "POST", "GET POST"], [1, 3, 64]) func goesOnAfterAGoodBye(methods: String, limit: Int)
        async throws
    {
        let methods = methods.split(separator: " ").map(String.init)
        let name = "/ping?name=\(UInt64.random(in: 0 ... .max))"
        let requests = try (0..<300).map {
            try request("nginx_goaway", name, limit: limit, method: methods[$0 % methods.count])
        }
        let outcome = await send(requests, with: TestEngine())
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.connections.values.allSatisfy { $0 <= 20 }, "\(outcome.connections)")
        let count = "grep -c '\(name)' \(try TestServers.url("nginx_log"))"
        // The server writes the line just after its response.
        let seen = await onThread {
            let deadline = MonotonicTime.now().advanced(bySeconds: patience)
            while true {
                let seen = Int(String(decoding: shell(count).dropLast(), as: UTF8.self)) ?? 0
                if seen >= 300 || deadline <= .now() { return seen }
            }
        }
        #expect(seen == 300)
    }

    /// A body that may have to wait uses HTTP/1.1, where a pause slows down the server. It must not use an idle
    /// connection with HTTP/2.
    @Test func holdsBodiesOnHTTP1() async throws {
        let engine = TestEngine()
        for _ in 0..<2 {
            #expect(await engine.send(try request("nginx_tls")).head?.httpVersion == 2)
            let recorder = Recorder()
            let exchange = Exchange(
                request: try request("nginx_tls"), priority: 0.5, deadline: .distantFuture, reportsProgress: false,
                routesBody: true, observer: recorder)
            engine.engine.transport(connectionLimit: 1).begin(exchange)
            #expect(await recorder.result().head?.httpVersion == 1.1)
        }
    }

    /// This also holds for a limit over all servers. With a limit of 1, the first response has to show the version.
    @Test func sharesWhatThereMayBeInTotal() async throws {
        let client = try session("nginx_tls") { $0.maximumConnections = 2 }
        let args: [APIArg] = [.url("for", 100), .url("name", "\(UInt64.random(in: 0 ... .max))")]
        let responses = await withTaskGroup(of: APIResponse.self) { group in
            for _ in 0..<100 { group.addTask { await client.response("gate", args: args) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.allSatisfy { $0.error == nil }, "\(responses.compactMap(\.error))")
        #expect(Set(responses.map { $0.headers["X-Connection"] }).count == 1)
    }

    // MARK: Health

    /// A server for one test. Its first connection answers one request.
    private func silent(_ timeout: Double?, name: UInt64) throws -> HTTPRequest {
        let url = try TestServers.url("h2_silent")
        let port = url.split(separator: ":").last.map(String.init) ?? ""
        var request = HTTPRequest(method: "GET", url: "https://n\(name).localhost:\(port)/")
        request.settings.allowsInvalidCertificate = true
        request.settings.timeouts.idle = timeout
        return request
    }

    /// One request on a dead connection times out, others still wait on it. libcurl keeps such a connection, and would
    /// send all later requests on it, too.
    @Test func leavesADeadConnectionOnWhichOthersWait() async throws {
        let engine = TestEngine()
        let name = UInt64.random(in: 0 ... .max)
        #expect(await engine.send(try silent(patience, name: name)).error == nil)
        let patient = Recorder()
        let waiting = engine.begin(try silent(nil, name: name), patient)
        #expect(await engine.send(try silent(0.2, name: name)).error?.code == .timeout)
        for number in 0..<4 {
            let result = await engine.send(try silent(patience, name: name))
            #expect(result.error == nil, "\(number)")
            // All of them use one new connection.
            #expect(result.metrics.connectionReused == (number > 0))
        }
        #expect(patient.endCount == 0)
        engine.cancel(waiting)
        #expect(await patient.result().error?.code == .cancelled)
    }

    /// Responses to other requests show that the connection is not dead: only the one response is slow.
    @Test func keepsAConnectionOnWhichOthersAreAnswered() async throws {
        try await untilOneCounts { scale in
            let engine = TestEngine()
            let first = await engine.send(try request("nginx_tls"))
            let hung = Recorder()
            var slow = try request("nginx_tls", "/slow?seconds=30")
            slow.settings.timeouts.attempt = 0.3 * scale
            engine.begin(slow, hung)
            var answered = 0
            while hung.endCount == 0 {
                #expect(await engine.send(try request("nginx_tls")).error == nil)
                if hung.endCount == 0 { answered += 1 }
            }
            #expect(await hung.result().error?.code == .timeout)
            let last = await engine.send(try request("nginx_tls"))
            // If no request has got a response in time, it is right to leave the connection.
            guard answered > 0 else { return false }
            #expect(last.head?.headers["X-Connection"] == first.head?.headers["X-Connection"])
            return true
        }
    }

    /// A connection that is never idle would never be closed because of its age.
    @Test func replacesAnOldConnection() async throws {
        try await untilOneCounts { scale in
            let age = 0.3 * scale
            let engine = TestEngine(connectionAge: age)
            let begun = MonotonicTime.now()
            let hung = Recorder()
            let waiting = engine.begin(try request("nginx_tls", "/slow?seconds=30"), hung)
            var (seen, count, isLate): (Set<String>, Int, Bool) = ([], 0, false)
            while seen.count < 2 {
                let result = await engine.send(try request("nginx_tls"))
                try #require(result.error == nil)
                seen.insert(result.head?.headers["X-Connection"] ?? "")
                count += 1
                if count == 2 { isLate = MonotonicTime.now().seconds(since: begun) > age }
            }
            engine.cancel(waiting)
            _ = await hung.result()
            guard !isLate else { return false }
            #expect(count > 2, "the first connection must be used again")
            return true
        }
    }
}
