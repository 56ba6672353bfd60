import Testing

@testable import NTApi

/// Secrets stay with the origin that they are meant for.
@Suite struct RedirectPolicyTests {
    private func request(
        _ method: String = "GET", _ url: String = "https://a.example/x", _ body: HTTPRequest.Body = .none
    ) -> HTTPRequest {
        var request = HTTPRequest(method: method, url: url)
        request.headers = HTTPHeaders([
            (name: "Authorization", value: "Basic x"), (name: "Cookie", value: "a=b"), (name: "X-API-Key", value: "k"),
            (name: "Accept", value: "*/*"), (name: "Content-Type", value: "text/plain"),
            (name: "Host", value: "virtual"),
        ])
        request.headers.add("X-Mine", "m", isSecret: true)
        request.body = body
        return request
    }

    private func decide(
        _ request: HTTPRequest, _ status: Int, _ location: String?, followed: Int = 0
    ) -> RedirectPolicy.Decision {
        var head = ResponseHead(status: status, headers: HTTPHeaders(), httpVersion: 1.1)
        if let location { head.headers.add("Location", location) }
        return RedirectPolicy.decide(request, head, followed: followed)
    }

    private func followed(_ decision: RedirectPolicy.Decision) -> HTTPRequest? {
        if case .follow(let next) = decision { next } else { nil }
    }

    private func refused(_ decision: RedirectPolicy.Decision) -> APIError? {
        if case .refuse(let error) = decision { error } else { nil }
    }

    @Test(arguments: [
        ("https://a.example/y", true), ("https://a.example:443/y", true), ("https://A.EXAMPLE/y", true), ("/y", true),
        ("y?z", true), ("//a.example/y", true), ("https://b.example/y", false), ("https://a.example.evil/y", false),
        ("https://a.example:444/y", false), ("https://sub.a.example/y", false), ("//b.example/y", false),
        ("https://127.0.0.1/y", false),
    ]) func secretsGoToTheSameOriginOnly(_ location: String, _ isSame: Bool) throws {
        let next = try #require(followed(decide(request(), 302, location)))
        let names = next.headers.map(\.name)
        let kept = ["Authorization", "Cookie", "X-API-Key", "Accept", "Content-Type", "Host", "X-Mine"]
        #expect(names == (isSame ? kept : ["Accept", "Content-Type"]))
    }

    @Test func anUpgradeToHTTPSIsAnotherOrigin() throws {
        let next = try #require(followed(decide(request("GET", "http://a.example/x"), 302, "https://a.example/x")))
        #expect(next.headers["X-API-Key"] == nil && next.headers["Authorization"] == nil)
    }

    @Test func neverGoesFromHTTPSToHTTP() throws {
        let error = try #require(refused(decide(request(), 302, "http://a.example/y?token=s3cr3t")))
        #expect(error.code == .httpError && error.httpStatus == 302)
        #expect(error.message.containsSubstring("https to http") && !error.message.containsSubstring("s3cr3t"))
    }

    @Test(arguments: [
        "ftp://a.example/", "file:///etc/passwd", "javascript:alert(1)", "http:///x", "http://h:99999/",
        "https://eve:secret@a.example/", "https://a.example/\u{1}",
    ]) func refusesPlacesThatNobodyShouldGoTo(_ location: String) throws {
        let error = try #require(refused(decide(request(), 302, location)))
        #expect(error.domain == .http && error.httpStatus == 302 && !error.message.containsSubstring("eve:secret"))
    }

    @Test(arguments: [
        ("GET", 301, "GET"), ("GET", 302, "GET"), ("GET", 303, "GET"), ("GET", 307, "GET"), ("GET", 308, "GET"),
        ("POST", 301, "GET"), ("POST", 302, "GET"), ("POST", 303, "GET"), ("POST", 307, "POST"), ("POST", 308, "POST"),
        ("PUT", 301, "PUT"), ("PUT", 302, "PUT"), ("PUT", 303, "GET"), ("PUT", 307, "PUT"), ("HEAD", 303, "HEAD"),
        ("DELETE", 302, "DELETE"), ("DELETE", 303, "GET"),
    ]) func changesTheMethodAsBrowsersDo(_ method: String, _ status: Int, _ expected: String) throws {
        let next = try #require(followed(decide(request(method, body: .bytes([1])), status, "/y")))
        #expect(next.method == expected)
        let keepsBody = !(expected == "GET" && method != "GET")
        #expect(next.body.isNone == !keepsBody && (next.headers["Content-Type"] != nil) == keepsBody)
    }

    @Test(arguments: [200, 201, 300, 304, 305, 306, 399, 400]) func otherStatusesAreNoRedirects(_ status: Int) {
        guard case .none = decide(request(), status, "/y") else {
            Issue.record("\(status) was followed")
            return
        }
    }

    @Test func withoutALocationThereIsNowhereToGo() {
        guard case .none = decide(request(), 302, nil) else {
            Issue.record("followed")
            return
        }
    }

    @Test func theCountIsBounded() throws {
        var some = request()
        some.settings.maximumRedirects = 2
        #expect(followed(decide(some, 302, "/y", followed: 1)) != nil)
        let error = try #require(refused(decide(some, 302, "/y?password=s3cr3t", followed: 2)))
        #expect(error.code == .tooManyRedirects && !error.message.containsSubstring("s3cr3t"))
        some.settings.maximumRedirects = 0
        guard case .none = decide(some, 302, "/y") else {
            Issue.record("0 follows none")
            return
        }
    }

    /// A body that has been read cannot be sent again, unless it can be rewound.
    @Test func aStreamThatCannotBeRewoundIsNotSentOn() {
        let once = decide(request("POST", body: .stream(BodyStream { _ in 0 })), 307, "/y")
        #expect(refused(once)?.message.containsSubstring("stream") == true)
        let again = BodyStream(rewind: { true }, read: { _ in 0 })
        #expect(followed(decide(request("POST", body: .stream(again)), 307, "/y")) != nil)
        // A request that becomes a GET needs no body.
        #expect(followed(decide(request("POST", body: .stream(BodyStream { _ in 0 })), 303, "/y")) != nil)
    }

    private func request(_ method: String, body: HTTPRequest.Body) -> HTTPRequest {
        request(method, "https://a.example/x", body)
    }
}
