import NTApi
import Testing

/// Errors of a service as callers get them. The service is an issue tracker that lists wrong fields.
@Suite struct ServiceErrorTests {
    struct FieldError: Decodable, Equatable {
        let field: String
        let code: String
    }

    private struct CreateIssue: APIService {
        typealias Response = NoContent

        var command: String { "issues" }
        var parameters: [APIArg] { [.json(["title": ""])] }

        func mapServiceError(_ response: APIResponse) -> APIError? { trackerError(response) }
    }

    private struct ReadFile: APIService {
        typealias Response = String

        var command: String { "contents" }
        var parameters: [APIArg] { [.option(.rawData)] }

        func mapServiceError(_ response: APIResponse) -> APIError? { trackerError(response) }
        func makeResponse(_ response: APIResponse) -> String { response.text }
    }

    private static func trackerError(_ response: APIResponse) -> APIError? {
        guard response.status >= 400 else { return nil }
        let fields = try? response.decode([FieldError].self, at: "errors")
        return APIError(code: ErrorCode("tracker"), message: response.json?["message"]?.string, details: fields)
    }

    private let stub = Stub()
    private let client = APIClient(baseURL: "https://tracker.example")

    init() {
        client.stub = stub
        client.logFlags = []
    }

    private func error(_ service: some APIService, _ args: [APIArg] = []) async -> APIError? {
        do throws(APIError) {
            _ = try await client.call(service, args: args)
            return nil
        } catch {
            return error
        }
    }

    @Test func aHookDecodesTheJSONOfAnHTTPErrorAndItsDetailsReachTheCaller() async {
        stub.on("POST", "issues").answer(
            .json(
                ["message": "invalid", "errors": [["field": "title", "code": "missing"]]], status: 422,
                headers: ["Retry-After": "7"]))
        let error = await error(CreateIssue())
        #expect(error?.code == ErrorCode("tracker") && error?.message == "invalid" && error?.httpStatus == 422)
        #expect(error?.details as? [FieldError] == [FieldError(field: "title", code: "missing")])
        #expect(error?.retryAfter == 7)
    }

    @Test func elsewhereAnErrorIsNotDecoded() async {
        stub.on("GET", "contents").answer(.json(["message": "none", "errors": []], status: 404))
        let response = await client.response("contents")
        #expect(throws: APIError.self) { try response.decode([FieldError].self, at: "errors") }
    }

    @Test func detailsDoNotCountWhenErrorsAreCompared() {
        var error = APIError(code: ErrorCode("tracker"), details: "a")
        #expect(error == APIError(code: ErrorCode("tracker"), details: 5) && error.details as? String == "a")
        error.details = nil
        #expect(error.details == nil)
    }

    @Test func aServiceOfTextsHearsWhatAnHTTPErrorSays() async throws {
        stub.on("GET", "contents").answer(.text("[1]"), .json(["message": "no such file"], status: 404), .status(500))
        #expect(try await client.call(ReadFile()) == "[1]")
        #expect(await error(ReadFile())?.message == "no such file")
        #expect(await error(ReadFile())?.domain == .http)
    }

    @Test func whatIsTakenForAnAnswerStaysRaw() async {
        stub.on("GET", "contents").answer(.json(["message": "no such file"], status: 404))
        let args: [APIArg] = [.option(.rawData), .option(.ignoreHTTPErrors)]
        #expect(await client.response("contents", args: args).json == nil)
        #expect(await client.response("contents", args: [.option(.rawData)]).json?["message"] == "no such file")
    }

    private enum State: String, APIArgValue { case open, closed }

    @Test func anEnumIsSentAsItsRawValue() async {
        stub.on("GET", "issues?state=open").answer(.text("[]"))
        #expect(
            await client.response("issues", args: [.url("state", State.open), .url("was", State?.none)]).error == nil)
    }
}
