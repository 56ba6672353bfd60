import Testing

@testable import NTApi

/// Challenges of servers and proxies: who is asked, where the answer goes, and who must not see it.
@Suite struct ChallengeTests {
    /// A client that decides, and records the questions.
    private final class Client: TestClient, @unchecked Sendable {
        // Safe to share: the log is, and the rest is set before the first request.
        let asked = Log<AuthenticationChallenge>()
        var judge: @Sendable (RequestDecision) -> Void = { _ in }

        override func decide(_ decision: RequestDecision) {
            if let challenge = decision.challenge { asked.append(challenge) }
            judge(decision)
        }

        static func asking(_ server: String, _ judge: @escaping @Sendable (RequestDecision) -> Void) throws -> Client {
            let client = try Client.of(server)
            client.decisionKinds = .challenge
            client.judge = judge
            return client
        }
    }

    private static let ann: @Sendable (RequestDecision) -> Void = { $0.use(user: "ann", password: "pw") }
    private let digest: [APIArg] = [.url("user", "ann"), .url("password", "pw")]

    // MARK: Servers

    @Test func basicOfNginx() async throws {
        let client = try Client.asking("nginx") { $0.use(user: "user", password: "pässword") }
        let response = try await client.send("auth/small.json")
        #expect(response.status == 200 && response.metrics.retries == 1)
        let challenge = try #require(client.asked.all.first)
        #expect(client.asked.count == 1 && challenge.kind == .server && challenge.scheme == "Basic")
        #expect(challenge.realm == "test" && challenge.failures == 0 && challenge.host == "127.0.0.1")
        // The answer is remembered only if the program says so.
        _ = try await client.send("auth/small.json")
        #expect(client.asked.count == 2)
    }

    @Test(arguments: [APIArg.url("a", 1), .data([UInt8](repeating: 65, count: 300_000)), .form("a", "b")])
    func digestWithABody(_ body: APIArg) async throws {
        let client = try Client.asking("fault", Self.ann)
        let response = try await client.send("digest/SHA-256", args: digest + [body])
        #expect(response.status == 200 && client.asked.all.map(\.scheme) == ["Digest"])
        #expect(client.asked.all.first?.realm == "the \"SHA-256\" realm")
    }

