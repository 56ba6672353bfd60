import Testing

@testable import NTApi

/// Each hook of a client: what it can change, and on which thread it is called.
@Suite struct ClientHookTests {
    private final class Hooked: TestClient, @unchecked Sendable {
        // Safe to share: the hooks are set before the first request, and the log is safe by itself.
        let events = Log<String>()
        nonisolated(unsafe) var parse: (@Sendable (ResponseData) throws -> ParsedJSON?)?
        nonisolated(unsafe) var map: (@Sendable (APIResponse) -> APIError?)?
        nonisolated(unsafe) var change: (@Sendable (inout HTTPRequest) -> Void)?

        private var thread: String { WorkerPool.isWorkerThread ? "worker" : "caller" }

        override func buildArgs(_ command: String, _ args: inout [APIArg]) {
            events.append("args of \(command) on \(thread)")
            args.append(.url("hooked", args.count))
        }

        override func buildRequest(_ request: inout HTTPRequest, options: APIOptions) {
            events.append("request on \(thread)")
            request.headers.set("X-Option", options["mine"] ?? "none")
            change?(&request)
        }

        override func requestStarted(_ request: APIRequest) { events.append("started on \(thread)") }

        override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
            events.append("completed \(response.status) on \(thread)")
        }

        override func parseJSON(_ data: ResponseData) throws -> ParsedJSON? {
            events.append("parse on \(thread)")
            return try parse.map { try $0(data) } ?? super.parseJSON(data)
        }

