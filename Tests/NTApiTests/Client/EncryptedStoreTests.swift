import Testing

@testable import NTApi

/// Stores that encrypt: what they get to see, and what processes share then. Each client stands for a process.
@Suite struct EncryptedStoreTests {
    private let clock = ManualClock()
    private let stub = Stub()

    /// No real one: it hides the value, and finds out whether key and context are the same.
    private struct TestCipher: StoreCipher {
        let key: String
        var isBroken = false

        func encrypt(_ value: [UInt8], context: String) -> [UInt8]? {
            isBroken ? nil : Array(tag(value, context).utf8) + mixed(value)
        }

        func decrypt(_ value: [UInt8], context: String) -> [UInt8]? {
            let plain = mixed(Array(value.dropFirst(64)))
            return Array(value.prefix(64)) == Array(tag(plain, context).utf8) ? plain : nil
        }

        private func mixed(_ value: [UInt8]) -> [UInt8] { value.map { $0 ^ 0xA5 } }

        private func tag(_ value: [UInt8], _ context: String) -> String {
            SHA256.hex("\(key)\n\(context)\n\(Base64.encode(value))")
        }
    }

    /// One store, as a process with its key sees it.
    private final class Access: SharedStore {
        let cipher: (any StoreCipher)?
        private let server: Server

        init(_ server: Server, _ cipher: TestCipher?) {
            self.server = server
            self.cipher = cipher
        }

        func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
            server.seen.append(keys.joined(separator: "\n") + "\n" + arguments.joined(separator: "\n"))
            server.store.run(script, keys: keys, arguments: arguments, call)
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
        /// Texts and values that it was given.
        let seen = Log<String>()
        let values = Log<(key: String, value: [UInt8])>()

        init(_ clock: ManualClock) { store = MemoryStore(clock: clock) }

        func access(_ key: String? = "k") -> Access { Access(self, key.map { TestCipher(key: $0) }) }

        /// Whether it has seen one of these texts.
        func knows(_ texts: String...) -> Bool {
            let all = seen.all + values.all.map { String(decoding: $0.value, as: UTF8.self) }
            return all.contains { text in texts.contains { text.contains($0) } }
        }

        /// Puts a value in another place.
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

    /// Each answer has a number.
    private func answer(_ cacheControl: String, _ text: String = "") {
        let number = Atomics()
        stub.on(nil, "**").answer { request in
            .text("\(number.next()) \(text)", headers: ["Cache-Control": cacheControl, "ETag": "\"etag of it\""])
        }
    }

    private final class Atomics: Sendable {
        private let value = Lock(0)
        func next() -> Int {
            value.withLock {
                $0 += 1
                return $0
            }
        }
    }

    /// One after the other; each waits until the store has what it has loaded.
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
        // Neither those without, nor those of another user.
        if !args.isEmpty { #expect(try await get(process(server.access())).hasPrefix("2")) }
        #expect(try await get(process(server.access()), [.bearer("other")]) != "1 and a text")
        #expect(server.values.count > 0)
        #expect(!server.knows("secret", "and a text", "etag of it", "max-age", "api.test"))
    }

    /// A private response is its user's, in all processes.
    @Test func privateResponsesOfAUserAreShared() async throws {
        let server = Server(clock)
        answer("private, max-age=100")
        for _ in 0..<2 {
            #expect(try await get(process(server.access()), [.bearer("a")]) == "1 ")
            // A request without credentials is nobody's.
            #expect(try await get(process(server.access())) != "1 ")
        }
        #expect(stub.requests.count == 3)
    }

    /// Cookies and certificates say who the user is, too, and are not compared.
    @Test func requestsWithCookiesAreNotShared() async throws {
        let server = Server(clock)
        answer("max-age=100")
        for _ in 0..<2 { _ = try await get(process(server.access()), [.header("Cookie", "a=b"), .bearer("a")]) }
        #expect(stub.requests.count == 1, "a Cookie header of the program is compared")
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
        // What is not encrypted may be anybody's.
        #expect(try await get(process(server.access("k"))) == "4 ")
    }

