import NTApi
import Synchronization

/// A client of the weather service. It has what all calls have in common.
final class Weather: APIClient, @unchecked Sendable {
    // Safe to share: the variables are behind a lock.
    private let counts = Mutex((requests: 0, errors: 0))

    /// Responses and errors so far.
    var completed: (requests: Int, errors: Int) { counts.withLock { $0 } }

    /// The service's error code for an unknown city.
    static let notFound = ErrorCode("404")

    /// The direct request: any call, with what all calls have in common. Throws the service's errors.
    func direct(_ command: String, _ args: [APIArg] = []) async throws(APIError) -> APIResponse {
        try await send(command, args: [.header("Accept-Language", "en"), .timeout(10)] + args)
    }

    /// The standard request: calls the direct one, with the session's parameters, which are defaults.
    func standard(_ command: String, _ args: [APIArg] = []) async throws(APIError) -> APIResponse {
        try await direct("data/2.5/\(command)", [.urlDefault("appid"), .urlDefault("units")] + args)
    }

    // MARK: Hooks

    /// The service answers HTTP 200 with `{"cod":"404","message":"…"}`. This makes it an error with the code "404".
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
