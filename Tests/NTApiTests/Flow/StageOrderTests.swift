import Testing

@testable import NTApi

/// What the order of redirects, attempts, rate limit and reconnections guarantees.
@Suite struct StageOrderTests {
    private let stub = Stub()
    private let clock = ManualClock()

    private func client(_ args: [APIArg] = []) -> TestClient {
        let client = TestClient(at: "https://api.example", args: args)
        client.stub = stub
        client.clock = clock
        return client
    }

    private var sent: [String] { stub.requests.map { "\($0.method) \($0.url.split(separator: "/").last ?? "")" } }

    private func redirect(_ status: Int, to location: String) -> StubAnswer {
        .status(status, headers: ["Location": location])
    }

    private func events(_ numbers: Int...) -> StubAnswer {
        let text = numbers.map { "id: \($0)\nretry: 0\ndata: \($0)\n\n" }.joined()
        return .text(text, headers: ["Content-Type": "text/event-stream"])
    }

    private func read(_ client: APIClient, _ command: String, count: Int) async throws -> [String] {
        var all: [String] = []
        for try await event in client.events(command) {
            all.append(event.data)
            if all.count == count { break }
        }
        return all
    }

    private let once = APIArg.retry(RetryPolicy(base: 0))

    @Test func afterA303TheGetIsWhatIsRetried() async {
        stub.on("POST", "/order").answer(redirect(303, to: "/made"))
        stub.on("GET", "/made").answer(.status(503), .status(503), .json(["n": 1]))
        let response = await client().response("order", args: [once, .json(["a": 1])])
        #expect(response.error == nil && response.json?["n"]?.int == 1)
        #expect(sent == ["POST order", "GET made", "GET made", "GET made"])
        #expect(response.metrics.retries == 2 && response.metrics.redirects == 1)
    }

    @Test func aRefusedRedirectIsNotRetried() async {
        stub.on("GET", "/old").answer(redirect(302, to: "http://api.example/new"))
        let response = await client().response("old", args: [once])
        #expect(response.error?.code == .httpError && response.status == 302)
        #expect(sent == ["GET old"] && response.metrics.retries == 0)
    }

    @Test func oneRedirectTooManyIsNotRetried() async {
        stub.on("GET", "/round").answer(redirect(302, to: "/round"))
        let response = await client().response("round", args: [once, .option(.maximumRedirects, "2")])
        #expect(response.error?.code == .tooManyRedirects)
        #expect(sent.count == 3 && response.metrics.retries == 0)
    }

    @Test func aRateLimitThatIsTooSlowIsNotRetried() async {
        stub.on("GET", "/slow").answer(.json([:]))
        let client = client()
        client.rateLimiter = RateLimiter(requests: 1, seconds: 100)
        #expect(await client.response("slow").error == nil)
        // The limiter knows at once that the wait would be too long.
        let response = await client.response("slow", args: [once, .timeout(5, .total)])
        #expect(response.error?.code == .timeout && response.metrics.retries == 0 && clock.elapsed == 0)
        #expect(sent == ["GET slow"])
    }

    @Test func everyExchangeTakesAPermit() async throws {
        stub.on("GET", "/first").answer(redirect(302, to: "/second"))
        stub.on("GET", "/second").answer(.status(503), .json([:]))
        let client = client()
        client.rateLimiter = RateLimiter(requests: 1, seconds: 10)
        async let response = client.response("first", args: [once])
        for count in 1...2 {
            try await clock.waitForSleepers()
            #expect(sent.count == count)
            clock.advance(by: 10)
        }
        #expect(await response.error == nil)
        #expect(sent == ["GET first", "GET second", "GET second"])
    }

    /// A stream also reconnects if the retry policy allows only one attempt.
    @Test func aStreamOfEventsConnectsAgainInItsOwnWay() async throws {
        stub.on("GET", "/news").answer(events(1), .status(503), events(2), events(3))
        let client = client([.retry(RetryPolicy(attempts: 2, base: 1000))])
        async let read = read(client, "news", count: 3)
        while sent.count < 4 {
            guard (try? await clock.waitForSleepers(timeout: 0.05)) != nil else { continue }
            // The pause of the retry policy could be up to 1,000 seconds.
            #expect((clock.nextWake ?? 0) <= 10)
            clock.advance(by: clock.nextWake ?? 0)
        }
        #expect(try await read == ["1", "2", "3"])
        #expect(stub.requests.last?.headers["Last-Event-ID"] == "2")
    }

    @Test func redirectsAreCountedAnewForEachConnection() async throws {
        stub.on("GET", "/news").answer { _ in redirect(302, to: "/today") }
        stub.on("GET", "/today").answer(events(1), events(2), events(3))
        let client = client([.option(.maximumRedirects, "1")])
        async let read = read(client, "news", count: 3)
        while sent.count < 6 {
            guard (try? await clock.waitForSleepers(timeout: 0.05)) != nil else { continue }
            clock.advance(by: clock.nextWake ?? 0)
        }
        #expect(try await read == ["1", "2", "3"])
        #expect(sent == Array(repeating: ["GET news", "GET today"], count: 3).flatMap { $0 })
    }
}
