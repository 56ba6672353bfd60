import Testing

@testable import NTApi

/// The end of a client: running requests finish or are cancelled, and then the session becomes invalid, once.
@Suite struct ClientEndTests {
    private final class Session: TestClient, @unchecked Sendable {
        // Safe to share: the logs are.
        let events = Log<String>()

        override func sessionInvalidated() { events.append("invalid, \(WorkerPool.isWorkerThread)") }
    }

    /// Its session has cookies to save, connections to close and a hook to call, so its end continues on another
    /// thread.
    private final class SelfClosing: APIClient, @unchecked Sendable {
        // Safe to share: set before the first request.
        var end: (SelfClosing) -> Void = { _ in }
        var events = Log<String>()

        override func sessionInvalidated() { events.append("invalid") }

        deinit {
            end(self)
            events.append("freed")
        }
    }

    private final class Nobody: APIObserver {}

    @Test func aSubclassMayCloseItselfWhenItIsFreed() async throws {
        let events = Log<String>()
        for end in [APIClient.close, APIClient.invalidateAndCancel, APIClient.finishAndInvalidate] {
            do {
                let client = SelfClosing(baseURL: try TestServers.url("fault"), configuration: .ephemeral)
                client.events = events
                client.end = { end($0)() }
                #expect(await client.response("ok").status == 200)
            }
        }
        #expect(await events.first(3) == ["freed", "freed", "freed"])
        #expect(await onThread { APIClient.drainAll(timeout: patience) } == 0)
        #expect(events.count == 3)
    }

