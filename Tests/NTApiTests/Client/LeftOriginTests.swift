import Testing

@testable import NTApi

/// A client whose hooks lead to another URL.
private final class Client: APIClient, @unchecked Sendable {
    // Safe to share: set before the only request.
    var leadsTo: String?
    var redirectsTo: String?

    override func buildRequest(_ request: inout HTTPRequest, options: APIOptions) {
        if let leadsTo { request.url = leadsTo }
    }

    override func decide(_ decision: RequestDecision) {
        guard let redirectsTo, var next = decision.redirectedRequest else { return }
        next.url = redirectsTo
        _ = decision.follow(next)
    }
}

/// Secrets of an origin stay there, whatever changes the URL of a request.
@Suite struct LeftOriginTests {
    /// Ways that lead a request to another origin.
    enum Way: CaseIterable {
        case redirect, redirectDecision, link, baseURL, hook, callInterceptor, attemptInterceptor, sentAgain
    }

    /// Secrets that belong to the client's origin.
    enum Secret: CaseIterable {
        case bearerOfClient, bearerOfRequest, basic, apiKey, apiKeyOfRequest, marked, markedOfRequest, cookie
        case additionalHeader, token, tokenInAnotherHeader, host, idempotencyKey
        case idempotencyKeyArg, idempotencyKeyOfRequest
    }

    private static let secret = "s3cret"

    private func arg(_ secret: Secret) -> (ofClient: [APIArg], ofRequest: [APIArg]) {
        switch secret {
        case .bearerOfClient: ([.bearer(Self.secret)], [])
        case .bearerOfRequest: ([], [.bearer(Self.secret)])
        case .basic: ([.basicAuth("ann", Self.secret)], [])
        case .apiKey: ([.header("X-Api-Key", Self.secret)], [])
        case .apiKeyOfRequest: ([], [.header("X-Api-Key", Self.secret)])
        case .marked: ([.header("X-Mine", Self.secret).secret], [])
        case .markedOfRequest: ([], [.header("X-Mine", Self.secret).secret])
        case .cookie: ([.header("Cookie", "a=\(Self.secret)")], [])
        case .host: ([.header("Host", Self.secret)], [])
        case .idempotencyKey: ([.header("Idempotency-Key", Self.secret)], [])
        case .idempotencyKeyArg: ([.idempotencyKey(Self.secret)], [])
        case .idempotencyKeyOfRequest: ([], [.idempotencyKey(Self.secret)])
        case .additionalHeader, .token, .tokenInAnotherHeader: ([], [])
        }
    }

    /// The names of the headers that have the secret, as the last server saw them.
    private func send(_ secret: Secret, _ way: Way, to target: String) async throws -> JSON {
        let client = try Client(baseURL: TestServers.url("fault"))
        client.defaults["proxy"] = ""
        let (own, more) = arg(secret)
        client.args = own
        if secret == .additionalHeader { client.defaults["additionalHeaders"] = ["X-Session-Token": JSON(Self.secret)] }
        let header = secret == .tokenInAnotherHeader ? "X-Odd" : "Authorization"
        if secret == .token || secret == .tokenInAnotherHeader {
            client.authenticator = Authenticator(token: .init(Self.secret), header: header) { _ in nil }
        }
        var request: (command: String, args: [APIArg]) = ("echo", more)
        let leave = { @Sendable (call: InterceptedCall) async throws -> HTTPResponse in
            var request = call.request
            request.url = target
            return try await call.next(request)
        }
        switch way {
        case .redirect, .redirectDecision: request = ("redirect/to", more + [.url("url", target)])
        case .link, .baseURL: request = ("", more + [.baseURL(target)])
        case .hook: client.leadsTo = target
        case .callInterceptor: client.interceptors = [Interceptor(.call, leave)]
        case .attemptInterceptor: client.interceptors = [Interceptor(.attempt, leave)]
        case .sentAgain:
            client.interceptors = [
                Interceptor(.attempt) { call in
                    _ = try await call.next()
                    return try await leave(call)
                }
            ]
        }
        if way == .redirectDecision {
            request.args[request.args.count - 1] = .url("url", "/echo?near")
            client.redirectsTo = target
            client.decisionKinds = .redirect
        }
        if way == .link {
            let page = try await client.send("headers", args: [.url("Link", "<\(target)>; rel=\"next\"")])
            let next: String = try #require(page.link("next"))
            request.args = more + [.baseURL(next)]
        }
        return try #require(try await client.send(request.command, args: request.args).json)
    }

    /// The secret may also be a part of Basic's base64.
    private func hasSecret(_ seen: JSON) -> Bool {
        seen.text.contains(Self.secret) || seen.text.contains(Base64.encode("ann:\(Self.secret)".utf8))
    }

