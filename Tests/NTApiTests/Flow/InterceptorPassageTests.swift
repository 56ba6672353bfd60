import Testing

@testable import NTApi

/// Which exchanges pass an interceptor, with which number and reason.
@Suite struct InterceptorPassageTests {
    private let intercepted = InterceptedStub()
    private var stub: Stub { intercepted.stub }
    private var clock: ManualClock { intercepted.clock }
    private let calls = Log<String>()
    private let attempts = Log<String>()

    private func client(_ args: [APIArg] = []) -> TestClient {
        intercepted.client([.noting(.attempt, "attempt", in: attempts), .noting(.call, "call", in: calls)], args)
    }

    private let once = APIArg.retry(RetryPolicy(base: 0))

    private func expectCalls(_ last: String) { #expect(calls.all == ["call 1 first", "call 1 \(last)"]) }

    @Test(arguments: [302, 303, 307]) func redirects(_ status: Int) async {
        stub.on("POST", "old").answer(intercepted.redirect(status, to: "/new"))
        stub.on(nil, "/new").answer(.json([:]))
        #expect(await client().response("old", args: [.json(["a": 1])]).error == nil)
        expectCalls("200")
        #expect(attempts.all == ["attempt 1 first", "attempt 1 \(status)", "attempt 2 redirect", "attempt 2 200"])
        #expect(intercepted.sent == ["POST old", status == 307 ? "POST new" : "GET new"])
    }

    @Test func attemptsOfTheRetryPolicy() async {
        stub.on("GET", "busy").answer(.status(503), .fault(.noConnection), .json([:]))
        #expect(await client([once]).response("busy").metrics.retries == 2)
        expectCalls("200")
        #expect(
            attempts.all == [
                "attempt 1 first", "attempt 1 503", "attempt 2 retry", "attempt 2 network", "attempt 3 retry",
                "attempt 3 200",
            ])
    }

    @Test func anotherToken() async {
        stub.on("GET", "mine", where: { $0.headers["Authorization"] == "Bearer old" }).answer(.status(401))
        stub.on("GET", "mine", where: { $0.headers["Authorization"] == "Bearer new" }).answer(.json([:]))
        let client = client()
        client.authenticator = Authenticator(token: .init("old")) { _ in .init("new") }
        #expect(await client.response("mine").error == nil)
        expectCalls("200")
        #expect(attempts.all == ["attempt 1 first", "attempt 1 401", "attempt 2 credentials", "attempt 2 200"])
    }

    private final class Answering: TestClient, @unchecked Sendable {
        // Safe to share: set before the first request.
        var answer: @Sendable (RequestDecision) -> Void = { _ in }

        override func decide(_ decision: RequestDecision) { answer(decision) }
    }

    private func answering(_ server: String, _ answer: @escaping @Sendable (RequestDecision) -> Void) throws
        -> Answering
    {
        let client = try Answering.of(server)
        client.decisionKinds = .challenge
        client.answer = answer
        client.interceptors = [.noting(.attempt, "attempt", in: attempts), .noting(.call, "call", in: calls)]
        return client
    }

    @Test func aBasicChallenge() async throws {
        let client = try answering("nginx") { $0.use(user: "user", password: "pässword") }
        #expect(await client.response("auth/small.json").error == nil)
        expectCalls("200")
        #expect(attempts.all == ["attempt 1 first", "attempt 1 401", "attempt 2 credentials", "attempt 2 200"])
    }

    /// No interceptor sees the connection that only fetches the certificate.
    @Test func aCertificateThatIsTrusted() async throws {
        let client = try answering("tls_self_signed") { #expect($0.trust()) }
        #expect(await client.response("ok").error == nil)
        expectCalls("200")
        #expect(attempts.all == ["attempt 1 first", "attempt 1 TLS", "attempt 2 credentials", "attempt 2 200"])
    }

    @Test func aCertificateThatIsRefused() async throws {
        let client = try answering("tls_self_signed") { $0.refuse() }
        #expect(await client.response("ok").error?.code == .tls)
        expectCalls("TLS")
        #expect(attempts.all == ["attempt 1 first", "attempt 1 TLS"])
    }

    @Test func aStreamThatConnectsAgain() async throws {
        stub.on("GET", "news").answer(intercepted.events(1), .status(503), intercepted.events(2), .status(204))
        let client = client()
        async let read = Task {
            var all: [String] = []
            for try await event in client.events("news") { all.append(event.data) }
            return all
        }.value
        while stub.requests.count < 4 {
            guard (try? await clock.waitForSleepers(timeout: 0.05)) != nil else { continue }
            clock.advance(by: clock.nextWake ?? 0)
        }
        #expect(try await read == ["1", "2"])
        #expect(
            attempts.all == [
                "attempt 1 first", "attempt 1 200", "attempt 2 reconnect", "attempt 2 503", "attempt 3 reconnect",
                "attempt 3 200", "attempt 4 reconnect", "attempt 4 204",
            ])
        #expect(calls.all.first == "call 1 first" && calls.count == 2)
    }