    /// Each function and property of a client, except for requests that run: these keep the client alive.
    @Test func aSubclassMayUseItselfWhenItIsFreed() async throws {
        let uses: [(SelfClosing) -> Void] = [
            { $0.args.append(.url("a", 1)) },
            { $0.logFlags = .all },
            { $0.authenticator = Authenticator { _ in .init("t") } },
            { $0.clock = ManualClock() },
            { $0.stub = Stub() },
            { $0.recorder = NTApi.Recorder(path: "/dev/null") },
            { $0.rateLimiter = RateLimiter(requests: 1, seconds: 1) },
            { $0.statusErrors = [404: .code(.invalidRequest)] },
            { $0.interceptors = [] },
            { $0.decisionKinds = .all },
            { $0.defaults["timeout"] = 1 },
            { $0.cookies?.removeAll() },
            { $0.cache?.removeAll() },
            { client in try? client.credentialStorage?.removeAll() },
            { $0.add(Nobody()) },
            { #expect($0.backgroundError == nil && $0.restoredRequests().isEmpty && !$0.isClosed) },
            { $0.resumeRestoredRequests() },
            { $0.cancelAll() },
            { $0.drain(timeout: 0) },
            { _ = $0.request("ok") },
            { _ = $0.pages("ok") },
            { _ = $0.lines("ok") },
            { _ = $0.events("ok") },
        ]
        let events = Log<String>()
        for use in uses {
            do {
                let client = SelfClosing(baseURL: try TestServers.url("fault"), configuration: .ephemeral)
                client.events = events
                client.end = use
                #expect(await client.response("ok").status == 200)
            }
        }
        #expect(await events.first(uses.count).allSatisfy { $0 == "freed" })
    }

    @Test func whatRunsIsFinished() async throws {
        let client = try Session.of("fault")
        let isFinishing = Signal()
        let server = try RawServer { connection in
            _ = connection.readRequest()
            isFinishing.block()
            connection.send(okResponse("1"))
        }
        let request = client.begin(
            args: [.baseURL(server.url), .responseThread(.background)],
            handler: { client.events.append("handler \($0.status)") })
        let suspended = client.request(args: [.baseURL(server.url), .responseThread(.background)])
        client.finishAndInvalidate()
        client.finishAndInvalidate()
        #expect(client.isClosed && request.isRunning)
        let late = await client.response("ok")
        #expect(late.error?.code == .invalidRequest && late.error?.message.containsSubstring("closed") == true)
        #expect(client.events.count == 0)
        isFinishing.set()
        #expect(await client.events.first(1) == ["handler 200"])
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        #expect(client.events.count == 1, "the suspended request may still be resumed")
        #expect(suspended.resume())
        #expect(await onThread { suspended.wait() } == .completed)
        #expect(suspended.response?.status == 200)
        #expect(await client.events.first(2) == ["handler 200", "invalid, true"])
        client.close()
        client.invalidateAndCancel()
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        #expect(client.events.count == 2)
    }

    /// A suspended request that is never resumed delays the end until it is released, or until the client is closed.
    @Test func whatIsNeverResumed() async throws {
        let client = try Session.of("fault")
        _ = client.request("ok")
        #expect(client.events.count == 0)
        var dropped: APIRequest? = client.request("ok")
        client.finishAndInvalidate()
        #expect(dropped != nil && client.events.count == 0)
        dropped = nil
        #expect(await client.events.first(1) == ["invalid, true"])
        let closed = try Session.of("fault")
        let late = closed.request("ok", args: [.responseThread(.background)])
        closed.finishAndInvalidate()
        closed.close()
        #expect(await closed.events.first(1) == ["invalid, true"])
        #expect(late.resume())
        #expect(await onThread { late.wait() } == .completed)
        #expect(late.response?.error == .cancelled)
    }

    @Test func whatRunsIsCancelled() async throws {
        for end in [APIClient.invalidateAndCancel, APIClient.close] {
            let client = try Session.of("fault")
            client.begin("hold", args: [.responseThread(.background)]) {
                client.events.append("\($0.error?.code as Any)")
            }
            end(client)()
            let expected: String = "\(ErrorCode?.some(.cancelled) as Any)"
            #expect(await client.events.first(2) == [expected, "invalid, true"])
            end(client)()
        }
    }

    /// `sessionInvalidated` is called once: for an idle client, and for one that its own handler closes.
    @Test func itIsToldOnce() async throws {
        let idle = try Session.of("fault")
        idle.finishAndInvalidate()
        #expect(await idle.events.first(1) == ["invalid, true"])
        let client = try Session.of("fault")
        client.begin("ok", args: [.responseThread(.background)]) { _ in
            client.finishAndInvalidate()
            client.close()
            client.events.append("handler")
        }
        #expect(await client.events.first(2) == ["handler", "invalid, true"])
    }

    /// Many requests end at once: the hook is called once, after all handlers.
    @Test func theLastOneEndsIt() async throws {
        for _ in 0..<20 {
            let client = try Session.of("fault")
            for _ in 0..<30 {
                client.begin("ok", args: [.responseThread(.background)]) { _ in client.events.append("") }
            }
            client.finishAndInvalidate()
            let events = await client.events.first(31)
            #expect(events.last == "invalid, true" && events.count == 31)
        }
    }

    /// A request may be resumed while the client ends. Then it either runs, and the end waits for it, or it is
    /// cancelled.
    @Test func resumedAtTheLastMoment() async throws {
        for _ in 0..<10 {
            let client = try Session.of("fault")
            let requests = (0..<20).map { _ in
                let request = client.request("ok", args: [.responseThread(.background)])
                request.setHandler { client.events.append("\($0.status)") }
                return request
            }
            client.begin("ok", args: [.responseThread(.background)]) { client.events.append("\($0.status)") }
            client.finishAndInvalidate()
            await withTaskGroup { group in
                for request in requests { group.addTask { request.resume() } }
            }
            let events = await client.events.first(22)
            let end = try #require(events.firstIndex(of: "invalid, true"))
            // A request that was cancelled may be reported before or after the hook. One that runs is always reported
            // before it.
            #expect(Set(events).isSubset(of: ["200", "0", "invalid, true"]), "\(events)")
            #expect(!events[end...].contains("200"), "\(events)")
        }
    }

    /// Waiting for the requests includes the hook, unless the hook itself waits.
    @Test func drainWaitsForIt() async throws {
        final class Waiting: TestClient, @unchecked Sendable {
            let (mayEnd, left) = (Signal(), Log<Int>())

            override func sessionInvalidated() {
                left.append(drain(timeout: patience))
                mayEnd.block()
            }
        }
        let client = try Waiting.of("fault")
        client.begin("ok", args: [.responseThread(.background)])
        client.finishAndInvalidate()
        _ = await client.left.first(1)
        let started = MonotonicTime.now()
        #expect(await onThread { client.drain(timeout: 0.05) } == 0, "no request is left")
        #expect(MonotonicTime.now().seconds(since: started) >= 0.05)
        client.mayEnd.set()
        #expect(await onThread { client.drain() } == 0)
    }

    /// Running requests may still need a token.
    @Test func aRefreshGoesOn() async throws {
        let client = try Session.of("fault")
        let mayRefresh = Signal()
        client.authenticator = Authenticator { refresh in
            await mayRefresh.wait()
            return .init(try await refresh.client.send("ok").json == nil ? "" : "token")
        }
        let request = client.begin("echo", args: [.responseThread(.background)])
        client.finishAndInvalidate()
        mayRefresh.set()
        await onThread { request.wait() }
        #expect(request.response?.json?[path: "header.authorization"]?.string == "Bearer token")
        #expect(await client.events.first(1) == ["invalid, true"])
    }
}

/// The metrics of a request, exchange by exchange.
@Suite struct RequestMetricsTests {
    private final class Watched: TestClient, @unchecked Sendable {
        // Safe to share: the log is.
        let metrics = Log<(UInt64, RequestMetrics)>()