    @Test(arguments: Way.allCases, Secret.allCases)
    func noSecretGoesToAnotherOrigin(_ way: Way, _ secret: Secret) async throws {
        let named = arg(secret)
        // The program has named these args together with the other URL, so they are meant for it.
        if [.baseURL, .link].contains(way), !named.ofRequest.isEmpty { return }
        let seen = try await send(secret, way, to: try TestServers.url("fault_other") + "/echo?elsewhere")
        #expect(seen["listener"]?.string == "fault_other")
        #expect(!hasSecret(seen), "\(way) \(secret)")
    }

    @Test(arguments: Way.allCases, Secret.allCases)
    func allGoesToTheOwnOrigin(_ way: Way, _ secret: Secret) async throws {
        let seen = try await send(secret, way, to: try TestServers.url("fault") + "/echo?here")
        #expect(seen["listener"]?.string == "fault" && seen["target"]?.string?.hasPrefix("/echo?here") == true)
        #expect(hasSecret(seen), "\(way) \(secret)")
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt])
    func whatAnInterceptorSetsAfterTheURLIsSent(_ scope: Interceptor.Scope) async throws {
        let client = try TestClient.of("fault")
        client.args = [.bearer(Self.secret)]
        let other = try TestServers.url("fault_other") + "/echo"
        client.interceptors = [
            Interceptor(scope) { call in
                var request = call.request
                let mine = request.headers["Authorization"] ?? "none"
                request.headers.set("X-Api-Key", Self.secret)
                request.url = other
                #expect(request.headers["Authorization"] == nil && request.headers["X-Api-Key"] == nil)
                request.headers.set("Authorization", mine, isSecret: true)
                request.headers.set("X-Other-Key", "its own", isSecret: true)
                return try await call.next(request)
            }
        ]
        let seen = try #require(try await client.send("echo").json)
        #expect(seen[path: "header.authorization"]?.string == "Bearer \(Self.secret)")
        #expect(seen[path: "header[\"x-other-key\"]"]?.string == "its own")
        #expect(seen[path: "header[\"x-api-key\"]"] == nil)
    }

    /// The other origin redirects to itself. The request that then passes the interceptors again is the client's own.
    @Test func aRedirectOfTheOtherOriginBringsNothingBack() async throws {
        let client = try TestClient.of("fault")
        client.args = [.bearer(Self.secret)]
        let other = try TestServers.url("fault_other")
        client.interceptors = [
            Interceptor(.attempt) { call in
                var request = call.request
                if call.reason == .first { request.url = "\(other)/redirect/to?url=/echo" }
                return try await call.next(request)
            }
        ]
        let seen = try #require(try await client.send("echo").json)
        #expect(seen["listener"]?.string == "fault_other" && !seen.text.contains(Self.secret))
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt])
    func aSecretBodyIsNotSentElsewhere(_ scope: Interceptor.Scope) async throws {
        let client = try TestClient.of("fault")
        let other = try TestServers.url("fault_other") + "/echo"
        for isSetAgain in [false, true] {
            client.interceptors = [
                Interceptor(scope) { call in
                    var request = call.request
                    request.url = other
                    if isSetAgain { request.body = .bytes(Array("mine".utf8)) }
                    return try await call.next(request)
                }
            ]
            let response = await client.response("echo", args: [.form("password", Self.secret).secret])
            if isSetAgain {
                #expect(response.json?["body"]?.string == "mine")
            } else {
                #expect(response.error?.code == .invalidRequest && response.status == 0, "\(response)")
                #expect(response.error?.message.contains("set the body again") == true)
            }
        }
    }

    /// A later interceptor may set a body for the other origin.
    @Test func aLaterInterceptorSetsTheBodyAgain() async throws {
        let client = try TestClient.of("fault")
        let other = try TestServers.url("fault_other") + "/echo"
        client.interceptors = [
            Interceptor(.call) { call in
                var request = call.request
                request.url = other
                return try await call.next(request)
            },
            Interceptor(.attempt) { call in
                var request = call.request
                request.body = .bytes(Array("mine".utf8))
                return try await call.next(request)
            },
        ]
        let response = await client.response("echo", args: [.form("password", Self.secret).secret])
        #expect(response.json?["body"]?.string == "mine", "\(response)")
    }

    /// A Digest answer is not a header that an interceptor can see.
    @Test(arguments: [Interceptor.Scope.call, .attempt])
    func aPasswordIsNoAnswerToAnotherOrigin(_ scope: Interceptor.Scope) async throws {
        let client = try TestClient.of("fault")
        let path = "/digest/SHA-256?user=ann&password=pw&qop=auth"
        for server in ["fault", "fault_other"] {
            let url = try TestServers.url(server) + path
            client.interceptors = [
                Interceptor(scope) { call in
                    var request = call.request
                    request.url = url
                    return try await call.next(request)
                }
            ]
            let response = await client.response("echo", args: [.digestAuth("ann", "pw")])
            #expect(response.status == (server == "fault" ? 200 : 401))
        }
    }

    /// A 401 of another origin, which never got the token, does not expire it.
    @Test func anotherOriginDoesNotExpireTheToken() async throws {
        let client = try TestClient.of("fault")
        let other = try TestServers.url("fault_other") + "/status/401"
        client.authenticator = Authenticator(token: .init(Self.secret)) { _ in
            Issue.record("refreshed")
            return nil
        }
        client.interceptors = [
            Interceptor(.attempt) { call in
                var request = call.request
                request.url = other
                return try await call.next(request)
            }
        ]
        #expect(await client.response("echo").status == 401)
        #expect(client.authenticator?.token == Self.secret)
    }
}

