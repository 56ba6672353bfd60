import NTApi
import Synchronization

/// The Stack Exchange API v2.3. The defaults of its client are `site`, such as `stackoverflow`, `key`, the program's key
/// if it has one, and `pagesize`.
///
/// It is slow on purpose: the API blocks clients that send more than 30 requests a second, or that do not wait when
/// they are told to.
struct StackExchange: Sendable {
    private final class Quota: Sendable {
        let remaining = Mutex<Int?>(nil)
    }

    static let badParameter = ErrorCode("bad_parameter")
    static let internalError = ErrorCode("internal_error")
    static let throttled = ErrorCode("throttle_violation")
    static let unavailable = ErrorCode("temporarily_unavailable")

    let client: APIClient
    private let quota: Quota

    /// How many requests are left for today; nil before the first answer.
    var quotaRemaining: Int? { quota.remaining.withLock { $0 } }

    init(url: String?) {
        let (limiter, quota) = (RateLimiter(requests: 20, seconds: 1, burst: 10), Quota())
        self.quota = quota
        client = APIClient(
            baseURL: url,
            hooks: .init(
                mapServiceError: Self.error,
                completed: { _, response in
                    // The API may ask the client not to call the method again for some seconds. All following requests
                    // wait for that, also for other methods.
                    if let seconds = response.json?["backoff"]?.double { limiter.pause(seconds: seconds) }
                    if let left = response.json?["quota_remaining"]?.int { quota.remaining.withLock { $0 = left } }
                }))
        client.rateLimiter = limiter
    }

    func search(_ text: String) -> AllItems<SearchQuestions> { all(SearchQuestions(text: text)) }

    func question(_ questionID: Int) async throws(APIError) -> Question? {
        try await standard(FindQuestion(questionID: questionID)).items.first
    }

    func answers(_ questionID: Int) -> AllItems<FindAnswers> { all(FindAnswers(questionID: questionID)) }

    func user(_ userID: Int) async throws(APIError) -> User? {
        try await standard(FindUser(userID: userID)).items.first
    }

    private func all<Service: ListService>(_ service: Service) -> AllItems<Service> {
        AllItems { page throws(APIError) in try await self.standard(service, [.url("page", page)]) }
    }

    /// A call with the session's parameters, which are defaults.
    private func standard<Service: APIService>(
        _ service: Service, _ args: [APIArg] = []
    ) async throws(APIError) -> Service.Response {
        try await client.call(service, args: [.urlDefault("site"), .urlDefault("key"), .urlDefault("pagesize")] + args)
    }

    /// The wrapper around an error: `{"error_id":502,"error_name":"throttle_violation","error_message":"…"}`.
    @Sendable private static func error(in response: APIResponse) -> APIError? {
        guard let name = response.json?["error_name"]?.string else { return nil }
        return APIError(code: ErrorCode(name), message: response.json?["error_message"]?.string)
    }
}