    // MARK: Origins

    @Test func eachIsToldWhetherTheOriginIsTheClients() async {
        stub.on("GET", "https://api.example/v1/old").answer(
            intercepted.redirect(302, to: "https://api.example:443/own"))
        stub.on("GET", "https://api.example/own").answer(intercepted.redirect(302, to: "https://other.example/there"))
        stub.on("GET", "https://other.example/there").answer(intercepted.redirect(302, to: "https://api.example/back"))
        stub.on("GET", "https://api.example/back").answer(.json([:]))
        let log = Log<Bool>()
        let signer = Interceptor(.attempt) { call in
            log.append(call.isOwnOrigin)
            var request = call.request
            if call.isOwnOrigin { request.headers.set("X-Signature", "secret", isSecret: true) }
            return try await call.next(request)
        }
        #expect(await intercepted.client([signer]).response("old").error == nil)
        #expect(log.all == [true, true, false, true])
        #expect(stub.requests.map { $0.headers["X-Signature"] != nil } == [true, true, false, true])
    }

    @Test func anotherBaseURLIsNotTheClients() async {
        stub.on(nil).answer { _ in .json([:]) }
        let log = Log<Bool>()
        let client = intercepted.client([
            Interceptor(.call) { call in
                log.append(call.isOwnOrigin)
                return try await call.next()
            }
        ])
        for base in ["https://api.example", "http://api.example", "https://api.example:444", "https://other.example"] {
            #expect(await client.response("way", args: [.baseURL(base)]).error == nil)
        }
        #expect(log.all == [true, false, false, false])
    }

    // MARK: The cache

    private let time = TestTime()

    private func session(_ more: Interceptor...) -> APIClient {
        let noting: [Interceptor] = [.noting(.attempt, "attempt", in: attempts), .noting(.call, "call", in: calls)]
        return intercepted.session(time.cache(), noting + more)
    }

    private func page(_ number: Int, _ control: String = "max-age=100", etag: String? = nil) -> StubAnswer {
        var answer = StubAnswer.json(["n": JSON(number)], headers: ["Cache-Control": control])
        if let etag { answer.headers.set("ETag", etag) }
        return answer
    }

    @Test func whatTheCacheAnswersIsNoExchange() async {
        stub.on("GET", "page").answer(page(1))
        let client = session()
        #expect(await client.response("page").source == .network)
        #expect(await client.response("page").source == .cache)
        #expect(attempts.all == ["attempt 1 first", "attempt 1 200"])
        #expect(calls.all == ["call 1 first", "call 1 200", "call 1 first", "call 1 200"])
    }

    @Test func aRevalidationIsOne() async {
        stub.on("GET", "page").answer(page(1, etag: "\"a\""), .status(304, headers: ["ETag": "\"a\""]))
        let client = session()
        #expect(await client.response("page").source == .network)
        time.advance(200)
        let response = await client.response("page")
        #expect(response.source == .validatedCache && response.json?["n"]?.int == 1)
        #expect(attempts.all == ["attempt 1 first", "attempt 1 200", "attempt 1 first", "attempt 1 304"])
        #expect(calls.all == ["call 1 first", "call 1 200", "call 1 first", "call 1 200"])
        #expect(stub.requests.last?.headers["If-None-Match"] == "\"a\"")
    }

    /// The cache begins the revalidation, not the program. So only attempt interceptors see it.
    @Test func aRevalidationInTheBackgroundPassesThoseOfAttempts() async {
        let control = "max-age=100, stale-while-revalidate=1000"
        stub.on("GET", "page").answer(page(1, control), page(2, control))
        let client = session()
        _ = await client.response("page")
        time.advance(200)
        #expect(await client.response("page").json?["n"]?.int == 1)
        #expect(await attempts.first(4) == ["attempt 1 first", "attempt 1 200", "attempt 1 first", "attempt 1 200"])
        #expect(calls.all == ["call 1 first", "call 1 200", "call 1 first", "call 1 200"])
    }

