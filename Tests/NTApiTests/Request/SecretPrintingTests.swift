import Testing

@testable import NTApi

/// Printing never shows a secret, with `print`, `debugPrint`, `dump`, `Mirror` or interpolation.
@Suite struct SecretPrintingTests {
    private static let secret = "S3cretMark"

    /// Public types that hold no secret, or only text that a program prints on purpose.
    private static let excluded: Set<String> = [
        // Closed sets of values, and option sets.
        "DecisionKind", "DecisionKinds", "Kind", "Reason", "LogLevel", "LogFlags", "Domain", "TimeoutClock",
        "NetworkFailure", "Keys", "Hooks", "RunResult", "HTTPVersion", "CachePolicy", "TLSVersion", "ConnectionPolicy",
        "CacheStorage", "ResponseSource", "CookieAcceptPolicy", "Persistence", "AuthenticationScheme", "HandlerKinds",
        "WaitResult", "State", "Scope", "StubFault", "APIOption", "RecordMode",
        // Numbers and times.
        "RateLimit", "RateLimiter", "StoreOptions", "Substitute", "RetryPolicy", "CircuitBreakerPolicy", "APIDate",
        "DateFormat", "FormattedDate",
        "DecodingOptions",
        "Timeouts", "TransferProgress", "ManualClock", "NoContent", "ResponseMetrics", "APILog",
        // Data of the server and the program, and errors, whose text is for people.
        "ResponseData", "JSON", "ParsedJSON", "JSONParseError", "ServerSentEvent", "APIError", "ErrorCode",
        "ProblemDetails",
        // What a server asks for.
        "HTTPChallenge", "Parameter", "AuthenticationChallenge", "ProtectionSpace",
        // Events of a request, without its content.
        "ObservedEvents", "ObservedWait", "CacheOutcome", "CircuitEvent",
        // Functions of the program.
        "BodyStream", "Interceptor", "StatusError", "StoreCall", "StoreScript", "FileStore", "MemoryStore",
    ]

    private final class Client: TestClient, @unchecked Sendable {
        /// The values that hooks and handlers get.
        let given = Log<any Sendable>()
        let ownSecret = SecretPrintingTests.secret

        override func buildRequest(_ request: inout HTTPRequest, options: APIOptions) { given.append(request) }

        override func decide(_ decision: RequestDecision) {
            given.append(decision)
            if let retry = decision.retry { given.append(retry) }
            decision.proceed()
        }
    }

    private final class Listener: APIObserver {
        let given: Log<any Sendable>

        init(_ given: Log<any Sendable>) { self.given = given }

        func attemptEnds(_ attempt: ObservedAttempt, _ answer: ObservedAnswer, _ context: (any Sendable)?) {
            given.append(attempt)
            given.append(answer)
        }
    }

