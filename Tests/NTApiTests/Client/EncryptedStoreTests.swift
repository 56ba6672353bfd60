import Testing

@testable import NTApi

/// Stores with encryption: which values they see, and what processes can share. Each client stands for a process.
@Suite struct EncryptedStoreTests {
    private let clock = ManualClock()
    private let stub = Stub()

    /// Not a real cipher: it hides the value, and checks that key and context are the same.
    private struct TestCipher: StoreCipher {
        let key: String
        var isBroken = false

        func encrypt(_ value: [UInt8], context: String) throws -> [UInt8] {
            if isBroken { throw APIError.invalidRequest("it is broken") }
            return Array(tag(value, context).utf8) + mixed(value)
        }

        func decrypt(_ value: [UInt8], context: String) throws -> [UInt8] {
            let plain = mixed(Array(value.dropFirst(64)))
            guard Array(value.prefix(64)) == Array(tag(plain, context).utf8) else {
                throw APIError.invalidRequest("it is not mine")
            }
            return plain
        }

        private func mixed(_ value: [UInt8]) -> [UInt8] { value.map { $0 ^ 0xA5 } }

        private func tag(_ value: [UInt8], _ context: String) -> String {
            SHA256.hex("\(key)\n\(context)\n\(Base64.encode(value))")
        }
    }

    /// One store, as a process with its own key sees it.
    private final class Access: SharedStore {
        let cipher: (any StoreCipher)?
        private let server: Server

        init(_ server: Server, _ cipher: TestCipher?) {
            self.server = server
            self.cipher = cipher
        }

        func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
            server.seen.append(keys.joined(separator: "\n") + "\n" + arguments.joined(separator: "\n"))
            guard !server.fails.withLock({ $0.contains(arguments[0]) }) else { return call.fail("it is down") }
            server.store.run(script, keys: keys, arguments: arguments, call)
            server.done.append(arguments[0])
        }

        func get(_ key: String, _ call: StoreCall) { server.store.get(key, call) }

