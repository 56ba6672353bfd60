import NTApi
import Synchronization

/// A client of the weather service: what all of its calls have in common, written once.
final class Weather: APIClient, @unchecked Sendable {
    // Safe to share: what changes is behind the lock.
    private let counts = Mutex((requests: 0, errors: 0))

    /// Responses and errors so far.
    var completed: (requests: Int, errors: Int) { counts.withLock { $0 } }

    /// What the service calls a city that it does not know.
    static let notFound = ErrorCode("404")

    /// The direct request: any call, with what is common to every one of them. Errors of the service are thrown.
    func direct(_ command: String, _ args: [APIArg] = []) async throws(APIError) -> APIResponse {
        try await send(command, args: [.header("Accept-Language", "en"), .timeout(10)] + args)
    }

    /// The standard request, on top of the direct one: adds the parameters of the session, which are defaults.
    func standard(_ command: String, _ args: [APIArg] = []) async throws(APIError) -> APIResponse {
        try await direct("data/2.5/\(command)", [.urlDefault("appid"), .urlDefault("units")] + args)
    }

    // MARK: Hooks

    /// The service says HTTP 200 and then `{"cod":"404","message":"…"}`: that is an error with the code "404".
    override func mapServiceError(_ response: APIResponse) -> APIError? {
        guard let code = response.json?["cod"]?.string, code != "200" else { return nil }
        return APIError(code: ErrorCode(code), message: response.json?["message"]?.string)
    }

    override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
        counts.withLock { counts in
            counts.requests += 1
            counts.errors += response.error == nil ? 0 : 1
        }
    }
}
