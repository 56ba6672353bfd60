import Testing

@testable import NTApi

/// The requests of a session try stored credentials before they ask the program.
@Suite struct StoredCredentialTests {
    /// A session that answers challenges, and records its decisions and log lines.
    private final class Session: APIClient, @unchecked Sendable {
        // Safe to share: the logs are, and the rest is set before the first request.
        let asked = Log<AuthenticationChallenge>()
        let lines = Log<String>()
        var judge: @Sendable (RequestDecision) -> Void = { _ in }

        override func decide(_ decision: RequestDecision) {
            if let challenge = decision.challenge { asked.append(challenge) }
            judge(decision)
        }

        override func writeLog(_ level: LogLevel, _ message: String) { lines.append(message) }

        /// - Parameter judge: nil leaves out the decision hook.
        static func of(
            _ server: String, _ storage: CredentialStorage?, _ judge: (@Sendable (RequestDecision) -> Void)? = { _ in }
        ) throws -> Session {
            var configuration = SessionConfiguration.ephemeral
            configuration.proxy = ""
            configuration.caFile = try TestServers.url("ca")
            configuration.credentialStorage = storage
            let session = Session(baseURL: try TestServers.url(server), configuration: configuration)
            session.logFlags = .all
            if let judge {
                session.decisionKinds = .challenge
                session.judge = judge
            }
            return session
        }
    }

    private static let right = Credential(user: "user", password: "pässword")

    private func space(
        _ server: String, _ realm: String?, _ scheme: ProtectionSpace.AuthenticationScheme = .basic
    ) throws -> ProtectionSpace {
        let parts = try URLParts(try TestServers.url(server))
        return ProtectionSpace(
            scheme: parts.scheme, host: parts.host, port: parts.port, realm: realm, authenticationScheme: scheme)
    }

    private func storage(_ credential: Credential = Self.right, _ spaces: ProtectionSpace...) throws
        -> CredentialStorage
    {
        let storage = CredentialStorage()
        for space in spaces { try storage.set(credential, for: space) }
        return storage
    }

    private let digest: [APIArg] = [.url("user", "ann"), .url("password", "pw")]
    private let ann = Credential(user: "ann", password: "pw")

    // MARK: Servers