        func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall) {
            server.seen.append(key)
            server.values.append((key, value))
            server.store.set(key, value, seconds: seconds, call)
        }

        func remove(_ key: String, _ call: StoreCall) { server.store.remove(key, call) }
    }

    private final class Server: Sendable {
        let store: MemoryStore
        /// The keys and arguments that it received.
        let seen = Log<String>()
        /// The verbs of the scripts that it has run.
        let done = Log<String>()
        let values = Log<(key: String, value: [UInt8])>()
        /// The verbs of the scripts that fail.
        let fails = Lock<Set<String>>([])

        init(_ clock: ManualClock) { store = MemoryStore(clock: clock) }

        func access(_ key: String? = "k") -> Access { Access(self, key.map { TestCipher(key: $0) }) }

        /// Whether it has seen one of these texts.
        func knows(_ texts: String...) -> Bool {
            let all = seen.all + values.all.map { String(decoding: $0.value, as: UTF8.self) }
            return all.contains { text in texts.contains { text.contains($0) } }
        }

        /// Copies a value to another key.
        func move(_ value: [UInt8], to key: String) { store.set(key, value, seconds: 1000, StoreCall { _ in }) }
    }

    private func process(_ store: any SharedStore) throws -> APIClient {
        var configuration = SessionConfiguration.ephemeral
        let cache = HTTPCache()
        try cache.share(by: store, key: "partner", StoreOptions(timeout: patience))
        configuration.cache = cache
        let client = APIClient(baseURL: "https://api.test/", configuration: configuration)
        client.clock = clock
        client.stub = stub
        return client
    }

    /// Each response has a number.
    private func answer(_ cacheControl: String, _ text: String = "") {
        let number = Counter()
        stub.on(nil, "**").answer { request in
            .text("\(number.next()) \(text)", headers: ["Cache-Control": cacheControl, "ETag": "\"etag of it\""])
        }
    }

    private final class Counter: Sendable {
        private let value = Lock(0)
        func next() -> Int {
            value.withLock {
                $0 += 1
                return $0
            }
        }
    }

    /// Sends one request, and waits until the store has its response.
    private func get(_ client: APIClient, _ args: [APIArg] = [], path: String = "x") async throws -> String {
        let response = await client.response(path, args: args)
        client.cache?.saveQuietly()
        return response.text
    }

    // MARK: Responses

    @Test(arguments: [
        [APIArg.bearer("secret")], [.header("X-Api-Key", "secret")], [.basicAuth("ann", "secret")],
        [.header("Authorization", "secret")], [],
    ])
    func requestsWithTheSameCredentialsShare(_ args: [APIArg]) async throws {
        let server = Server(clock)
        answer("max-age=100", "and a text")
        for _ in 0..<3 { #expect(try await get(process(server.access()), args) == "1 and a text") }
        // Requests without credentials, and those of another user, get another response.
        if !args.isEmpty { #expect(try await get(process(server.access())).hasPrefix("2")) }
        #expect(try await get(process(server.access()), [.bearer("other")]) != "1 and a text")
        #expect(server.values.count > 0)
        #expect(!server.knows("secret", "and a text", "etag of it", "max-age", "api.test"))
    }

    /// A private response is shared by all processes of its user.
    @Test func privateResponsesOfAUserAreShared() async throws {
        let server = Server(clock)
        answer("private, max-age=100")
        for _ in 0..<2 {
            #expect(try await get(process(server.access()), [.bearer("a")]) == "1 ")
            // A request without credentials has no user.
            #expect(try await get(process(server.access())) != "1 ")
        }
        #expect(stub.requests.count == 3)
    }

    /// Cookies and certificates also identify a user, but they are not compared.
    @Test func requestsWithCookiesAreNotShared() async throws {
        let server = Server(clock)
        answer("max-age=100")
        for _ in 0..<2 { _ = try await get(process(server.access()), [.header("Cookie", "a=b"), .bearer("a")]) }
        #expect(stub.requests.count == 1, "a Cookie header that the program sets is compared")
        for _ in 0..<2 {
            let client = try process(server.access())
            try client.cookies?.set(Cookie(name: "a", value: "b", domain: "api.test"))
            _ = try await get(client, [.bearer("a")])
        }
        #expect(stub.requests.count == 3)
    }

    @Test func withoutTheKeyItIsLoadedAgain() async throws {
        let server = Server(clock)
        answer("max-age=100")
        #expect(try await get(process(server.access("k"))) == "1 ")
        #expect(try await get(process(server.access("other"))) == "2 ")
        #expect(try await get(process(server.access(nil))) == "3 ")
        // A response that is not encrypted may come from anybody.
        #expect(try await get(process(server.access("k"))) == "4 ")
    }

    /// A value that was moved to another key cannot be read there.
    @Test func valuesAreBoundToTheirPlace() async throws {
        let server = Server(clock)
        stub.on(nil, "**").answer { .text($0.url, headers: ["Cache-Control": "max-age=100"]) }
        for path in ["x", "y"] { _ = try await get(process(server.access()), path: path) }
        let client = try process(server.access())
        let bodies = server.values.all.filter { $0.key.contains(":body:") }
        let records = server.values.all.filter { $0.key.contains(":new:") }
        try #require(bodies.count == 2 && records.count == 2)
        for (from, to) in [(0, 1), (1, 0)] {
            #expect(isOf(bodies[from].key, bodies[from].value) && !isOf(bodies[to].key, bodies[from].value))
            server.move(bodies[from].value, to: bodies[to].key)
            let tag = try #require(records[to].key.split(separator: "}").first)
            server.move(records[from].value, to: "\(tag)}:responses:encrypted")
        }
        for path in ["x", "y"] {
            #expect(await client.response(path).text == "https://api.test/\(path)")
        }
        #expect(stub.requests.count == 4)
    }

    private func isOf(_ context: String, _ value: [UInt8]) -> Bool {
        (try? TestCipher(key: "k").decrypt(value, context: context)) != nil
    }

    /// Two users with the same body have two entries: otherwise one user could store a forged body for the other.
    @Test func bodiesOfUsersAreApart() async throws {
        let server = Server(clock)
        stub.on(nil, "**").answer(.text("the same", headers: ["Cache-Control": "max-age=100"]))
        for user in ["a", "b", "a"] { _ = try await get(process(server.access()), [.bearer(user)]) }
        #expect(server.values.all.count { $0.key.contains(":body:") } == 2 && stub.requests.count == 2)
    }

    @Test func whatCannotBeEncryptedIsNotStored() async throws {
        let server = Server(clock)
        answer("max-age=100")
        let store = Access(server, TestCipher(key: "k", isBroken: true))
        for number in 1...2 { #expect(try await get(process(store), [.bearer("a")]) == "\(number) ") }
        #expect(server.values.count == 0)
    }

    // MARK: Tokens

    private func authenticator(_ store: any SharedStore, _ tokens: Counter) throws -> Authenticator {
        let authenticator = Authenticator { refresh in
            let number = tokens.next()
            #expect(refresh.refreshToken == (number == 1 ? nil : "refresh \(number - 1)"))
            if number == 3 { throw APIError.invalidRequest("reason 3") }
            return .init("token \(number)", lifetime: 100, refreshToken: "refresh \(number)")
        }
        try authenticator.share(by: store, key: "partner", StoreOptions(timeout: patience))
        return authenticator
    }

    private func client(_ authenticator: Authenticator) -> TestClient {
        let client = TestClient(at: "https://api.test/")
        client.clock = clock
        client.stub = stub
        client.authenticator = authenticator
        return client
    }

    @Test func tokensAreEncrypted() async throws {
        let (server, tokens) = (Server(clock), Counter())
        stub.on(nil, "**").answer { .text($0.headers["Authorization"] ?? "") }
        for round in 1...2 {
            for _ in 0..<2 {
                let text = await client(try authenticator(server.access(), tokens)).response("x").text
                #expect(text == "Bearer token \(round)")
            }
            clock.advance(by: 200)
        }
        // The failure of another process, with its reason.
        for _ in 0..<2 {
            let error = await client(try authenticator(server.access(), tokens)).response("x").error
            #expect(error?.message.contains("reason 3") == true, "\(error?.message ?? "")")
        }
        #expect(!server.knows("token ", "refresh ", "reason"))
        // Each value is bound to its field: it cannot take the place of another.
        let put = try #require(server.seen.all.first { $0.contains("\nput\n") }).split(
            separator: "\n", omittingEmptySubsequences: false)
        let refreshToken = try #require(put.last.flatMap { Base64.decode(String($0)) })
        let key = "ntapi:1:{partner}:token:encrypted"
        #expect(isOf("\(key):refreshToken", refreshToken))
        #expect(!isOf("\(key):token", refreshToken) && !isOf("\(key):failure", refreshToken))
        #expect(server.seen.all.contains { $0.contains("take") } && server.seen.all.contains { $0.contains("put") })
    }

    @Test func withoutItsKeyATokenIsNotUsed() async throws {
        let (server, tokens) = (Server(clock), Counter())
        let end = MonotonicTime.now().advanced(bySeconds: patience)
        stub.on(nil, "**").answer { .text($0.headers["Authorization"] ?? "") }
        let other = try authenticator(server.access("other"), tokens)
        _ = await client(other).response("x")
        for _ in 0..<2 {
            let error = await client(try authenticator(server.access("k"), tokens)).response("x").error
            let text = error?.message ?? ""
            #expect(error?.code == .storeFailed && text.contains("same keys") && text.contains("not mine"), "\(text)")
            clock.advance(by: 200)
        }
        // The authenticator has given back the turn that it could not use, so nobody waits for it.
        while !server.seen.all.contains(where: { $0.contains("\nleave\n") }) {
            try #require(MonotonicTime.now() < end)
            await Task.yield()
        }
        #expect(await client(other).response("x").text == "Bearer token 2")
        // The program can replace it.
        let third = try authenticator(server.access("k"), tokens)
        third.setToken(.init("new"))
        #expect(await client(third).response("x").text == "Bearer new")
    }

    /// Processes without keys have their own values, which are not encrypted.
    @Test func withAndWithoutKeysNothingIsShared() async throws {
        let (server, tokens) = (Server(clock), [Counter(), Counter()])
        stub.on(nil, "**").answer { .text($0.headers["Authorization"] ?? "") }
        for (index, key) in ["k", nil].enumerated() {
            for _ in 0..<2 {
                let authenticator = try authenticator(server.access(key), tokens[index])
                #expect(await client(authenticator).response("x").text == "Bearer token 1")
            }
        }
    }

    /// For the cache, processes with one token are one user, also after a refresh.
    @Test func aSharedTokenIsOneUser() async throws {
        let (server, tokens) = (Server(clock), Counter())
        answer("private, max-age=1000")
        let authenticators = try (0..<3).map { _ in try authenticator(server.access(), tokens) }
        func get(_ index: Int) async throws -> String {
            let client = try process(server.access())
            client.authenticator = authenticators[index]
            return try await self.get(client)
        }
        for index in 0..<3 { #expect(try await get(index) == "1 ") }
        clock.advance(by: 200)
        for index in 0..<3 { #expect(try await get(index) == "1 ") }
        #expect(tokens.next() == 3, "there was a refresh")
        /// Waits until the store has the token. Before that, another process may refresh the expired one.
        func replace(by text: String) async throws {
            let (before, end) = (server.done.count, MonotonicTime.now().advanced(bySeconds: patience))
            authenticators[0].setToken(.init(text, lifetime: 100))
            while !server.done.all.dropFirst(before).contains("set") {
                try #require(MonotonicTime.now() < end)
                await Task.yield()
            }
        }
        // The new token may be another user's. This process knows at once, the others when they read the store.
        try await replace(by: "another")
        #expect(try await get(0) == "2 ")
        clock.advance(by: 200)
        try await replace(by: "another still")
        #expect(try await get(0) != "1 ")
        #expect(try await get(1) != "1 ")
    }

    private func client(_ authenticator: Authenticator, _ server: Server) throws -> APIClient {
        let client = try process(server.access())
        client.authenticator = authenticator
        return client
    }

    /// A program may begin with any token, and many processes with the same one.
    @Test func aTokenOfOneProcessSaysNothingOfItsUser() async throws {
        let server = Server(clock)
        stub.on(nil, "**").answer { request in
            guard let token = request.headers["Authorization"], token != "Bearer expired" else { return .status(401) }
            return .text(token, headers: ["Cache-Control": "private, max-age=100"])
        }
        for user in ["ann", "bob"] {
            let authenticator = Authenticator(token: .init("expired")) { _ in .init(user, lifetime: 1000) }
            for _ in 0..<2 { #expect(try await get(client(authenticator, server)) == "Bearer \(user)") }
        }
    }

    /// The store failed, so it has not told whose token the new one is.
    @Test func aTokenOfAnUnknownUserIsNobodyElses() async throws {
        let (server, tokens) = (Server(clock), Counter())
        answer("private, max-age=1000")
        let (one, other) = (try authenticator(server.access(), tokens), try authenticator(server.access(), tokens))
        #expect(try await get(client(one, server)) == "1 ")
        other.setToken(.init("bob's", lifetime: 10, refreshToken: "refresh 1"))
        _ = try await get(client(other, server))
        clock.advance(by: 200)
        server.fails.withLock { $0 = ["put"] }
        #expect(try await get(client(one, server)) != "1 ")
    }

    /// A program that removes its token may log in another user.
    @Test func afterALogOutItIsAnotherUser() async throws {
        let (server, tokens) = (Server(clock), Counter())
        answer("private, max-age=1000")
        let authenticator = try authenticator(server.access(), tokens)
        for _ in 0..<2 { #expect(try await get(client(authenticator, server)) == "1 ") }
        authenticator.setToken(nil)
        for _ in 0..<2 { #expect(try await get(client(authenticator, server)) != "1 ") }
    }
}
