import Testing

@testable import NTApi

/// What observers are told, in which order, and with which values.
@Suite struct ObserverTests {
    private func client(_ observer: Listener, _ args: [APIArg] = []) throws -> TestClient {
        let client = try TestClient.of("fault", args: args)
        client.add(observer)
        return client
    }

    /// A session with connections that no other test uses.
    private func session(_ observer: Listener, connections: Int = 6) throws -> APIClient {
        var configuration = SessionConfiguration.ephemeral
        configuration.usesCache = false
        configuration.maximumConnectionsPerHost = connections
        configuration.proxy = ""
        let client = APIClient(baseURL: try TestServers.url("fault"), configuration: configuration)
        client.logFlags = []
        client.add(observer)
        return client
    }

    @Test func everyExchangeIsAnAttempt() async throws {
        let observer = Listener()
        let client = try session(observer)
        #expect(await client.response("redirect", args: [.url("url", "/status/200")]).error == nil)
        #expect(observer.all == ["begun", "1 first", "1 302", "2 redirect", "2 200", "ended 200"])
        let (first, second) = (observer.answers.all[0], observer.answers.all[1])
        #expect(first.address == "127.0.0.1" && first.port > 0 && first.error == nil)
        #expect(first.headers["Location"] != nil && first.metrics.httpVersion == 1.1)
        #expect(!first.metrics.connectionReused && second.metrics.connectionReused)
        #expect(second.metrics.total > 0 && second.metrics.total >= second.metrics.firstByte)
    }

    @Test func everyWayOfCallingIsObserved() async throws {
        let observer = Listener()
        let client = try client(observer)
        #expect(await onThread { client.perform("status/200").error } == nil)
        _ = await onThread { client.perform("status/404") }
        let ended = Log<APIResponse>()
        client.begin("status/200", args: [.responseThread(.background)], handler: { ended.append($0) })
        _ = await ended.first(1)
        let good = ["begun", "1 first", "1 200", "ended 200"]
        #expect(observer.all == good + ["begun", "1 first", "1 404", "ended HTTP error"] + good)
        for try await _ in client.lines("lines", args: [.url("count", 3)]) {}
        #expect(observer.all.suffix(2) == ["1 200", "ended 200"])
    }

    /// The reader of the body ends the request, perhaps while observers are still told of the end of the exchange.
    @Test func theAttemptOfAStreamHasItsAnswer() async throws {
        let observer = Listener()
        let client = try client(observer)
        for _ in 0..<200 {
            for try await _ in client.events("status/204") {}
            for try await _ in client.lines("lines", args: [.url("count", 1)]) {}
        }
        let statuses = observer.answers.all.map(\.status)
        #expect(statuses.count == 400 && statuses.allSatisfy { $0 == 200 || $0 == 204 })
    }

    @Test func aRequestThatIsNotSentHasNoAttempt() async throws {
        let observer = Listener()
        let client = try client(observer)
        _ = await client.response("echo", args: [.header("a b", "c")])
        #expect(observer.all == ["begun", "ended invalid request"])
        client.request("echo").cancel()
        // It was never begun, so it has no events.
        #expect(await client.response("status/200").error == nil)
        #expect(observer.all.count == 6)
    }

    @Test func waitsBeginAndEnd() async throws {
        let (observer, clock) = (Listener(), ManualClock())
        let client = try client(observer, [.retry(RetryPolicy(attempts: 2, base: 8))])
        client.clock = clock
        async let response = client.response("status/503")
        try await clock.waitForSleepers()
        let pause = try #require(clock.nextWake)
        clock.advance(by: pause)
        _ = await response
        let heard = observer.all
        #expect(heard.prefix(4) == ["begun", "1 first", "1 503", "waits pause"])
        #expect(heard.suffix(3) == ["2 retry", "2 503", "ended HTTP error"] && heard.count == 8)
        #expect(abs((Double(heard[4]) ?? 0) - pause) < 0.001)
        // With this limit, the second request must wait.
        client.rateLimiter = RateLimiter(requests: 1, seconds: 4)
        observer.clear()
        #expect(await client.response("status/200").error == nil)
        async let second = client.response("status/200")
        try await clock.waitForSleepers()
        clock.advance(by: 4)
        #expect(await second.error == nil)
        #expect(observer.all.suffix(6) == ["begun", "waits rate_limit", "4.0", "1 first", "1 200", "ended 200"])
    }

    @Test func aCancelEndsWhatHasBegun() async throws {
        let (observer, clock) = (Listener(), ManualClock())
        let client = try client(observer, [.retry(RetryPolicy(attempts: 2, base: 8))])
        client.clock = clock
        let ended = Log<APIResponse>()
        let request = client.begin("status/503", args: [.responseThread(.background)], handler: { ended.append($0) })
        try await clock.waitForSleepers()
        #expect(request.cancel())
        _ = await ended.first(1)
        #expect(observer.all.suffix(3) == ["waits pause", "0.0", "ended request cancelled"])
        let sent = Listener()
        let other = try self.client(sent)
        let held = other.begin("hold", args: [.responseThread(.background)], handler: { ended.append($0) })
        #expect(await sent.heard.first(2).count == 2)
        held.cancel()
        _ = await ended.first(2)
        #expect(sent.all == ["begun", "1 first", "1 request cancelled", "ended request cancelled"])
    }

