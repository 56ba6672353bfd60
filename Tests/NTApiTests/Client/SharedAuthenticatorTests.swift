import Testing

@testable import NTApi

/// Authenticators that share a token through a store. Each one stands for a process.
@Suite struct SharedAuthenticatorTests {
    /// The clock of the store, which a test advances.
    private let clock = ManualClock()

    /// A server that accepts each refresh token once, as many servers do. A second use ends the log-in.
    private final class Server: Sendable {
        private struct State {
            var number = 0
            var isExpired = true
            var isOver = false
        }

        private let state = Lock(State())
        let refreshTokens = Log<String?>()
        let stub = Stub()

        init(number: Int = 0) {
            state.withLock { $0.number = number }
            stub.on(nil, "hang").answer(.status(200, delay: 1e6))
            stub.on(nil, "**").answer { [state] request in
                let right = state.withLock { $0.isExpired ? nil : "Bearer t\($0.number)" }
                return .status(request.headers["Authorization"] == right ? 200 : 401)
            }
        }

        func expire() { state.withLock { $0.isExpired = true } }
        func endLogIn() { state.withLock { ($0.isExpired, $0.isOver) = (true, true) } }
        func accept() { state.withLock { $0.isExpired = false } }

        func refresh(_ refreshToken: String?) throws -> Authenticator.Token {
            refreshTokens.append(refreshToken)
            let number = state.withLock { state -> Int? in
                if state.isOver || refreshToken != (state.number == 0 ? nil : "r\(state.number)") {
                    state.isOver = true
                    return nil
                }
                state.number += 1
                state.isExpired = false
                return state.number
            }
            guard let number else {
                throw APIError(domain: .http, code: .httpError, message: "invalid_grant", httpStatus: 400)
            }
            return .init("t\(number)", lifetime: 3600, refreshToken: "r\(number)")
        }
    }

    /// A store that the test answers itself, or that records the questions to another store.
    private final class TestStore: SharedStore {
        let calls = Log<(arguments: [String], call: StoreCall)>()
        private let other: MemoryStore?

        init(_ other: MemoryStore? = nil) { self.other = other }

        func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
            #expect(keys == ["ntapi:1:{partner}:token"])
            // Append before the reply, because the next question may follow the reply.
            calls.append((arguments, call))
            other?.run(script, keys: keys, arguments: arguments, call)
        }

