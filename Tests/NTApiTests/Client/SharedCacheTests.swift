import Testing

@testable import NTApi

/// Caches that share responses through a store. Each client stands for a process.
@Suite struct SharedCacheTests {
    private let clock = ManualClock()
    private let stub = Stub()

    /// A store that records what it is asked, and can fail.
    private final class TestStore: SharedStore {
        let calls = Log<String>()
        let values = Log<[UInt8]>()
        private let other: MemoryStore
        private let isDown = Lock(false)

        init(_ clock: ManualClock) { other = MemoryStore(clock: clock) }

        func fail(_ fails: Bool) { isDown.withLock { $0 = fails } }

        private func ask(_ name: String, _ key: String, _ call: StoreCall, _ question: () -> Void) {
            if isDown.withLock({ $0 }) { call.fail("it is down") } else { question() }
            calls.append("\(name) \(key)")
        }

        func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
            ask(arguments[0], keys[0], call) { other.run(script, keys: keys, arguments: arguments, call) }
        }

        func get(_ key: String, _ call: StoreCall) { ask("get", key, call) { other.get(key, call) } }

        func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall) {
            ask("set for \(Int(seconds))", key, call) {
                values.append(value)
                other.set(key, value, seconds: seconds, call)
            }
        }

        func remove(_ key: String, _ call: StoreCall) { ask("remove", key, call) { other.remove(key, call) } }

        /// The number of calls with this name.
        func count(_ name: String) -> Int { calls.all.count { $0.hasPrefix(name + " ") } }

        /// Damages a value.
        func replace(_ key: String, _ value: [UInt8]) {
            other.set(key, value, seconds: 1000, StoreCall { _ in })
        }
    }

    private func process(
        _ store: any SharedStore, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> APIClient {
        var configuration = SessionConfiguration.ephemeral
        let cache = HTTPCache(memoryCapacity: 8 << 20)
        try cache.share(by: store, key: "partner", StoreOptions(timeout: patience))
        configuration.cache = cache
        change(&configuration)
        let client = APIClient(baseURL: "https://api.test/", configuration: configuration)
        client.clock = clock
        client.stub = stub
        return client
    }

    private func answer(_ cacheControl: String, _ more: KeyValuePairs<String, String> = [:]) {
        let number = Lock(0)
        let fields = [("Cache-Control", cacheControl)] + more.map { ($0.key, $0.value) }
        stub.on(nil, "**").answer { _ in
            let number = number.withLock {
                $0 += 1
                return $0
            }
            var answer = StubAnswer.text("\(number)")
            for (name, value) in fields { answer.headers.add(name, value) }
            return answer
        }
    }

    /// Sends a request of each client, all at once. Advances the clock, so that those that wait ask the store again.
    ///
    /// - Parameter others: how many other jobs wait for the clock.
    private func get(
        _ clients: [APIClient], _ args: [APIArg] = [], path: String = "x", others: Int = 0
    ) async -> [APIResponse] {
        let ended = Log<APIResponse>()
        for client in clients {
            client.begin(path, args: [.responseThread(.background)] + args, handler: { ended.append($0) })
        }
        let deadline = MonotonicTime.now().advanced(bySeconds: patience)
        while ended.count < clients.count, MonotonicTime.now() < deadline {
            // Advance only when all of them wait. Otherwise the time might be over before the store has replied.
            if clock.sleepers >= clients.count - ended.count + others { clock.advance(by: 0.1) }
            await Task.yield()
        }
        return ended.all
    }

    private func texts(_ clients: [APIClient], _ args: [APIArg] = [], path: String = "x") async -> [String?] {
        await get(clients, args, path: path).map(\.text)
    }

    // MARK: One for all

    @Test func oneProcessLoadsForAll() async throws {
        let store = TestStore(clock)
        answer("max-age=100")
        let processes = try (0..<10).map { _ in try process(store) }
        for _ in 0..<3 { #expect(await Set(texts(processes + processes)) == ["1"]) }
        #expect(stub.requests.count == 1)
        // A process that starts later gets the same response, with the right age.
        clock.advance(by: 60)
        let late = try process(store)
        let response = await get([late])[0]
        #expect(response.text == "1" && response.metrics.source == .cache)
        #expect((60...70).contains(Int(response.headers["Age"] ?? "") ?? 0))
        // No key or record has the URL, and the turn is given back.
        #expect(store.calls.all.allSatisfy { $0.contains(" ntapi:1:{partner:") && !$0.contains("api.test") })
        #expect(store.count("leave") >= 1)
    }

    @Test func aStaleResponseIsConfirmedByOne() async throws {
        let store = TestStore(clock)
        stub.on(nil, "**").answer { request in
            if request.headers["If-None-Match"] == "\"1\"" {
                return .status(304, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=10"])
            }
            return .text("1", headers: ["ETag": "\"1\"", "Cache-Control": "max-age=10"])
        }
        let processes = try (0..<5).map { _ in try process(store) }
        #expect(await Set(texts(processes)) == ["1"])
        for round in 2...4 {
            clock.advance(by: 20)
            #expect(await Set(texts(processes)) == ["1"])
            #expect(stub.requests.count == round)
        }
        #expect(stub.requests.dropFirst().allSatisfy { $0.headers["If-None-Match"] == "\"1\"" })
        // The store keeps it for an hour after it becomes stale, because the server can still confirm it.
        #expect(store.calls.all.contains { $0.hasPrefix("set for 3610 ") })
    }

    @Test func oneUpdatesWhatOthersUseStale() async throws {
        let store = TestStore(clock)
        answer("max-age=10, stale-while-revalidate=100")
        let processes = try (0..<5).map { _ in try process(store) }
        #expect(await Set(texts(processes)) == ["1"])
        clock.advance(by: 20)
        #expect(await Set(texts(processes)) == ["1"])
        try await stub.waitForRequests(2)
        try await wait { store.count("set") >= 4 }
        let end = MonotonicTime.now().advanced(bySeconds: patience)
        while await Set(texts(processes)) != ["2"] { try #require(MonotonicTime.now() < end) }
        #expect(stub.requests.count == 2)
    }

    @Test func variantsAreShared() async throws {
        let store = TestStore(clock)
        stub.on(nil, "**").answer { request in
            .text(
                request.headers["Accept-Language"] ?? "",
                headers: ["Vary": "Accept-Language", "Cache-Control": "max-age=9"])
        }
        for _ in 0..<2 {
            for language in ["en", "fr"] {
                let processes = try (0..<3).map { _ in try process(store) }
                #expect(await Set(texts(processes, [.header("Accept-Language", language)])) == [language])
            }
        }
        #expect(stub.requests.count == 2)
    }

    @Test func whatIsChangedIsRemovedForAll() async throws {
        let store = TestStore(clock)
        answer("max-age=100")
        let (one, other) = (try process(store), try process(store))
        #expect(await texts([one, other]) == ["1", "1"])
        #expect(await texts([one], [.method("DELETE")]) == ["2"])
        try await wait { store.count("remove") >= 1 }
        #expect(await texts([try process(store)]) == ["3"])
        #expect(await texts([one]) == ["3"])
    }

    /// The resource is changed while its response is being stored. The response must not come back.
    @Test(arguments: [false, true]) func whatIsStoredLateDoesNotComeBack(byAnother: Bool) async throws {
        let store = HeldStore(clock, holds: .firstValue)
        answer("max-age=1000")
        let client = try process(store)
        #expect(await texts([client]) == ["1"])
        try await wait { store.heldCount == 1 }
        #expect(await texts([byAnother ? try process(store) : client], [.method("DELETE")]) == ["2"])
        try await wait { store.replies(of: "remove").count == 1 }
        store.letThrough(0)
        try await wait { store.replies(of: "store") == ["late"] }
        #expect(await texts([try process(store)]) == ["3"])
    }

    /// One process requests a response, then another one changes the resource. The response is not stored. A response
    /// that was requested after the change is.
    @Test func whatWasRequestedBeforeAChangeIsNotStored() async throws {
        let store = HeldStore(clock, holds: .nothing)
        stub.on("GET", "x").answer(
            .text("old", headers: ["Cache-Control": "max-age=1000"], delay: 5),
            .text("new", headers: ["Cache-Control": "max-age=1000"]))
        stub.on("DELETE", "x").answer(.status(204))
        let ended = Log<APIResponse>()
        let (one, other) = (try process(store), try process(store))
        one.begin("x", args: [.responseThread(.background)], handler: { ended.append($0) })
        try await wait { clock.sleepers >= 1 && stub.requests.count == 1 }
        // The first request waits for the clock, which must not advance yet.
        #expect(await get([other], [.method("DELETE")], others: 1)[0].status == 204)
        try await wait { store.replies(of: "remove").count == 1 }
        clock.advance(by: 5)
        #expect(try await ended.element(0).text == "old")
        try await wait { store.replies(of: "store") == ["late"] }
        // With "pass", processes that wait load the response at once, not one after the other.
        try await wait { store.replies(of: "pass").count == 1 }
        #expect(await texts([try process(store)]) == ["new"])
        try await wait { store.replies(of: "store") == ["late", "done"] }
        #expect(await texts([try process(store)]) == ["new"])
        #expect(stub.requests.count == 3)
    }

    /// Processes find, load, store and change a response at random. Once the store knows of a change, no process gets a
    /// response that was requested before it.
    @Test func whatIsChangedStaysAwayAtRandomMoments() async throws {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let http = try #require(APIClient(baseURL: "https://api.test").request("x").httpRequest)
        let (asked, digest) = (CacheRequest(http), CacheKey(try URLParts(http.url), partition: "").digest)
        let clock = clock
        for round in 0..<100 {
            let store = HeldStore(clock, holds: .everything)
            let caches = (0..<3).map { _ in
                SharedCache(StoreAccess(store, key: "a", StoreOptions(timeout: 1e6))) { $0.usefulSeconds($1) }
            }
            // A response says how often the resource had changed when it was requested.
            let changes = Lock(0)
            let (readers, loads) = (Log<Bool>(), Log<(cache: SharedCache, turn: CacheTurn?, version: Int)>())
            var (known, searches, puts) = (0, 0, 0)
            func letOneThrough() {
                let count = store.heldCount
                if count > 0 { store.letThrough(.random(in: 0..<count, using: &random)) }
            }
            for _ in 0..<60 {
                let cache = try #require(caches.randomElement(using: &random))
                switch Int.random(in: 0..<10, using: &random) {
                case 0...2:
                    let known = known
                    searches += 1
                    let search = SharedCache.Search(
                        digest: digest, known: nil, waits: false, select: asked.select,
                        judge: { asked.verdict($0, clock.calendarSeconds) }, isOver: { false },
                        done: { finding in
                            guard case .response(let found, let turn) = finding else { return readers.append(true) }
                            if found == nil { loads.append((cache, turn, changes.withLock { $0 })) }
                            let version = found.flatMap { Int(String(decoding: $0.body.buffer, as: UTF8.self)) }
                            readers.append(version.map { $0 >= known } ?? true)
                        })
                    cache.find(search, clock)
                case 3...5 where loads.count > puts:
                    let (cache, turn, version) = loads.all[puts]
                    puts += 1
                    var response = CachedResponse(
                        head: ResponseHead(
                            status: 200, headers: HTTPHeaders([("Cache-Control", "max-age=60")]), httpVersion: 1.1),
                        requestTime: clock.calendarSeconds, responseTime: clock.calendarSeconds)
                    response.selectors = try #require(asked.selectors(for: response.head))
                    response.body = Bytes()
                    let body = Array("\(version)".utf8)
                    #expect(body.withUnsafeBytes(response.body.append))
                    cache.put(response, digest, lastRemoval: turn?.lastRemoval, clock) { _ in turn?.leave() }
                case 6:
                    // A change is over when the store knows it.
                    changes.withLock { $0 += 1 }
                    cache.remove(digest, clock)
                    known += 1
                    try await wait {
                        letOneThrough()
                        return !cache.isUnremoved(digest)
                    }
                default:
                    clock.advance(by: 0.001)
                    letOneThrough()
                }
            }
            try await wait {
                letOneThrough()
                return readers.count == searches
            }
            #expect(readers.all.allSatisfy { $0 }, "NTAPI_SEED=\(seed), round \(round)")
        }
    }

    /// Other processes wait for what this client has loaded. So the client is closed only when that is stored.
    @Test func closingWaitsForTheStore() async throws {
        let (store, events) = (HeldStore(clock, holds: .firstValue), Log<String>())
        answer("max-age=1000")
        let client = try process(store)
        #expect(await texts([client]) == ["1"])
        try await wait { store.heldCount == 1 }
        let hasStarted = Thread.start(name: "closes") {
            client.close()
            events.append("closed")
        }
        #expect(hasStarted)
        try await wait { client.isClosed }
        events.append("stored")
        store.letThrough(0)
        #expect(await events.first(2) == ["stored", "closed"])
    }

    /// A store that holds calls until the test lets them through.
    private final class HeldStore: SharedStore {
        enum Held { case nothing, firstValue, everything }

        /// The verb and the reply of each script that has run.
        let replies = Log<(verb: String, reply: String)>()
        private let other: MemoryStore
        private let holds: Lock<Held>
        private let held = Lock<[(call: StoreCall, question: @Sendable () -> Void)]>([])

        init(_ clock: ManualClock, holds: Held) {
            other = MemoryStore(clock: clock)
            self.holds = Lock(holds)
        }

        var heldCount: Int { held.withLock { $0.count } }

        func letThrough(_ index: Int) { held.withLock { $0.remove(at: index) }.question() }

        func fail(_ index: Int) { held.withLock { $0.remove(at: index) }.call.fail("it is down") }

        func replies(of verb: String) -> [String] { replies.all.filter { $0.verb == verb }.map(\.reply) }

        private func ask(_ call: StoreCall, isValue: Bool = false, _ question: @escaping @Sendable () -> Void) {
            let isHeld = holds.withLock { holds in
                guard holds == .firstValue, isValue else { return holds == .everything }
                holds = .nothing
                return true
            }
            if isHeld { held.withLock { $0.append((call, question)) } } else { question() }
        }

        func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
            ask(call) { [self] in
                let noted = StoreCall { result in
                    guard let texts = try? result.get().texts else { return call.fail("it has failed") }
                    self.replies.append((arguments[0], texts[0]))
                    call.reply(texts)
                }
                other.run(script, keys: keys, arguments: arguments, noted)
            }
        }

        func get(_ key: String, _ call: StoreCall) { ask(call) { [other] in other.get(key, call) } }

        func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall) {
            ask(call, isValue: true) { [other] in other.set(key, value, seconds: seconds, call) }
        }

        func remove(_ key: String, _ call: StoreCall) { ask(call) { [other] in other.remove(key, call) } }
    }

    // MARK: What is not shared

    @Test(arguments: [
        "private, max-age=100", "no-store", "s-maxage=0, max-age=100", "max-age=100, proxy-revalidate", "max-age=0",
    ])
    func whatIsForOneProcessStaysThere(_ cacheControl: String) async throws {
        let store = TestStore(clock)
        answer(cacheControl)
        let processes = try (0..<4).map { _ in try process(store) }
        for client in processes { _ = await get([client]) }
        #expect(stub.requests.count == 4 && store.values.count == 0)
        // Only the first process has had a turn. Its turn ended with "pass", so nobody waits any more.
        #expect(store.count("pass") == 1)
    }

    /// The head shows that others cannot use the response, so they do not wait for the end of its body.
    @Test(arguments: [
        ["Cache-Control": "no-store"], ["Cache-Control": "max-age=100", "Content-Length": "1000001"],
        ["Cache-Control": "max-age=100", "Vary": "*"], ["Cache-Control": "max-age=100", "Set-Cookie": "a=b"],
    ])
    func nobodyWaitsForTheEndOfWhatIsForOne(_ headers: [String: String]) async throws {
        let store = TestStore(clock)
        let server = try RawServer { connection in
            _ = connection.readRequest()
            _ = connection.send("HTTP/1.1 200 OK\r\n\(headers.map { "\($0): \($1)\r\n" }.joined())\r\n")
            // The body does not end until the client is gone.
            _ = connection.readRequest()
        }
        let ended = Log<APIResponse>()
        let client = try process(store)
        client.stub = nil
        let args: [APIArg] = [.baseURL(server.url), .responseThread(.background)]
        let request = client.begin("x", args: args, handler: { ended.append($0) })
        try await wait { store.count("pass") == 1 }
        #expect(ended.count == 0)
        request.cancel()
        #expect(try await ended.element(0).error?.code == .cancelled)
    }

    /// It is sent like any other request: with the same encodings and the same version of HTTP.
    @Test func aRequestForAllIsSentAsAnyOther() async throws {
        var seen: [Set<String>] = [[], []]
        for isShared in [true, false] {
            let authority = try TestServers.url("ca")
            let client = try process(TestStore(clock)) {
                if !isShared { $0.cache = HTTPCache() }
                $0.caFile = authority
            }
            client.stub = nil
            let args: [APIArg] = [
                .baseURL(try TestServers.url("fault") + "/cached"), .query("h-Cache-Control", "max-age=9"),
                .query("token", "sent as any other \(isShared)"),
            ]
            let response = try await client.get("x", args: args)
            let encodings = response.json?["header"]?["accept-encoding"]?.string
            seen[0].insert(try #require(encodings, "\(response.text)"))
            let file = try TestServers.url("nginx_tls") + "/cached/small.json"
            let page = try await client.get("x", args: [.baseURL(file)])
            seen[1].insert("\(page.metrics.httpVersion)")
        }
        #expect(seen[0].count == 1 && seen[1] == ["2.0"], "\(seen)")
    }

    @Test(arguments: [
        [APIArg.bearer("secret")], [.header("Cookie", "a=secret")], [.header("X-Api-Key", "secret")],
        [.basicAuth("ann", "secret")],
    ])
    func requestsOfAUserAreNotShared(_ args: [APIArg]) async throws {
        let store = TestStore(clock)
        answer("max-age=100")
        #expect(
            await texts([try process(store), try process(store)], args).sorted { $0 ?? "" < $1 ?? "" } == ["1", "2"])
        #expect(store.calls.count == 0)
    }

    @Test func responsesThatSetCookiesAndLargeOnesAreNotShared() async throws {
        let store = TestStore(clock)
        stub.on(nil, "cookie").answer { _ in .text("", headers: ["Set-Cookie": "a=b", "Cache-Control": "max-age=9"]) }
        stub.on(nil, "large").answer { _ in
            .data([UInt8](repeating: 0, count: 1_000_000), headers: ["Cache-Control": "max-age=9"])
        }
        for path in ["cookie", "large"] {
            for _ in 0..<2 { _ = await get([try process(store)], path: path) }
        }
        #expect(stub.requests.count == 4 && store.values.count == 0)
    }

    @Test func requestsWithCookiesAreNotShared() async throws {
        let store = TestStore(clock)
        answer("max-age=100")
        let processes = try (0..<3).map { _ in try process(store) }
        for client in processes { try client.cookies?.set(Cookie(name: "a", value: "b", domain: "api.test")) }
        for client in processes { _ = await get([client]) }
        #expect(stub.requests.count == 3 && store.calls.count == 0)
        // A cookie for another server does not matter.
        for client in processes {
            client.cookies?.removeAll()
            try client.cookies?.set(Cookie(name: "a", value: "b", domain: "other.test"))
        }
        for client in processes { _ = await get([client], path: "y") }
        #expect(stub.requests.count == 4)
    }

    /// The request is sent with a cookie, which is deleted before the response arrives.
    @Test func aResponseToARequestWithCookiesIsNotShared() async throws {
        let store = TestStore(clock)
        stub.on(nil, "x").answer(.text("1", headers: ["Cache-Control": "max-age=100"], delay: 5))
        let client = try process(store)
        try client.cookies?.set(Cookie(name: "a", value: "b", domain: "api.test"))
        let ended = Log<APIResponse>()
        client.begin("x", args: [.responseThread(.background)], handler: { ended.append($0) })
        try await wait { clock.sleepers >= 1 }
        client.cookies?.removeAll()
        clock.advance(by: 5)
        #expect(try await ended.element(0).text == "1")
        #expect(await texts([try process(store)]) == ["1"])
        #expect(stub.requests.count == 2)
    }

    /// With another route, the same URL may reach another server.
    @Test func anotherRouteHasItsOwnResponses() async throws {
        let store = TestStore(clock)
        answer("max-age=100")
        for place in ["one.test", "other.test"] {
            for _ in 0..<2 {
                let client = try process(store) { $0.connectTo = ["api.test:443:\(place):443"] }
                #expect(await texts([client]) == [place == "one.test" ? "1" : "2"])
            }
        }
    }

    /// No process can use what another one has loaded. So they must not wait for each other in turn.
    @Test func thoseWithoutACommonVariantDoNotWaitForLong() async throws {
        let store = TestStore(clock)
        answer("max-age=100", ["Vary": "X-Request-Number"])
        let ended = Log<APIResponse>()
        for number in 0..<20 {
            let args: [APIArg] = [.header("X-Request-Number", "\(number)"), .responseThread(.background)]
            try process(store).begin("x", args: args, handler: { ended.append($0) })
        }
        while ended.count < 20 {
            if clock.sleepers >= 20 - ended.count { clock.advance(by: 0.1) }
            await Task.yield()
        }
        #expect(stub.requests.count == 20 && clock.elapsed < 5)
    }

    /// A header that an interceptor adds may identify the user. Nobody waits for such a response.
    @Test func whatAnInterceptorSignsIsNotShared() async throws {
        let store = TestStore(clock)
        answer("max-age=100")
        let processes = try (0..<4).map { _ in try process(store) }
        for client in processes {
            client.interceptors = [
                Interceptor(.attempt) { call in
                    var request = call.request
                    request.headers.set("Authorization", "Bearer secret", isSecret: true)
                    return try await call.next(request)
                }
            ]
        }
        for client in processes { _ = await get([client]) }
        #expect(stub.requests.count == 4 && store.values.count == 0 && store.count("pass") == 1)
    }

    // MARK: What goes wrong

    @Test func aFailedRequestIsNobodyElsesFailure() async throws {
        let store = TestStore(clock)
        stub.on(nil, "**").answer { _ in .fault(.noConnection) }
        let processes = try (0..<5).map { _ in try process(store) }
        #expect(await get(processes).allSatisfy { $0.error?.code == .network })
        #expect(stub.requests.count == 5)
    }

    @Test func aCancelledRequestGivesItsTurnBack() async throws {
        let store = TestStore(clock)
        stub.on(nil, "x").answer(.status(200, delay: 1e6), .text("1", headers: ["Cache-Control": "max-age=9"]))
        let ended = Log<APIResponse>()
        let request = try process(store).begin("x", args: [.responseThread(.background)], handler: { ended.append($0) })
        try await stub.waitForRequests(1)
        request.cancel()
        #expect(try await ended.element(0).error?.code == .cancelled)
        try await wait { store.count("leave") >= 1 }
        #expect(await texts([try process(store)]) == ["1"])
    }

    @Test func aRequestThatWaitsForAnotherProcessCanBeCancelled() async throws {
        let store = TestStore(clock)
        stub.on(nil, "x").answer { _ in .status(200, delay: 1e6) }
        let ended = Log<APIResponse>()
        let requests = try (0..<2).map { _ in
            try process(store).begin("x", args: [.responseThread(.background)], handler: { ended.append($0) })
        }
        try await stub.waitForRequests(1)
        try await wait { clock.sleepers >= 2 }
        for request in requests { request.cancel() }
        #expect(await ended.first(2).allSatisfy { $0.error?.code == .cancelled })
        #expect(stub.requests.count == 1)
    }

    @Test func aProcessThatEndsIsWaitedForNoLonger() async throws {
        let store = TestStore(clock)
        stub.on(nil, "x").answer(.status(200, delay: 1e6), .text("1", headers: ["Cache-Control": "max-age=9"]))
        let hanging = try process(store)
        hanging.begin("x", args: [.responseThread(.background)], handler: { _ in })
        try await stub.waitForRequests(1)
        #expect(await get([try process(store)], others: 1)[0].text == "1")
        #expect((9.9..<12).contains(clock.elapsed))
        hanging.cancelAll()
    }

    @Test func whatTheStoreHasLostOrDamagedIsLoadedAgain() async throws {
        let store = TestStore(clock)
        answer("max-age=1000")
        #expect(await texts([try process(store)]) == ["1"])
        var loads = 1
        for garbage in [[], [0xFF], Array("{}".utf8), Array("1\0".utf8)] as [[UInt8]] {
            for isRecord in [false, true] {
                try await wait { store.count("leave") >= loads }
                let key = store.calls.all.last { isRecord ? $0.hasPrefix("store ") : $0.contains(":body:") }
                store.replace(String(try #require(key?.split(separator: " ").last)), garbage)
                loads += 1
                #expect(await texts([try process(store)]) == ["\(loads)"], "\(garbage), record: \(isRecord)")
            }
        }
    }

    @Test func aStoreThatFailsIsPassedBy() async throws {
        let store = TestStore(clock)
        answer("max-age=10")
        let client = try process(store)
        #expect(await texts([client]) == ["1"])
        try await wait { store.count("leave") >= 1 }
        store.fail(true)
        let before = store.calls.count
        for number in 2...4 {
            clock.advance(by: 20)
            #expect(await texts([client, try process(store)]).contains("\(2 * number - 2)"))
        }
        #expect(store.calls.count <= before + 9)
        // Responses that it could not remove are not used.
        store.fail(false)
        clock.advance(by: 2)
        // One request asks the store whether it replies again, but does not wait for the reply.
        #expect(await texts([try process(store)]) == ["8"])
        let end = MonotonicTime.now().advanced(bySeconds: patience)
        repeat {
            try #require(MonotonicTime.now() < end)
            clock.advance(by: 20)
            _ = await get([client])
        } while try await get([process(store)])[0].metrics.source != .cache
    }

    @Test func whatCouldNotBeRemovedIsNotUsed() async throws {
        let store = TestStore(clock)
        answer("max-age=1000")
        let client = try process(store)
        #expect(await texts([client]) == ["1"])
        try await wait { store.count("leave") >= 1 }
        store.fail(true)
        #expect(await texts([client], [.method("DELETE")]) == ["2"])
        try await wait { store.count("remove") >= 1 }
        store.fail(false)
        clock.advance(by: 2)
        #expect(await texts([client]) == ["3"])
        try await wait { store.count("remove") >= 2 }
        #expect(await texts([try process(store)]) != ["1"])
    }

    /// A thousand processes need the same response, in three rounds. The first process with a turn loads it, ends
    /// without a word, or is cancelled. In the last two cases, one other process loads it for all.
    @Test func oneOfAThousandLoads() async throws {
        // The thread sanitizer takes twenty times as long.
        #if THREAD_SANITIZER
            let count = 50
        #else
            let count = 1000
        #endif
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let store = MemoryStore(clock: clock)
        let http = try #require(APIClient(baseURL: "https://api.test").request("x").httpRequest)
        let (asked, digest) = (CacheRequest(http), CacheKey(try URLParts(http.url), partition: "").digest)
        let caches = (0..<count).map { _ in
            SharedCache(StoreAccess(store, key: "a", StoreOptions(timeout: 1e6))) { $0.usefulSeconds($1) }
        }
        for fate in ["loads", "ends", "is cancelled"] {
            let (found, turns) = (Log<CachedResponse?>(), Log<(cache: SharedCache, turn: CacheTurn)>())
            let stored = Log<Void>()
            var stores = 0
            let clock = clock
            for cache in caches.shuffled(using: &random) {
                let search = SharedCache.Search(
                    digest: digest, known: nil, waits: true, select: asked.select,
                    judge: { asked.verdict($0, clock.calendarSeconds) }, isOver: { false },
                    done: { finding in
                        guard case .response(let response, let turn) = finding else { return }
                        if let turn { turns.append((cache, turn)) } else { found.append(response) }
                    })
                cache.find(search, clock)
            }
            var ended = 0
            while found.count + ended < count {
                if turns.count > ended {
                    // The first turn has the fate of its round. A later one loads the response.
                    let (cache, turn) = turns.all[ended]
                    ended += 1
                    if ended > 1 || fate == "loads" {
                        var response = CachedResponse(
                            head: ResponseHead(
                                status: 200, headers: HTTPHeaders([("Cache-Control", "max-age=60")]), httpVersion: 1.1),
                            requestTime: clock.calendarSeconds, responseTime: clock.calendarSeconds)
                        response.selectors = try #require(asked.selectors(for: response.head))
                        stores += 1
                        cache.put(response, digest, lastRemoval: turn.lastRemoval, clock) { _ in
                            turn.leave()
                            stored.append(())
                        }
                    } else if fate == "is cancelled" {
                        turn.leave()
                    }
                }
                let isStored = stored.count == stores
                if isStored, clock.sleepers >= count - found.count - ended { clock.advance(by: 0.2) }
                await Task.yield()
            }
            #expect(found.all.allSatisfy { $0 != nil })
            #expect(turns.count == (fate == "loads" ? 1 : 2), "\(fate), NTAPI_SEED=\(seed)")
            for (_, turn) in turns.all { turn.isOver() }
            clock.advance(by: 100)
        }
    }

    /// More responses than the cache can remember. It then uses no response that was requested before.
    @Test func tooMuchThatCouldNotBeRemoved() async throws {
        let store = TestStore(clock)
        func cache() -> SharedCache {
            SharedCache(StoreAccess(store, key: "a", StoreOptions(timeout: patience))) { $0.usefulSeconds($1) }
        }
        let (cache, other) = (cache(), cache())
        let urls = try (0..<1002).map { try URLParts("https://api.test/\($0)") }
        let digests = urls.map { CacheKey($0, partition: "").digest }
        let last = digests[1001]
        try await put("old", last, in: other)
        store.fail(true)
        cache.remove(digests[0], clock)
        // The cache knows that the store fails, so it does not ask the store to remove the others.
        try await wait { store.count("remove") == 1 }
        for digest in digests.dropFirst() { cache.remove(digest, clock) }
        store.fail(false)
        clock.advance(by: 4)
        // The cache finds out that the store replies again. It then removes the responses that it remembers.
        #expect(try await text(of: last, in: cache) == nil)
        try await wait { store.count("remove") >= 1001 && !digests.contains(where: cache.isUnremoved) }
        #expect(try await text(of: last, in: cache) == nil)
        #expect(try await text(of: last, in: other) == "old")
        try await put("new", last, in: other)
        #expect(try await text(of: last, in: cache) == "new")
    }

    /// The store has failed, and now removes the response. Meanwhile the resource changes again: another process may
    /// have stored a response in between, so the cache removes it once more.
    @Test func aSecondChangeIsRemovedToo() async throws {
        let store = HeldStore(clock, holds: .everything)
        let cache = SharedCache(StoreAccess(store, key: "a", StoreOptions(timeout: patience))) { $0.usefulSeconds($1) }
        let urls = try ["x", "y"].map { try URLParts("https://api.test/\($0)") }
        let digests = urls.map { CacheKey($0, partition: "").digest }
        for (index, digest) in digests.enumerated() {
            cache.remove(digest, clock)
            try await wait { store.heldCount == index + 1 }
        }
        store.fail(0)
        cache.remove(digests[1], clock)
        store.letThrough(0)
        try await wait {
            if store.heldCount > 0 { store.letThrough(0) }
            return !digests.contains(where: cache.isUnremoved)
        }
        #expect(store.replies(of: "remove").count == 3)
    }

    private func put(_ text: String, _ digest: String, in cache: SharedCache) async throws {
        var response = CachedResponse(
            head: ResponseHead(
                status: 200, headers: HTTPHeaders([("Cache-Control", "max-age=600")]), httpVersion: 1.1),
            requestTime: clock.calendarSeconds, responseTime: clock.calendarSeconds)
        response.body = Bytes()
        #expect(Array(text.utf8).withUnsafeBytes(response.body.append))
        let stored = Log<Bool>()
        cache.put(response, digest, lastRemoval: nil, clock, stored.append)
        #expect(try await stored.element(0))
    }

    private func text(of digest: String, in cache: SharedCache) async throws -> String? {
        let findings = Log<String?>()
        let search = SharedCache.Search(
            digest: digest, known: nil, waits: false, select: { $0.first }, judge: { $0 == nil ? .load : .use },
            isOver: { false },
            done: { finding in
                guard case .response(let found?, _) = finding else { return findings.append(nil) }
                findings.append(String(decoding: found.body.buffer, as: UTF8.self))
            })
        cache.find(search, clock)
        return try await findings.element(0)
    }

    @Test func wrongOptionsAreRefused() {
        let cache = HTTPCache()
        for (key, options, text) in [
            ("", StoreOptions(), "must have 1 to 200 bytes"), ("a{", StoreOptions(), "no braces"),
            ("a", StoreOptions(timeout: 0), "timeout is 0"), ("a", StoreOptions(lease: 0), "lease is 0"),
            ("a", StoreOptions(onFailure: .open), "it is local, not open or closed"),
        ] {
            let error = #expect(throws: APIError.self) { try cache.share(by: MemoryStore(), key: key, options) }
            #expect(error?.message.hasPrefix("the shared cache: ") == true && error?.message.contains(text) == true)
        }
    }

    @Test func aStoreWithoutValuesIsPassedBy() async throws {
        let path = "/tmp/ntapi-\(UInt64.random(in: 0 ... .max))"
        answer("max-age=100")
        #expect(
            await texts([try process(FileStore(path)), try process(FileStore(path))]).sorted { $0 ?? "" < $1 ?? "" }
                == ["1", "2"])
    }
}