    @Test func digestIsPreferred() async throws {
        let client = try Client.asking("fault") { _ in }
        _ = await client.response(
            "challenge",
            args: [.url("with", #"Basic realm="a", Negotiate"#), .url("with", #"Digest realm="b", nonce="n""#)])
        _ = await client.response(
            "challenge", args: [.url("with", #"Digest realm="b", nonce="n", algorithm=X-1, Basic realm="a""#)])
        _ = await client.response("challenge", args: [.url("with", "Negotiate, Bearer realm=\"x\"")])
        _ = await client.response("challenge")
        #expect(client.asked.all.map(\.scheme) == ["Digest", "Basic"] && client.asked.all.map(\.realm) == ["b", "a"])
    }

    @Test func itIsAskedAgainWithEachFailure() async throws {
        let client = try Client.asking("nginx") { decision in
            let failures = decision.challenge?.failures ?? 0
            if failures < 2 {
                decision.use(user: "user", password: "wrong \(failures)")
            } else {
                decision.use(user: "user", password: "pässword")
            }
        }
        #expect(try await client.send("auth/small.json").metrics.retries == 3)
        #expect(client.asked.all.map(\.failures) == [0, 1, 2])
    }

    @Test func itEndsWhateverIsAnswered() async throws {
        // The same credential is not tried a second time.
        let same = try Client.asking("nginx") { $0.use(user: "user", password: "wrong") }
        #expect(await same.response("auth/small.json").status == 401 && same.asked.count == 2)
        let count = Lock(0)
        let others = try Client.asking("nginx") { decision in
            let number = count.withLock { count in
                count += 1
                return count
            }
            decision.use(user: "user", password: "\(number)")
        }
        #expect(await others.response("auth/small.json").status == 401)
        #expect(others.asked.count == ChallengeStage.maximumFailures + 1)
    }

    @Test func whatElseMayBeAnswered() async throws {
        for judge in [{ _ in }, { $0.proceed() }] as [@Sendable (RequestDecision) -> Void] {
            let client = try Client.asking("nginx", judge)
            let response = await client.response("auth/small.json")
            #expect(response.status == 401 && response.error?.code == .httpError && client.asked.count == 1)
        }
        let cancels = try Client.asking("nginx") { $0.cancel() }
        #expect(await cancels.response("auth/small.json").error?.code == .cancelled)
        let wrong = try Client.asking("nginx") { decision in
            #expect(!decision.trust() && !decision.refuse() && !decision.becomeDownload(to: "/tmp/x"))
            #expect(!decision.use(user: "a:b", password: "c") && !decision.use(user: "a", password: "b\n"))
            #expect(decision.use(user: "user", password: "pässword") && !decision.use(user: "user", password: "x"))
        }
        #expect(await wrong.response("auth/small.json").status == 200)
    }

    @Test func forTheSession() async throws {
        let client = try Client.asking("nginx") { $0.use(user: "user", password: "pässword", persistence: .forSession) }
        for _ in 0..<3 { _ = try await client.send("auth/small.json") }
        #expect(client.asked.count == 1)
        let other = try Client.asking("nginx") { _ in }
        #expect(await other.response("auth/small.json").status == 401)
    }

    @Test func whatTheProgramSaysItselfStands() async throws {
        let client = try Client.asking("nginx") { $0.use(user: "user", password: "pässword") }
        #expect(await client.response("auth/small.json", args: [.basicAuth("user", "no")]).status == 401)
        #expect(await client.response("auth/small.json", args: [.bearer("no")]).status == 401)
        #expect(client.asked.count == 0)
    }

    @Test func streamsAreRewoundOrRefused() async throws {
        let client = try Client.asking("fault", Self.ann)
        let rewound = Log<Bool>()
        func stream(_ rewinds: Bool) -> BodyStream {
            let isRead = Lock(false)
            let rewind: @Sendable () -> Bool = {
                rewound.append(true)
                isRead.withLock { $0 = false }
                return true
            }
            return BodyStream(rewind: rewinds ? rewind : nil) { buffer in
                guard
                    !isRead.withLock({ was in
                        defer { was = true }
                        return was
                    })
                else { return 0 }
                buffer.copyBytes(from: [1, 2, 3])
                return 3
            }
        }
        let basic: [APIArg] = [.url("with", "Basic realm=x"), .url("unless", "Basic YW5uOnB3")]
        let response = try await client.send("challenge", args: basic + [.stream(stream(true))])
        #expect(response.json?["size"]?.int == 3 && rewound.count == 1)
        let refused = await client.response("challenge", args: basic + [.stream(stream(false))])
        #expect(refused.status == 401 && refused.error?.code == .authentication)
    }

    @Test func anAnswerStaysWithItsOrigin() async throws {
        let client = try Client.asking("fault", Self.ann)
        let key = "challenge-\(UInt64.random(in: 0 ... .max))"
        let other = "\(try TestServers.url("fault_other"))/record?token=\(key)"
        // The challenge is answered, and then the request is redirected to another origin.
        let moved = try await client.send(
            "challenge",
            args: [.url("with", "Basic realm=x"), .url("unless", "Basic YW5uOnB3"), .url("url", other)])
        #expect(moved.json?["listener"]?.string == "fault_other" && client.asked.count == 1)
        let seen = try await client.send("seen", args: [.url("token", key)]).json
        #expect(seen?["count"]?.int == 1 && seen?[path: "requests[0].header.authorization"] == nil)
    }

    // MARK: The configuration's own credentials

    private final class Session: APIClient, @unchecked Sendable {
        let asked = Log<AuthenticationChallenge>()

        override func decide(_ decision: RequestDecision) {
            if let challenge = decision.challenge { asked.append(challenge) }
        }
    }

    private func session(_ server: String, user: String, password: String) throws -> Session {
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = ""
        configuration.user = user
        configuration.password = password
        let session = Session(baseURL: try TestServers.url(server), configuration: configuration)
        session.logFlags = []
        session.decisionKinds = .challenge
        return session
    }

    @Test func theConfigurationAnswersItself() async throws {
        let client = try session("nginx", user: "user", password: "pässword")
        #expect(try await client.send("auth/small.json").status == 200 && client.asked.count == 0)
        // A server that does not ask gets nothing.
        let echo = try await client.send("echo")
        #expect(echo.json?[path: "header.authorization"] == nil)
        // Another server that asks gets nothing either.
        let fault = try TestServers.url("fault_other")
        let other = await client.response(
            "", args: [.baseURL("\(fault)/challenge"), .url("with", "Basic realm=x")])
        #expect(other.status == 401 && client.asked.count == 1 && other.metrics.retries == 0)

        let digest = try session("fault", user: "ann", password: "pw")
        #expect(try await digest.send("digest", args: self.digest).status == 200)
        let wrong = try session("nginx", user: "user", password: "no")
        #expect(await wrong.response("auth/small.json").status == 401)
        #expect(wrong.asked.all.map(\.failures) == [1])
    }

    // MARK: Proxies

    @Test(arguments: ["fault", "fault_tls"]) func aProxyAsks(_ server: String) async throws {
        let words = try TestServers.url("proxy_credentials").split(separator: ":").map(String.init)
        let client = try Client.asking(server) { $0.use(user: words[0], password: words[1], persistence: .forSession) }
        client.defaults["proxy"] = JSON(try TestServers.url("proxy_auth"))
        let response = try await client.send("echo", args: [.form("a", "b")])
        #expect(
            response.json?["body"]?.string == "a=b" && response.json?[path: "header[\"proxy-authorization\"]"] == nil)
        #expect(try await client.send("echo").status == 200)
        #expect(client.asked.all.map(\.kind) == [.proxy])
        let challenge = try #require(client.asked.all.first)
        #expect(challenge.reason == (try TestServers.url("proxy_auth")) && challenge.scheme == "Basic")
        #expect(challenge.realm == (server == "fault" ? "proxy" : nil))
        let refuses = try Client.asking(server) { _ in }
        refuses.defaults["proxy"] = JSON(try TestServers.url("proxy_auth"))
        #expect(await refuses.response("echo").error != nil && refuses.asked.count == 1)
        let wrong = try Client.asking(server) { $0.use(user: "no", password: "\($0.challenge?.failures ?? 0)") }
        wrong.defaults["proxy"] = JSON(try TestServers.url("proxy_auth"))
        #expect(await wrong.response("echo").error != nil)
        #expect(wrong.asked.count == ChallengeStage.maximumFailures + 1)
    }

    /// The program's answer replaces the user in the URL.
    @Test(arguments: ["fault", "fault_tls"]) func aProxyAsksAboutTheUserInItsURL(_ server: String) async throws {
        let words = try TestServers.url("proxy_credentials").split(separator: ":").map(String.init)
        let client = try Client.asking(server) { $0.use(user: words[0], password: words[1]) }
        let proxy = try TestServers.url("proxy_auth")
        client.defaults["proxy"] = JSON("http://old:wrong@\(proxy.dropFirst("http://".count))")
        #expect(try await client.send("echo").status == 200)
        #expect(client.asked.count == 1)
    }

    /// Connections of the proxy's user count as connections of the client, like all others.
    @Test func aProxyAsksAClientThatLimitsItsConnections() async throws {
        let words = try TestServers.url("proxy_credentials").split(separator: ":").map(String.init)
        let client = try Client.asking("fault") { $0.use(user: words[0], password: words[1], persistence: .forSession) }
        client.defaults["proxy"] = JSON(try TestServers.url("proxy_auth"))
        client.defaults["maximumConnections"] = 1
        let word = "limited-\(UInt64.random(in: 0 ... .max))"
        let responses = Log<APIResponse>()
        for _ in 0..<8 {
            client.begin("echo", args: [.url("word", word), .responseThread(.background)]) { responses.append($0) }
        }
        #expect(await responses.first(8).allSatisfy { $0.error == nil })
        let log = try await TestClient(at: TestServers.url("proxy_auth")).send("__log").json?.array ?? []
        let admitted = log.filter { $0["target"]?.string?.hasSuffix(word) == true && $0["admitted"]?.bool == true }
        #expect(admitted.count == 8 && Set(admitted.map { $0["port"]?.int }).count == 1)
    }

    @Test(arguments: ["fault", "fault_tls"]) func aCallerThatWaits(_ server: String) async throws {
        let words = try TestServers.url("proxy_credentials").split(separator: ":").map(String.init)
        let client = try Client.asking(server) { $0.use(user: words[0], password: words[1]) }
        client.defaults["proxy"] = JSON(try TestServers.url("proxy_auth"))
        let response = await onThread { client.perform("echo") }
        #expect(response.error == nil, "\(response.error as Any)")
    }

    // MARK: Certificates

    @Test(arguments: ["tls_self_signed", "tls_expired", "tls_wrong_host"])
    func aCertificateThatTheProgramTrusts(_ server: String) async throws {
        let client = try Client.asking(server) { $0.trust() }
        let key = "trust-\(UInt64.random(in: 0 ... .max))"
        let response = try await client.send("record", args: [.url("token", key), .form("a", "b")])
        #expect(response.json?["body"]?.string == "a=b")
        // The first connection only fetched the certificate, so the request was sent once.
        let seen = try await TestClient.of("fault").send("seen", args: [.url("token", key)])
        #expect(seen.json?["count"]?.int == 1)
        let challenge = try #require(client.asked.all.first)
        #expect(challenge.kind == .certificate && challenge.host == "localhost" && challenge.port > 0)
        #expect(challenge.certificates.first?.hasASCIIPrefix("-----BEGIN CERTIFICATE-----") == true)
        #expect(!challenge.reason.isEmpty)
        // Each request asks for itself. Other connections are not affected.
        _ = try await client.send("echo")
        #expect(client.asked.count == 2)
        client.decisionKinds = []
        #expect(await client.response("echo").error?.code == .tls)
    }

    @Test func aCertificateThatIsNotTrusted() async throws {
        let plain = await (try TestClient.of("tls_self_signed")).response("echo")
        for judge in [{ _ in }, { $0.proceed() }] as [@Sendable (RequestDecision) -> Void] {
            let client = try Client.asking("tls_self_signed", judge)
            let response = await client.response("echo")
            #expect(response.error?.code == .tls && response.error?.message == plain.error?.message)
            #expect(response.error?.transportCode == plain.error?.transportCode && client.asked.count == 1)
        }
    }

    @Test func forTheSessionWithEveryBody() async throws {
        let client = try Client.asking("tls_self_signed") { $0.trust(forSession: true) }
        for _ in 0..<3 { _ = try await client.send("echo", args: [.data([UInt8](repeating: 65, count: 200_000))]) }
        #expect(client.asked.count == 1)
        let digest = try await client.send("digest", args: self.digest + [.digestAuth("ann", "pw"), .form("a", "b")])
        #expect(digest.status == 200)
    }

    /// A server with another certificate answers: the request, with its credentials, is not sent to it.
    @Test func anotherCertificateIsNotSentAnything() async throws {
        var http = HTTPRequest(method: "GET", url: "\(try TestServers.url("fault_tls"))/record?token=never")
        http.settings.pin(to: "-----BEGIN CERTIFICATE-----\nanother\n-----END CERTIFICATE-----\n")
        let result = await TestEngine().send(http)
        #expect(result.error?.code == .tls && result.head == nil)
        #expect(result.error?.message.containsSubstring("not the one that was trusted") == true)
        let seen = try await TestClient.of("fault").send("seen", args: [.url("token", "never")])
        #expect(seen.json?["count"]?.int == 0)
    }
}
