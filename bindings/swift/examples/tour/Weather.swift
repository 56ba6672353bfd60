import NTApi
import Synchronization

/// The weather service. It has what all calls have in common.
struct Weather: Sendable {
    /// Responses and errors so far.
    private final class Counts: Sendable {
        let value = Mutex((requests: 0, errors: 0))
    }

    /// The service's error code for an unknown city.
    static let notFound = ErrorCode("404")

    let client: APIClient
    private let counts: Counts

    init(baseURL: String) {
        let counts = Counts()
        self.counts = counts
        client = APIClient(
            baseURL: baseURL,
            hooks: .init(
                mapServiceError: Self.error,
                completed: { _, response in
                    counts.value.withLock { counts in
                        counts.requests += 1
                        counts.errors += response.error == nil ? 0 : 1
                    }
                }))
    }

    var completed: (requests: Int, errors: Int) { counts.value.withLock { $0 } }

    /// The direct request: any call, with what all calls have in common. Throws the service's errors.
    func direct(_ command: String, _ args: [APIArg] = []) async throws(APIError) -> APIResponse {
        try await client.send(command, args: [.header("Accept-Language", "en"), .timeout(10)] + args)
    }

    /// The standard request: calls the direct one, with the session's parameters, which are defaults.
    func standard(_ command: String, _ args: [APIArg] = []) async throws(APIError) -> APIResponse {
        try await direct("data/2.5/\(command)", [.urlDefault("appid"), .urlDefault("units")] + args)
    }

    private static let codes = ["401": ErrorCode("401"), "404": ErrorCode("404")]

    /// The service answers HTTP 200 with `{"cod":"404","message":"…"}`. This makes it an error with the code "404".
    @Sendable private static func error(in response: APIResponse) -> APIError? {
        guard let code = response.json?["cod"]?.string, code != "200" else { return nil }
        return APIError(code: codes[code] ?? .generic, message: response.json?["message"]?.string)
    }
}
