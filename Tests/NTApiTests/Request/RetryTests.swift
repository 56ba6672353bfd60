import Testing

@testable import NTApi

/// Retried requests, as the client and the server see them. The clock stands still, so no test waits.
@Suite struct RetryTests {
    /// A client of a server that first fails a number of times, and then succeeds.
    private struct Api {
        let client: TestClient
        let clock = ManualClock(calendar: 1_700_000_000)
        let token = "t\(UInt64.random(in: 0 ... .max))"

        init(_ args: [APIArg] = [.retry(RetryPolicy(base: 1))]) throws {
            client = try TestClient.of("fault", args: args)
            client.clock = clock
            // Its own connections: on a connection that another test has used, libcurl itself may repeat a request.
            client.defaults["maximumConnections"] = 8
        }

        func args(status: Int = 503, times: Int, _ more: [APIArg]) -> [APIArg] {
            [.url("token", token), .url("status", status), .url("times", times)] + more
        }

        /// Makes a request that fails this often, and ends each pause at once.
        func call(_ more: [APIArg] = [], status: Int = 503, times: Int, waits: Int) async -> APIResponse {
            async let response = client.response("fail-first", args: args(status: status, times: times, more))
            for _ in 0..<waits {
                await #expect(throws: Never.self) { try await clock.waitForSleepers() }
                clock.advance(by: clock.nextWake ?? 0)
            }
            return await response
        }

        /// The requests that have reached the server, in order.
        func seen() async throws -> [JSON] {
            let json = try await client.send("seen", args: [.url("token", token), .retry(.never)]).json
            return json?["requests"]?.array ?? []
        }
    }

    private let once: [APIArg] = [.retry(RetryPolicy(base: 0))]

    // MARK: What is sent again

    @Test func untilItWorks() async throws {
        let api = try Api()
        let response = await api.call(times: 3, waits: 3)
        #expect(response.error == nil && response.json?["count"]?.int == 4 && response.metrics.retries == 3)
        // Random waits of at most 1, 2 and 4 seconds.
        #expect(api.clock.elapsed <= 7 && response.elapsed == api.clock.elapsed)
        #expect(try await api.seen().count == 4)
        let lines = api.client.lines.all.map(\.message)
        #expect(lines.count == 3)
        let start = "#\(api.client.number).1 HTTP 503 Service Unavailable; attempt 2 of 4 in "
        #expect(lines.first?.hasASCIIPrefix(start) == true)
    }

    @Test func aSecondTimeAndNoMore() async throws {
        let api = try Api(once + [.retry(RetryPolicy(attempts: 2, base: 0))])
        let response = await api.call(times: 9, waits: 0)
        #expect(response.status == 503 && response.metrics.retries == 1)
        #expect(response.error?.message.hasSuffix("; sent 2 times") == true)
        #expect(response.error?.isRetryable == true && response.json?["count"]?.int == 2)
    }

    @Test(arguments: ["before", "in-status", "in-headers", "after-headers", "in-body"])
    func connectionsThatBreak(_ place: String) async throws {
        let api = try Api(once)
        let response = await api.call([.url("cut", place)], status: 0, times: 2, waits: 0)
        #expect(response.error == nil && response.json?["count"]?.int == 3 && response.metrics.retries == 2)
    }

    @Test func withoutAPolicyNothingIs() async throws {
        let api = try Api([])
        let response = await api.call(times: 1, waits: 0)
        #expect(response.status == 503 && response.metrics.retries == 0)
        #expect(response.error?.message.hasSuffix("times=1") == true)
        let own = try Api()
        #expect(await own.call([.retry(.never)], times: 1, waits: 0).metrics.retries == 0)
    }

    @Test func ignoredErrorsAreTriedAgain() async throws {
        let api = try Api(once)
        let response = await api.call([.option(.ignoreHTTPErrors)], times: 9, waits: 0)
        #expect(response.error == nil && response.status == 503 && response.metrics.retries == 3)
    }

    // MARK: What is not

