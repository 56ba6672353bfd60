import NTApi
import Testing

/// Page after page: by the header Link, and by the JSON of a page.
@Suite struct PagesTests {
    private static let issues = "http://api.test/repos/a%2Fb/issues"
    private static let args: [APIArg] = [.path("name", "a/b"), .url("per_page", 2), .bearer("t")]

    private let stub = Stub()
    private let client = APIClient(baseURL: "http://api.test")

    init() {
        client.stub = stub
        client.logFlags = []
    }

    /// Three pages. The second one needs the token, and must not get the first query again.
    private func link() {
        stub.on("GET", "\(Self.issues)?per_page=2").answer(
            .json(
                [1, 2], headers: ["Link": #"<?per_page=2&page=2>; rel="next", <?page=3>; rel="last""#]))
        stub.on("GET", "\(Self.issues)?per_page=2&page=2").answer(
            .json([3, 4], headers: ["Link": "<\(Self.issues)?per_page=2&page=3>; rel=next"]))
        stub.on("GET", "\(Self.issues)?per_page=2&page=3").answer(.json([5]))
    }

    private func numbers(_ pages: Pages) async throws -> [Int] {
        var all: [Int] = []
        for try await page in pages { all += try page.decode([Int].self) }
        return all
    }

    @Test func linksAreFollowed() async throws {
        link()
        let pages = client.pages("repos/{name}/issues", args: Self.args)
        #expect(try await numbers(pages) == [1, 2, 3, 4, 5])
        #expect(stub.requests.map { $0.headers["Authorization"] } == ["Bearer t", "Bearer t", "Bearer t"])
        #expect(stub.requests[1].url == "\(Self.issues)?per_page=2&page=2")
        // Each iteration begins at the first page.
        #expect(try await numbers(pages) == [1, 2, 3, 4, 5])
    }

    @Test func aPageIsAskedForWhenItIsWanted() async throws {
        link()
        for try await _ in client.pages("repos/{name}/issues", args: Self.args) { break }
        #expect(stub.requests.count == 1)
    }

    @Test func cursors() async throws {
        stub.on("GET", "items?limit=1").answer(.json(["items": [1], "next": "a"]))
        stub.on("GET", "items?limit=1&cursor=a").answer(.json(["items": [2], "next": "b"]))
        stub.on("GET", "items?limit=1&cursor=b").answer(.json(["items": [3], "next": .null]))
        let pages = client.pages("items", args: [.url("limit", 1)]) { page throws(APIError) in
            [.url("cursor", try page.decode(String?.self, at: "next"))]
        }
        var items: [Int] = []
        for try await page in pages { items += try page.decode([Int].self, at: "items") }
        #expect(items == [1, 2, 3] && stub.requests.count == 3)
    }

    @Test(arguments: ["https://api.test/x", "http://evil.test/x", "//api.test:81/x"])
    func credentialsDoNotFollowALinkElsewhere(other: String) async throws {
        stub.on("GET").answer(.json([1], headers: ["Link": "<\(other)>; rel=next"]))
        var pages = client.pages("x", args: [.bearer("t")]).makeAsyncIterator()
        #expect(try await pages.next()?.json == [1])
        do throws(APIError) {
            _ = try await pages.next()
            Issue.record("it has followed the link")
        } catch {
            #expect(error.code == .invalidRequest && error.message.contains("at another origin"))
        }
        // After an error the series has ended.
        #expect(try await pages.next() == nil)
        #expect(stub.requests.count == 1)
    }

    @Test func aRedirectOfAPageTakesNoCredentialsAlong() async throws {
        stub.on("GET", "http://api.test/x").answer(.status(307, headers: ["Location": "http://evil.test/x"]))
        stub.on("GET", "http://evil.test/x").answer(.json([1], headers: ["Link": "<http://evil.test/y>; rel=next"]))
        var pages = client.pages("x", args: [.bearer("t")]).makeAsyncIterator()
        #expect(try await pages.next()?.json == [1])
        await #expect(throws: APIError.self) { try await pages.next() }
        #expect(stub.requests.map { $0.headers["Authorization"] != nil } == [true, false])
    }

    @Test func aPageThatFailsIsThrown() async throws {
        stub.on("GET", "x").answer(.json([1], headers: ["Link": "</y>; rel=next"]))
        stub.on("GET", "y").answer(.status(503))
        var pages = client.pages("x").makeAsyncIterator()
        #expect(try await pages.next()?.json == [1])
        do throws(APIError) {
            _ = try await pages.next()
            Issue.record("a status of 503 is an error")
        } catch {
            #expect(error.httpStatus == 503)
        }
        #expect(try await pages.next() == nil)
    }
}