    /// One value of each type, with a secret in every place that can have one.
    private func samples() async throws -> [Any] {
        let secret = Self.secret
        let folder = try TemporaryFolder()
        let client = Client(
            at: "http://ann:\(secret)@api.test/v1?token=\(secret)",
            args: [.bearer(secret), .header("X-Api-Key", secret), .url("id", secret).secret])
        let url = "http://api.test/v1?token=\(secret)"
        let recorder = NTApi.Recorder(path: folder.path + "/r.json", secrets: ["ssn"])
        let stub = Stub()
        client.stub = stub
        client.recorder = recorder
        client.decisionKinds = [.redirect, .retry]
        let cookies = try #require(CookieStorage())
        client.authenticator = Authenticator(token: .init(secret)) { [given = client.given] refresh in
            given.append(refresh)
            return .init(secret + "2")
        }
        client.interceptors = [
            Interceptor(.call) { [given = client.given] call in
                given.append(call)
                let response = try await call.next()
                given.append(response)
                return response
            },
            Interceptor(handling: .attempt) { [given = client.given] interception in
                given.append(interception)
                interception.proceed()
            },
        ]
        client.add(Listener(client.given))
        let headers: KeyValuePairs<String, String> = ["Set-Cookie": "sid=\(secret)", "X-Token": secret]
        stub.on("POST", "first").answer(.status(401), .json(["token": JSON(secret)], headers: headers))
        stub.on("GET", "moved").answer(.status(302, headers: ["Location": "/v1/last?token=\(secret)"]))
        stub.on("GET", "last").answer(.status(503), .json(["token": JSON(secret)]))
        let base = APIArg.baseURL("http://api.test/v1/first?token=\(secret)")
        let args: [APIArg] = [
            base, .method("POST"), .form("password", secret), .form("x", secret).secret, .path("p", secret).secret,
            .basicAuth("ann", secret), .digestAuth("ann", secret),
            .multipart("password", secret), .json(["token": JSON(secret)]), .data(Array(secret.utf8)).secret,
        ]
        // This client has no token of its own, so its authenticator refreshes the token.
        let refreshing = Client(at: "http://api.test/v1")
        refreshing.stub = stub
        refreshing.authenticator = client.authenticator
        _ = await refreshing.response("first", args: [.method("POST")])
        let response = await client.response("", args: [base, .method("POST"), .form("password", secret)])
        let second = await client.response(
            "",
            args: [.baseURL("http://api.test/v1/moved"), .retry(RetryPolicy(attempts: 2)), .url("sig", secret)])
        let request = client.request("", args: [base, .bearer(secret)])
        var configuration = SessionConfiguration.ephemeral
        configuration["proxyPassword"] = JSON(secret)
        configuration["additionalHeaders"] = ["X-Token": JSON(secret)]
        let defaults = client.defaults
        defaults["apiKey"] = JSON(secret)
        let cookie = Cookie(name: "sid", value: secret, domain: "api.test")
        try cookies.set(cookie)
        let credential = Credential(user: "ann", password: secret)
        let credentials = CredentialStorage()
        try credentials.set(credential, for: ProtectionSpace(scheme: "https", host: "h", port: 443))
        let cache = HTTPCache()
        let body = Bytes()
        _ = Array(secret.utf8).withUnsafeBytes { body.append($0) }
        cache.store(
            CachedResponse(
                head: ResponseHead(status: 200, headers: HTTPHeaders([("X-Token", secret)]), httpVersion: 1.1),
                requestTime: 0, responseTime: 0, selectors: [], body: body),
            CacheKey(try URLParts(url), partition: ""), .memory)
        var http = HTTPRequest(method: "POST", url: url)
        http.headers.add("Authorization", "Bearer \(secret)")
        http.body = .multipart([HTTPRequest.Part(name: "password", content: .bytes(Array(secret.utf8)))])
        http.digest = credential
        var options = APIOptions()
        options["access_token"] = secret
        let part = HTTPRequest.Part(name: "password", content: .bytes(Array(secret.utf8)))
        let resume = try ResumeData(
            url: url, destination: "/d/f", temporaryFile: "/d/.f.1.part", offset: nil, validator: .etag("\"1\""))
        let mailbox = Mailbox()
        let rule = stub.on("GET", "/v1/x?token=\(secret)", body: .containing(secret)).answer(.text(secret))
        let stream = client.lines("x", args: args)
        let events = client.events("x", args: args)
        let pages = client.pages("x", args: args)
        stub.on("GET", "/v1/stream").answer(.text(secret))
        let pieces = try await client.stream("", args: [.baseURL("http://api.test/v1/stream"), .bearer(secret)])
        let samples: [Any] =
            args + [
                client, request, response, second, response.request, configuration, defaults, cookie, cookies,
                credential, credentials, cache, http, http.headers, http.headers[0], http.body, part, part.content,
                options, resume, mailbox, rule, stub, recorder, StubBody.json(["token": JSON(secret)]),
                StubAnswer.text(secret), Authenticator.Token(secret), try APIURL(url), CallbackThread.mailbox(mailbox),
                stream, stream.makeAsyncIterator(), events, events.makeAsyncIterator(), pieces,
                pieces.makeAsyncIterator(), pages, pages.makeAsyncIterator(), response.requestMetrics,
                response.metrics,
            ] + stub.requests.map { $0 as Any }
            + response.requestMetrics.transactions.map { $0 as Any }
        let authenticator: Any = try #require(client.authenticator)
        return samples + [authenticator] + client.given.all.map { $0 as Any }
    }

    @Test func noWayOfPrintingShowsASecret() async throws {
        for sample in try await samples() {
            var texts = [String(describing: sample), String(reflecting: sample), "\(sample)", "\([sample])"]
            for printed in [sample, [sample], ["x": sample], Optional(sample) as Any] as [Any] {
                var text = ""
                dump(printed, to: &text)
                texts.append(text)
            }
            var walked: [String] = []
            walk(Mirror(reflecting: sample), &walked, 0)
            for text in texts + walked {
                #expect(!text.containsSubstring(Self.secret), "\(type(of: sample)): \(text)")
                // The secret may also be shown as bytes.
                let bytes = Self.secret.utf8.map { "\($0)" }
                #expect(!text.containsSubstring(bytes.joined(separator: ", ")), "\(type(of: sample)): \(text)")
                #expect(!text.containsSubstring(bytes.map { "- \($0)" }.joined(separator: "\n")), "\(type(of: sample))")
            }
        }
    }

    private func walk(_ mirror: Mirror, _ texts: inout [String], _ depth: Int) {
        guard depth < 8 else { return }
        for child in mirror.children {
            texts += [child.label ?? "", String(describing: child.value), String(reflecting: child.value)]
            walk(Mirror(reflecting: child.value), &texts, depth + 1)
        }
        if let above = mirror.superclassMirror { walk(above, &texts, depth + 1) }
    }

    /// A new public type must be added to the samples, or to the types without secrets.
    @Test func everyPublicTypeIsTried() async throws {
        let sources = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined() + "/Sources/NTApi"
        let pattern = "^ *(public|open) (final |indirect )*(class|struct|enum|actor) [A-Z][A-Za-z0-9]*"
        let lines = String(decoding: shell("grep -rhoE '\(pattern)' '\(sources)'"), as: UTF8.self)
        let names = Set(lines.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) })
        #expect(names.count > 60)
        // Only the last part of a name such as `NTApi.HTTPRequest.Body`.
        let tried = Set(
            try await samples().map { sample in
                let name = String(reflecting: Mirror(reflecting: sample).subjectType).prefix { $0 != "<" }
                return name.split(separator: ".").last.map(String.init) ?? ""
            } + ["APIClient"])
        #expect(names.subtracting(tried).subtracting(Self.excluded) == [])
        #expect(Self.excluded.subtracting(names) == [])
    }
}
