import Testing

@testable import NTApi

/// What requests get from a memory cache, with a real server.
@Suite struct CacheTests {
    private let time = TestTime()

    @Test func whatIsFreshIsNotAskedForAgain() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=60")])
        let first = await page.get(client)
        #expect(first.source == .network && !first.metrics.fromCache && first.json?["count"]?.int == 1)
        time.advance(30)
        let second = await page.get(client)
        #expect(second.error == nil)
        #expect(second.source == .cache && second.metrics.fromCache && second.json?["count"]?.int == 1)
        #expect(second.headers["Age"] == "30" && second.status == 200)
        #expect(second.headers["Content-Type"] == "application/json")
        #expect(second.data.elementsEqual(first.data) && second.metrics.bytesReceived == 0)
        time.advance(31)
        let third = await page.get(client)
        #expect(third.source == .network && third.json?["count"]?.int == 2)
        #expect(await page.count(client) == 2)
    }

    @Test func whatIsStaleIsConfirmed() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=10"), ("etag", "x"), ("changes", "2")])
        let first = await page.get(client)
        time.advance(11)
        let second = await page.get(client)
        #expect(second.source == .validatedCache && second.metrics.fromCache && second.status == 200)
        #expect(second.data.elementsEqual(first.data) && second.error == nil)
        #expect(await page.get(client).source == .cache)
        time.advance(11)
        let third = await page.get(client)
        #expect(third.source == .network && third.json?["version"]?.int == 2)
        let asked = await page.seen(client).map { $0["header"]?["if-none-match"]?.string }
        #expect(asked == [nil, "\"x1\"", "\"x1\""])
    }

    @Test func conditionsAreNotTakenAlongByARedirect() async throws {
        let client = try session(time.cache())
        let page = CachedPage([
            ("h-Cache-Control", "max-age=10"), ("etag", "x"), ("statuses", "200,302"),
            ("h-Location", "\(try TestServers.url("fault"))/echo"),
        ])
        _ = await page.get(client)
        time.advance(11)
        let second = await page.get(client)
        #expect(second.metrics.redirects == 1 && second.json?["header"]?["if-none-match"] == nil)
        #expect(second.json?["path"]?.string == "/echo")
    }

    @Test func aRedirectIsKeptToo() async throws {
        let client = try session(time.cache())
        let page = CachedPage([
            ("h-Cache-Control", "max-age=10"), ("statuses", "301"),
            ("h-Location", "\(try TestServers.url("fault"))/ok"),
        ])
        for _ in 0..<3 {
            let response = await page.get(client)
            #expect(response.status == 200 && response.metrics.redirects == 1 && response.source == .network)
        }
        #expect(await page.count(client) == 1)
    }

    @Test func policies() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=10"), ("etag", "x")])
        let missing = await page.get(client, [.cachePolicy(.returnCachedDontLoad)])
        #expect(missing.error?.code == .notCached && missing.error?.httpStatus == 504 && missing.status == 504)
        #expect(missing.error?.domain == .http && missing.error?.isRetryable == false)
        let ignored = await page.get(client, [.cachePolicy(.returnCachedDontLoad), .option(.ignoreHTTPErrors)])
        #expect(ignored.error?.code == .notCached && ignored.status == 504)
        #expect(await page.count(client) == 0)
        #expect(await page.get(client, [.cachePolicy(.returnCachedElseLoad)]).source == .network)
        time.advance(1000)
        #expect(await page.get(client, [.cachePolicy(.returnCachedElseLoad)]).source == .cache)
        #expect(await page.get(client, [.cachePolicy(.returnCachedDontLoad)]).headers["Age"] == "1000")
        #expect(await page.get(client, [.header("Cache-Control", "only-if-cached")]).error?.code == .notCached)
        #expect(await page.get(client, [.cachePolicy(.reloadRevalidating)]).source == .validatedCache)
        #expect(await page.get(client, [.cachePolicy(.reloadIgnoringCache)]).source == .network)
        #expect(await page.get(client).json?["count"]?.int == 3)
        #expect(await page.seen(client).map { $0["header"]?["if-none-match"]?.string } == [nil, "\"x1\"", nil])
    }

    @Test func unsafeRequestsInvalidate() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=100")])
        _ = await page.get(client)
        #expect(await page.get(client).source == .cache)
        #expect(await page.get(client, [.method("POST")]).status == 200)
        #expect(await page.get(client).source == .network)
        let failing = CachedPage([("h-Cache-Control", "max-age=100"), ("statuses", "200,500")])
        _ = await failing.get(client)
        #expect(await failing.get(client, [.method("DELETE")]).status == 500)
        #expect(await failing.get(client).source == .cache)
    }

    @Test func headIsAnsweredByWhatGetHasStored() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=10"), ("etag", "x")])
        _ = await page.get(client)
        let head = await page.get(client, [.method("HEAD")])
        #expect(head.source == .cache && head.data.isEmpty && head.headers["ETag"] == "\"x1\"")
        time.advance(11)
        #expect(await page.get(client, [.method("HEAD")]).source == .validatedCache)
        #expect(await page.get(client).source == .cache)
    }

    @Test func variantsAndUsers() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=10"), ("h-Vary", "Accept-Language")])
        for language in ["en", "de"] {
            #expect(await page.get(client, [.header("Accept-Language", language)]).source == .network)
        }
        for language in ["en", "de"] {
            let response = await page.get(client, [.header("Accept-Language", language)])
            #expect(response.source == .cache)
            #expect(response.json?["header"]?["accept-language"]?.string == language)
        }
        #expect(await page.get(client, [.header("Accept-Language", "en"), .bearer("a")]).source == .network)
        #expect(await page.get(client, [.header("Accept-Language", "en"), .bearer("a")]).source == .cache)
        #expect(await page.get(client, [.header("Accept-Language", "en"), .bearer("b")]).source == .network)
    }

    @Test func staleWhileRevalidating() async throws {
        let client = try session(time.cache())
        var page = CachedPage([
            ("h-Cache-Control", "max-age=10, stale-while-revalidate=20"), ("changes", "1"), ("etag", "x"),
        ])
        page.command = "cached-slowly"
        #expect(await page.get(client).json?["version"]?.int == 1)
        time.advance(15)
        // No request waits, and only one reaches the server.
        for _ in 0..<3 {
            let response = await page.get(client)
            #expect(response.source == .cache && response.json?["version"]?.int == 1 && response.headers["Age"] == "15")
        }
        _ = await client.response("let", args: [.url("token", page.token)])
        var newest = 1
        for _ in 0..<10_000 where newest == 1 {
            newest = await page.get(client, [.cachePolicy(.returnCachedDontLoad)]).json?["version"]?.int ?? 0
        }
        #expect(newest == 2)
        #expect(await page.count(client) == 2)
    }

    /// A stale response that may be used while it is revalidated.
    private static let revalidated = [("h-Cache-Control", "max-age=10, stale-while-revalidate=20")]

    @Test func aRevalidationKeepsToTheRateLimit() async throws {
        let client = try session(time.cache())
        let limiter = RateLimiter(requests: 1, seconds: 3600)
        client.rateLimiter = limiter
        let page = CachedPage(Self.revalidated)
        _ = await page.get(client)
        time.advance(15)
        #expect(await page.get(client).source == .cache)
        #expect(limiter.waitingCount == 1)
        // No request waits for the revalidation, and it ends with its client.
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        #expect(await page.count(try TestClient.of("fault")) == 1)
        client.close()
        try await wait { limiter.waitingCount == 0 }
    }

    @Test func aRevalidationRefreshesTheToken() async throws {
        let client = try session(time.cache())
        let page = CachedPage(Self.revalidated + [("once", "1")])
        let named = APIArg.url("name", page.token)
        let refreshes = Log<String>()
        client.authenticator = Authenticator { refresh in
            let args: [APIArg] = [named, .option(.bypassAuthentication)]
            let token = try await client.send("token/issue", args: args).json?["token"]?.string ?? ""
            refreshes.append(token)
            return Authenticator.Token(token)
        }
        #expect(await page.get(client, [named]).source == .network)
        time.advance(15)
        #expect(await page.get(client, [named]).source == .cache)
        #expect(try await refreshes.element(1) == "\(page.token)-2")
        while await page.seen(try TestClient.of("fault")).count < 3 {}
        let shown = await page.seen(try TestClient.of("fault")).map { $0["header"]?["authorization"]?.string }
        #expect(shown == [1, 1, 2].map { "Bearer \(page.token)-\($0)" })
    }

    @Test func aRevalidationGoesToTheStub() async throws {
        let client = try session(time.cache())
        let stub = Stub()
        var headers = HTTPHeaders()
        headers.set("Cache-Control", "max-age=10, stale-while-revalidate=20")
        let rule = stub.on("GET", "*").answer(StubAnswer(headers: headers))
        client.stub = stub
        _ = await client.response("x")
        time.advance(15)
        #expect(await client.response("x").source == .cache)
        try await wait { rule.callCount == 2 }
    }

    @Test func aManualClockAgesTheCache() async throws {
        let client = try session(HTTPCache(memoryCapacity: 1 << 20))
        let (clock, stub) = (ManualClock(), Stub())
        let rule = stub.on("GET", "x").answer(.status(200, headers: ["Cache-Control": "max-age=60"]))
        (client.stub, client.clock) = (stub, clock)
        for (age, source) in [(0, ResponseSource.network), (59, .cache), (2, .network), (59, .cache)] {
            clock.advance(by: Double(age))
            #expect(await client.response("x").source == source, "\(age)")
        }
        #expect(rule.callCount == 2)
    }

    @Test(arguments: [true, false]) func numbersKeepTheirDigits(isOnDisk: Bool) async throws {
        let text = "[18446744073709551617,1.123456789012345678]"
        let folder = try TemporaryFolder()
        for _ in 0..<2 {
            let cache =
                isOnDisk
                ? try HTTPCache(memoryCapacity: 0, diskCapacity: 1 << 20, folder: folder.path)
                : HTTPCache(memoryCapacity: 1 << 20)
            let client = try session(cache)
            let stub = Stub()
            let headers: KeyValuePairs = ["Cache-Control": "max-age=60", "Content-Type": "application/json"]
            stub.on("GET", "x").answer(.data(Array(text.utf8), headers: headers))
            client.stub = stub
            for _ in 0..<2 { #expect(await client.response("x").json?.text == text) }
            #expect(stub.requests.count <= 1)
            client.close()
        }
    }

    @Test func noStoreNeitherReadsNorWrites() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=100")])
        #expect(await page.get(client, [.cachePolicy(.noStore)]).source == .network)
        #expect(await page.get(client).source == .network)
        #expect(await page.get(client, [.cachePolicy(.noStore)]).source == .network)
        #expect(await page.get(client).source == .cache)
    }

    @Test(arguments: [
        "0", "-1", "", "soon", "Thu, 18 Aug 2050 2:01:18 GMT", "Thu, 18 Aug 50 02:01:18 GMT",
        "Thu, 18 Aug 2050 02:01:18 AEST", "Thu, 18 Aug 2050 02:01:18 UTC", "18 Aug 2050 02:01:18 GMT",
        "Thu, 18 AUG 2050 02:01:18 GMT", "Thu,  18 Aug 2050 02:01:18 GMT", "Foo, 18 Aug 2050 02:01:18 GMT",
        "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT",
    ]) func anExpiresThatIsNoDateIsInThePast(_ text: String) async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Expires", text), ("etag", "x")])
        _ = await page.get(client)
        #expect(await page.get(client).source == .validatedCache)
    }

    @Test func anExpiresInAnyFormOfADateIsOne() async throws {
        let client = try session(time.cache())
        for text in [
            "Thu, 18 Aug 2050 02:01:18 GMT", "Thursday, 18-Aug-50 02:01:18 GMT", "Thu Aug 18 02:01:18 2050",
            "Mon Aug  8 02:01:18 2050",
        ] {
            let page = CachedPage([("h-Expires", text), ("etag", "x")])
            _ = await page.get(client)
            #expect(await page.get(client).source == .cache, "\(text)")
        }
    }

    @Test func cacheControlInAnyCaseAndOnManyLines() async throws {
        let client = try session(time.cache())
        let stored = CachedPage([("h-cache-control", "PUBLIC"), ("h-CACHE-CONTROL", "Max-Age=100")])
        let never = CachedPage([("h-Cache-Control", "max-age=100"), ("h-Cache-control", "x, NO-STORE")])
        for _ in 0..<2 {
            _ = await stored.get(client)
            _ = await never.get(client)
        }
        #expect(await stored.get(client).source == .cache)
        #expect(await never.get(client).json?["count"]?.int == 3)
        let asked = await stored.get(client, [.header("cache-control", "x"), .addHeader("Cache-Control", "No-Cache")])
        #expect(asked.source == .network)
    }

    @Test func variantsThatMeanTheSameAreTheSame() async throws {
        let client = try session(time.cache())
        for (name, same, other) in [
            ("Accept-Language", ["de-CH, en;q=0.5", "de-ch,EN ; q=0.5", "de-CH ,, en;q=0.5"], "en, de-CH;q=0.5"),
            ("Accept", ["text/html, */*;q=0.1", "text/html,*/* ;q=0.1", "text/html , */*; q=0.1"], "text/HTML2"),
            ("X-Own", ["a, b", "a,b", "a ,b"], "A, b"),
        ] {
            let page = CachedPage([("h-Cache-Control", "max-age=100"), ("h-Vary", name)])
            var sources: [ResponseSource] = []
            for value in same + [other] { sources.append(await page.get(client, [.header(name, value)]).source) }
            #expect(sources == [.network, .cache, .cache, .network], "\(name)")
        }
        let page = CachedPage([("h-Cache-Control", "max-age=100"), ("h-Vary", "x-quoted")])
        #expect(await page.get(client, [.header("X-Quoted", "\"a,b\"")]).source == .network)
        #expect(await page.get(client, [.header("X-Quoted", "\"a, b\"")]).source == .network)
    }

    @Test func aRefreshedTokenIsTheSameUsers() async throws {
        let client = try session(time.cache())
        for vary in ["Accept", "Authorization"] {
            let page = CachedPage([("h-Cache-Control", "max-age=100"), ("h-Vary", vary)])
            let named = APIArg.url("name", page.token)
            let issue: @Sendable () async throws -> Authenticator.Token = {
                let args: [APIArg] = [named, .option(.bypassAuthentication)]
                return .init(try await client.send("token/issue", args: args).json?["token"]?.string ?? "")
            }
            let authenticator = Authenticator { _ in try await issue() }
            client.authenticator = authenticator
            #expect(await page.get(client, [named]).source == .network)
            _ = await client.response("token/expire", args: [named, .option(.bypassAuthentication)])
            #expect(await client.response("token/use", args: [named]).metrics.retries == 1)
            #expect(await page.get(client, [named]).source == .cache)
            // A header that the program sets itself may belong to another user.
            authenticator.setToken(try await issue())
            #expect(await page.get(client, [named]).source == .network)
        }
    }

    @Test func aBodyThatIsCutIsNotStored() async throws {
        let client = try session(time.cache())
        let page = CachedPage([
            ("h-Cache-Control", "max-age=100"), ("statuses", "301"), ("size", "3000000"),
            ("h-Location", "\(try TestServers.url("fault"))/ok"),
        ])
        for count in 1...2 {
            #expect(await page.get(client).status == 200)
            #expect(await page.count(client) == count)
        }
    }

    @Test func staleIfError() async throws {
        let client = try session(time.cache())
        for status in ["503", "0"] {
            let page = CachedPage([
                ("h-Cache-Control", "max-age=10, stale-if-error=20"), ("statuses", "200,\(status)"), ("etag", "x"),
            ])
            _ = await page.get(client)
            time.advance(15)
            let response = await page.get(client)
            #expect(response.error == nil && response.source == .cache && response.json?["count"]?.int == 1)
            time.advance(16)
            #expect(await page.get(client).error != nil)
        }
    }

    @Test func whatGoesElsewherePassesBy() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=100")])
        let file = "\(try TestServers.url("tmp"))/cached-\(UInt64.random(in: 0 ... .max))"
        #expect(await page.get(client, [.download(to: file)]).file == file)
        let request = client.request(
            page.command, args: [.url("token", page.token)] + page.args + [.responseThread(.background)])
        let pieces = Log<Int>()
        request.setDataHandler { pieces.append($0.count) }
        request.resume()
        await onThread { request.wait() }
        #expect(pieces.count > 0 && request.response?.source == .network)
        // Neither response was stored or used.
        #expect(await page.get(client).json?["count"]?.int == 3)
        #expect(await page.get(client, [.header("Range", "bytes=0-1,3-4")]).json?["count"]?.int == 4)
        #expect(await page.get(client, [.header("If-Match", "\"x\"")]).json?["count"]?.int == 5)
        #expect(await page.get(client, [.header("Cache-Control", "no-store")]).json?["count"]?.int == 6)
        #expect(await page.get(client).json?["count"]?.int == 3)
        let never = await page.get(client, [.download(to: file), .cachePolicy(.returnCachedDontLoad)])
        #expect(never.error?.code == .notCached)
    }

    @Test func cookiesAreTakenAndNotKept() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=100"), ("h-Set-Cookie", "a=b")])
        #expect(await page.get(client).headers["Set-Cookie"] == "a=b")
        #expect(client.cookies?.cookies.map(\.value) == ["b"])
        client.cookies?.removeAll()
        let second = await page.get(client)
        #expect(second.source == .cache && second.headers["Set-Cookie"] == nil)
        #expect(client.cookies?.cookies.isEmpty == true)
    }

    @Test func whoHasACache() throws {
        #expect(APIClient().cache == nil)
        #expect(APIClient(configuration: .ephemeral).cache?.diskCapacity == 0)
        #expect(APIClient(configuration: .background("cache-\(UInt64.random(in: 0 ... .max))")).cache == nil)
        var configuration = SessionConfiguration.default
        configuration.cacheFolder = "\(try TestServers.url("tmp"))/one"
        configuration.cacheDiskCapacity = 1000
        configuration.cacheMemoryCapacity = 500
        let cache = APIClient(configuration: configuration).cache
        #expect(cache?.diskCapacity == 1000 && cache?.memoryCapacity == 500)
        #expect(APIClient(configuration: configuration).cache === cache)
        configuration.cacheDiskCapacity = 0
        #expect(APIClient(configuration: configuration).cache?.diskCapacity == 0)
        let own = HTTPCache()
        configuration.cache = own
        #expect(APIClient(configuration: configuration).cache === own)
    }

    @Test func settingsThatCannotBe() async throws {
        for (name, value) in [
            ("cacheMemoryCapacity", JSON(-1)), ("cacheDiskCapacity", "much"), ("cacheFolder", "here"), ("usesCache", 1),
        ] {
            let client = try session("fault") { $0[name] = value }
            let error = await client.error("ok")
            #expect(error?.code == .invalidRequest && error?.message.contains(name) == true)
        }
        let client = try session(time.cache()) { $0.usesCache = false }
        let page = CachedPage([("h-Cache-Control", "max-age=100")])
        _ = await page.get(client)
        #expect(await page.get(client).source == .network)
    }

    @Test func aLargerOneThanIsAllowedIsRefused() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=100"), ("size", "2000")])
        _ = await page.get(client)
        #expect(await page.get(client, [.option(.maximumResponseSize, "100")]).error?.code == .responseTooLarge)
        #expect(await page.get(client).source == .cache)
    }

    @Test func performIsAnsweredOnItsOwnThread() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=100")])
        let sources = await onThread {
            (0..<3).map { _ in client.perform("cached", args: [.url("token", page.token)] + page.args).source }
        }
        #expect(sources == [.network, .cache, .cache])
    }

    @Test func progressIsToldOfWhatWasThere() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=100"), ("size", "5000")])
        let size = await Int64(page.get(client).data.count)
        let told = Log<TransferProgress>()
        let args: [APIArg] = [.url("token", page.token)] + page.args
        let response = await client.response("cached", args: args, downloadProgress: { told.append($0) })
        #expect(response.source == .cache)
        #expect(told.all == [TransferProgress(bytes: 0, total: size), TransferProgress(bytes: size, total: size)])
    }

    @Test func cancelledBeforeItIsResumed() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=100")])
        _ = await page.get(client)
        let request = client.request(
            "cached", args: [.url("token", page.token)] + page.args + [.responseThread(.background)])
        request.cancel()
        await onThread { request.wait() }
        #expect(request.response?.error?.code == .cancelled)
    }

    @Test func anotherProcessFindsItOnDisk() async throws {
        let folder = "\(try TestServers.url("tmp"))/cache-\(UInt64.random(in: 0 ... .max))"
        let page = CachedPage([("h-Cache-Control", "max-age=100"), ("etag", "x"), ("size", "100000")])
        var sources: [ResponseSource] = []
        for _ in 0..<3 {
            let client = try session(try HTTPCache(folder: folder))
            let first = await page.get(client)
            let second = await onThread { client.perform("cached", args: [.url("token", page.token)] + page.args) }
            #expect(first.data.elementsEqual(second.data) && first.data.count > 100_000)
            sources += [first.source, second.source]
            await client.drain()
        }
        #expect(sources == [.network] + Array(repeating: .cache, count: 5))
        let client = try session(try HTTPCache(folder: folder))
        let response = await onThread { client.perform("cached", args: [.url("token", page.token)] + page.args) }
        #expect(response.source == .cache)
    }

    @Test func theLogSaysWhereItCameFrom() async throws {
        final class Logging: APIClient, @unchecked Sendable {
            let lines = Log<String>()

            override func writeLog(_ level: LogLevel, _ message: String) { lines.append(message) }
        }
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = ""
        let client = Logging(baseURL: try TestServers.url("fault"), configuration: configuration)
        client.logFlags = .info
        let page = CachedPage([("h-Cache-Control", "max-age=100"), ("etag", "x")])
        for policy in [CachePolicy.protocol, .protocol, .reloadRevalidating] {
            _ = await page.get(client, [.cachePolicy(policy)])
        }
        let ends = client.lines.all.filter { $0.contains(" ms") }.map { $0.split(separator: "ms")[1...].joined() }
        #expect(ends == ["", ", from the cache", ", from the cache, confirmed"])
    }
}