        /// The call with this number. The test fails if it has another verb.
        func call(_ index: Int, _ verb: String) async throws -> (arguments: [String], call: StoreCall) {
            let found = try await calls.element(index)
            try #require(found.arguments[0] == verb)
            return found
        }
    }

    private func process(
        _ server: Server, _ store: any SharedStore, _ options: StoreOptions = StoreOptions(timeout: patience),
        clock: ManualClock? = nil, token: Authenticator.Token? = nil,
        refresh: (@Sendable (TokenRefresh) async throws -> Authenticator.Token?)? = nil
    ) throws -> TestClient {
        let client = TestClient(at: "https://api.test/")
        client.clock = clock
        client.stub = server.stub
        let authenticator = Authenticator(
            token: token, refresh: refresh ?? { try server.refresh($0.refreshToken) })
        try authenticator.share(by: store, key: "partner", options)
        client.authenticator = authenticator
        return client
    }

    /// A request of each, all at once.
    private func get(_ clients: [TestClient]) async -> [APIResponse] {
        await withTaskGroup(of: APIResponse.self) { group in
            for client in clients { group.addTask { await client.response("x") } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Begins a request whose response goes to a log. If a test fails, it does not wait for the response.
    private func begin(_ client: TestClient, _ args: [APIArg] = []) -> Log<APIResponse> {
        let ended = Log<APIResponse>()
        client.begin("x", args: [.responseThread(.background)] + args, handler: { ended.append($0) })
        return ended
    }

    /// Asks the store as another process would.
    private func ask(_ store: any SharedStore, _ ask: SharedToken.Ask) async throws -> SharedToken.Reply {
        let replies = Log<Result<[String], StoreProblem>>()
        store.run(
            .token, keys: ["ntapi:1:{partner}:token"], arguments: ask.arguments(1),
            StoreCall { replies.append($0.map(\.texts)) })
        return try await replies.element(0).flatMap(SharedToken.Reply.read).get()
    }

    private let take = SharedToken.Ask.take(fence: 0, isRejected: false, turn: 10_000_000, refreshToken: "")

    // MARK: One token

    @Test func oneRefreshForAllProcesses() async throws {
        let (server, store) = (Server(), MemoryStore(clock: clock))
        let processes = try (0..<10).map { _ in try process(server, store) }
        for _ in 0..<5 {
            let responses = await get(processes + processes)
            #expect(responses.allSatisfy { $0.status == 200 }, "\(responses.map(\.error))")
            server.expire()
        }
        #expect(server.refreshTokens.all == [nil, "r1", "r2", "r3", "r4"])
        // A process that begins later.
        server.accept()
        #expect(await get([try process(server, store)]).allSatisfy { $0.status == 200 && $0.metrics.retries == 0 })
        #expect(server.refreshTokens.count == 5)
    }

    @Test func aFailedRefreshFailsAllProcessesOnce() async throws {
        let (server, store) = (Server(), MemoryStore(clock: clock))
        let processes = try (0..<10).map { _ in try process(server, store) }
        #expect(await get(processes).allSatisfy { $0.status == 200 })
        server.endLogIn()
        let errors = await get(processes).map(\.error)
        #expect(errors.allSatisfy { $0?.code == .authentication && $0?.httpStatus == 400 && $0?.isRetryable == false })
        let messages = errors.compactMap { $0?.message }.sorted()
        #expect(messages.last?.hasPrefix("the token could not be refreshed: invalid_grant") == true)
        let other = "another process could not refresh the token: invalid_grant"
        #expect(messages.dropLast().count == 9 && messages.dropLast().allSatisfy { $0.hasPrefix(other) })
        #expect(server.refreshTokens.all == [nil, "r1"])
    }

    @Test func aRefreshThatDeclinesKeepsTheToken() async throws {
        let (server, store) = (Server(), MemoryStore(clock: clock))
        let other = try process(server, store)
        #expect(await get([other])[0].status == 200)
        let declines = try process(server, store, refresh: { _ in nil })
        server.expire()
        #expect(await get([declines])[0].status == 401)
        server.accept()
        #expect(await get([try process(server, store)])[0].status == 200)
        #expect(server.refreshTokens.count == 1)
    }

    @Test func aTokenOfTheProgramReplacesThatOfAll() async throws {
        let (server, store) = (Server(), TestStore(MemoryStore(clock: clock)))
        let (one, other) = (try process(server, store), try process(server, store))
        #expect(await get([one, other]).allSatisfy { $0.status == 200 })
        // Another user logs in.
        let new = Server(number: 7)
        new.accept()
        for client in [one, other] { client.stub = new.stub }
        one.authenticator?.setToken(.init("t7", lifetime: 3600, refreshToken: "r7"))
        try await wait { store.calls.all.contains { $0.arguments.contains("t7") } }
        #expect(await get([one, other]).allSatisfy { $0.status == 200 })
        #expect(server.refreshTokens.count == 1 && other.authenticator?.token == "t7")
        let fresh = try process(new, store) { try new.refresh($0.refreshToken) }
        other.authenticator?.setToken(nil)
        #expect(await get([fresh])[0].status == 200)
        #expect(new.refreshTokens.count == 0)
    }

    /// Another process sets the token of another user. The cache still has the first user's response.
    @Test func theCacheOfAUserIsNotShownToAnother() async throws {
        let store = TestStore(MemoryStore(clock: clock))
        let stub = Stub()
        stub.on(nil, "**").answer { request in
            .text(request.headers["Authorization"] ?? "", headers: ["Cache-Control": "private, max-age=1000"])
        }
        let clients = try (0..<2).map { _ in
            var configuration = SessionConfiguration.ephemeral
            configuration.cache = HTTPCache(memoryCapacity: 1 << 20)
            let client = APIClient(baseURL: "https://api.test/", configuration: configuration)
            client.clock = clock
            client.stub = stub
            client.authenticator = Authenticator { _ in .init("ann", lifetime: 50) }
            try client.authenticator?.share(by: store, key: "partner", StoreOptions(timeout: patience))
            return client
        }
        for _ in 0..<2 { #expect(await clients[0].response("x").text == "Bearer ann") }
        #expect(stub.requests.count == 1)
        clients[1].authenticator?.setToken(.init("bob"))
        _ = try await store.call(2, "set")
        clock.advance(by: 50)
        #expect(await clients[0].response("x").text == "Bearer bob")
    }

    /// A new process knows an older token than the store, or the same one, but has not asked the store yet.
    @Test(arguments: ["t1", "t2"]) func aTokenOfTheStoreThatIsRejectedIsRefreshed(_ known: String) async throws {
        let (server, store) = (Server(), MemoryStore(clock: clock))
        let one = try process(server, store)
        for _ in 0..<2 {
            #expect(await get([one])[0].status == 200)
            server.expire()
        }
        let response = await get([try process(server, store, token: .init(known))])[0]
        #expect(response.status == 200 && server.refreshTokens.all == [nil, "r1", "r2"])
        #expect(response.metrics.retries == (known == "t1" ? 2 : 1))
    }

    // MARK: Turns

    @Test func aProcessThatEndsIsReplaced() async throws {
        let (server, store) = (Server(), MemoryStore(clock: clock))
        #expect(try await ask(store, take) == .turn(fence: 0, refreshToken: ""))
        let asked = TestStore(store)
        let client = try process(server, asked)
        let response = begin(client)
        _ = await asked.calls.first(2)
        #expect(server.refreshTokens.count == 0)
        clock.advance(by: 10)
        #expect(try await response.element(0).status == 200)
    }

    @Test func aTurnIsKeptWhileTheRefreshRuns() async throws {
        let (server, store) = (Server(), MemoryStore(clock: clock))
        let (asked, hasBegun, mayEnd) = (TestStore(store), Signal(), Signal())
        let client = try process(server, asked, clock: clock) { refresh in
            hasBegun.set()
            await mayEnd.wait()
            return try server.refresh(refresh.refreshToken)
        }
        let response = begin(client)
        _ = try await asked.call(0, "take")
        // The authenticator has now set the time at which it extends its turn.
        await hasBegun.wait()
        for number in 1...5 {
            clock.advance(by: 3.4)
            _ = try await asked.call(number, "keep")
        }
        // The turn ends 10 s after the last "keep".
        #expect(try await ask(store, take) == .wait(10_000_000))
        mayEnd.set()
        #expect(try await response.element(0).status == 200)
        #expect(try await asked.call(6, "put").arguments[3...5] == ["t1", "3600000000", "r1"])
    }

    /// The client is closed, which also ends the request of its refresh. That says nothing about the token.
    @Test func aClientThatIsClosedGivesItsTurnBack() async throws {
        let (server, store) = (Server(), TestStore(MemoryStore(clock: clock)))
        let client = try process(server, store) { refresh in
            _ = try await refresh.client.send("hang")
            return nil
        }
        let response = begin(client)
        try await server.stub.waitForRequests(1)
        client.close()
        // Either the request is cancelled, or its refresh fails first.
        let code = try await response.element(0).error?.code
        #expect(code == .cancelled || code == .authentication)
        // On a busy machine, the turn was kept before.
        try await wait { store.calls.all.last?.arguments[0] == "leave" }
        #expect(await get([try process(server, store)])[0].status == 200)
    }

    @Test func aRefreshThatTakesTooLongMayStillSucceed() async throws {
        let store = TestStore(MemoryStore(clock: clock))
        let asked = Log<TokenRefresh>()
        let server = Server()
        let client = TestClient(at: "https://api.test/")
        client.clock = clock
        client.stub = server.stub
        let authenticator = Authenticator(timeout: 5, answering: { asked.append($0) })
        try authenticator.share(by: store, key: "partner")
        client.authenticator = authenticator
        let response = begin(client, [.timeout(100)])
        let refresh = try await asked.element(0)
        clock.advance(by: 5)
        #expect(
            try await response.element(0).error?.message.hasPrefix("the token was not refreshed within 5.0 s") == true)
        // A token that comes late is still used, by all processes.
        refresh.succeed(try server.refresh(refresh.refreshToken))
        try await wait { store.calls.all.contains { $0.arguments[0] == "put" } }
        #expect(await get([try process(server, store)])[0].status == 200 && server.refreshTokens.count == 1)
    }

    // MARK: Stores that fail

    @Test func whileAStoreFailsTokensAreUsedAndNotRefreshed() async throws {
        let (server, store) = (Server(), TestStore())
        let client = try process(server, store, StoreOptions(timeout: 2), clock: clock)
        let first = begin(client)
        try await store.call(0, "take").call.reply(["turn", "0", ""])
        try await store.call(1, "put").call.reply(["token", "5", "t1", "3600000000", "r1", "1"])
        #expect(try await first.element(0).status == 200)
        #expect(await client.response("x").status == 200)
        server.expire()
        let second = begin(client)
        let asked = try await store.call(2, "take")
        #expect(asked.arguments[2...] == ["5", "1", "10000000", "r1"])
        asked.call.fail("no route")
        let error = try await second.element(0).error
        #expect(error?.code == .storeFailed && error?.isRetryable == true)
        #expect(error?.message.hasPrefix("the token is kept in a store, which has failed: no route") == true)
        // For a second after the failure, it does not ask the store.
        #expect(await client.response("x").error?.code == .storeFailed)
        clock.advance(by: 1)
        let third = begin(client)
        let late = try await store.call(3, "take")
        clock.advance(by: 2)
        #expect(try await third.element(0).error?.message.contains("it has not replied in 2 s") == true)
        // The client no longer owns a turn that comes too late, so it gives the turn back.
        late.call.reply(["turn", "5", "r1"])
        try await store.call(4, "leave").call.reply(["done"])
        clock.advance(by: 1)
        let last = begin(client)
        try await store.call(5, "take").call.reply(["turn", "5", "r1"])
        try await store.call(6, "put").call.reply(["token", "9", "t2", "", "r2", "1"])
        #expect(try await last.element(0).status == 200)
        #expect(server.refreshTokens.all == [nil, "r1"])
    }

    /// Gets a first token. The store fails when it should save this token.
    private func getFirstToken(_ client: TestClient, _ store: TestStore) async throws {
        let response = begin(client)
        try await store.call(0, "take").call.reply(["turn", "4", ""])
        try await store.call(1, "put").call.fail("full")
        #expect(try await response.element(0).status == 200)
    }

    /// The authenticator offers the new token to the store every second, until the store has saved it.
    @Test func aNewTokenIsToldUntilTheStoreHasIt() async throws {
        let (server, store) = (Server(), TestStore())
        let client = try process(server, store, StoreOptions(timeout: 2), clock: clock)
        try await getFirstToken(client, store)
        for number in 2...4 {
            clock.advance(by: 1)
            let told = try await store.call(number, "put")
            let left = Int64(told.arguments[4]) ?? 0
            #expect(told.arguments[2...3] == ["4", "t1"] && left == 3_600_000_000 - Int64(number - 1) * 1_000_000)
            if number < 4 { told.call.fail("full") } else { told.call.reply(["token", "8", "t1", "", "r1", "1"]) }
        }
        server.expire()
        let second = begin(client)
        let asked = try await store.call(5, "take")
        #expect(asked.arguments[2...] == ["8", "1", "10000000", "r1"])
        // The server does not accept this one either.
        asked.call.reply(["token", "9", "t2", "", "", "1"])
        let again = try await store.call(6, "take")
        #expect(again.arguments[2...] == ["9", "1", "10000000", ""])
        again.call.reply(["failed", "invalid_grant", "400", ""])
        let error = try await second.element(0).error
        #expect(error?.code == .authentication && error?.httpStatus == 400)
    }

    /// The store still has an older refresh token, which the server has already accepted once.
    @Test func whileAStoreLacksATokenNoneIsRefreshed() async throws {
        let (server, store) = (Server(), TestStore())
        let client = try process(server, store, StoreOptions(timeout: 2), clock: clock)
        try await getFirstToken(client, store)
        server.expire()
        let second = begin(client)
        try await store.call(2, "put").call.fail("full")
        #expect(try await second.element(0).error?.code == .storeFailed)
        #expect(server.refreshTokens.all == [nil])
    }

    @Test func aTokenOfTheProgramIsNotReplacedByARefreshThatBeganBefore() async throws {
        let (server, store, mayEnd) = (Server(number: 7), TestStore(), Signal())
        server.accept()
        let client = try process(server, store, StoreOptions(timeout: 2), clock: clock) { _ in
            await mayEnd.wait()
            return .init("old", refreshToken: "o")
        }
        let response = begin(client)
        try await store.call(0, "take").call.reply(["turn", "4", ""])
        client.authenticator?.setToken(.init("t7", refreshToken: "r7"))
        try await store.call(1, "set").call.fail("full")
        #expect(try await response.element(0).status == 200)
        mayEnd.set()
        clock.advance(by: 1)
        #expect(try await store.call(2, "set").arguments[3...] == ["t7", "", "r7"])
    }

    @Test func tokensOfOtherProcessesAreNotTriedForEver() async throws {
        let store = TestStore()
        let client = try process(Server(), store, StoreOptions(timeout: 2), clock: clock)
        let response = begin(client)
        try await store.call(0, "take").call.reply(["token", "4", "a", "", "", "1"])
        for number in 1...2 {
            let again = try await store.call(number, "take")
            #expect(again.arguments[2...3] == ["\(number + 3)", "1"])
            again.call.reply(["token", "\(number + 4)", "t\(number)", "", "", "1"])
        }
        #expect(try await response.element(0).status == 401 && store.calls.count == 3)
    }

    /// The refresh token r0 may be that of an earlier user. The store's newer token has none, so r0 is not used.
    @Test func aRefreshTokenThatTheStoreLacksIsNotUsed() async throws {
        let (server, store) = (Server(), TestStore())
        let client = try process(server, store, StoreOptions(timeout: 2), clock: clock)
        let response = begin(client)
        try await store.call(0, "take").call.reply(["token", "4", "a", "", "r0", "1"])
        try await store.call(1, "take").call.reply(["token", "5", "b", "", "", "1"])
        try await store.call(2, "take").call.reply(["turn", "5", ""])
        try await store.call(3, "put").call.reply(["token", "6", "t1", "", "r1", "1"])
        #expect(try await response.element(0).status == 200 && server.refreshTokens.all == [nil])
    }

    @Test func whatCannotBeSentIsNotShared() async throws {
        let (server, store) = (Server(), TestStore(MemoryStore(clock: clock)))
        let client = try process(server, store)
        for token in [Authenticator.Token("a", refreshToken: "b\0"), .init("a\nb"), .init("")] {
            client.authenticator?.setToken(token)
        }
        client.authenticator?.setToken(nil)
        #expect(await get([client])[0].status == 200)
        _ = try await store.call(0, "take")
        _ = try await store.call(1, "put")
        #expect(store.calls.count == 2)
    }

    @Test func anEmptyTokenIsRefused() async throws {
        let client = try process(Server(), MemoryStore()) { _ in .init("") }
        #expect(await client.response("x").error?.message.contains("the new token is empty") == true)
    }

    @Test func eachProcessRefreshesAloneIfItMay() async throws {
        let (server, store) = (Server(), TestStore())
        let options = StoreOptions(timeout: 2, onFailure: .local)
        let client = try process(server, store, options, clock: clock)
        let response = begin(client)
        try await store.call(0, "take").call.fail("no route")
        try await store.call(1, "put").call.fail("no route")
        #expect(try await response.element(0).status == 200 && server.refreshTokens.all == [nil])
    }

    @Test func aReplyOfAnotherScriptIsAFailure() async throws {
        for reply in [[], ["turn"], ["done"], ["token", "1", "s3cret"]] {
            let store = TestStore()
            let client = try process(Server(), store)
            let response = begin(client)
            try await store.call(0, "take").call.reply(reply)
            let error = try await response.element(0).error
            #expect(error?.code == .storeFailed)
            #expect(error?.message.contains("its reply is none of the script ntapi.token.1") == true)
            #expect(error?.message.contains("s3cret") == false)
        }
    }

    @Test func wrongOptionsAreRefused() throws {
        let (authenticator, store) = (Authenticator { _ in nil }, MemoryStore())
        for (key, options, problem) in [
            ("", StoreOptions(), "the key \"\" must have 1 to 200 bytes"),
            ("a}", StoreOptions(), "no braces"),
            ("a", StoreOptions(timeout: 0), "timeout is 0.0: it must be above 0"),
            ("a", StoreOptions(onFailure: .open), "it is local or closed, not open"),
            ("a", StoreOptions(lease: 0.05), "the store's lease is 0.05: it must be from 0.1"),
            ("a", StoreOptions(lease: .nan), "the store's lease is nan"),
        ] {
            let error = thrown { try authenticator.share(by: store, key: key, options) }
            #expect(
                error?.code == .invalidRequest && error?.message.contains(problem) == true, "\(error?.message ?? "")")
        }
    }

    @Test func aRefreshTokenNeedsNoStore() async throws {
        let server = Server()
        let client = TestClient(at: "https://api.test/")
        client.stub = server.stub
        client.authenticator = Authenticator { try server.refresh($0.refreshToken) }
        for _ in 0..<3 {
            #expect(await client.response("x").status == 200)
            server.expire()
        }
        #expect(server.refreshTokens.all == [nil, "r1", "r2"])
        // The refresh token of another user.
        client.authenticator?.setToken(.init("x", refreshToken: "mine"))
        #expect(await client.response("x").error?.code == .authentication)
        #expect(server.refreshTokens.all.last == "mine")
        client.authenticator?.setToken(.init("x"))
        #expect(await client.response("x").error?.code == .authentication && server.refreshTokens.count == 5)
        #expect(server.refreshTokens.all.last == .some(nil))
    }

    @Test func aRefreshTokenWithAZeroByteIsRefused() async throws {
        let client = try process(Server(), MemoryStore()) { _ in .init("a", refreshToken: "a\0b") }
        #expect(await client.response("x").error?.message.contains("the refresh token has a zero byte") == true)
    }
}