/// The client certificate is for the client's origin and those that are named.
@Suite struct CertificateOriginTests {
    typealias Way = LeftOriginTests.Way

    private func client(_ base: String?, isSession: Bool = true) throws -> Client {
        let url = try base.map { try TestServers.url($0) }
        let settings: [(String, JSON)] = [
            ("proxy", ""), ("caFile", JSON(try TestServers.url("ca"))),
            ("clientCertificate", JSON(try TestServers.url("client_cert"))),
            ("clientKey", JSON(try TestServers.url("client_key"))),
            ("clientCertificateOrigins", [JSON(try TestServers.url("tls_asking_named") + "/any")]),
        ]
        guard isSession else {
            let client = Client(baseURL: url)
            for (name, value) in settings { client.defaults[name] = value }
            return client
        }
        var configuration = SessionConfiguration.ephemeral
        for (name, value) in settings { configuration[name] = value }
        return Client(baseURL: url, configuration: configuration)
    }

    private func send(_ client: Client, _ way: Way, to target: String) async throws -> JSON {
        var request: (command: String, args: [APIArg]) = ("echo", [])
        let leave = { @Sendable (call: InterceptedCall) async throws -> HTTPResponse in
            var request = call.request
            request.url = target
            return try await call.next(request)
        }
        switch way {
        case .redirect, .redirectDecision: request = ("redirect/to", [.url("url", target)])
        case .link, .baseURL: request = ("", [.baseURL(target)])
        case .hook: client.leadsTo = target
        case .callInterceptor: client.interceptors = [Interceptor(.call, leave)]
        case .attemptInterceptor, .sentAgain: client.interceptors = [Interceptor(.attempt, leave)]
        }
        return try #require(try await client.send(request.command, args: request.args).json)
    }

    @Test(arguments: Way.allCases, [true, false])
    func onlyItsOriginsSeeIt(_ way: Way, _ isSession: Bool) async throws {
        for (server, isShown) in [
            ("tls_asking", true), ("tls_asking_other", false), ("tls_asking_named", true), ("tls_asking_other", false),
        ] {
            let client = try client("tls_asking", isSession: isSession)
            let seen = try await send(client, way, to: TestServers.url(server) + "/echo")
            #expect(seen["listener"]?.string == server && seen["certificate"]?.bool == isShown, "\(way) to \(server)")
        }
    }

    /// One client makes all requests, so it has connections of both kinds.
    @Test func aWayBackShowsItAgain() async throws {
        let client = try client("tls_asking")
        let home = try TestServers.url("tls_asking")
        let other = try TestServers.url("tls_asking_other")
        for _ in 0..<3 {
            let back = "\(other)/redirect/to?url=\(home)/echo"
            #expect(try await client.send("redirect/to", args: [.url("url", back)]).json?["certificate"]?.bool == true)
            let away = try await client.send("redirect/to", args: [.url("url", "\(other)/echo")]).json
            #expect(away?["certificate"]?.bool == false)
        }
    }

    @Test func aClientWithoutABaseURLShowsItToTheFirst() async throws {
        let client = try client(nil)
        let first = try TestServers.url("tls_asking")
        let other = try TestServers.url("tls_asking_other")
        #expect(try await client.send(args: [.baseURL("\(first)/echo")]).json?["certificate"]?.bool == true)
        let redirect: [APIArg] = [.baseURL("\(first)/redirect/to"), .url("url", "\(other)/echo")]
        #expect(try await client.send(args: redirect).json?["certificate"]?.bool == false)
    }

    /// A server that requires a certificate fails in its handshake.
    @Test func aServerThatInsistsIsNotSatisfied() async throws {
        let client = try client("tls_asking")
        let target = try TestServers.url("tls_client") + "/echo"
        #expect(await client.response("redirect/to", args: [.url("url", target)]).error?.code == .tls)
    }

    @Test(arguments: [#""no URL""#, #"[1]"#, #"["ftp://a.test"]"#, #"["https://"]"#])
    func aWrongOriginIsRefused(_ value: String) async throws {
        let client = try client("tls_asking")
        client.defaults["clientCertificateOrigins"] = try JSON(parsing: value)
        let error = await client.response("echo").error
        #expect(error?.code == .invalidRequest && error?.message.contains("clientCertificateOrigins") == true)
    }
}
