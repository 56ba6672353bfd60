import NTApi
import Synchronization

/// A client of the Stack Exchange API v2.3. Its defaults are `site`, such as `stackoverflow`, `key`, the program's key
/// if it has one, and `pagesize`.
///
/// It is slow on purpose: the API blocks clients that send more than 30 requests a second, or that do not wait when
/// they are told to.
final class StackExchange: APIClient, @unchecked Sendable {
    static let badParameter = ErrorCode("bad_parameter")
    static let internalError = ErrorCode("internal_error")
    static let throttled = ErrorCode("throttle_violation")
    static let unavailable = ErrorCode("temporarily_unavailable")

    private let quota = Mutex<Int?>(nil)

    /// How many requests are left for today; nil before the first answer.
    var quotaRemaining: Int? { quota.withLock { $0 } }

    init(url: String?) {
        super.init(baseURL: url)
        rateLimiter = RateLimiter(requests: 20, seconds: 1, burst: 10)
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
        try await call(service, args: [.urlDefault("site"), .urlDefault("key"), .urlDefault("pagesize")] + args)
    }

    /// The wrapper around an error: `{"error_id":502,"error_name":"throttle_violation","error_message":"…"}`.
    override func mapServiceError(_ response: APIResponse) -> APIError? {
        guard let name = response.json?["error_name"]?.string else { return nil }
        return APIError(code: ErrorCode(name), message: response.json?["error_message"]?.string)
    }

    /// The API may ask the client not to call the method again for some seconds. All following requests wait for that,
    /// also for other methods.
    override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
        if let seconds = response.json?["backoff"]?.double { rateLimiter?.pause(seconds: seconds) }
        if let remaining = response.json?["quota_remaining"]?.int { quota.withLock { $0 = remaining } }
    }
}