    /// A value that was moved to another place cannot be read there.
    @Test func valuesAreBoundToTheirPlace() async throws {
        let server = Server(clock)
        stub.on(nil, "**").answer { .text($0.url, headers: ["Cache-Control": "max-age=100"]) }
        for path in ["x", "y"] { _ = try await get(process(server.access()), path: path) }
        let client = try process(server.access())
        let bodies = server.values.all.filter { $0.key.contains(":body:") }
        let records = server.values.all.filter { $0.key.contains(":new:") }
        try #require(bodies.count == 2 && records.count == 2)
        for (from, to) in [(0, 1), (1, 0)] {
            #expect(TestCipher(key: "k").decrypt(bodies[from].value, context: bodies[from].key) != nil)
            #expect(TestCipher(key: "k").decrypt(bodies[from].value, context: bodies[to].key) == nil)
            server.move(bodies[from].value, to: bodies[to].key)
            let tag = try #require(records[to].key.split(separator: "}").first)
            server.move(records[from].value, to: "\(tag)}:responses")
        }
        for path in ["x", "y"] {
            #expect(await client.response(path).text == "https://api.test/\(path)")
        }
        #expect(stub.requests.count == 4)
    }

    @Test func whatCannotBeEncryptedIsNotStored() async throws {
        let server = Server(clock)
        answer("max-age=100")
        let store = Access(server, TestCipher(key: "k", isBroken: true))
        for number in 1...2 { #expect(try await get(process(store), [.bearer("a")]) == "\(number) ") }
        #expect(server.values.count == 0)
    }

    // MARK: Tokens

    private func authenticator(_ store: any SharedStore, _ tokens: Atomics) throws -> Authenticator {
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
        let (server, tokens) = (Server(clock), Atomics())
        stub.on(nil, "**").answer { .text($0.headers["Authorization"] ?? "") }
        for round in 1...2 {
            for _ in 0..<2 {
                let text = await client(try authenticator(server.access(), tokens)).response("x").text
                #expect(text == "Bearer token \(round)")
            }
            clock.advance(by: 200)
        }
        // A failure of another process, with its reason.
        for _ in 0..<2 {
            let error = await client(try authenticator(server.access(), tokens)).response("x").error
            #expect(error?.message.contains("reason 3") == true, "\(error?.message ?? "")")
        }
        #expect(!server.knows("token ", "refresh ", "reason"))
        #expect(server.seen.all.contains { $0.contains("take") } && server.seen.all.contains { $0.contains("put") })
    }

    @Test(arguments: ["other", nil]) func withoutItsKeyATokenIsNotUsed(_ key: String?) async throws {
        let (server, tokens) = (Server(clock), Atomics())
        stub.on(nil, "**").answer { .text($0.headers["Authorization"] ?? "") }
        _ = await client(try authenticator(server.access(key), tokens)).response("x")
        let error = await client(try authenticator(server.access("k"), tokens)).response("x").error
        #expect(error?.code == .storeFailed && error?.message.contains("same keys") == true, "\(error?.message ?? "")")
        // The program can replace it.
        let other = try authenticator(server.access("k"), tokens)
        other.setToken(.init("new"))
        #expect(await client(other).response("x").text == "Bearer new")
    }

    /// Processes with one token are one user to the cache, also after a refresh.
    @Test func aSharedTokenIsOneUser() async throws {
        let (server, tokens) = (Server(clock), Atomics())
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
        // Another user may have logged in: for the process that does it, and for the others once they know it.
        authenticators[0].setToken(.init("another", lifetime: 100))
        #expect(try await get(0) == "2 ")
        clock.advance(by: 200)
        authenticators[0].setToken(.init("another still", lifetime: 100))
        #expect(try await get(0) != "1 ")
        #expect(try await get(1) != "1 ")
    }
}
