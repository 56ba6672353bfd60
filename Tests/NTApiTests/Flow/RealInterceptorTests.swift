import Testing

@testable import NTApi

/// Interceptors as programs write them.
@Suite struct RealInterceptorTests {
    private let intercepted = InterceptedStub()
    private var stub: Stub { intercepted.stub }
    private var clock: ManualClock { intercepted.clock }

    // MARK: HMAC

    /// From RFC 4231.
    @Test func codesOfHMAC() {
        let short = HMAC.code(for: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(HMAC.hex(short) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let text = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
        let long = HMAC.code(for: text, key: [UInt8](repeating: 0xaa, count: 131))
        #expect(HMAC.hex(long) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    private static func signature(_ method: String, _ path: String, _ body: [UInt8], _ key: String) -> String {
        HMAC.hex(HMAC.code(for: Array("\(method)\n\(path)\n".utf8) + body, key: Array(key.utf8)))
    }

    private func signer(_ key: String) -> Interceptor {
        Interceptor(.attempt) { call in
            guard call.isOwnOrigin else { return try await call.next() }
            var request = call.request
            let body = if case .bytes(let bytes) = request.body { bytes } else { [UInt8]() }
            let path = String(request.url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" })
            let signature = Self.signature(request.method, path, body, key)
            request.headers.set("X-Signature", signature, isSecret: true)
            return try await call.next(request)
        }
    }

    /// The server computes the same signature: after a redirect, after a retry, and for a binary body.
    @Test func aSignatureOverMethodPathAndBody() async {
        let isSigned: @Sendable (StubRequest) -> Bool = { request in
            let path = String(request.url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" })
            return request.headers["X-Signature"] == Self.signature(request.method, path, request.body, "key")
        }
        stub.on("POST", "old", where: isSigned).answer(intercepted.redirect(307, to: "/v1/new?a=b%20c"))
        stub.on("POST", "new", where: isSigned).answer(.status(503), .status(201))
        let client = intercepted.client([signer("key")], [.retry(RetryPolicy(base: 0)), .idempotencyKey()])
        let response = await client.response("old", args: [.data([0, 255, 254, 10])])
        #expect(response.error == nil && response.status == 201 && stub.requests.allSatisfy { $0.isMatched })
        #expect(Set(stub.requests.map { $0.headers["X-Signature"] }).count == 2 && stub.requests.count == 3)
        client.interceptors = [signer("another key")]
        #expect(await client.response("old", args: [.data([0])]).error?.code == .noStub)
    }

    // MARK: A circuit breaker

    private final class Breaker: Sendable {
        private struct State {
            var failures = 0
            var reopens = MonotonicTime.distantFuture
        }

        private let state = Lock(State())
        private let clock: ManualClock

        init(_ clock: ManualClock) { self.clock = clock }

        var interceptor: Interceptor {
            Interceptor(.call) { [self] call in
                guard state.withLock({ $0.failures < 3 || $0.reopens <= clock.now }) else {
                    throw APIError(domain: .network, code: ErrorCode("circuit open"))
                }
                let response = try await call.next()
                state.withLock { state in
                    let isFailure = response.error != nil || response.status >= 500
                    state.failures = isFailure ? state.failures + 1 : 0
                    state.reopens = clock.now.advanced(bySeconds: 30)
                }
                return response
            }
        }
    }

    @Test func aCircuitBreaker() async {
        let isDown = Lock(true)
        let rule = stub.on("GET", "way").answer { _ in isDown.withLock { $0 } ? .status(500) : .json([:]) }
        let client = intercepted.client([Breaker(clock).interceptor], [.retry(RetryPolicy(attempts: 2, base: 0))])
        for _ in 0..<3 { #expect(await client.response("way").status == 500) }
        #expect(rule.callCount == 6)
        for _ in 0..<3 {
            let error = await client.response("way").error
            #expect(error?.code == ErrorCode("circuit open"))
        }
        #expect(rule.callCount == 6)
        clock.advance(by: 30)
        isDown.withLock { $0 = false }
        for _ in 0..<2 { #expect(await client.response("way").error == nil) }
        #expect(rule.callCount == 8)
    }

    // MARK: A request id

    @Test func anIdForEachAttempt() async {
        stub.on("GET", "way").answer(.status(503), .status(503), .json([:]))
        let ids = Interceptor(.attempt) { call in
            var request = call.request
            request.headers.set("X-Request-ID", "\(request.headers["X-Call-ID"] ?? "")/\(call.number)/\(call.reason)")
            return try await call.next(request)
        }
        let calls = Interceptor(.call) { call in
            var request = call.request
            request.headers.set("X-Call-ID", "7")
            return try await call.next(request)
        }
        let client = intercepted.client([ids, calls], [.retry(RetryPolicy(base: 0))])
        #expect(await client.response("way").error == nil)
        #expect(stub.requests.map { $0.headers["X-Request-ID"] } == ["7/1/first", "7/2/retry", "7/3/retry"])
    }

    // MARK: Fixtures

    @Test func answersFromAFile() async throws {
        struct City: Decodable, Sendable { let name: String }
        let folder = try TemporaryFolder()
        try SystemFile.replace("\(folder.path)/city.json", with: Array(#"{"name":"London"}"#.utf8))
        stub.on("GET", "other").answer(.json(["name": "Rome"]))
        let path = folder.path
        let fixtures = Interceptor(.call) { call in
            let name = call.request.url.split(separator: "/").last.map(String.init) ?? ""
            guard let bytes = try SystemFile.read("\(path)/\(name).json") else { return try await call.next() }
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]), body: ResponseData(bytes))
        }
        let client = intercepted.client([fixtures])
        #expect(try await client.send("city", as: City.self).name == "London")
        #expect(try await client.send("other", as: City.self).name == "Rome")
        #expect(intercepted.sent == ["GET other"])
    }

    // MARK: A fallback

    /// A failed request is answered from another source, after its retries.
    @Test func anotherServerInPlaceOfOneThatIsDown() async {
        let down = stub.on("GET", "https://api.example/v1/way").fail(.noConnection)
        stub.on("GET", "https://mirror.example/v1/way").answer(.json(["n": 1]))
        let mirror = Interceptor(.call) { call in
            let response = try await call.next()
            guard response.error?.domain == .network else { return response }
            var request = call.request
            request.url = request.url.replacing("api.example", with: "mirror.example")
            return try await call.next(request)
        }
        let client = intercepted.client([mirror], [.retry(RetryPolicy(attempts: 2, base: 0))])
        #expect(await client.response("way").json?["n"]?.int == 1 && down.callCount == 2)
    }
}
