import Testing

@testable import NTApi

/// Problem details (RFC 9457) in errors: their members, which errors keep them, and what a message shows of them. The
/// table in Tests/conformance has more cases.
@Suite struct ProblemDetailsTests {
    private static let problem: JSON = [
        "type": "https://example.com/no-credit", "title": "No credit", "status": 402, "detail": "It costs 50.",
        "instance": "/orders/7", "balance": 30,
    ]
    private static let own = ErrorCode("own")

    private final class Client: TestClient, @unchecked Sendable {
        // Safe to share: set before the first request.
        nonisolated(unsafe) var ofService: APIError?
        nonisolated(unsafe) var mapped: APIError?
        let seen = Log<ProblemDetails?>()

        override func mapServiceError(_ response: APIResponse) -> APIError? {
            seen.append(response.error?.problem)
            return ofService
        }

        override func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
            seen.append(error.problem)
            return mapped ?? error
        }
    }

    private let stub = Stub()
    private let client = Client(at: "http://api.test")

    init() { client.stub = stub }

    private func error(
        _ problem: JSON = problem, status: Int = 402, type: String = "application/problem+json", args: [APIArg] = []
    ) async -> APIError? {
        stub.on("POST").answer(.json(problem, status: status, headers: ["Content-Type": type]))
        return await client.response("orders", args: args + [.method("POST")]).error
    }

    // MARK: The value

    @Test func hasTheMembersOfTheObject() throws {
        let problem = try #require(ProblemDetails(Self.problem))
        #expect(problem.type == "https://example.com/no-credit" && problem.title == "No credit")
        #expect(problem.status == 402 && problem.detail == "It costs 50." && problem.instance == "/orders/7")
        #expect(problem.extensions == ["balance": 30] && problem.json == Self.problem)
        #expect("\(problem)" == "No credit: It costs 50.")
    }

    @Test func membersOfAWrongTypeAreAbsent() throws {
        let wrong: JSON = ["type": true, "title": 5, "status": "402", "detail": [], "instance": nil ?? JSON.null]
        let problem = try #require(ProblemDetails(wrong))
        #expect(problem == ProblemDetails([:]) && problem.json == ["type": "about:blank"])
        #expect("\(problem)" == "about:blank")
        #expect(ProblemDetails([Self.problem]) == nil && ProblemDetails("a") == nil)
    }

    @Test func itsDescriptionIsPrintable() {
        #expect(ProblemDetails(["title": "\u{1B}[2J"])?.description == "\\u{1b}[2J")
    }

    @Test func errorsAreComparedWithTheirProblems() {
        var (one, other) = (APIError(code: Self.own, details: 1), APIError(code: Self.own))
        one.problem = ProblemDetails(Self.problem)
        #expect(one != other)
        other.problem = ProblemDetails(Self.problem)
        #expect(one == other && one.details as? Int == 1 && other.details == nil)
        one.problem = nil
        #expect(one.problem == nil && one.details as? Int == 1)
    }

    // MARK: In the error

    @Test func theHooksSeeItAndTheErrorsThatTheyMakeKeepIt() async {
        client.ofService = APIError(code: Self.own, message: "mine")
        let error = await error()
        #expect(error?.code == Self.own && error?.message == "mine" && error?.httpStatus == 402)
        #expect(error?.problem?.json == Self.problem)
        client.ofService = nil
        client.mapped = APIError(code: Self.own, message: "mapped")
        let mapped = await self.error()
        #expect(mapped?.message == "mapped" && mapped?.problem?.json == Self.problem)
        #expect(client.seen.all.map { $0?.json } == Array(repeating: Self.problem, count: 4))
    }

    @Test func aHookMaySetAnother() async {
        var other = APIError(code: Self.own)
        other.problem = ProblemDetails(["title": "other"])
        client.ofService = other
        #expect(await error()?.problem?.title == "other")
        client.ofService = nil
        client.mapped = other
        #expect(await error()?.problem?.title == "other")
    }

    @Test func aServiceMayFindAnErrorInAGoodAnswer() async {
        #expect(await error(status: 200) == nil)
        client.ofService = APIError(code: Self.own)
        #expect(await error(status: 200)?.problem?.json == Self.problem)
        #expect(await error(status: 200, type: "application/json")?.problem == nil)
    }

    private struct Order: APIService {
        typealias Response = JSON

        var command: String { "orders" }
        var parameters: [APIArg] { [.method("POST")] }

        func mapServiceError(_ response: APIResponse) -> APIError? { APIError(code: ProblemDetailsTests.own) }
    }

    @Test func theErrorOfAServiceKeepsIt() async {
        stub.on("POST").answer(
            .json(Self.problem, status: 402, headers: ["Content-Type": "application/problem+json"]))
        let error = await #expect(throws: APIError.self) { try await client.call(Order()) }
        #expect(error?.code == Self.own && error?.problem?.json == Self.problem)
    }

    @Test func theErrorOfAnAuthenticatorThatGotNoTokenHasIt() async {
        client.authenticator = Authenticator(token: .init("old")) { _ in throw APIError(code: Self.own) }
        let error = await error(status: 401)
        #expect(error?.code == .authentication && error?.problem?.json == Self.problem, "\(String(describing: error))")
    }

    // MARK: In the message

    private let start = "HTTP 402 Payment Required for POST http://api.test/orders"

    @Test func theMessageHasTitleAndDetail() async {
        #expect(await error()?.message == "\(start): No credit: It costs 50.")
        #expect(await error(["title": "", "detail": "It costs 50."])?.message == "\(start): It costs 50.")
        #expect(await error([:])?.message == start)
        #expect(await error(type: "application/json")?.message == start)
    }

    @Test func aTextOfTwoHundredCharactersIsWholeAndALongerOneIsCut() async {
        let whole = String(repeating: "ä", count: 200)
        #expect(await error(["detail": JSON(whole)])?.message == "\(start): \(whole)")
        #expect(await error(["detail": JSON(whole + "ä")])?.message == "\(start): \(whole.dropLast())…")
        // One letter with a million accents is too long as well.
        let accents = "a" + String(repeating: "\u{301}", count: 1_000_000)
        #expect(await error(["detail": JSON(accents)])?.message.utf8.count ?? 0 < 1000)
    }

    private static let quoting: [([APIArg], String)] = [
        ([.bearer("S3cret")], "the token S3cret is old"), ([.basicAuth("ann", "S3cret")], "not S3cret"),
        ([.header("X-Api-Key", "S3cret")], "S3cret?"), ([.header("X-Mine", "S3cret").secret], "is S3cret"),
        ([.header("Cookie", "a=b; sid=S3cret")], "sid S3cret"),
        ([.url("token", "S3cret x")], "S3cret x and S3cret%20x"),
        ([.url("id", "S3cret").secret], "no S3cret"), ([.form("password", "S3cret x")], "S3cret x, S3cret+x"),
        ([.form("id", "S3cret").secret], "S3cret"), ([.json(["user": ["password": "S3cret"]])], "S3cret is short"),
        ([.json(["a": ["S3cret"], "b": 77712]).secret], "S3cret and 77712"),
        ([.data(Array("S3cret".utf8)).secret], "S3cret"),
        ([.multipart("password", "S3cret")], "S3cret"), ([.header("X-Api-Key", "S3")], "S3, access_token=S3cret"),
        ([], "see http://ann:S3cret@h/?token=S3cret"),
    ]

    @Test(arguments: quoting.indices) func itRedactsTheSecretsThatTheServerQuotes(_ index: Int) async throws {
        let (args, words) = Self.quoting[index]
        let error = try #require(await error(["title": JSON(words), "detail": JSON(words)], args: args))
        #expect(!error.message.containsSubstring("S3cret") && error.message.containsSubstring("<redacted>"), "\(error)")
        #expect(!error.message.containsSubstring("77712"))
        #expect(error.problem?.detail == words)
    }

    @Test func aSecretInThePathIsRedactedInBothForms() async {
        stub.on("GET").answer(
            .json(
                ["detail": "neither a b nor a%20b"], status: 404, headers: ["Content-Type": "application/problem+json"])
        )
        let error = await client.response("keys/{key}", args: [.path("key", "a b").secret]).error
        #expect(error?.message.hasSuffix(": neither <redacted> nor <redacted>") == true)
    }

    @Test func aSecretThatTheCutWouldHalveIsRedacted() async {
        let words = String(repeating: "x", count: 195) + " S3cretMark"
        let message = await error(["detail": JSON(words)], args: [.bearer("S3cretMark")])?.message
        #expect(message?.containsSubstring("S3c") == false)
    }
}