    @Test func aWaitForAConnectionIsTold() async throws {
        let observer = Listener()
        let client = try session(observer, connections: 1)
        let ended = Log<APIResponse>()
        let held = client.begin("hold", args: [.responseThread(.background)], handler: { ended.append($0) })
        #expect(await observer.heard.first(2).count == 2)
        client.begin("status/200", args: [.responseThread(.background)], handler: { ended.append($0) })
        let seen = await observer.heard.first(5)
        #expect(Array(seen.suffix(3)) == ["begun", "1 first", "waits connection"])
        held.cancel()
        _ = await ended.first(2)
        let rest = observer.all.dropFirst(5).filter { !$0.hasSuffix("cancelled") }
        #expect(rest == ["waited", "1 200", "ended 200"])
        #expect(observer.answers.all.contains { $0.status == 200 && $0.metrics.queued > 0 })
    }

    @Test func theCacheAndTheCircuitAreTold() async throws {
        let observer = Listener()
        var configuration = SessionConfiguration.ephemeral
        configuration.circuitBreaker = CircuitBreakerPolicy(minimumCalls: 1, openSeconds: 10, probes: 1)
        configuration.proxy = ""
        let client = APIClient(baseURL: try TestServers.url("fault"), configuration: configuration)
        let clock = ManualClock()
        client.clock = clock
        client.add(observer)
        let cached: [APIArg] = [
            .url("h-Cache-Control", "max-age=1000"), .url("token", "o\(UInt64.random(in: 0 ... .max))"),
        ]
        for _ in 0..<2 { #expect(await client.response("cached", args: cached).error == nil) }
        #expect(
            observer.all == [
                "begun", "cache miss", "1 first", "1 200", "ended 200", "begun", "cache hit", "ended 200",
            ])
        observer.clear()
        for status in [500, 200] { _ = await client.response("status/\(status)") }
        clock.advance(by: 10)
        _ = await client.response("status/200")
        let circuits = observer.all.filter { $0.hasPrefix("circuit") }
        let origin = try #require(Origin(url: TestServers.url("fault"))).text
        #expect(circuits == ["opened", "refused", "closed"].map { "circuit \($0) \(origin)" })
    }

    @Test func headersAreAddedToEachAttempt() async throws {
        let observer = Listener()
        observer.headers = [("X-Attempt", "first"), ("Content-Length", "7"), ("Accept", "text/x")]
        let client = try client(observer)
        let seen = await client.response("echo", args: [.header("Accept", "mine")])
        let headers = seen.json?["headers"]?.array?.compactMap { $0.array?.compactMap(\.string) } ?? []
        #expect(headers.contains(["X-Attempt", "first"]) && headers.contains(["Accept", "text/x"]))
        #expect(!headers.contains(["Accept", "mine"]) && !headers.contains { $0.last == "7" })
        #expect(
            client.lines.all.contains { $0.message.hasSuffix("an observer's header Content-Length may not be sent") })
    }

    @Test func theContextIsTheCallersOwn() async throws {
        final class Contexts: APIObserver {
            @TaskLocal static var name = "nobody"
            let heard = Log<String>()

            func begun(_ request: APIRequest) -> (any Sendable)? { Self.name }

            func ended(_ response: APIResponse, _ context: (any Sendable)?) {
                heard.append("\(response.request.command) \(context as? String ?? "")")
            }
        }
        let observer = Contexts()
        let client = try TestClient.of("fault")
        client.add(observer)
        await withTaskGroup { group in
            for name in ["ann", "bob", "cid"] {
                group.addTask {
                    await Contexts.$name.withValue(name) { _ = await client.response("echo", args: [.url("q", name)]) }
                }
            }
        }
        #expect(Set(observer.heard.all) == ["echo ann", "echo bob", "echo cid"])
    }

    @Test func observersAreAddedAndRemoved() async throws {
        let (everyone, first, second) = (Listener(), Listener(), Listener())
        second.events = .ended
        let client = try TestClient.of("fault")
        APIClient.addObserver(everyone)
        client.add(first)
        client.add(second)
        let name = "n\(UInt64.random(in: 0 ... .max))"
        #expect(await client.response("status/200", args: [.url("name", name)]).error == nil)
        #expect(APIClient.removeObserver(everyone) && client.remove(first))
        #expect(!APIClient.removeObserver(everyone) && !client.remove(first))
        #expect(await client.response("status/200", args: [.url("name", name)]).error == nil)
        #expect(first.all == ["begun", "1 first", "1 200", "ended 200"])
        #expect(second.all == ["ended 200", "ended 200"])
        // It also hears requests of other tests.
        #expect(everyone.urls.all.filter { $0.containsSubstring(name) }.count == 1)
    }

    /// At whatever moment a request is cancelled: whatever has begun also ends, in order, and once.
    @Test func everythingEndsAtRandomMoments() async throws {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let client = try TestClient.of("fault", args: [.retry(RetryPolicy(attempts: 3, base: 0.001))])
        client.defaults["maximumConnectionsPerHost"] = 2
        let checker = PairChecker()
        client.add(checker)
        let commands = [
            "status/200", "status/503", "late?ms=2", "redirect?url=/late%3Fms%3D1", "reset/at-start", "hold",
        ]
        let ended = Log<Int>()
        for number in 0..<200 {
            let command = commands.randomElement(using: &random)!
            let request = client.begin(
                command, args: [.responseThread(.background)], handler: { _ in ended.append(number) })
            let delay = Double.random(in: 0...0.004, using: &random)
            if command == "hold" || Bool.random(using: &random) {
                _ = await onThread {
                    _ = Monitor(0).wait(until: MonotonicTime.now().advanced(bySeconds: delay)) { _ in Int?.none }
                    return request.cancel()
                }
            }
        }
        #expect(await ended.first(200).count == 200)
        #expect(checker.problems.all.isEmpty, "seed \(seed): \(checker.problems.all.prefix(3))")
        #expect(checker.finished.count == 200)
    }
}

