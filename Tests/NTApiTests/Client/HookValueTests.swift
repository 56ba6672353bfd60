import Testing

@testable import NTApi

/// Hooks that are functions, and which hooks a client has.
@Suite struct HookValueTests {
    private func client(_ hooks: APIClient.Hooks) throws -> APIClient {
        let client = APIClient(baseURL: try TestServers.url("fault"), hooks: hooks)
        client.defaults["proxy"] = ""
        return client
    }

    // MARK: Functions

    @Test func eachIsCalledInOrder() async throws {
        let events = Log<String>()
        let client = try client(
            .init(
                buildArgs: { command, args in
                    events.append("args of \(command)")
                    args.append(.url("hooked", 1))
                },
                buildRequest: { request, options in
                    events.append("request")
                    request.headers.set("X-Option", options["mine"] ?? "none")
                },
                started: { events.append("started \($0.command)") },
                uploadProgressed: { _, progress in if progress.bytes == progress.total { events.append("sent") } },
                dataReceived: { _, data in events.append("\(data.count > 0)") },
                parseJSON: {
                    events.append("parse")
                    return try ParsedJSON(body: $0)
                },
                mapServiceError: {
                    events.append("map \($0.status)")
                    return APIError(code: ErrorCode("theirs"), message: "theirs")
                },
                mapError: { error, _ in
                    events.append("error \(error.code.name)")
                    return APIError(code: ErrorCode("ours"), message: "ours")
                },
                metricsCollected: { events.append("metrics \($0.command) \($1.transactions.count)") },
                completed: { events.append("completed \($0.command) \($1.error?.code.name ?? "")") }))
        let response = await client.response("echo", args: [.option("mine", "yes"), .data([1, 2])])
        #expect(response.error?.code.name == "ours")
        #expect(response.json?["target"]?.string?.containsSubstring("hooked=1") == true)
        #expect(response.json?["header"]?["x-option"]?.string == "yes")
        // Progress and data come on other threads. When a request fails, progress that still waits is dropped.
        let transfers: Set = ["sent", "true"]
        #expect(events.all.contains("true"))
        #expect(
            events.all.filter { !transfers.contains($0) } == [
                "args of echo", "request", "started echo", "parse", "map 200", "error theirs", "metrics echo 1",
                "completed echo ours",
            ])
    }

    @Test func progressOfAnUpload() async throws {
        let sent = Log<TransferProgress>()
        let client = try client(.init(uploadProgressed: { sent.append($1) }))
        _ = try await client.send("echo", args: [.data([1, 2])])
        #expect(sent.all.last == TransferProgress(bytes: 2, total: 2))
    }

    @Test func progressOfADownload() async throws {
        let received = Log<TransferProgress>()
        let client = try client(.init(downloadProgressed: { received.append($1) }))
        _ = try await client.send("zeros?size=10000", args: [.option(.rawData)])
        #expect(received.all.last == TransferProgress(bytes: 10_000, total: 10_000))
    }

    @Test func logInformationAndDecisions() async throws {
        let lines = Log<String>()
        let interim = Log<Int>()
        let decided = Log<String>()
        let client = try client(
            .init(
                information: { _, status, _ in interim.append(status) }, writeLog: { lines.append($1) },
                decide: {
                    decided.append("\($0.kind)")
                    $0.refuse()
                }, decisions: .redirect))
        client.logFlags = .all
        #expect(await client.response("early-hints").status == 200)
        #expect(interim.all == [103])
        #expect(lines.all.contains { $0.containsSubstring("early-hints") })
        #expect(await client.response("redirect/echo").status == 302)
        #expect(decided.all == ["redirect"])
    }

    /// Without `decisions`, the function makes all decisions.
    @Test func aFunctionThatDecidesIsAsked() async throws {
        let decided = Log<String>()
        let client = try client(
            .init(decide: {
                decided.append("\($0.kind)")
                if $0.kind == .redirect { $0.refuse() }
            }))
        #expect(await client.response("redirect/echo").status == 302)
        #expect(decided.all == ["redirect"])
    }

    @Test func theEndOfASession() async throws {
        let ended = Log<Bool>()
        let client = try client(.init(sessionInvalidated: { ended.append(true) }))
        client.close()
        #expect(await ended.first(1) == [true])
    }

    // MARK: Which hooks a client has

    private class Plain: APIClient, @unchecked Sendable {
        func own() {}
    }
    private class Completing: Plain, @unchecked Sendable {
        override func requestCompleted(_ request: APIRequest, _ response: APIResponse) { own() }
    }
    private final class Mapping: Completing, @unchecked Sendable {
        override class var interceptors: [Interceptor] { [] }
        override func mapServiceError(_ response: APIResponse) -> APIError? { .cancelled }
    }
    private final class Generic<Value>: APIClient, @unchecked Sendable {
        // Safe to share: never written.
        nonisolated(unsafe) var value: Value?
        override func buildArgs(_ command: String, _ args: inout [APIArg]) { args = [.url("value", "\(Value.self)")] }
    }

    /// If this fails after an update of the compiler, the layout of class metadata has changed.
    @Test func theEntriesOfAllHooksAreFound() { #expect(OverriddenHooks.entries?.count == 14) }

    @Test func aSubclassHasWhatItOverrides() {
        #expect(APIClient().hookKinds == [])
        #expect(Plain().hookKinds == [])
        #expect(Completing().hookKinds == .requestCompleted)
        #expect(Mapping().hookKinds == [.requestCompleted, .mapServiceError])
        #expect(Generic<Int>().hookKinds == .building && Generic<String>().hookKinds == .building)
        #expect(TestClient(at: nil).hookKinds == .writeLog)
    }

    @Test func functionsAndOverridesAddUp() async throws {
        let events = Log<String>()
        let client = Completing(
            baseURL: try TestServers.url("fault"),
            hooks: .init(started: { _ in events.append("started") }, completed: { _, _ in events.append("hidden") }))
        client.defaults["proxy"] = ""
        #expect(client.hookKinds == [.requestStarted, .requestCompleted])
        #expect(await client.response("ok").error == nil)
        // An override replaces the hook function, unless it calls super.
        #expect(events.all == ["started"])
    }
}
