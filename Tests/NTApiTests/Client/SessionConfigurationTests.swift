import Testing

@testable import NTApi

@Suite struct SessionConfigurationTests {
    @Test func kinds() {
        #expect(SessionConfiguration.default.kind == .default && SessionConfiguration.default.identifier == nil)
        #expect(SessionConfiguration.ephemeral.kind == .ephemeral)
        #expect(SessionConfiguration.background("uploads").kind == .background(identifier: "uploads"))
        #expect(SessionConfiguration.background("uploads").identifier == "uploads")
        #expect(APIClient(configuration: .background("b")).sessionKind == .background(identifier: "b"))
        #expect(APIClient().sessionKind == nil)
    }

    @Test func isCopied() async throws {
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = ""
        configuration.userAgent = "first/1"
        let url = try TestServers.url("fault")
        let client = APIClient(baseURL: url, configuration: configuration)
        configuration.userAgent = "second/2"
        configuration["appid"] = "later"
        let other = APIClient(baseURL: url, configuration: configuration)
        #expect(try await client.echo()["header"]?["user-agent"]?.string == "first/1")
        #expect(client.defaults["appid"] == nil && other.defaults["appid"]?.string == "later")
        #expect(try await other.echo()["header"]?["user-agent"]?.string == "second/2")
    }

    @Test func isLookedUpAfterTheInstanceAndBeforeTheClass() throws {
        final class Service: APIClient, @unchecked Sendable {}
        var configuration = SessionConfiguration.ephemeral
        configuration.requestTimeout = 2
        let client = Service(baseURL: "http://h", configuration: configuration)
        Service.defaults["requestTimeout"] = 3
        Service.defaults["connectTimeout"] = 4
        defer {
            Service.defaults["requestTimeout"] = nil
            Service.defaults["connectTimeout"] = nil
        }
        #expect(client.settings.transfer.timeouts.idle == 2 && client.settings.transfer.timeouts.connect == 4)
        client.defaults["requestTimeout"] = 1
        #expect(client.settings.transfer.timeouts.idle == 1)
    }

    @Test func everySettingIsReadBack() {
        var one = SessionConfiguration.default
        func check<Value: Equatable>(_ setting: WritableKeyPath<SessionConfiguration, Value?>, _ value: Value) {
            #expect(one[keyPath: setting] == nil)
            one[keyPath: setting] = value
            #expect(one[keyPath: setting] == value)
            one[keyPath: setting] = nil
            #expect(one[keyPath: setting] == nil)
            one[keyPath: setting] = value
        }
        check(\.additionalHeaders, ["X-A": "1", "X-B": "2"])
        for text in [
            \.userAgent, \.proxy, \.proxyUser, \.proxyPassword, \.user, \.password, \.caFile, \.clientCertificate,
            \.clientKey, \.clientKeyPassword, \.networkInterface,
        ] as [WritableKeyPath<SessionConfiguration, String?>] { check(text, "p4ss text") }
        for seconds in [
            \.requestTimeout, \.resourceTimeout, \.connectTimeout, \.queueTimeout, \.attemptTimeout,
        ] as [WritableKeyPath<SessionConfiguration, Double?>] { check(seconds, 1.5) }
        for count in [
            \.maximumConnections, \.maximumConnectionsPerHost, \.maximumRedirects, \.maximumResponseSize,
        ] as [WritableKeyPath<SessionConfiguration, Int?>] { check(count, 7) }
        check(\.decompression, false)
        check(\.httpVersion, .http11)
        check(\.tlsMinimumVersion, .tls13)
        check(\.cachePolicy, .returnCachedDontLoad)
        check(\.cookieAcceptPolicy, .never)
        check(\.sendsCookies, false)
        check(\.allowsCellularAccess, false)
        check(\.applicationName, "program")
        check(\.proxyExceptions, ["a", "b"])
        check(\.pinnedPublicKeys, ["sha256//x", "sha256//y"])
        check(\.clientCertificateOrigins, ["https://a.test", "https://b.test:8443"])
        #expect(one.description.hasPrefix("default, additionalHeaders: "), "\(one)")
        let secrets = one.description.split(separator: ", ").filter { $0.hasSuffix(Secrets.redacted) }
        #expect(secrets.count == 3, "\(one)")
    }

