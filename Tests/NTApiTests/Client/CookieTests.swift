import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct CookieTests {
    private func client(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> APIClient {
        try session("fault", .ephemeral, change)
    }

    /// The Cookie header that the server received.
    private func sent(by client: APIClient, to host: String? = nil, _ args: [APIArg] = []) async throws -> String? {
        let url = try host.map { try self.url($0) + "/echo" }
        return try await client.send(url == nil ? "echo" : "", args: args + [.baseURL(url)]).json?["header"]?["cookie"]?
            .string
    }

    /// The fault server under another name of this machine.
    private func url(_ host: String) throws -> String {
        "http://\(host):\(try TestServers.url("fault").split(separator: ":").last ?? "")"
    }

    @Test func areTakenAndSent() async throws {
        let client = try client()
        #expect(try await sent(by: client) == nil)
        _ = try await client.send(
            "set-cookie",
            args: [.url("set", "a=1; Path=/"), .url("set", "b=2; Path=/echo"), .url("set", "c=3; Path=/no")])
        #expect(try await sent(by: client) == "b=2; a=1")
        _ = try await client.send(
            "set-cookie", args: [.url("set", "a=; Path=/; Max-Age=0"), .url("set", "b=4; Path=/echo; Secure")])
        #expect(client.cookies?.cookies.map(\.name).sorted() == ["b", "c"])
        // With one that has it already, and by a caller that waits on its own thread.
        _ = await onThread { client.perform("set-cookie", args: [.url("set", "d=5; Path=/")]) }
        #expect(await onThread { client.perform("echo").json?["header"]?["cookie"]?.string } == "b=4; d=5")
    }

    /// More cookies than libcurl sends by itself, from the program and from a server. Longer paths come first, then the
    /// oldest.
    @Test(arguments: [(50, 4090), (400, 1), (5, 2000)], [CookieAcceptPolicy.always, .never])
    func allAreSentHoweverLong(_ size: (count: Int, bytes: Int), _ policy: CookieAcceptPolicy) async throws {
        let client = try client { $0.cookieAcceptPolicy = policy }
        let cookies = try #require(client.cookies)
        let value = String(repeating: "v", count: size.bytes)
        let names = (0..<size.count).map { "n\($0)" }
        for name in names { try cookies.set(Cookie(name: name, value: value, domain: "127.0.0.1")) }
        try cookies.set(Cookie(name: "last", value: "1", domain: "127.0.0.1", path: "/echo"))
        try cookies.set(Cookie(name: "other", value: "1", domain: "127.0.0.1", path: "/elsewhere"))
        try cookies.set(Cookie(name: "secure", value: "1", domain: "example.test", isSecure: true))
        let expected = (["last=1"] + names.map { "\($0)=\(value)" }).joined(separator: "; ")
        for _ in 0..<2 { #expect(try await sent(by: client) == expected) }
        #expect(try await sent(by: client, [.header("Cookie", "own=1")]) == "own=1")
        #expect(try await sent(by: self.client()) == nil)
        // A cookie that the server sets is stored, and comes last.
        _ = try await client.send("set-cookie", args: [.url("set", "new=1; Path=/")])
        let isAccepted = policy == .always
        #expect(try await sent(by: client) == expected + (isAccepted ? "; new=1" : ""))
        // When the cookies fit again, libcurl sends them.
        cookies.removeAll()
        try cookies.set(Cookie(name: "a", value: "1", domain: "127.0.0.1"))
        for _ in 0..<2 { #expect(try await sent(by: client) == "a=1") }
    }

    @Test func manyOfAServerAreSent() async throws {
        let client = try client()
        let value = String(repeating: "v", count: 3000)
        for name in ["a", "b", "c", "d"] {
            _ = try await client.send("set-cookie", args: [.url("set", "\(name)=\(value); Path=/")])
        }
        let expected = ["a", "b", "c", "d"].map { "\($0)=\(value)" }.joined(separator: "; ")
        #expect(try await sent(by: client) == expected)
        #expect(await onThread { client.perform("echo").json?["header"]?["cookie"]?.string } == expected)
    }

    @Test func attributes() async throws {
        let client = try client()
        let before = wallClockSeconds().rounded(.down)
        _ = try await client.send(
            "set-cookie",
            args: [
                .url("set", "one=v; Path=/p; Max-Age=100; HttpOnly"), .url("set", "two=a b=c"),
                .url("set", "three=x; Path=/; Expires=Wed, 01 Jan 2200 00:00:00 GMT"),
            ])
        let cookies = try #require(client.cookies?.cookies.sorted { $0.name < $1.name })
        #expect(cookies.map(\.name) == ["one", "three", "two"] && cookies.allSatisfy { $0.domain == "127.0.0.1" })
        #expect(cookies[0].path == "/p" && cookies[0].isHTTPOnly && !cookies[0].isSecure)
        #expect((before + 99...before + 110).contains(cookies[0].expires ?? 0))
        #expect(cookies[1].expires == 7_258_118_400 && cookies[2].expires == nil && cookies[2].value == "a b=c")
        #expect(cookies.allSatisfy { !$0.includesSubdomains })
    }

    @Test func areSetListedAndDeleted() async throws {
        let client = try client()
        let cookies = try #require(client.cookies)
        try cookies.set(Cookie(name: "a", value: "1", domain: "127.0.0.1"))
        try cookies.set(Cookie(name: "b", value: "2", domain: ".example.test", path: "/x", isSecure: true))
        try cookies.set(Cookie(name: "c", value: "", domain: "127.0.0.1", path: "/echo"))
        #expect(try await sent(by: client) == "c=; a=1")
        #expect(try cookies.cookies(for: "https://www.example.test/x/y").map(\.name) == ["b"])
        for other in ["http://www.example.test/x", "https://www.example.test/xy", "https://badexample.test/x"] {
            #expect(try cookies.cookies(for: other).isEmpty, "\(other)")
        }
        #expect(throws: APIError.self) { _ = try cookies.cookies(for: "nonsense") }
        try cookies.set(Cookie(name: "a", value: "new", domain: "127.0.0.1"))
        #expect(cookies.cookies.count == 3 && cookies.cookies.contains { $0.value == "new" })
        cookies.delete(name: "c", domain: "other")
        #expect(cookies.cookies.count == 3)
        cookies.delete(name: "b", domain: ".Example.test")
        try cookies.set(Cookie(name: "a", value: "", domain: "127.0.0.1", expires: 1))
        #expect(cookies.cookies.map(\.name) == ["c"])
        cookies.removeAll()
        #expect(try await sent(by: client) == nil && cookies.cookies.isEmpty)
    }

    @Test(arguments: [
        Cookie(name: "", value: "", domain: "h"), Cookie(name: "a b", value: "", domain: "h"),
        Cookie(name: "a=", value: "", domain: "h"), Cookie(name: "a", value: "x;y", domain: "h"),
        Cookie(name: "a", value: "x\ny", domain: "h"), Cookie(name: "a\t", value: "x", domain: "h"),
        Cookie(name: "a", value: "\0", domain: "h"), Cookie(name: "a", value: "", domain: ""),
        Cookie(name: "a", value: "", domain: "h/x"), Cookie(name: "a", value: "", domain: "h", path: "x"),
        Cookie(name: "a", value: String(repeating: "x", count: 5000), domain: "h"),
        Cookie(name: "a", value: "", domain: "h", expires: .nan), Cookie(name: "__Secure-a", value: "", domain: "h"),
        Cookie(name: "__Host-a", value: "", domain: ".h", isSecure: true),
    ]) func oneThatCannotBeSentIsRefused(_ cookie: Cookie) throws {
        let cookies = try #require(CookieStorage())
        #expect(thrown { try cookies.set(cookie) }?.code == .invalidRequest)
        #expect(cookies.cookies.isEmpty)
    }

    @Test func linesAreReadBack() throws {
        let cookies = [
            Cookie(name: "a", value: "", domain: "h"), Cookie(name: "b", value: "x=y z", domain: ".h.test", path: "/p"),
            Cookie(name: "c", value: "ü", domain: "[::1]", expires: 5, isSecure: true, isHTTPOnly: true),
        ]
        for cookie in cookies { #expect(Cookie(line: cookie.line) == cookie, "\(cookie.line)") }
        for line in [
            "", "#", "# comment\ta\t/\tFALSE\t0\tn\tv", "h\tFALSE\t/\tFALSE\tx\tn\tv", "h\tFALSE\t/\tFALSE\t0",
        ] {
            #expect(Cookie(line: line) == nil)
        }
        #expect(!"\(cookies[1])".containsSubstring("x=y"))
    }

    @Test func oneThatTheCallerSetsIsSentAsItIs() async throws {
        let client = try client()
        try client.cookies?.set(Cookie(name: "a", value: "1", domain: "127.0.0.1"))
        #expect(try await sent(by: client, [.header("Cookie", "mine=2")]) == "mine=2")
        // Cookies of the response are stored nevertheless.
        _ = try await client.send("set-cookie", args: [.url("set", "b=3; Path=/"), .header("Cookie", "mine=2")])
        #expect(try await sent(by: client) == "b=3; a=1")
    }

    /// A libcurl handle keeps the host of an earlier Host header for its cookies. It must not be used for a later
    /// request.
    @Test func aHostHeaderIsForItsRequestOnly() async throws {
        let (client, plain) = (try client(), try TestClient.of("fault"))
        for round in 0..<5 {
            _ = try await plain.send("echo", args: [.header("Host", "elsewhere.test")])
            _ = await onThread { plain.perform("echo", args: [.header("Host", "elsewhere.test")]) }
            _ = try await client.send("set-cookie", args: [.url("set", "a=\(round); Path=/")])
            #expect(try await sent(by: client) == "a=\(round)")
            #expect(await onThread { client.perform("echo").json?["header"]?["cookie"]?.string } == "a=\(round)")
        }
        #expect(client.cookies?.cookies.map(\.domain) == ["127.0.0.1"])
    }

    // MARK: Redirects

    @Test func eachHopSendsAndTakes() async throws {
        let client = try client()
        let last = "/echo"
        let second = "/set-cookie?set=\(PercentEncoding.component("b=2; Path=/"))&to=\(PercentEncoding.component(last))"
        let json = try await client.send(
            "set-cookie", args: [.url("set", "a=1; Path=/"), .url("to", second)]
        ).json
        #expect(json?["header"]?["cookie"]?.string == "b=2; a=1")
    }

    @Test func staysWithItsHost() async throws {
        let client = try client { $0.cookieAcceptPolicy = .always }
        try client.cookies?.set(Cookie(name: "a", value: "1", domain: "127.0.0.1"))
        let other = try url("localhost")
        let json = try await client.send(
            "redirect/to", args: [.url("url", "\(other)/echo")]
        ).json
        #expect(json?["header"]?["cookie"] == nil)
        #expect(try await sent(by: client) == "a=1")
    }

    /// Follows a redirect to another host. Both hosts set a cookie. Returns the hosts whose cookie was stored.
    private func placesAfter(
        _ policy: CookieAcceptPolicy?, from first: String, to second: String
    ) async throws -> [String] {
        let client = try client { $0.cookieAcceptPolicy = policy }
        let target = try url(second) + "/set-cookie?set=" + PercentEncoding.component("b=2; Path=/")
        _ = try await client.send(
            "", args: [.baseURL(try url(first) + "/set-cookie"), .url("set", "a=1; Path=/"), .url("to", target)])
        return client.cookies?.cookies.map(\.domain).sorted() ?? []
    }

    @Test func policies() async throws {
        #expect(try await placesAfter(.always, from: "127.0.0.1", to: "localhost") == ["127.0.0.1", "localhost"])
        #expect(try await placesAfter(.never, from: "127.0.0.1", to: "localhost") == [])
        #expect(try await placesAfter(.onlyFromMainDocument, from: "127.0.0.1", to: "localhost") == ["127.0.0.1"])
        // The default policy.
        #expect(try await placesAfter(nil, from: "one.localhost", to: "other.localhost") == ["one.localhost"])
        #expect(
            try await placesAfter(nil, from: "a.one.localhost", to: "b.one.localhost")
                == ["a.one.localhost", "b.one.localhost"])
    }

    /// The site is that of the first URL, not that of the redirect before.
    @Test func theSiteIsThatOfTheFirstURL() async throws {
        let client = try client()
        let home = try url("127.0.0.1") + "/set-cookie?set=" + PercentEncoding.component("c=3; Path=/")
        let away =
            try url("localhost") + "/set-cookie?set=" + PercentEncoding.component("b=2; Path=/") + "&to="
            + PercentEncoding.component(home)
        _ = try await client.send("redirect/to", args: [.url("url", away)])
        #expect(client.cookies?.cookies.map(\.name) == ["c"])
    }

    @Test func neverStillSends() async throws {
        let client = try client { $0.cookieAcceptPolicy = .never }
        try client.cookies?.set(Cookie(name: "a", value: "1", domain: "127.0.0.1"))
        _ = try await client.send("set-cookie", args: [.url("set", "b=2; Path=/"), .url("set", "a=3; Path=/")])
        #expect(try await sent(by: client) == "a=1" && client.cookies?.cookies.count == 1)
    }

    @Test func sendsNone() async throws {
        let client = try client { $0.sendsCookies = false }
        _ = try await client.send("set-cookie", args: [.url("set", "b=2; Path=/")])
        _ = try await client.send(
            "set-cookie", args: [.url("set", "b=; Path=/; Max-Age=0"), .url("set", "c=1; Path=/")])
        #expect(try await sent(by: client) == nil && client.cookies?.cookies.map(\.name) == ["c"])
        let neither = try self.client {
            $0.sendsCookies = false
            $0.cookieAcceptPolicy = .never
        }
        _ = try await neither.send("set-cookie", args: [.url("set", "b=2; Path=/")])
        #expect(neither.cookies?.cookies == [] && neither.settings.transfer.context?.cookies == nil)
    }

    // MARK: The public suffixes

    /// A proxy that answers in the name of every server.
    private func world(_ setCookie: String) throws -> RawServer {
        try RawServer { connection in
            while connection.readRequest() != nil {
                connection.send("HTTP/1.1 200 OK\r\nSet-Cookie: \(setCookie)\r\nContent-Length: 1\r\n\r\n1")
            }
        }
    }

    @Test(arguments: [
        ("shop.example.co.uk", "example.co.uk", true), ("shop.example.co.uk", "co.uk", false),
        ("shop.example.com", "com", false), ("one.github.io", "github.io", false),
        ("shop.example.com", "other.com", false), ("example.com", "shop.example.com", false),
    ]) func areNotSetForMoreThanASite(_ host: String, _ domain: String, _ isTaken: Bool) async throws {
        let server = try world("a=1; Domain=\(domain); Path=/")
        let client = try client { $0.proxy = server.url }
        _ = try await client.send("", args: [.baseURL("http://\(host)/")])
        let cookies = client.cookies?.cookies ?? []
        #expect(cookies.map(\.domain) == (isTaken ? [domain] : []) && cookies.allSatisfy(\.includesSubdomains))
    }

    @Test(arguments: [
        ("a.example.com", "b.example.com", true), ("example.com", "b.example.com", true),
        ("a.example.co.uk", "b.example.co.uk", true), ("a.co.uk", "b.co.uk", false), ("a.com", "b.com", false),
        ("a.github.io", "b.github.io", false), ("h", "h", true), ("127.0.0.1", "127.0.0.1", true),
        ("1.0.0.1", "2.0.0.1", false), ("[::1]", "[::1]", true), ("h", "other", false),
    ]) func sites(_ one: String, _ other: String, _ isSame: Bool) {
        #expect(Site.isSame(one, other) == isSame && Site.isSame(other, one) == isSame)
    }

    /// If libcurl has no list of public suffixes, a cookie is for one host, and a site is a host with its subdomains.
    @Test(arguments: [
        (".co.uk", false), (".example.com", false), ("example.com", true), ("intranet", true), ("10.0.0.1", true),
    ]) func withoutAList(_ domain: String, _ mayBeSet: Bool) {
        let cookie = Cookie(name: "a", value: "1", domain: domain)
        let objection = Site.objectionToCookies(
            for: cookie.domain, includingSubdomains: cookie.includesSubdomains, by: { _, _ in -1 })
        #expect((objection == nil) == mayBeSet && objection?.containsSubstring("no list of public suffixes") != false)
        #expect(Site.isSame("example.com", "a.example.com", by: { _, _ in -1 }))
        #expect(!Site.isSame("a.example.com", "b.example.com", by: { _, _ in -1 }))
    }

    // MARK: Sessions

    @Test func sessionsDoNotShareThem() async throws {
        let clients = try (0..<3).map { _ in try client() }
        let plain = try TestClient.of("fault")
        #expect(plain.cookies == nil)
        for (number, client) in clients.enumerated() {
            _ = try await client.send("set-cookie", args: [.url("set", "a=\(number); Path=/")])
            _ = try await plain.send("set-cookie", args: [.url("set", "a=plain; Path=/")])
        }
        // The requests now use handles that other sessions have used.
        for _ in 0..<10 {
            for (number, client) in clients.enumerated() {
                #expect(try await sent(by: client) == "a=\(number)")
                #expect(try await sent(by: plain) == nil)
                #expect(await onThread { plain.perform("echo").json?["header"]?["cookie"] } == nil)
            }
        }
    }

    /// An ephemeral session's cookies end with it, and no handle in a pool keeps them.
    @Test func endWithTheirSession() async throws {
        struct Reference: Sendable { weak let engine: CookieEngine? }
        let reference: Reference
        do {
            let client = try client()
            reference = Reference(engine: client.cookies?.engine)
            _ = try await client.send("set-cookie", args: [.url("set", "a=1; Path=/")])
            #expect(reference.engine != nil)
        }
        // Threads release the engine one after the other, while they run other requests.
        let other = try TestClient.of("fault")
        for _ in 0..<1000 where reference.engine != nil { _ = try await other.send("ok") }
        #expect(reference.engine == nil)
    }

    /// Many threads and loops at once; under the thread sanitizer, no race.
    @Test func manyAtOnce() async throws {
        let client = try client()
        await withTaskGroup { group in
            for worker in 0..<8 {
                group.addTask {
                    for round in 0..<20 {
                        let set: [APIArg] = [.url("set", "c\(worker)=\(round); Path=/")]
                        if worker % 2 == 0 {
                            _ = await client.response("set-cookie", args: set)
                        } else {
                            _ = await onThread { client.perform("set-cookie", args: set) }
                        }
                        try? client.cookies?.set(Cookie(name: "own\(worker)", value: "\(round)", domain: "127.0.0.1"))
                        _ = client.cookies?.cookies
                        client.cookies?.delete(name: "own\(worker - 1)")
                    }
                }
            }
        }
        let left = client.cookies?.cookies.filter { $0.name.hasPrefix("c") } ?? []
        #expect(left.count == 8 && left.allSatisfy { $0.value == "19" }, "\(left)")
    }
}