    @Test(arguments: [true, false]) func answersBasic(_ asks: Bool) async throws {
        var judge: (@Sendable (RequestDecision) -> Void)?
        if asks { judge = { _ in } }
        let session = try Session.of("nginx", storage(Self.right, space("nginx", "test")), judge)
        let response = try await session.send("auth/small.json")
        #expect(response.metrics.retries == 1 && session.asked.count == 0)
        let waited = await onThread { session.perform("auth/small.json") }
        #expect(waited.error == nil)
        #expect(
            session.lines.all.allSatisfy {
                !$0.containsSubstring("pässword") && !$0.containsSubstring("dXNlcjpww6Rzc3dvcmQ")
            })
    }

    @Test func answersDigest() async throws {
        let spaces = [
            try space("fault", #"the "SHA-256" realm"#, .digest), try space("fault", #"the "SHA-256" realm"#),
        ]
        let session = try Session.of("fault", storage(ann, spaces[0]))
        let response = try await session.send("digest/SHA-256", args: digest + [.form("a", "b")])
        #expect(response.json?["body"]?.string == "a=b" && session.asked.count == 0)
        // A credential for Basic is not used for Digest.
        let other = try Session.of("fault", storage(ann, spaces[1]))
        #expect(await other.response("digest/SHA-256", args: digest).status == 401 && other.asked.count == 1)
    }

    @Test func anotherRealmGetsNothing() async throws {
        let session = try Session.of("nginx", storage(Self.right, space("nginx", "other"), space("nginx", nil)))
        #expect(await session.response("auth/small.json").status == 401)
        #expect(session.asked.all.map(\.failures) == [0])
    }

    @Test func theDefaultIsUsed() async throws {
        let storage = try storage(Credential(user: "user", password: "no"), space("nginx", "test"))
        try storage.set(Credential(user: "other", password: "no"), for: space("nginx", "test"))
        try storage.setDefaultCredential(Self.right, for: space("nginx", "test"))
        #expect(try await Session.of("nginx", storage, nil).send("auth/small.json").status == 200)
    }

    @Test func whatIsRefusedIsAskedAbout() async throws {
        let wrong = Credential(user: "user", password: "wrong")
        let storage = try storage(wrong, space("nginx", "test"))
        let session = try Session.of("nginx", storage) { $0.use(user: "user", password: "pässword") }
        let response = try await session.send("auth/small.json")
        #expect(response.metrics.retries == 2 && session.asked.all.map(\.failures) == [1])
        #expect(session.asked.all.first?.protectionSpace == (try space("nginx", "test")))
        // It stays stored, because the program stored it.
        #expect(try storage.defaultCredential(for: space("nginx", "test")) == wrong)
        let nobody = try Session.of("nginx", storage, nil)
        let refused = await nobody.response("auth/small.json")
        #expect(refused.status == 401 && refused.metrics.retries == 1)
    }

    @Test func aSessionsOwnComesFirst() async throws {
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = ""
        configuration.user = "user"
        configuration.password = "no"
        configuration.credentialStorage = try storage(Self.right, space("nginx", "test"))
        let client = APIClient(baseURL: try TestServers.url("nginx"), configuration: configuration)
        #expect(try await client.send("auth/small.json").metrics.retries == 2)
    }

    @Test func whatTheProgramSaysItselfStands() async throws {
        let session = try Session.of("nginx", storage(Self.right, space("nginx", "test")))
        #expect(await session.response("auth/small.json", args: [.basicAuth("user", "no")]).status == 401)
        #expect(await session.response("auth/small.json", args: [.bearer("no")]).status == 401)
        #expect(session.asked.count == 0)
    }

    @Test func aClientWithoutAStorageAsksItsProgram() async throws {
        let session = try Session.of("nginx", nil)
        #expect(await session.response("auth/small.json").status == 401 && session.asked.count == 1)
    }

    /// The body of the challenge is not delivered.
    @Test func aDownloadIsWhatIsBehindTheChallenge() async throws {
        let folder = try TemporaryFolder()
        let session = try Session.of("nginx", storage(Self.right, space("nginx", "test")), nil)
        let request = session.request(
            "auth/small.json", args: [.option(.ignoreHTTPErrors), .responseThread(.background)])
        let (pieces, done) = (Log<[UInt8]>(), Log<APIResponse>())
        request.setDataHandler { pieces.append(Array($0)) }
        request.setHandler { done.append($0) }
        request.resume()
        _ = await done.first(1)
        let expected = try await TestClient.of("nginx").send("small.json").data
        #expect(pieces.all.flatMap { $0 } == Array(expected))
        let response = try await session.send("auth/small.json", args: [.download(to: "\(folder.path)/f")])
        #expect(response.status == 200 && folder.read("f") == Array(expected))
    }

    // MARK: Redirects

    @Test func aRedirectTakesNothingAlong() async throws {
        let token = "stored-\(UInt64.random(in: 0 ... .max))"
        let target = "\(try TestServers.url("fault_other"))/digest/MD5?user=ann&password=pw&token=\(token)"
        let basic = "Basic \(Base64.encode("ann:pw".utf8))"
        let args: [APIArg] = [.url("with", #"Basic realm="here""#), .url("unless", basic), .url("url", target)]
        let here = try space("fault", "here")
        let there = try space("fault_other", #"the "MD5" realm"#, .digest)
        let session = try Session.of("fault", storage(ann, here))
        let refused = await session.response("challenge", args: args)
        #expect(refused.status == 401 && session.asked.all.map(\.failures) == [0])
        #expect(session.asked.all.first?.protectionSpace == there)
        let seen = try await TestClient.of("fault").send("seen", args: [.url("token", token)]).json
        let requests = seen?["requests"]?.array ?? []
        #expect(!requests.isEmpty && requests.allSatisfy { $0[path: "header.authorization"] == nil }, "\(requests)")
        let both = try Session.of("fault", storage(ann, here, there))
        #expect(await both.response("challenge", args: args).status == 200 && both.asked.count == 0)
    }

    @Test func eachRealmOfAServerGetsItsOwn() async throws {
        let bob = Credential(user: "bob", password: "pw")
        let there = "/challenge?with=Basic%20realm=%22there%22&unless=Basic%20\(Base64.encode("bob:pw".utf8))"
        let args: [APIArg] = [
            .url("with", #"Basic realm="here""#), .url("unless", "Basic \(Base64.encode("ann:pw".utf8))"),
            .url("url", there),
        ]
        let storage = try storage(ann, space("fault", "here"))
        try storage.set(bob, for: space("fault", "there"))
        let session = try Session.of("fault", storage)
        let response = await session.response("challenge", args: args)
        #expect(response.status == 200 && response.metrics.retries == 2 && session.asked.count == 0)
    }

    // MARK: Proxies

    @Test(arguments: ["fault", "fault_tls"]) func answersAProxy(_ server: String) async throws {
        let words = try TestServers.url("proxy_credentials").split(separator: ":").map(String.init)
        let proxy = try TestServers.url("proxy_auth")
        let parts = try URLParts(proxy)
        let space = ProtectionSpace(scheme: "http", host: parts.host, port: parts.port, isProxy: true)
        let session = try Session.of(server, storage(Credential(user: words[0], password: words[1]), space))
        session.defaults["proxy"] = JSON(proxy)
        let response = try await session.send("echo", args: [.form("a", "b")])
        #expect(response.json?["body"]?.string == "a=b" && session.asked.count == 0)
        #expect(response.json?[path: "header[\"proxy-authorization\"]"] == nil)
        let waited = await onThread { session.perform("echo") }
        #expect(waited.error == nil)
        let wrong = try Session.of(server, storage(Credential(user: "no", password: "no"), space)) {
            $0.use(user: words[0], password: words[1])
        }
        wrong.defaults["proxy"] = JSON(proxy)
        #expect(try await wrong.send("echo").status == 200)
        #expect(wrong.asked.all.map(\.failures) == [1] && wrong.asked.all.map(\.protectionSpace) == [space])
    }

    // MARK: Answers that are kept

    @Test func aPermanentAnswerIsStoredOnceItIsRight() async throws {
        let (storage, space) = (CredentialStorage(), try space("nginx", "test"))
        let session = try Session.of("nginx", storage) { decision in
            // Nothing is stored yet, because the first answer was wrong.
            #expect((try? storage.all().isEmpty) == true)
            decision.use(
                user: "user", password: decision.challenge?.failures == 0 ? "wrong" : "pässword",
                persistence: .permanent)
        }
        _ = try await session.send("auth/small.json")
        #expect(try storage.credentials(for: space) == [Self.right] && session.asked.count == 2)
        // Another session finds it.
        let other = try Session.of("nginx", storage)
        _ = try await other.send("auth/small.json")
        #expect(other.asked.count == 0)
    }

    /// A gateway may fail before the server has checked the password.
    @Test(arguments: [503, 429]) func aFailureOfTheServerProvesNothing(_ status: Int) async throws {
        let storage = CredentialStorage()
        let session = try Session.of("nginx", storage) {
            $0.use(user: "user", password: "wrong", persistence: .permanent)
        }
        let (stub, asks) = (Stub(), StubAnswer.status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        session.stub = stub
        stub.on("GET", "x").answer(asks, .status(status))
        #expect(await session.response("x").status == status)
        #expect(try storage.all().isEmpty)
        stub.on("GET", "y").answer(asks, .status(status), .status(200))
        #expect(await session.response("y", args: [.retry(RetryPolicy(base: 0))]).status == 200)
        #expect(try storage.all().count == 1)
    }

    @Test func aWrongAnswerIsNeverStored() async throws {
        let storage = CredentialStorage()
        let session = try Session.of("nginx", storage) {
            $0.use(user: "user", password: "wrong", persistence: .permanent)
        }
        #expect(await session.response("auth/small.json").status == 401)
        #expect(try storage.all().isEmpty)
    }

    @Test func anAnswerForTheSessionIsNotStored() async throws {
        let storage = CredentialStorage()
        for (persistence, count) in [(Credential.Persistence.none, 2), (.forSession, 1)] {
            let session = try Session.of("nginx", storage) {
                $0.use(user: "user", password: "pässword", persistence: persistence)
            }
            for _ in 0..<2 { _ = try await session.send("auth/small.json") }
            #expect(try storage.all().isEmpty && session.asked.count == count)
        }
        let without = try Session.of("nginx", nil) {
            $0.use(user: "user", password: "pässword", persistence: .permanent)
        }
        for _ in 0..<2 { _ = try await without.send("auth/small.json") }
        #expect(without.asked.count == 1)
    }

    @Test(arguments: ["fault", "fault_tls"]) func aProxysAnswerIsStored(_ server: String) async throws {
        let words = try TestServers.url("proxy_credentials").split(separator: ":").map(String.init)
        let storage = CredentialStorage()
        let session = try Session.of(server, storage) {
            $0.use(user: words[0], password: words[1], persistence: .permanent)
        }
        session.defaults["proxy"] = JSON(try TestServers.url("proxy_auth"))
        #expect(try await session.send("echo").status == 200)
        #expect(try storage.all().map(\.space.isProxy) == [true])
    }

    // MARK: Trouble

    @Test func aDamagedFileIsSaidAndTheProgramIsAsked() async throws {
        let folder = try TemporaryFolder()
        folder.write("c", Array("damage".utf8))
        let storage = try CredentialStorage(file: "\(folder.path)/c")
        let session = try Session.of("nginx", storage) {
            $0.use(user: "user", password: "pässword", persistence: .permanent)
        }
        #expect(try await session.send("auth/small.json").status == 200 && session.asked.count == 1)
        #expect(session.lines.all.count { $0.containsSubstring("is damaged") } == 2, "\(session.lines.all)")
        #expect(folder.read("c") == Array("damage".utf8))
    }

    @Test func manyRequestsAtOnce() async throws {
        let folder = try TemporaryFolder()
        let storage = try CredentialStorage(file: "\(folder.path)/c")
        let session = try Session.of("nginx", storage) {
            $0.use(user: "user", password: "pässword", persistence: .permanent)
        }
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<16 { group.addTask { await session.response("auth/small.json").status } }
            for await status in group { #expect(status == 200) }
        }
        #expect(try storage.all().count == 1)
    }
}