    @Test(arguments: [
        ("additionalHeaders", #""x""#), ("additionalHeaders", #"{"A B": "x"}"#), ("additionalHeaders", #"{"A": 1}"#),
        ("additionalHeaders", #"{"A": "x\ny"}"#), ("maximumConnections", "0"), ("cachePolicy", #""never""#),
        ("tlsMinimumVersion", #""1.1""#), ("tlsMinimumVersion", "1.1"), ("clientCertificate", #""/does/not/exist""#),
        ("clientKey", #""/dev/null""#), ("pinnedPublicKeys", #""sha256//AAAA""#), ("pinnedPublicKeys", "[1]"),
        ("clientCertificateOrigins", #""https://a.test""#),
        ("networkInterface", "5"), ("proxy", #""ftp://h""#), ("proxy", #""http:/x""#),
        ("proxy", #""http:x""#), ("proxy", #""http:""#), ("proxy", #""http:///x""#), ("proxy", #""http://""#),
        ("proxy", #""http://h:0""#), ("proxy", #""h:70000""#), ("proxy", #""http://h:""#), ("proxy", #""h/x""#),
        ("proxy", #""http://[::1""#), ("proxy", #""http://a b""#), ("proxy", #""::1:80""#),
        ("proxy", #""http://u:p@""#), ("proxy", #""http://ann:s3cr#t@h:1""#), ("proxy", #""http://ann:12?x@h:1""#),
        ("proxy", #""http://ann:1\\x@h:1""#),
        ("proxyExceptions", #"["a", 1]"#), ("proxyExceptions", #"["a", "*.corp.example"]"#),
        ("proxyExceptions", #""10.0.0.0/8, 10.0.0.0/33""#), ("proxyExceptions", #""http://a.test""#),
        ("proxyExceptions", #""a b""#), ("proxyExceptions", #"["::1/129"]"#),
        ("proxyPassword", #""x""#), ("password", #""x""#), ("password", "1"), ("httpVersion", #""7""#),
        ("cookieAcceptPolicy", #""sometimes""#), ("sendsCookies", "1"), ("allowsCellularAccess", "1"),
        ("applicationName", #""a/b""#),
        ("caFile", #""a\u0000b""#),
    ]) func aSettingThatCannotBeUsedFailsTheRequest(_ key: String, _ text: String) throws {
        let value = try JSON(parsing: text)
        var configuration = SessionConfiguration.ephemeral
        configuration[key] = value
        let client = TestClient(at: "http://h")
        client.defaults["proxy"] = nil
        client.defaults[key] = value
        for client in [client, APIClient(baseURL: "http://h", configuration: configuration)] {
            guard let error = client.request().built.error else {
                Issue.record("accepted")
                continue
            }
            let names = key == "additionalHeaders" ? error.message : error.message.lowercasedASCII()
            #expect(error.code == .invalidRequest)
            #expect(names.containsSubstring(key.lowercasedASCII()) || key == "additionalHeaders", "\(error.message)")
        }
    }

    /// Headers as a list or a text: the log cannot tell which of them are secret, so it shows none.
    @Test(arguments: [
        #"[["X-Api-Key", "s3cr3t"]]"#, #""X-Api-Key: s3cr3t""#, #"{"X-Api-Key": {"s3cr3t": 1}}"#, #"["s3cr3t"]"#,
    ])
    func headersInAnotherFormAreNotShown(_ text: String) throws {
        let client = TestClient(at: "http://h")
        client.defaults["additionalHeaders"] = try JSON(parsing: text)
        let error = try #require(client.request().built.error)
        #expect(error.message.containsSubstring("additionalHeaders") && !error.message.containsSubstring("s3cr3t"))
    }

    @Test(arguments: [
        "", "h", "h:3128", "h:3128/", "http://h", "http://h/", "https://h:1/x", "socks5h://127.0.0.1:65535", "[::1]:80",
        "http://[::1]",
        "http://u:p@h:80", "http://u:p%40q@h",
    ]) func aProxyMayBeWritten(_ url: String) {
        let client = TestClient(at: "http://h")
        client.defaults["proxy"] = JSON(url)
        #expect(throws: Never.self) { try client.request().built.get() }
    }

    @Test func aProxyThatCannotBeUsedSaysWhatToWrite() throws {
        let client = TestClient(at: "http://h")
        client.defaults["proxy"] = "http:/ann:s3cr3t@h"
        let error = #expect(throws: APIError.self) { try client.request().built.get() }
        #expect(error?.message.containsSubstring("http://proxy.example.com:3128") == true)
        #expect(error?.message.containsSubstring("s3cr3t") == false)
        client.defaults["proxy"] = "http://ann:s3#cr3t@h:1"
        let unescaped = #expect(throws: APIError.self) { try client.request().built.get() }
        #expect(unescaped?.message.containsSubstring("%23") == true)
        #expect(unescaped?.message.containsSubstring("cr3t") == false)
    }

    // MARK: The effect of each

    @Test func additionalHeaders() async throws {
        let client = try session("fault") {
            $0.additionalHeaders = ["X-Plain": "plain", "X-Api-Key": "s3cr3t", "User-Agent": "mine/1", "X-Over": "no"]
        }
        let seen = try await client.echo([.header("X-Over", "yes")])["header"]
        #expect(seen?["x-plain"]?.string == "plain" && seen?["x-api-key"]?.string == "s3cr3t")
        #expect(seen?["user-agent"]?.string == "mine/1" && seen?["x-over"]?.string == "yes")
    }

    @Test func secretAdditionalHeadersStayAtTheirOrigin() async throws {
        let client = try session("fault") { $0.additionalHeaders = ["X-Plain": "kept", "X-Api-Key": "s3cr3t"] }
        let token = "additional-\(SeededGenerator.ofThisRun)"
        _ = try await client.send("redirect/other", args: [.url("token", token)])
        let seen = try #require(try await client.send("seen", args: [.url("token", token)]).json)
        #expect(seen["count"]?.int == 1 && seen.text.containsSubstring("kept"))
        #expect(!seen.text.containsSubstring("s3cr3t"), "\(seen)")
    }

    @Test func userAgentAndDecompression() async throws {
        let client = try session("fault") {
            $0.userAgent = "agent/5"
            $0.decompression = false
        }
        let seen = try await client.echo()["header"]
        #expect(seen?["user-agent"]?.string == "agent/5" && seen?["accept-encoding"] == nil)
        let usual = try await session("fault") { _ in }.echo()["header"]
        #expect(usual?["user-agent"]?.string == "ntapi/\(ntapiVersion)")
        #expect(usual?["accept-encoding"]?.string?.containsSubstring("gzip") == true)
    }

    @Test func timeouts() async throws {
        for (setting, name, server) in [
            (\.requestTimeout, "idle", "fault"), (\.resourceTimeout, "total", "fault"),
            (\.attemptTimeout, "attempt", "fault"), (\.connectTimeout, "connect", "blackhole"),
        ] as [(WritableKeyPath<SessionConfiguration, Double?> & Sendable, String, String)] {
            let client = try session(server) { $0[keyPath: setting] = 0.1 }
            let error = await client.error("hold")
            #expect(error?.code == .timeout && error?.message.containsSubstring("(\(name) timeout") == true, "\(name)")
        }
        let client = try session("fault") {
            $0.queueTimeout = 0.1
            $0.maximumConnectionsPerHost = 1
        }
        let first = client.begin("hold")
        let error = await client.error("echo")
        #expect(error?.message.containsSubstring("(queue timeout") == true)
        first.cancel()
    }

    @Test func limitsOfRedirectsAndSize() async throws {
        let client = try session("fault") {
            $0.maximumRedirects = 2
            $0.maximumResponseSize = 1000
        }
        #expect(await client.error("chain/2") == nil)
        #expect(await client.error("chain/3")?.code == .tooManyRedirects)
        #expect(await client.error("ok", [.url("size", 900)]) == nil)
        #expect(await client.error("ok", [.url("size", 1100)])?.code == .responseTooLarge)
    }

    @Test func httpVersion() async throws {
        for (version, seen) in [(HTTPVersion.http11, 1.1), (.negotiated, 2), (.http2, 2)] {
            let client = try session("nginx_tls") {
                $0.httpVersion = version
                // Otherwise a connection of another session may be used.
                $0.maximumConnectionsPerHost = 4
            }
            #expect(await client.response("small.json").metrics.httpVersion == seen)
        }
    }

    @Test func cachePolicyAndCredentialsReachTheTransport() throws {
        let client = try session("fault") {
            $0.cachePolicy = .reloadIgnoringCache
            $0.user = "ann"
            $0.password = "p:w"
        }
        let settings = try #require(client.request("x").httpRequest?.settings)
        #expect(settings.cachePolicy == .reloadIgnoringCache)
        #expect(settings.session?.credential == Credential(user: "ann", password: "p:w"))
        #expect(settings.context?.connections?.identity == ConnectionIdentity())
        let own = client.request("x", args: [.cachePolicy(.protocol)]).httpRequest?.settings
        #expect(own?.cachePolicy == .protocol)
    }

    /// All settings are also defaults by name.
    @Test func settingsAreDefaults() async throws {
        let client = try TestClient.of("fault")
        client.defaults["additionalHeaders"] = ["X-Many": ["a", "b"]]
        client.defaults["maximumConnections"] = 3
        #expect(try await client.echo()["header"]?["x-many"]?.string == "a, b")
        let first = client.settings.transfer.context?.connections
        #expect(first?.maximum == 3)
        // The connections are the same object while no setting of theirs changes.
        client.defaults["userAgent"] = "x"
        #expect(client.settings.transfer.context?.connections === first)
        client.defaults["maximumConnections"] = 4
        #expect(client.settings.transfer.context?.connections?.maximum == 4)
        client.defaults["maximumConnections"] = nil
        #expect(client.settings.transfer.context == nil)
    }

    /// An infinite timeout never runs out, in a setting as in an arg.
    @Test func aTimeoutMayBeInfinite() async {
        var configuration = SessionConfiguration.ephemeral
        configuration.requestTimeout = .infinity
        configuration.resourceTimeout = .infinity
        configuration.exitTimeout = .infinity
        configuration.connectTimeout = .infinity
        configuration.queueTimeout = .infinity
        configuration.attemptTimeout = .infinity
        let stub = Stub()
        stub.on("GET", "a").answer(.json([:]))
        let client = APIClient(baseURL: "https://api.example", configuration: configuration)
        client.stub = stub
        #expect(await client.response("a").error == nil)
        client.defaults["requestTimeout"] = JSON(Double.nan)
        #expect(await client.response("a").error?.code == .invalidRequest)
    }
}