        override func mapServiceError(_ response: APIResponse) -> APIError? {
            events.append("map on \(thread)")
            return map?(response)
        }
    }

    @Test func areCalledInOrderOnTheirThreads() async throws {
        let client = try Hooked.of("fault")
        let response = try await client.send("echo", args: [.option("mine", "yes"), .url("q", 1)])
        #expect(response.json?["target"]?.string?.containsSubstring("q=1&hooked=") == true)
        #expect(response.json?["header"]?["x-option"]?.string == "yes")
        #expect(
            client.events.all == [
                "args of echo on caller", "request on caller", "started on caller", "parse on worker", "map on worker",
                "completed 200 on worker",
            ])
    }

    private final class Informed: TestClient, @unchecked Sendable {
        // Safe to share: the log is safe by itself.
        let events = Log<String>()

        override func informationReceived(_ request: APIRequest, status: Int, headers: HTTPHeaders) {
            events.append("\(request.command) \(status) \(headers["Link"] ?? "")")
        }

        override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
            events.append("completed \(response.status)")
        }
    }

    private enum Caller {
        @TaskLocal static var name = "nobody"
    }

    /// docs/swift.md promises this.
    @Test func whichSeeTheTaskLocalValuesOfTheCaller() async throws {
        let seen = Log<String>()
        let hooks = APIClient.Hooks(
            buildArgs: { _, _ in seen.append("buildArgs \(Caller.name)") },
            buildRequest: { _, _ in seen.append("buildRequest \(Caller.name)") },
            started: { _ in seen.append("started \(Caller.name)") },
            completed: { _, _ in seen.append("completed \(Caller.name)") })
        let client = APIClient(baseURL: "https://api.example", hooks: hooks)
        client.stub = Stub()
        client.stub?.on("GET", "**").answer(.status(200))
        client.interceptors = [
            Interceptor(.call) { call in
                seen.append("interceptor \(Caller.name)")
                return try await call.next()
            }
        ]
        client.authenticator = Authenticator { _ in
            seen.append("refresh \(Caller.name)")
            return .init("t")
        }
        _ = try await Caller.$name.withValue("ann") { try await client.send("x") }
        #expect(
            Set(seen.all) == [
                "buildArgs ann", "buildRequest ann", "started ann", "interceptor nobody", "refresh nobody",
                "completed nobody",
            ])
    }

    @Test(arguments: [false, true]) func interimAnswersComeBeforeTheAnswer(_ logs: Bool) async throws {
        let client = try Informed.of("fault")
        client.logFlags = logs ? .all : []
        for _ in 0..<20 { _ = try await client.send("early-hints") }
        let pair = ["early-hints 103 </style.css>; rel=preload", "completed 200"]
        #expect(client.events.all == (0..<20).flatMap { _ in pair })
        let response = await onThread { client.perform("early-hints") }
        #expect(response.error == nil && client.events.count == 42)
        _ = try await client.send("continue-storm", args: [.url("count", 10)])
        #expect(client.events.all.last == "completed 200" && client.events.count == 43)
    }

    @Test func identifiersInTheLogAreUnique() async throws {
        var names: Set<String> = []
        for _ in 0..<2 {
            let client = try TestClient.of("fault")
            client.logFlags = .info
            for _ in 0..<2 { _ = await client.response("ok") }
            names.formUnion(client.lines.all.map { String($0.message.prefix { $0 != " " }) })
        }
        #expect(names.count == 4)
    }

    /// A stream's Accept and an authenticator's header are not in the request that was built.
    @Test func theLogHasWhatWasSent() async throws {
        let client = try TestClient.of("fault")
        client.logFlags = .debug
        client.authenticator = Authenticator { _ in .init("hush") }
        for try await _ in client.events("events", args: [.url("total", 1)]) {}
        let sent = client.lines.all.map(\.message).filter { $0.containsSubstring(" sends ") }
        #expect(sent.contains { $0.containsSubstring("Accept: text/event-stream") })
        #expect(sent.contains { $0.containsSubstring("Authorization: <redacted>") })
        #expect(!client.lines.all.contains { $0.message.containsSubstring("hush") })
    }

    @Test func aRequestThatCannotBeBuiltStartsAndCompletesToo() async throws {
        let client = try Hooked.of("fault")
        let response = await client.response("{x}")
        #expect(response.error?.code == .invalidRequest && response.status == 0)
        #expect(client.events.all == ["args of {x} on caller", "started on caller", "completed 0 on worker"])
    }

    @Test func theRequestCanBeChanged() async throws {
        let client = try Hooked.of("fault")
        let base = try TestServers.url("fault")
        client.change = { request in
            request.method = "PATCH"
            request.url = "\(base)/echo?by=hook"
            request.body = .bytes(Array("new".utf8))
        }
        let json = try #require(try await client.send("nowhere").json)
        #expect(json["method"]?.string == "PATCH" && json["body"]?.string == "new")
        #expect(json["target"]?.string == "/echo?by=hook")
    }

    /// Changes by hooks are checked like args.
    @Test(arguments: ["method", "header", "url"]) func aHookCannotSendWhatArgsCannot(_ what: String) async throws {
        let client = try Hooked.of("fault")
        client.change = { request in
            switch what {
            case "method": request.method = "GET / HTTP/1.1\r\nX:"
            case "header": request.headers.add("X-A", "a\r\nX-Injected: 1")
            default: request.url = "http://h/\r\nX: y"
            }
        }
        #expect(await client.response("echo").error?.code == .invalidRequest)
    }

    @Test func parsesItsOwnWay() async throws {
        struct Mine: Error {}
        let client = try Hooked.of("fault")
        client.parse = { ParsedJSON(["size": JSON($0.count)], prefixText: "mine") }
        let parsed = try await client.send("status/200")
        #expect(parsed.prefixText == "mine" && parsed.json?["size"]?.int == parsed.data.count)
        client.parse = { _ in nil }
        #expect(try await client.send("echo").json == nil)
        client.parse = { _ in throw Mine() }
        let failed = await client.response("echo")
        #expect(failed.error?.code == .invalidJSON && failed.error?.httpStatus == 200 && failed.json == nil)
        client.parse = { _ in throw APIError(domain: .service, code: ErrorCode("mine"), message: "said so") }
        #expect(await client.response("echo").error?.code == ErrorCode("mine"))
        // For an HTML page, the error is the status.
        client.parse = { _ in throw Mine() }
        #expect(await client.response("status/500").error?.code == .httpError)
    }

    @Test func mapsErrorsOfTheService() async throws {
        let client = try Hooked(server: "weather")
        client.map = { response in
            guard let code = response.json?["cod"]?.string, code != "200" else { return nil }
            return APIError(code: ErrorCode(code), message: response.json?["message"]?.string)
        }
        let response = await client.response("data/2.5/find", args: [.url("q", "Nowhereville"), .url("appid", "x")])
        let error = try #require(response.error)
        #expect(error.domain == .service && error.code == ErrorCode("404") && error.httpStatus == 200)
        #expect(error.message == "city not found" && response.json?["cod"]?.string == "404")
        // Without JSON there is nothing to map.
        client.events.append("raw")
        _ = await client.response("download", args: [.option(.rawData)])
        #expect(client.events.all.suffix(3).contains { $0.hasASCIIPrefix("map") } == false)
    }

    /// The hook logs in again and waits for that request. Another worker takes the place of the one that waits.
    @Test func aHookMayWaitForAnotherRequest() async throws {
        let login = try TestClient.of("fault")
        let client = try Hooked.of("fault")
        client.map = { _ in
            login.perform("late", args: [.url("ms", 20)]).error
        }
        let errors = await withTaskGroup(of: APIError?.self) { group in
            for _ in 0..<30 { group.addTask { await client.response("echo").error } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.compactMap(\.self).isEmpty)
    }

    @Test func logLines() async throws {
        let client = try TestClient.of("fault")
        client.logFlags = .all
        _ = await client.response(
            "echo", args: [.url("q", 1), .url("token", "s3cr3t"), .json(["password": "s3cr3t"]), .bearer("s3cr3t")])
        _ = await client.response("status/500")
        _ = await client.response("json/prefix-text")
        let lines = client.lines.all
        #expect(lines.filter { $0.level == .info }.count == 6)
        #expect(
            lines.contains {
                $0.level == .info && $0.message.containsSubstring("POST") && $0.message.containsSubstring("200")
            })
        #expect(lines.contains { $0.level == .error && $0.message.containsSubstring("500") })
        #expect(lines.contains { $0.level == .warn && $0.message.containsSubstring("before the JSON") })
        #expect(lines.contains { $0.level == .debug && $0.message.containsSubstring("Accept:") })
        // The server's echo shows the headers. In its own lines about the request, the library redacts the secret.
        let sent = lines.filter { !$0.message.containsSubstring(" received ") }
        #expect(!sent.contains { $0.message.containsSubstring("s3cr3t") })
    }

    @Test func markedSecretsStayOutOfTheLog() async throws {
        let bodies: [[APIArg]] = [
            [.form("mine", "s3cr3t").secret, .form("other", "seen")], [.json(["a": "s3cr3t"]).secret],
            [.data(Array("s3cr3t".utf8)).secret], [.url("mine", "s3cr3t").secret],
            [.header("X-Mine", "s3cr3t").secret],
        ]
        for args in bodies {
            let client = try TestClient.of("fault")
            client.logFlags = .all
            _ = await client.response("status/200", args: args)
            #expect(client.lines.count >= 4 && !client.lines.all.contains { $0.message.containsSubstring("s3cr3t") })
        }
    }
}
