import Testing

@testable import NTApi

private let mapped = ErrorCode("mapped")

/// The hook for every error that ends a request: when it is called, with which error, and who sees its result.
@Suite struct MapErrorTests {
    private final class Mapping: TestClient, @unchecked Sendable {
        // Safe to share: the hook is set before the first request, and the logs are safe by themselves.
        let asked = Log<APIError>()
        let events = Log<String>()
        nonisolated(unsafe) var map: @Sendable (APIError, APIResponse) -> APIError = { error, _ in
            APIError(code: mapped, message: "was \(error.code.name)")
        }

        override func mapServiceError(_ response: APIResponse) -> APIError? {
            events.append("service error")
            return nil
        }

        override func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
            #expect(response.error == error)
            asked.append(error)
            events.append("error on \(WorkerPool.isWorkerThread ? "worker" : "caller")")
            return map(error, response)
        }

        override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
            events.append("completed \(response.error?.code.name ?? "well")")
        }
    }

    @Test func theNewErrorIsWhatLogHookAndHandlerSee() async throws {
        let client = try Mapping.of("fault")
        client.logFlags = .all
        let response = await client.response("status/404")
        #expect(response.error?.code == mapped && response.error?.httpStatus == 404)
        #expect(client.asked.all.map(\.domain) == [.http])
        #expect(client.events.all == ["service error", "error on worker", "completed mapped"])
        let log = client.lines.all.map(\.message)
        #expect(
            log.contains { $0.hasSuffix("mapped: was HTTP error") }
                && !log.contains { $0.containsSubstring("HTTP error: ") })
        #expect(client.lines.all.contains { $0.level == .warn && $0.message.hasSuffix("mapped: was HTTP error") })
    }

    @Test func runsOnTheThreadThatPerforms() async throws {
        let client = try Mapping.of("fault")
        let error = await onThread { client.perform("reset/before").error }
        #expect(error?.code == mapped && client.asked.all.map(\.domain) == [.network])
    }

    // MARK: Cancelled

    @Test(arguments: [false, true]) func aCancelledRequestIsAskedAboutOnce(_ wasResumed: Bool) async throws {
        let client = try Mapping.of("fault")
        let responses = Log<APIResponse>()
        let request = client.request("stall/before", args: [.responseThread(.background)])
        request.setHandler { responses.append($0) }
        if wasResumed { request.resume() }
        #expect(request.cancel())
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
        #expect(responses.all.map(\.error?.code) == [mapped])
        #expect(client.asked.all.map(\.code) == [.cancelled])
    }

    /// The task is cancelled before its request has a handler.
    @Test func aTaskThatIsCancelledAlreadyGetsTheNewError() async throws {
        let client = try Mapping.of("fault")
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await client.response("ok")
        }
        task.cancel()
        #expect(await task.value.error?.code == mapped)
        #expect(client.asked.all.map(\.code) == [.cancelled])
    }

    /// While the hook runs, the outcome is final: a cancel comes too late, and the hook is not called again.
    @Test func aCancelWhileTheHookRunsIsTooLate() async throws {
        let client = try Mapping.of("fault")
        let cancelled = Log<Bool>()
        client.map = { _, response in
            cancelled.append(response.request.cancel())
            #expect(response.request.response == nil)
            return APIError(code: mapped)
        }
        #expect(await client.response("reset/before").error?.code == mapped)
        #expect(cancelled.all == [false] && client.asked.count == 1)
    }

    // MARK: What is decided before

    @Test func redirectsAndRetriesAreDecidedWithTheErrorAsItWas() async throws {
        let client = try Mapping.of("fault")
        let proposed = Log<APIError?>()
        let request = client.request(
            "status/503", args: [.retry(RetryPolicy(attempts: 2, base: 0)), .responseThread(.background)])
        request.setDecisionHandler(for: .retry) { decision in
            proposed.append(decision.retry?.response.error)
            decision.proceed()
        }
        request.resume()
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
        #expect(proposed.all.map { $0?.domain } == [.http])
        #expect(client.asked.all.map(\.domain) == [.http] && request.response?.error?.code == mapped)
    }

    @Test func theJSONOfAnErrorCanBeDecoded() async throws {
        let client = try Mapping.of("fault")
        client.map = { error, response in
            APIError(code: error.code, message: try? response.decode(String.self, at: "message"))
        }
        let error = await client.response("status/400", args: [.url("message", "not like this")]).error
        #expect(error?.code == .httpError && error?.message == "not like this")
    }

    // MARK: Services

    private struct Failing: APIService {
        struct Nothing: Error {}

        typealias Response = Int
        var command = "ok"

        func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
            #expect(response.error == error)
            return APIError(code: ErrorCode("service"), message: "\(error.domain) \(error.code.name)")
        }

        func makeResponse(_ response: APIResponse) throws -> Int { throw Nothing() }
    }

    /// A service may declare the hook with an optional result. It is called, too.
    private struct Optionally: APIService {
        typealias Response = NoContent
        var command = "status/400"
        let replaces: Bool

        func mapError(_ error: APIError, _ response: APIResponse) -> APIError? {
            replaces ? APIError(code: ErrorCode("service")) : nil
        }
    }

    @Test(arguments: [true, false]) func aServiceMayReturnNil(_ replaces: Bool) async throws {
        let client = try TestClient.of("fault")
        do throws(APIError) {
            _ = try await client.call(Optionally(replaces: replaces))
            Issue.record("no error")
        } catch {
            #expect(error.code == (replaces ? ErrorCode("service") : .httpError) && error.httpStatus == 400)
        }
    }

    private static func failure(_ client: APIClient, _ service: Failing) async -> String? {
        do throws(APIError) {
            _ = try await client.call(service)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func aServiceIsAskedAboutEveryErrorAfterItsClient() async throws {
        let plain = try TestClient.of("fault")
        #expect(await Self.failure(plain, Failing()) == "service: service generic")
        #expect(await Self.failure(plain, Failing(command: "reset/before")) == "service: network network")
        #expect(await Self.failure(plain, Failing(command: "status/500")) == "service: http HTTP error")
        #expect(await Self.failure(plain, Failing(command: "{unfilled}")) == "service: request invalid request")
        let client = try Mapping.of("fault")
        #expect(await Self.failure(client, Failing(command: "reset/before")) == "service: service mapped")
        #expect(client.events.all.last == "completed service")
    }

    @Test func aCancelledCallIsShownToItsService() async throws {
        let results = Log<Result<Int, APIError>>()
        let request = try TestClient.of("fault").beginCall(
            Failing(command: "stall/before"), args: [.responseThread(.background)]
        ) { results.append($0) }
        request.cancel()
        let result = try await results.element(0)
        #expect(throws: APIError(code: ErrorCode("service"), message: "cancelled request cancelled")) {
            try result.get()
        }
    }

    // MARK: Background sessions

    @Test func whatGoesOnWithTheNextProcessIsShown() async throws {
        let folder = try TemporaryFolder()
        var configuration = SessionConfiguration.background("mapped")
        configuration["backgroundFolder"] = JSON(folder.path + "/sessions")
        configuration["proxy"] = ""
        final class Session: APIClient, @unchecked Sendable {
            // Safe to share: the log is.
            let asked = Log<ErrorCode>()
            override func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
                asked.append(error.code)
                return APIError(code: mapped)
            }
        }
        let client = Session(baseURL: try TestServers.url("fault"), configuration: configuration)
        client.logFlags = []
        let responses = Log<ErrorCode?>()
        client.begin("stall/before", args: [.responseThread(.background), .download(to: folder.path + "/file")]) {
            responses.append($0.error?.code)
        }
        client.close()
        #expect(await responses.first(1) == [mapped])
        #expect(client.asked.all == [.detached])
    }
}