    @Test func aPostIsSentOnce() async throws {
        let api = try Api(once)
        let response = await api.call([.json(["n": 1])], times: 1, waits: 0)
        #expect(response.metrics.retries == 0 && response.error?.isRetryable == false)
        #expect(
            response.error?.message.hasSuffix(
                "; not sent again: a POST is not idempotent, and has no idempotency key") == true)
        #expect(try await api.seen().count == 1)
    }

    @Test func anAmbiguousPostIsSentOnce() async throws {
        let api = try Api(once)
        let response = await api.call([.json(["n": 1])], status: 0, times: 1, waits: 0)
        #expect(response.error?.code == .network && response.metrics.retries == 0)
        #expect(response.error?.isRetryable == false)
        #expect(try await api.seen().count == 1)
    }

    @Test func aPostThatNeverCameToTheServerIsSentAgain() async throws {
        let client = try TestClient.of("fault", args: [.retry(RetryPolicy(attempts: 3, base: 0))])
        let nobody = "http://127.0.0.1:1/"
        let response = await client.response("", args: [.baseURL(nobody), .json([:])])
        #expect(response.error?.code == .network && response.metrics.retries == 2)
        #expect(response.error?.message.hasSuffix("; sent 3 times") == true)
    }

    @Test func aStreamIsSentAgainFromItsStart() async throws {
        let api = try Api(once)
        let bytes = Array("hello".utf8)
        func stream(rewinds: Bool) -> APIArg {
            let left = Lock(bytes[...])
            let rewind: @Sendable () -> Bool = {
                left.withLock { $0 = bytes[...] }
                return true
            }
            return .stream(
                BodyStream(length: 5, rewind: rewinds ? rewind : nil) { buffer in
                    left.withLock { left in
                        let count = min(buffer.count, left.count)
                        buffer.copyBytes(from: left.prefix(count))
                        left = left.dropFirst(count)
                        return count
                    }
                })
        }
        let response = await api.call([stream(rewinds: true), .method("PUT")], times: 2, waits: 0)
        #expect(response.error == nil && response.metrics.retries == 2)
        #expect(try await api.seen().map { $0["body"]?.string } == ["hello", "hello", "hello"])
        let spent = try Api(once)
        let refused = await spent.call([stream(rewinds: false), .method("PUT")], times: 2, waits: 0)
        #expect(refused.metrics.retries == 0)
        #expect(refused.error?.message.hasSuffix("the body is a stream that cannot be sent twice") == true)
    }

    // MARK: Idempotency keys

    @Test func aKeyIsMadeOnceForAllAttempts() async throws {
        let api = try Api(once + [.idempotencyKey()])
        let response = await api.call([.form("n", 1)], times: 2, waits: 0)
        #expect(response.error == nil && response.metrics.retries == 2)
        let keys = try await api.seen().map { $0["header"]?["idempotency-key"]?.string ?? "" }
        #expect(keys.count == 3 && Set(keys).count == 1 && keys[0].utf8.count == 36)
        #expect(response.request.httpRequest?.headers["Idempotency-Key"] == keys[0])
        // Another request has another key. One with an idempotent method has none.
        let other = api.client.request("x", args: [.json([:])]).httpRequest?.headers["Idempotency-Key"]
        #expect(other != nil && other != keys[0])
        #expect(api.client.request("x").httpRequest?.headers["Idempotency-Key"] == nil)
    }

    @Test func aKeyOfOnesOwn() async throws {
        let api = try Api(once)
        let response = await api.call([.form("n", 1), .idempotencyKey("order-7")], status: 0, times: 1, waits: 0)
        #expect(response.error == nil && response.metrics.retries == 1)
        #expect(try await api.seen().map { $0["header"]?["idempotency-key"]?.string } == ["order-7", "order-7"])
        func header(_ args: [APIArg]) -> String? {
            api.client.request("x", args: [.method("POST")] + args).httpRequest?.headers["Idempotency-Key"]
        }
        // The last arg wins, in whatever form it is.
        #expect(header([.idempotencyKey("a"), .header("idempotency-key", "b")]) == "b")
        #expect(header([.idempotencyKey(), .header("idempotency-key", "b")]) == "b")
        #expect(header([.header("idempotency-key", "b"), .idempotencyKey("a")]) == "a")
        #expect(header([.idempotencyKey("a"), .idempotencyKey(nil as String?)]) == "a")
        #expect(header([.idempotencyKey("a"), .idempotencyKey()])?.utf8.count == 36)
        #expect(await api.client.response("x", args: [.idempotencyKey("")]).error?.code == .invalidRequest)
        #expect(await api.client.response("x", args: [.idempotencyKey("a\nb")]).error?.code == .invalidRequest)
    }

    @Test func aKeyStaysWithItsServer() async throws {
        let token = "t\(UInt64.random(in: 0 ... .max))"
        let client = try TestClient.of("fault", args: [.idempotencyKey("k"), .form("n", 1)])
        let same = await client.response("redirect/echo", args: [.url("status", 307)])
        #expect(same.json?["method"]?.string == "POST" && same.json?["header"]?["idempotency-key"]?.string == "k")
        let got = await client.response("redirect/echo", args: [.url("status", 303)])
        #expect(got.json?["method"]?.string == "GET" && got.json?["header"]?["idempotency-key"] == nil)
        let other = await client.response("redirect/other", args: [.url("status", 307), .url("token", token)])
        #expect(other.json?["method"]?.string == "POST" && other.json?["header"]?["idempotency-key"] == nil)
    }

    @Test func aKeyStaysWhenTheTokenIsAnother() async throws {
        let client = try TestClient.of("fault")
        let name = "n\(UInt64.random(in: 0 ... .max))"
        client.authenticator = Authenticator(token: .init("old")) { _ in
            let json = try await client.send("token/issue", args: [.url("name", name)]).json
            return .init(json?["token"]?.string ?? "")
        }
        let keys = Log<String?>()
        client.authenticator?.setToken(.init("old"))
        let response = await client.response(
            "token/use", args: [.url("name", name), .form("a", 1), .idempotencyKey()])
        keys.append(response.request.httpRequest?.headers["Idempotency-Key"])
        #expect(response.error == nil && response.metrics.retries == 1 && keys.all.first??.utf8.count == 36)
    }

    @Test func keysAreUUIDs() {
        #expect(IdempotencyKey.make(0, 0) == "00000000-0000-4000-8000-000000000000")
        #expect(IdempotencyKey.make(.max, .max) == "ffffffff-ffff-4fff-bfff-ffffffffffff")
        #expect(
            IdempotencyKey.make(0x0123_4567_89AB_CDEF, 0x8123_4567_89AB_CDEF) == "01234567-89ab-4def-8123-456789abcdef")
        #expect(Set((0..<1000).map { _ in IdempotencyKey.make() }).count == 1000)
    }

    // MARK: When

    @Test func theServerSaysWhen() async throws {
        let api = try Api()
        let response = await api.call([.url("retry-after", 30)], status: 429, times: 2, waits: 2)
        #expect(response.error == nil && api.clock.elapsed == 60)
    }

    @Test func theServerSaysADate() async throws {
        let api = try Api()
        // 1,700,000,000 is 22:13:20.
        let date = "Tue, 14 Nov 2023 22:14:00 GMT"
        let response = await api.call([.url("retry-after", date)], times: 1, waits: 1)
        #expect(response.error == nil && api.clock.elapsed == 40)
    }

    @Test func tooLongIsToldAtOnce() async throws {
        let api = try Api()
        let response = await api.call([.url("retry-after", 3600)], times: 1, waits: 0)
        #expect(response.status == 503 && response.error?.retryAfter == 3600 && response.metrics.retries == 0)
        #expect(
            response.error?.message.hasSuffix(
                "; not sent again: the server asks to wait 3600 s, but the policy allows 60 s") == true)
        let patient = try Api([.retry(RetryPolicy(maximumRetryAfter: 7200))])
        #expect(await patient.call([.url("retry-after", 3600)], times: 1, waits: 1).error == nil)
    }

    @Test func oneDeadlineOverAll() async throws {
        let api = try Api()
        let response = await api.call([.url("retry-after", 30), .timeout(50, .total)], times: 9, waits: 1)
        #expect(response.status == 503 && response.metrics.retries == 1 && api.clock.elapsed == 30)
        #expect(
            response.error?.message.hasSuffix("the wait of 30 s would end after the total timeout, in 20 s") == true)
    }

    // MARK: Cancel, suspend, end

    @Test func aCancelEndsTheWait() async throws {
        let api = try Api()
        let count = Log<APIResponse>()
        let request = api.client.begin(
            "fail-first", args: api.args(times: 9, [.responseThread(.background)]), handler: { count.append($0) })
        try await api.clock.waitForSleepers()
        #expect(request.cancel())
        #expect(await count.first(1).first?.error?.code == .cancelled)
        #expect(await api.clock.waitForNoSleepers())
        #expect(!request.cancel())
        api.clock.advance(by: 100)
        await onThread { _ = api.client.drain(timeout: patience) }
        #expect(count.count == 1)
        #expect(try await api.seen().count == 1)
    }

    @Test func closeEndsTheWait() async throws {
        let api = try Api()
        let count = Log<APIResponse>()
        api.client.begin(
            "fail-first", args: api.args(times: 9, [.responseThread(.background)]), handler: { count.append($0) })
        try await api.clock.waitForSleepers()
        api.client.close()
        #expect(await count.first(1).first?.error?.code == .cancelled)
    }

    @Test func suspendedTimeDoesNotCount() async throws {
        let api = try Api([.retry(RetryPolicy(base: 0, maximumRetryAfter: 100))])
        let args = api.args(times: 2, [.url("retry-after", 30), .timeout(80, .total), .responseThread(.background)])
        let responses = Log<APIResponse>()
        let request = api.client.begin("fail-first", args: args, handler: { responses.append($0) })
        try await api.clock.waitForSleepers()
        #expect(request.suspend() && request.state == .suspended)
        // This is long after the deadline, but nothing is sent.
        api.clock.advance(by: 1000)
        #expect(try await api.seen().count == 1)
        #expect(request.resume())
        try await api.clock.waitForSleepers()
        api.clock.advance(by: 30)
        let response = try #require(await responses.first(1).first)
        #expect(response.error == nil && response.json?["count"]?.int == 3 && responses.count == 1)
        #expect(response.metrics.retries == 2 && response.elapsed >= 1000)
    }

    @Test func hooksHearOfItOnce() async throws {
        final class Client: TestClient, @unchecked Sendable {
            let heard = Log<String>()
            override func requestStarted(_ request: APIRequest) { heard.append("started") }
            override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
                heard.append("completed \(response.metrics.retries)")
            }
        }
        let client = try Client.of("fault", args: once)
        let token = "t\(UInt64.random(in: 0 ... .max))"
        _ = await client.response("fail-first", args: [.url("token", token), .url("times", 2)])
        #expect(client.heard.all == ["started", "completed 2"])
    }

    @Test func whoOnlyWaits() async throws {
        let api = try Api(once)
        let args = api.args(times: 2, [])
        let response = await onThread { api.client.perform("fail-first", args: args) }
        #expect(response.error == nil && response.metrics.retries == 2)
    }
}