        override func metricsCollected(_ request: APIRequest, _ metrics: RequestMetrics) {
            self.metrics.append((request.identifier, metrics))
        }
    }

    private func check(_ metrics: RequestMetrics, _ urls: [String], _ statuses: [Int], _ place: Comment) {
        #expect(metrics.transactions.map(\.status) == statuses, place)
        #expect(metrics.transactions.map { $0.url.split(separator: "/").last.map(String.init) } == urls, place)
        #expect(metrics.elapsed > 0 && metrics.startTime > 0, place)
        var before = metrics.startTime
        for transaction in metrics.transactions {
            #expect(transaction.method == "GET" && transaction.startTime >= before - 0.001, place)
            before = transaction.startTime
            let took = transaction.metrics
            #expect(took.total > 0 && took.total >= took.firstByte && took.redirects == 0, place)
        }
    }

    @Test func redirects() async throws {
        // With and without a hook: the last answer is handled differently.
        let watched = try Watched.of("httpbin")
        for client in [watched, APIClient(baseURL: try TestServers.url("httpbin"))] {
            client.defaults["proxy"] = ""
            let response = try await client.send("redirect/2")
            let metrics = response.requestMetrics
            check(metrics, ["2", "1", "get"], [302, 302, 200], "\(type(of: client))")
            #expect(metrics.redirects == 2 && metrics.retries == 0)
            let sum = metrics.transactions.reduce(0) { $0 + $1.metrics.queued }
            #expect(abs(sum - response.metrics.queued) < 0.000_001)
            #expect(metrics.transactions[2].metrics.bytesReceived == response.metrics.bytesReceived)
        }
        #expect(watched.metrics.count == 1)
        #expect(watched.metrics.all[0].0 == 1 && watched.metrics.all[0].1.transactions.count == 3)
    }

    /// A stream of events may take any number of connections.
    @Test func onlyTheLastAreRemembered() {
        var history = RequestHistory()
        let now = MonotonicTime(nanoseconds: 5_000_000_000)
        history.started = now
        history.current = HTTPRequest(method: "GET", url: "http://h/")
        for status in 100..<300 {
            var result = ExchangeResult()
            result.head = ResponseHead(status: status, headers: HTTPHeaders(), httpVersion: 1.1)
            history.end(result, now.advanced(bySeconds: Double(status)))
        }
        #expect(history.transactions.map(\.status) == Array(236..<300))
        #expect(history.transactions.last.map { $0.startTime.rounded() } == (history.startTime + 299).rounded())
    }

    @Test func whatFailed() async throws {
        let client = try Watched.of("fault")
        let broken = await client.response("close/in-body", args: [.option(.rawData)])
        #expect(broken.requestMetrics.transactions.map(\.error) == [broken.error])
        #expect(broken.requestMetrics.transactions[0].status == 200)
        let wrong = await client.response("{name}")
        #expect(wrong.requestMetrics.transactions.isEmpty && wrong.error != nil)
        #expect(client.metrics.count == 2)
    }
}
