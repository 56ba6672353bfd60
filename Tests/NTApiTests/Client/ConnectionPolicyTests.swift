import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where requests may go, and how a connection gets there.
@Suite struct ConnectionPolicyTests {
    private func server(_ response: String = okResponse("{}")) throws -> RawServer {
        try RawServer { connection in
            while connection.readRequest() != nil { _ = connection.send(response) }
        }
    }

    private func session(_ url: String, _ change: (inout SessionConfiguration) -> Void) -> APIClient {
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = ""
        change(&configuration)
        let client = APIClient(baseURL: url, configuration: configuration)
        client.logFlags = []
        return client
    }

    private func session(_ url: String, _ policy: ConnectionPolicy) -> APIClient {
        session(url) { $0.connectionPolicy = policy }
    }

    /// The outcome of a request, on the network thread and on a caller's.
    private func errors(_ client: APIClient) async -> [APIError?] {
        [await client.response().error, await onThread { client.perform().error }]
    }

    private func check(
        _ errors: [APIError?], _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for error in errors {
            #expect(
                error?.code == .notAllowed && error?.domain == .request && error?.isRetryable == false,
                "\(error as Any)", sourceLocation: sourceLocation)
            #expect(
                words.allSatisfy { error?.message.containsSubstring($0) == true }, "\(error as Any)",
                sourceLocation: sourceLocation)
        }
    }

    // MARK: Addresses

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "168.63.129.15", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2001:200::", "2001:4860:4860::8888",
        "2606:4700::1111", "2a00:1450::1", "3ffe:ffff::", "64:ff9b::8.8.8.8",
    ]) func publicOnes(_ text: String) throws {
        #expect(PublicAddresses.contains(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
        "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.169.254", "172.16.0.0", "172.31.255.255",
        "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255", "::", "::1",
        "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:10::1", "2001:db8::1",
        "2002:7f00:1::", "2002:808:808::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1",
        "fec0::1", "ff02::1",
    ]) func othersAreNotPublic(_ text: String) throws {
        #expect(!PublicAddresses.contains(try #require(IPAddress(text))))
    }

    @Test func formsOfOneAddress() throws {
        let target = try #require(IPAddress("10.1.2.3"))
        #expect(IPAddress("::ffff:10.1.2.3") == target)
        for text in ["64:ff9b::10.1.2.3", "2002:a01:203::5", "2001:0:1::f5fe:fdfc", "::10.1.2.3"] {
            #expect(IPAddress(text)?.inner == target, "\(text)")
        }
        for text in ["::", "::1", "2001:db8::a01:203", "10.1.2.3"] { #expect(IPAddress(text)?.inner == nil) }
        let rules = try ConnectionRules(ConnectionPolicy(deniedAddresses: ["10.0.0.0/8"]))
        for text in ["10.0.0.0", "::ffff:10.9.9.9", "64:ff9b::10.1.2.3", "2002:a01:203::5", "2001:0:1::f5fe:fdfc"] {
            #expect(rules.objection(to: IPAddress(text)) == "10.0.0.0/8 is in denied_addresses", "\(text)")
        }
        #expect(rules.objection(to: IPAddress("11.0.0.0")) == nil)
        #expect(rules.objection(to: nil) != nil)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0/8"), ("10.1.2.3", "10.1.2.3"), ("10.1.2.3/32", "10.1.2.3"), ("0.0.0.0/0", "0.0.0.0/0"),
        ("2001:DB8:0::/32", "2001:db8::/32"), ("::/0", "::/0"), ("::1", "::1"), ("8000::/1", "8000::/1"),
    ]) func ranges(_ text: String, _ shown: String) throws {
        let range = try #require(AddressRange(text))
        #expect(range.text == shown && range.contains(range.first))
        let other = try #require(IPAddress(range.first.isIPv4 ? "2001:db8::" : "10.0.0.0"))
        #expect(!range.contains(other))
    }

    @Test(arguments: [
        "", "10", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/8/8", "10.0.0.0/+8", "010.0.0.1", "0x0a.0.0.1",
        "::/129", "::1/64", "fe80::1%lo", "[::1]", "example.com", " 10.0.0.1", "10.0.0.0/99999999999999999999",
    ]) func whatIsNoRange(_ text: String) { #expect(AddressRange(text) == nil) }

    @Test func aRangeHasItsEnds() throws {
        for (range, inside, outside) in [
            ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0"]),
            ("192.0.2.128/25", ["192.0.2.128", "192.0.2.255"], ["192.0.2.127", "192.0.3.0"]),
            ("2001:db8::/32", ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"], ["2001:db7::", "2001:db9::"]),
            ("2001:db8::/65", ["2001:db8::", "2001:db8::7fff:ffff:ffff:ffff"], ["2001:db8::8000:0:0:0"]),
        ] {
            let range = try #require(AddressRange(range))
            for text in inside { #expect(range.contains(try #require(IPAddress(text))), "\(text)") }
            for text in outside { #expect(!range.contains(try #require(IPAddress(text))), "\(text)") }
        }
    }

    // MARK: Settings

    @Test func asASetting() throws {
        let policy = ConnectionPolicy(
            schemes: ["https"], ports: [443, 8443], hosts: ["*.example.com"], deniedHosts: ["a.example.com"],
            addresses: ["public", "10.1.0.0/16"], deniedAddresses: ["8.8.8.8"])
        #expect(try ConnectionPolicy(policy.json) == policy)
        #expect(try ConnectionPolicy("public") == .public)
        #expect(try ConnectionPolicy(ConnectionPolicy().json) == ConnectionPolicy())
        var configuration = SessionConfiguration.ephemeral
        configuration.connectionPolicy = policy
        #expect(configuration.connectionPolicy == policy)
    }

    @Test(arguments: [
        #""private""#, "1", "[]", #"{"address": []}"#, #"{"ports": "80"}"#, #"{"ports": [0]}"#, #"{"ports": [65536]}"#,
        #"{"ports": ["80"]}"#, #"{"schemes": ["ftp"]}"#, #"{"hosts": ["a b"]}"#, #"{"hosts": ["*"]}"#,
        #"{"hosts": ["*.*.com"]}"#, #"{"hosts": ["http://a"]}"#, #"{"hosts": ["a:80"]}"#, #"{"hosts": ["é.com"]}"#,
        #"{"addresses": ["10.0.0.1/8"]}"#, #"{"addresses": ["private"]}"#, #"{"denied_addresses": ["public"]}"#,
        #"{"denied_hosts": [""]}"#,
    ]) func whatIsNoPolicy(_ text: String) throws {
        let client = TestClient(at: "http://h")
        client.defaults["connectionPolicy"] = try JSON(parsing: text)
        let error = try #require(client.request().built.error)
        #expect(error.code == .invalidRequest && error.message.containsSubstring("connectionPolicy"), "\(error)")
    }

    @Test(arguments: [
        ("example.com", "example.com", true), ("Example.COM.", "example.com", true),
        ("example.com", "a.example.com", false),
        ("*.example.com", "a.example.com", true), ("*.example.com", "b.a.example.com.", true),
        ("*.example.com", "example.com", false), ("*.example.com", "aexample.com", false),
        ("::1", "[0:0::1]", true), ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false),
    ]) func hosts(_ pattern: String, _ host: String, _ matches: Bool) throws {
        let origin = Origin(scheme: "http", host: host, port: 80)
        #expect((try ConnectionRules(ConnectionPolicy(hosts: [pattern])).objection(to: origin) == nil) == matches)
        let denies = try ConnectionRules(ConnectionPolicy(deniedHosts: [pattern]))
        #expect((denies.objection(to: origin) != nil) == matches)
    }

    // MARK: Requests

    @Test func loopbackIsNotPublic() async throws {
        let server = try server()
        let port = server.port
        for host in [
            "127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "127.1", "0x7f000001", "2130706433", "0177.0.0.1",
        ] {
            let errors = await errors(session("http://\(host):\(port)", .public))
            check(errors, ":\(port): the connection policy does not allow the address ", "1: it is not public")
        }
        #expect(server.connectionCount == 0)
        let both = ConnectionPolicy(addresses: ["public", "127.0.0.1"])
        #expect(await errors(session(server.url, both)).allSatisfy { $0 == nil })
    }

    @Test func whatTheURLSays() async throws {
        let server = try server()
        check(
            await errors(session(server.url, ConnectionPolicy(schemes: ["https"]))), "the scheme http is not in schemes"
        )
        check(
            await errors(session(server.url, ConnectionPolicy(ports: [80]))), "the port \(server.port) is not in ports")
        check(await errors(session(server.url, ConnectionPolicy(hosts: ["localhost"]))), "the host is not in hosts")
        let denied = ConnectionPolicy(deniedHosts: ["127.0.0.1"])
        check(await errors(session(server.url, denied)), "127.0.0.1 is in denied_hosts")
        #expect(server.connectionCount == 0)
        let all = ConnectionPolicy(schemes: ["http"], ports: [server.port], hosts: ["127.0.0.1"])
        #expect(await errors(session(server.url, all)).allSatisfy { $0 == nil })
    }

    @Test func eachRedirectIsJudged() async throws {
        let inside = try server()
        let outside = try server("HTTP/1.1 302 Found\r\nLocation: \(inside.url)/\r\nContent-Length: 0\r\n\r\n")
        let client = session(outside.url, ConnectionPolicy(ports: [outside.port]))
        check(await errors(client), "127.0.0.1:\(inside.port)", "is not in ports")
        #expect(inside.connectionCount == 0)
    }

    /// The client connects to an address that is allowed. It is an error only when none is.
    @Test func eachAddressIsJudged() async throws {
        let server = try server()
        func client(_ addresses: String) -> APIClient {
            session("http://a.test:\(server.port)") {
                $0.connectionPolicy = ConnectionPolicy(deniedAddresses: ["127.0.0.2", "127.0.0.3"])
                $0.resolve = ["a.test:\(server.port):\(addresses)"]
            }
        }
        #expect(await errors(client("127.0.0.2,127.0.0.1")).allSatisfy { $0 == nil })
        check(await errors(client("127.0.0.2,127.0.0.3")), "a.test:", "is in denied_addresses")
    }

    /// Another client opened its connection without these rules, so it must not be used.
    @Test func connectionsOfOthersAreNotUsed() async throws {
        let server = try server()
        let open = TestClient(at: server.url)
        #expect(await errors(open).allSatisfy { $0 == nil })
        let guarded = TestClient(at: server.url)
        for _ in 0..<2 {
            let count = server.connectionCount
            guarded.defaults["connectionPolicy"] = "public"
            check(await errors(guarded), "it is not public")
            #expect(server.connectionCount == count)
            guarded.defaults["connectionPolicy"] = nil
            #expect(await errors(guarded).allSatisfy { $0 == nil })
        }
    }

    @Test func aProxyCannotBeJudged() async throws {
        let proxy = try server()
        for policy in [ConnectionPolicy.public, ConnectionPolicy(deniedAddresses: ["10.0.0.0/8"])] {
            let client = session("http://example.test") {
                $0.connectionPolicy = policy
                $0.proxy = proxy.url
            }
            check(await errors(client), "example.test:80", "a proxy")
        }
        #expect(proxy.connectionCount == 0)
        let client = session("http://example.test") {
            $0.connectionPolicy = ConnectionPolicy(hosts: ["example.test"])
            $0.proxy = proxy.url
        }
        #expect(await errors(client).allSatisfy { $0 == nil })
    }

    // MARK: Routes

    @Test func otherPlaces() async throws {
        let last = Lock("")
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                last.withLock { $0 = request.head }
                _ = connection.send(okResponse("{}"))
            }
        }
        let resolved = session("http://a.test:\(server.port)") { $0.resolve = ["a.test:\(server.port):127.0.0.1"] }
        #expect(await errors(resolved).allSatisfy { $0 == nil })
        let redirected = session("http://b.test") { $0.connectTo = ["b.test:80:127.0.0.1:\(server.port)"] }
        #expect(await errors(redirected).allSatisfy { $0 == nil })
        #expect(last.withLock { $0 }.containsSubstring("Host: b.test"))
    }

    @Test func aUnixSocket() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/s"
        let server = try RawServer(atPath: path) { connection in
            while connection.readRequest() != nil { _ = connection.send(okResponse("{}")) }
        }
        let client = session("http://any.test") { $0.unixSocket = path }
        for _ in 0..<3 { #expect(await errors(client).allSatisfy { $0 == nil }) }
        #expect(server.connectionCount == 6)
        let guarded = session("http://any.test") {
            $0.unixSocket = path
            $0.connectionPolicy = .public
        }
        check(await errors(guarded), "the address of a Unix socket")
        #expect(server.connectionCount == 6)
    }

    /// A server sends a second answer to one request. The next request must not get it.
    @Test func nothingIsLeftInAUnixSocket() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/s"
        let (answered, sent) = (Monitor(0), Log<Bool>())
        let server = try RawServer(atPath: path) { connection in
            while connection.readRequest() != nil {
                _ = connection.send(okResponse("{}"))
                // Either each request has its own connection, or the first connection has all of them.
                _ = answered.wait { $0 > sent.count ? true : nil }
                _ = connection.send(okResponse("[]"))
                sent.append(true)
            }
        }
        let client = session("http://any.test") { $0.unixSocket = path }
        for round in 1...4 {
            #expect(await onThread { client.perform().json?.text } == "{}")
            answered.withLock(inChild: ()) { $0 = round }
            answered.broadcast()
            #expect(await sent.first(round).count == round)
        }
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [
        ("unixSocket", #""s""#), ("unixSocket", "1"), ("resolve", #""a.test:80""#),
        ("resolve", #"["a.test:0:127.0.0.1"]"#),
        ("resolve", #""a.test:80:b.test""#), ("resolve", #""-a.test:80:127.0.0.1""#),
        ("resolve", #""a.test:80:1.1.1.1,""#),
        ("connectTo", #""a.test:80:b.test""#), ("connectTo", #""a.test:80:b.test:x""#),
        ("connectTo", #""a b:80:c:80""#),
        ("dnsOverHttps", #""http://a.test/dns""#), ("dnsOverHttps", #""a.test""#),
    ]) func routesThatAreNone(_ key: String, _ text: String) throws {
        let client = TestClient(at: "http://h")
        client.defaults[key] = try JSON(parsing: text)
        let error = try #require(client.request().built.error)
        #expect(error.code == .invalidRequest && error.message.containsSubstring(key), "\(error)")
    }

    @Test func routesAsSettings() {
        var configuration = SessionConfiguration.ephemeral
        configuration.unixSocket = "/s"
        configuration.resolve = ["a:80:[::1]"]
        configuration.connectTo = ["::b:81"]
        configuration.dnsOverHTTPS = "https://dns.test/q"
        #expect(configuration.unixSocket == "/s" && configuration.resolve == ["a:80:[::1]"])
        #expect(configuration.connectTo == ["::b:81"] && configuration.dnsOverHTTPS == "https://dns.test/q")
        #expect(APIClient(baseURL: "http://h", configuration: configuration).request().built.error == nil)
    }
}