    /// An interceptor changes every response. The cache cannot use a changed 304, so it loads the response again.
    @Test func aChangedConfirmationIsLoadedAgain() async {
        stub.on("GET", "page", where: { $0.headers["If-None-Match"] == nil }).answer { _ in
            .json(["n": 1], headers: ["Cache-Control": "max-age=100", "ETag": "\"a\""])
        }
        stub.on("GET", "page", where: { $0.headers["If-None-Match"] != nil }).answer { _ in .status(304) }
        let isOn = Lock(false)
        let client = session(
            Interceptor(.attempt) { call in
                var response = try await call.next()
                if isOn.withLock({ $0 }) { response.headers.set("X-Seen", "1") }
                return response
            })
        _ = await client.response("page")
        time.advance(200)
        isOn.withLock { $0 = true }
        let response = await client.response("page")
        #expect(response.error == nil && response.json?["n"]?.int == 1 && response.headers["X-Seen"] == "1")
        #expect(attempts.all.suffix(4) == ["attempt 1 first", "attempt 1 304", "attempt 2 reload", "attempt 2 200"])
    }

    @Test func whatAnInterceptorHasMadeIsNotStored() async {
        stub.on(nil, "page").answer { _ in page(1) }
        stub.on("GET", "other").answer { _ in page(2) }
        for change: @Sendable (inout HTTPRequest, inout HTTPResponse?) -> Void in [
            { request, _ in request.url = "https://api.example/v1/other" }, { request, _ in request.method = "HEAD" },
            { request, _ in request.headers.set("Authorization", "Bearer b") },
            { _, response in response?.headers.set("X-Seen", "1") }, { _, response in response = .json("{}") },
        ] {
            let client = session(
                Interceptor(.attempt) { call in
                    var request = call.request
                    var response: HTTPResponse?
                    change(&request, &response)
                    if let response { return response }
                    response = try await call.next(request)
                    change(&request, &response)
                    return response ?? HTTPResponse(status: 500)
                })
            for _ in 0..<2 {
                let response = await client.response("page")
                #expect(response.error == nil && response.source == .network)
            }
            #expect(client.cache?.currentMemoryUsage == 0)
        }
    }

    @Test func twoSignersDoNotShareACache() async {
        stub.on("GET", "account").answer { request in
            .json(["for": JSON(request.headers["X-Tenant-Key"] ?? "nobody")], headers: ["Cache-Control": "max-age=100"])
        }
        let cache = time.cache()
        func client(_ tenant: String, _ scope: Interceptor.Scope) -> APIClient {
            let signer = Interceptor(scope) { call in
                var request = call.request
                request.headers.set("X-Tenant-Key", tenant, isSecret: true)
                return try await call.next(request)
            }
            return intercepted.session(cache, [signer])
        }
        for scope in [Interceptor.Scope.attempt, .call] {
            for tenant in ["a", "b", "a", "b"] {
                #expect(await client(tenant, scope).response("account").json?["for"]?.string == tenant)
            }
        }
        // Call interceptors are outside the cache. Each client's second request gets the stored response of its first
        // one.
        #expect(stub.requests.count == 4 + 2)
    }

    // MARK: Recorder and log

    @Test func theRecorderSeesWhatAttemptInterceptorsMade() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/recording.json"
        let client = try TestClient.of("fault")
        let recorder = NTApi.Recorder(path: path)
        client.recorder = recorder
        client.interceptors = [.adding(.attempt, "made", to: "X-Made"), .noting(.attempt, "attempt", in: attempts)]
        #expect(await client.response("echo").json?["header"]?["x-made"]?.string == "made")
        try recorder.save()
        let text = String(decoding: try SystemFile.read(path) ?? [], as: UTF8.self)
        #expect(text.containsSubstring("X-Made"))
    }

    @Test func secretsOfInterceptorsStayOutOfTheLog() async {
        stub.on("GET", "way").answer(.json([:]))
        let client = intercepted.client([
            Interceptor(.attempt) { call in
                var request = call.request
                request.headers.set("X-Proof", "hush-hush", isSecret: true)
                return try await call.next(request)
            }
        ])
        client.logFlags = .all
        #expect(await client.response("way").error == nil && stub.requests[0].headers["X-Proof"] == "hush-hush")
        #expect(!client.lines.all.contains { $0.message.containsSubstring("hush-hush") })
    }
}
