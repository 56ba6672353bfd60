import Testing

@testable import NTApi

/// Which of its own args and defaults a client sends to a URL that a server has named, such as the next page's link.
@Suite struct OtherOriginTests {
    private static let secret = "s3cret"

    private static let own: [APIArg] = [
        .url("appid", secret), .url("mine", secret).secret, .urlDefault("token"), .url("units", "metric"),
        .header("X-Api-Key", secret), .header("X-Mine", secret).secret, .header("X-Kind", "plain"),
    ]

    /// A client whose args and defaults have secrets.
    private func client(_ own: [APIArg] = Self.own) throws -> APIClient {
        let client = try TestClient.of("fault")
        client.args = own
        client.defaults["token"] = JSON(Self.secret)
        client.defaults["additionalHeaders"] = ["X-Session-Token": JSON(Self.secret), "X-App": "plain"]
        return client
    }

    /// The link to the next page, as a server names it.
    private func next(_ target: String, _ client: APIClient) async throws -> String {
        let page = try await client.send("headers", args: [.url("Link", "<\(target)>; rel=\"next\"")])
        return try #require(page.link("next"))
    }

    @Test(
        arguments: [[], [.bearer(secret)], [.basicAuth("ann", secret)], [.header("Authorization", secret)]]
            as [[APIArg]])
    func aLinkToAnotherOriginGetsNoSecrets(more: [APIArg]) async throws {
        let client = try client(Self.own + more)
        let url = try await next("\(try TestServers.url("fault_other"))/echo?page=2", client)
        let seen = try #require(try await client.send(args: [.baseURL(url), .url("q", 1)]).json)
        #expect(seen["listener"]?.string == "fault_other")
        #expect(seen["target"]?.string == "/echo?page=2&units=metric&q=1")
        #expect(!seen.text.contains(Self.secret) && seen[path: "header.authorization"] == nil)
        #expect(seen[path: "header[\"x-kind\"]"]?.string == "plain")
        #expect(seen[path: "header[\"x-app\"]"]?.string == "plain")
    }

    @Test func aPasswordIsNoAnswerToAnotherOrigin() async throws {
        let client = try client([.url("user", "ann"), .url("qop", "auth"), .digestAuth("ann", "pw")])
        let url = "\(try TestServers.url("fault_other"))/digest/SHA-256?password=pw"
        #expect(await client.response(args: [.baseURL(url)]).status == 401)
        #expect(await client.response("digest/SHA-256", args: [.url("password", "pw")]).status == 200)
    }

    @Test func aSecretBodyStaysBehind() async throws {
        let client = try client([.form("password", Self.secret), .form("kind", "plain")])
        let url = "\(try TestServers.url("fault_other"))/echo"
        let seen = try await client.send(args: [.baseURL(url)]).json
        #expect(seen?["body"]?.string == "kind=plain")
    }

    @Test func anotherOriginIsVerified() throws {
        let own: [APIArg] = [.option(.allowInvalidCertificate)]
        let client = APIClient(baseURL: "https://a.test", args: own)
        let allows = { (args: [APIArg]) in client.request(args: args).httpRequest?.settings.allowsInvalidCertificate }
        #expect(allows([]) == true && allows([.baseURL("https://a.test/b")]) == true)
        #expect(allows([.baseURL("https://b.test")]) == false)
        #expect(allows(own + [.baseURL("https://b.test")]) == true)
    }

    @Test func aResumedDownloadGetsNoSecrets() async throws {
        let url = "\(try TestServers.url("fault_other"))/echo"
        let own = Self.own + [.bearer(Self.secret)]
        let data = try ResumeData(
            url: url, destination: "/tmp/a", temporaryFile: "/tmp/.a.1a.part", offset: nil, validator: .etag("\"a\""))
        let sent = try #require(try client(own).request(args: [.resume(data)]).curlCommand)
        #expect(sent.contains(url) && sent.contains("X-Kind") && !sent.contains("redacted"))
    }

    @Test func theClientsOwnOriginGetsAllOnce() async throws {
        let client = try client(Self.own + [.bearer(Self.secret)])
        let target = "/echo?page=2&units=metric&appid=\(Self.secret)&token=\(Self.secret)&mine=another+one"
        let seen = try await client.send(args: [.baseURL(try await next(target, client))]).json
        #expect(seen?["target"]?.string == "\(target)&mine=\(Self.secret)")
        for name in ["x-api-key", "x-mine", "x-session-token"] {
            #expect(seen?["header"]?[name]?.string == Self.secret)
        }
        #expect(seen?[path: "header.authorization"]?.string == "Bearer \(Self.secret)")
    }

    @Test func aHookThatNamesAnotherOriginSendsNoSecretsThere() async throws {
        let url = "\(try TestServers.url("fault_other"))/echo"
        let hooks = APIClient.Hooks(buildArgs: { command, args in
            if command == "away" { args = [.baseURL(url), .bearer("of the hook")] + args }
        })
        let own = Self.own + [.bearer(Self.secret)]
        let client = APIClient(baseURL: try TestServers.url("fault"), args: own, hooks: hooks)
        client.defaults["token"] = JSON(Self.secret)
        client.defaults["additionalHeaders"] = ["X-Session-Token": JSON(Self.secret)]
        let seen = try #require(try await client.send("away", args: [.url("q", 1)]).json)
        #expect(seen["target"]?.string == "/echo?units=metric&q=1" && !seen.text.contains(Self.secret))
        #expect(seen[path: "header.authorization"]?.string == "Bearer of the hook")
        #expect(try await client.send("echo").json?[path: "header[\"x-api-key\"]"]?.string == Self.secret)
    }

    @Test func argsOfTheRequestGoWithItsURL() async throws {
        let url = "\(try TestServers.url("fault_other"))/echo?q=1"
        let args: [APIArg] = [.baseURL(url), .bearer("of the request"), .url("appid", "mine"), .url("q", 1)]
        let seen = try await client().send(args: args + [.header("X-Session-Token", "mine")]).json
        #expect(seen?["target"]?.string == "/echo?q=1&units=metric&appid=mine&q=1")
        #expect(seen?[path: "header.authorization"]?.string == "Bearer of the request")
        #expect(seen?[path: "header[\"x-session-token\"]"]?.string == "mine")
    }

    @Test func aBaseURLOfTheClientsArgsIsItsOrigin() async throws {
        let other = try TestServers.url("fault_other")
        let client = try client([.baseURL("\(other)/echo"), .bearer(Self.secret)])
        #expect(try await client.send().json?[path: "header.authorization"] != nil)
        #expect(try await client.send(args: [.baseURL("\(other)/echo")]).json?[path: "header.authorization"] != nil)
        let url = "\(try TestServers.url("fault"))/echo"
        #expect(try await client.send(args: [.baseURL(url)]).json?[path: "header.authorization"] == nil)
    }

    @Test func aClientWithoutBaseURLHasNoOrigin() async throws {
        let client = APIClient(args: [.bearer(Self.secret)])
        let seen = try await client.send(args: [.baseURL("\(try TestServers.url("fault"))/echo")]).json
        #expect(seen?[path: "header.authorization"]?.string == "Bearer \(Self.secret)")
    }
}