/// Records each event.
private final class Listener: APIObserver, @unchecked Sendable {
    // Safe to share: these two are set before requests begin.
    var events = ObservedEvents.all
    var headers: [(String, String)] = []
    let heard = Log<String>()
    let answers = Log<ObservedAnswer>()
    let urls = Log<String>()
    private let left = Lock(0)

    /// What was recorded since the last call of `clear`.
    var all: [String] { Array(heard.all.dropFirst(left.withLock { $0 })) }

    func clear() { left.withLock { $0 = heard.count } }

    func begun(_ request: APIRequest) -> (any Sendable)? {
        heard.append("begun")
        urls.append(request.httpRequest?.url ?? "")
        return nil
    }

    func waitBegins(_ wait: ObservedWait, _ context: (any Sendable)?) { heard.append("waits \(wait.rawValue)") }

    func waitEnds(_ wait: ObservedWait, seconds: Double, _ context: (any Sendable)?) {
        heard.append(wait == .connection ? "waited" : "\(seconds)")
    }

    func attemptBegins(_ attempt: ObservedAttempt, _ context: (any Sendable)?) -> HTTPHeaders {
        heard.append("\(attempt.number) \(attempt.reason)")
        var added = HTTPHeaders()
        for (name, value) in headers { added.set(name, value) }
        return added
    }

    func attemptEnds(_ attempt: ObservedAttempt, _ answer: ObservedAnswer, _ context: (any Sendable)?) {
        answers.append(answer)
        heard.append("\(attempt.number) \(answer.error.map { "\($0.code)" } ?? "\(answer.status)")")
    }

    func cacheAnswered(_ outcome: CacheOutcome, _ context: (any Sendable)?) { heard.append("cache \(outcome)") }

    func circuitChanged(_ event: CircuitEvent, _ origin: String, _ context: (any Sendable)?) {
        heard.append("circuit \(event) \(origin)")
    }

    func ended(_ response: APIResponse, _ context: (any Sendable)?) {
        heard.append("ended \(response.error.map { "\($0.code)" } ?? "\(response.status)")")
    }
}

/// Checks that what begins ends, in order and once, for each request.
private final class PairChecker: APIObserver {
    private final class Request: Sendable {
        let open = Lock<[String]>(["request"])
    }

    let problems = Log<String>()
    let finished = Log<Bool>()

    private func change(_ context: (any Sendable)?, _ what: String, _ change: (inout [String]) -> Bool) {
        guard let request = context as? Request else { return problems.append("\(what): no context") }
        let (isRight, open) = request.open.withLock { (change(&$0), $0) }
        if !isRight { problems.append("\(what), open are \(open)") }
    }

    private func begins(_ what: String, within outer: String, _ context: (any Sendable)?) {
        change(context, "\(what) begins") { open in
            defer { open.append(what) }
            return open.last == outer || (what == "wait" && open.last == "request")
        }
    }

    private func ends(_ what: String, _ context: (any Sendable)?) {
        change(context, "\(what) ends") { $0.popLast() == what }
    }

    func begun(_ request: APIRequest) -> (any Sendable)? { Request() }

    func waitBegins(_ wait: ObservedWait, _ context: (any Sendable)?) { begins("wait", within: "attempt", context) }

    func waitEnds(_ wait: ObservedWait, seconds: Double, _ context: (any Sendable)?) { ends("wait", context) }

    func attemptBegins(_ attempt: ObservedAttempt, _ context: (any Sendable)?) -> HTTPHeaders {
        begins("attempt", within: "request", context)
        return HTTPHeaders()
    }

    func attemptEnds(_ attempt: ObservedAttempt, _ answer: ObservedAnswer, _ context: (any Sendable)?) {
        ends("attempt", context)
    }

    func ended(_ response: APIResponse, _ context: (any Sendable)?) {
        ends("request", context)
        finished.append(true)
    }
}
