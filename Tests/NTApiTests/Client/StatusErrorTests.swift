import NTApi
import Testing

extension ErrorCode {
    fileprivate static let noSuchCity = ErrorCode("no such city")
    fileprivate static let taken = ErrorCode("taken")
}

/// The errors of a client and a service by status. The conformance table has the cases that all languages share.
@Suite struct StatusErrorTests {
    private struct FindCity: APIService {
        typealias Response = NoContent

        var command: String { "city" }
        var statusErrors: [Int: StatusError] { [404: .code(.noSuchCity)] }
    }

    private final class Mapping: APIClient, @unchecked Sendable {
        // Safe to share: the log is.
        let seen = Log<ErrorCode?>()

        override func mapServiceError(_ response: APIResponse) -> APIError? {
            seen.append(response.error?.code)
            return response.json?["mine"] == nil ? nil : APIError(code: ErrorCode("mine"))
        }

        override func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
            seen.append(error.code)
            return error
        }
    }

    private let stub = Stub()

    private func prepare<Client: APIClient>(_ client: Client) -> Client {
        client.stub = stub
        client.logFlags = []
        return client
    }

    private func error(_ service: some APIService, _ client: APIClient) async -> APIError? {
        do throws(APIError) {
            _ = try await client.call(service)
            return nil
        } catch {
            return error
        }
    }

    @Test func aFunctionMakesTheError() async {
        stub.on("PUT", "city").answer(
            .json(["by": "ann"], status: 409, headers: ["Retry-After": "7"]), .status(409), .status(404))
        let client = prepare(APIClient(baseURL: "https://api.test"))
        client.statusErrors = [
            409: .map { error, response in
                #expect(error.code == .httpError && error.retryAfter == (response.json == nil ? nil : 7))
                let owner = try? response.decode(String.self, at: "by")
                return owner.map { APIError(code: .taken, message: "taken by \($0)") } ?? error
            }
        ]
        let args: [APIArg] = [.method("PUT")]
        let error = await client.response("city", args: args).error
        #expect(error?.code == .taken && error?.message == "taken by ann" && error?.domain == .service)
        #expect(error?.httpStatus == 409 && error?.retryAfter == 7)
        #expect(await client.response("city", args: args).error?.code == .httpError)
        #expect(await client.response("city", args: args).error?.code == .httpError)
    }

    @Test func aServiceComesBeforeItsClient() async {
        stub.on("GET", "city").answer(.status(404), .status(409), .status(404))
        let client = prepare(APIClient(baseURL: "https://api.test"))
        client.statusErrors = [404: .code(ErrorCode("of the client")), 409: .code(.taken)]
        #expect(await error(FindCity(), client)?.code == .noSuchCity)
        #expect(await error(FindCity(), client)?.code == .taken)
        #expect(await client.response("city").error?.code == ErrorCode("of the client"))
    }

    @Test func theHooksComeAfterwards() async {
        stub.on("GET", "city").answer(.json([:], status: 404), .json(["mine": 1], status: 404))
        let client = prepare(Mapping(baseURL: "https://api.test"))
        client.statusErrors[404] = .code(.noSuchCity)
        #expect(await client.response("city").error?.code == .noSuchCity)
        #expect(await client.response("city").error?.code == ErrorCode("mine"))
        #expect(client.seen.all == [.noSuchCity, .noSuchCity, .noSuchCity, ErrorCode("mine")])
    }

    @Test func aStreamThrowsIt() async throws {
        stub.on("GET", "city").answer(.status(404))
        let client = prepare(APIClient(baseURL: "https://api.test"))
        client.statusErrors = [404: .code(.noSuchCity)]
        await #expect {
            for try await _ in try await client.stream("city") {}
        } throws: {
            ($0 as? APIError)?.code == .noSuchCity
        }
    }

    @Test func retriesLookAtTheStatus() async {
        stub.on("GET", "city").answer(.status(503), .json([1]))
        let client = prepare(APIClient(baseURL: "https://api.test", args: [.retry(RetryPolicy(base: 0))]))
        client.statusErrors = [503: .code(.taken)]
        #expect(await client.response("city").json == [1])
        client.statusErrors = [:]
        #expect(client.statusErrors.isEmpty)
    }
}
