import Testing

@testable import NTApi

@Suite struct AppliedArgsTests {
    private static let baseURL = "http://h/api"

    private static func build(_ args: [APIArg], command: String = "c") throws(APIError) -> HTTPRequest {
        let client = TestClient(at: baseURL, args: args)
        return try client.request(command).built.get().http
    }

    private func text(_ body: HTTPRequest.Body) -> String? {
        if case .bytes(let bytes) = body { String(decoding: bytes, as: UTF8.self) } else { nil }
    }

    // MARK: Values

    @Test(arguments: [
        (APIArg.url("n", 20), "20"), (.url("n", -7 as Int8), "-7"), (.url("n", UInt64.max), "18446744073709551615"),
        (.url("n", Int64.min), "-9223372036854775808"), (.url("n", 51.5085), "51.5085"), (.url("n", 20.0), "20"),
        (.url("n", -0.0), "0"), (.url("n", 1e300), "1e%2B300"), (.url("n", 0.1 as Float), "0.1"),
        (.url("n", true), "true"), (.url("n", false), "false"), (.url("n", ""), ""), (.url("n", "a b"), "a%20b"),
        (.url("n", "abc".prefix(2)), "ab"), (.url("n", 1e15), "1000000000000000"),
        (.url("n", 0x1p53), "9007199254740992"), (.url("n", 1e7 as Float), "10000000"),
    ]) func aValueAsText(_ arg: APIArg, _ expected: String) throws {
        let url = try Self.build([arg]).url
        #expect(url == "http://h/api/c?n=\(expected)")
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan]) func aBodyWithANumberThatIsNone(_ number: Double) async {
        let client = TestClient(at: "http://h.test")
        client.stub = Stub()
        let bodies: [(JSON, String)] = [(JSON(number), ""), (["a": [1, ["b c": JSON(number)]]], #"a[1].b c: "#)]
        for (json, place) in bodies {
            let response = await client.response("x", args: [.json(json)])
            #expect(response.error?.code == .invalidRequest)
            #expect(response.error?.message == "the JSON body: \(place)\(number) is not a JSON number")
        }
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan]) func aNumberThatIsNone(_ number: Double) throws {
        for arg in [APIArg.url("lat", number), .path("lat", number), .form("lat", number), .option("lat", number)] {
            let error = try #require(thrown { _ = try Self.build([arg]) })
            #expect(error.code == .invalidRequest && error.message.containsSubstring("\"lat\""))
        }
    }

    // MARK: Suppression and overriding

    @Test(arguments: [
        APIArg.url("a", nil), .path("a", nil), .form("a", nil), .multipart("a", nil), .multipart("a", data: nil),
        .multipart("a", data: nil, filename: "f", contentType: nil), .multipart("a", file: nil), .data(nil), .json(nil),
        .file(nil), .stream(nil), .baseURL(nil), .header("a", nil), .addHeader("a", nil), .basicAuth(nil, "p"),
        .basicAuth("u", nil), .bearer(nil), .timeout(nil), .method(nil), .cachePolicy(nil), .option("a", nil),
        .responseThread(nil), .uploadProgressThread(nil), .downloadProgressThread(nil),
    ]) func aMissingValueSuppressesTheArg(_ arg: APIArg) throws {
        #expect(arg.isSuppressed && "\(arg)" == "suppressed")
        let request = try Self.build([arg])
        #expect(request.method == "GET" && request.url == "http://h/api/c" && request.body.isNone)
    }

    @Test func theLastOfASingleValueWins() throws {
        let request = try Self.build([
            .method("PUT"), .method("PATCH"), .timeout(1), .timeout(2), .timeout(3, .connect),
            .timeout(.infinity, .total),
            .baseURL("http://one"), .baseURL("http://two/x"), .cachePolicy(.reloadIgnoringCache),
            .cachePolicy(.returnCachedElseLoad), .option(.maximumResponseSize, 1), .option(.maximumResponseSize, 2),
            .header("X-A", "1"), .addHeader("x-a", "2"), .header("X-a", "3"), .addHeader("X-A", "4"),
        ])
        #expect(request.method == "PATCH" && request.url == "http://two/x")
        let settings = request.settings
        #expect(settings.timeouts.idle == 2 && settings.timeouts.connect == 3 && settings.timeouts.total == nil)
        #expect(settings.cachePolicy == .returnCachedElseLoad && settings.maximumResponseSize == 2)
        #expect(request.headers.all("x-a") == ["3", "4"])
    }

    @Test func aMissingValueOverridesNothing() throws {
        #expect(try Self.build([.method("PUT"), .method(nil)]).method == "PUT")
    }

    @Test func argsComeInOrderOfClientAndRequest() throws {
        let client = TestClient(at: Self.baseURL, args: [.url("a", 1), .timeout(7), .header("X-A", "client")])
        let http = try client.request("c", args: [.url("a", 2), .header("X-A", "request")]).built.get().http
        #expect(http.url == "http://h/api/c?a=1&a=2" && http.headers["X-A"] == "request")
        #expect(http.settings.timeouts.idle == 7)
    }

    // MARK: Bodies

    // Made anew each time: a stream belongs to one request.
    private static var bodies: [(kind: String, arg: APIArg)] {
        [
            ("form", .form("a", 1)), ("multipart", .multipart("a", "1")), ("raw data", .data([1])), ("json", .json(1)),
            ("file", .file(#filePath)), ("stream", .stream(BodyStream { _ in 0 })),
        ]
    }

    @Test func bodiesExcludeEachOther() throws {
        for (index, kind) in Self.bodies.map(\.kind).enumerated() {
            #expect(try Self.build([Self.bodies[index].arg]).method == "POST")
            #expect(try Self.build([Self.bodies[index].arg, .method("PUT")]).method == "PUT")
            for other in Self.bodies where other.kind != kind {
                let error = try #require(thrown { _ = try Self.build([Self.bodies[index].arg, other.arg]) })
                #expect(error.code == .invalidRequest)
                #expect(error.message.containsSubstring(" \(kind) ") && error.message.containsSubstring(other.kind))
            }
        }
        for once in Self.bodies.dropFirst(2) {
            let error = try #require(thrown { _ = try Self.build([once.arg, once.arg]) })
            #expect(error.message.containsSubstring("a second \(once.kind) body"))
        }
    }

    @Test func aForm() throws {
        let request = try Self.build([.form("a b", "c+d é~*"), .form("a b", ""), .form("n", 5), .form("no", nil)])
        #expect(text(request.body) == "a+b=c%2Bd+%C3%A9%7E*&a+b=&n=5")
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
    }

    @Test func jsonAndData() throws {
        let json = try Self.build([.json(["a": [1, .null, "é"]])])
        #expect(text(json.body) == #"{"a":[1,null,"é"]}"# && json.headers["Content-Type"] == "application/json")
        let data = try Self.build([.data([0, 255], contentType: "image/png")])
        #expect(data.headers["Content-Type"] == "image/png")
        #expect(try Self.build([.data([])]).headers["Content-Type"] == "application/octet-stream")
        let explicit = try Self.build([.header("content-type", "text/mine"), .json(1)])
        #expect(explicit.headers.all("Content-Type") == ["text/mine"])
    }

    @Test func multipart() throws {
        let request = try Self.build([
            .multipart("t", "text"), .multipart("photo", data: [1], fileExtension: "png"), .multipart("b", data: [2]),
            .multipart("f", file: #filePath),
            .multipart("g", file: #filePath, filename: "x.txt", contentType: "text/x"),
        ])
        guard case .multipart(let parts) = request.body else {
            Issue.record("no multipart")
            return
        }
        #expect(parts.map(\.filename) == [nil, "photo.png", "b.bin", "AppliedArgsTests.swift", "x.txt"])
        #expect(parts.last?.contentType == "text/x")
    }

    @Test(arguments: ["/nowhere", "/", "/dev/null", "a\0b", ""]) func aFileThatCannotBeRead(_ path: String) throws {
        for arg in [APIArg.file(path), .multipart("a", file: path)] {
            let error = try #require(thrown { _ = try Self.build([arg]) })
            #expect(error.code == .invalidRequest)
        }
    }

    // MARK: Authorization

    @Test func authorization() throws {
        #expect(
            try Self.build([.basicAuth("Aladdin", "open sesame")]).headers["Authorization"]
                == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(try Self.build([.basicAuth("", "")]).headers["Authorization"] == "Basic Og==")
        #expect(try Self.build([.basicAuth("tést", "£")]).headers["Authorization"] == "Basic dMOpc3Q6wqM=")
        #expect(try Self.build([.bearer("x.y"), .basicAuth("a", "b")]).headers.all("Authorization").count == 1)
    }

    // MARK: What must not be sent

    @Test(arguments: ["\r", "\n", "\0", "\r\nX-Injected: yes", "\u{1}", "\u{7F}"]) func noControlsGoOut(_ bad: String)
        throws
    {
        let args: [APIArg] = [
            .header("X-A", "a\(bad)b"), .header("X\(bad)", "b"), .addHeader("X-A", bad), .bearer("t\(bad)"),
            .basicAuth("u\(bad)", "p"), .basicAuth("u", "p\(bad)"), .method("GET\(bad)"), .data([], contentType: bad),
            .file(#filePath, contentType: bad), .stream(BodyStream { _ in 0 }, contentType: bad),
            .multipart("a\(bad)", "b"),
            .multipart("a", data: [], filename: bad, contentType: nil),
            .multipart("a", data: [], filename: "f", contentType: "t\(bad)"),
            .multipart("a", data: [], fileExtension: bad),
            .baseURL("http://h/\(bad)"),
        ]
        for arg in args {
            let error = try #require(thrown { _ = try Self.build([arg]) }, "\(arg)")
            #expect(error.code == .invalidRequest && error.domain == .request)
            #expect(!error.message.utf8.contains { $0 < 0x20 }, "\(error.message)")
        }
        for arg in [APIArg.url("a\(bad)", bad), .path("x", bad), .form("a\(bad)", bad)] {
            #expect(thrown { _ = try Self.build([arg], command: "{x}".dropLast(arg.isPath ? 0 : 3) + "") } == nil)
        }
        #expect(thrown { _ = try Self.build([], command: "a\(bad)") }?.code == .invalidRequest)
        let client = TestClient(at: Self.baseURL)
        client.defaults["userAgent"] = JSON("me\(bad)")
        #expect(client.request().built.error?.code == .invalidRequest)
    }

    /// Otherwise libcurl would send the header in addition to its own answer to the challenge.
    @Test func aHeaderOfTheConfigurationTakesThePlaceOfDigest() throws {
        let client = TestClient(at: Self.baseURL)
        let args = [APIArg.digestAuth("user", "password")]
        #expect(try client.request("c", args: args).built.get().http.digest != nil)
        client.defaults["additionalHeaders"] = ["authorization": "Bearer token"]
        let http = try client.request("c", args: args).built.get().http
        #expect(http.digest == nil && http.headers["Authorization"] == "Bearer token")
    }

    @Test func aTabAndBytesBeyondASCIIMayBeInAValue() throws {
        #expect(try Self.build([.header("X-A", "a\tb é")]).headers["X-A"] == "a\tb é")
    }

    @Test(arguments: ["", "a b", "a:b", "é", "a\"", "(x)"]) func namesThatAreNoTokens(_ name: String) {
        #expect(thrown { _ = try Self.build([.header(name, "x")]) }?.code == .invalidRequest)
        #expect(thrown { _ = try Self.build([.method(name)]) }?.code == .invalidRequest)
    }

    @Test(arguments: ["Content-Length", "transfer-encoding"]) func headersThatFrameTheMessage(_ name: String) {
        #expect(thrown { _ = try Self.build([.header(name, "1")]) }?.code == .invalidRequest)
    }

    @Test(arguments: ["!#$%&'*+-.^_`|~", "PURGE", "get"]) func anyTokenIsAMethod(_ method: String) throws {
        #expect(try Self.build([.method(method)]).method == method)
    }

    // MARK: Numbers from outside

    @Test(arguments: [0, -1, -.infinity, .nan] as [Double]) func timeoutsThatAreNone(_ seconds: Double) {
        #expect(thrown { _ = try Self.build([.timeout(seconds)]) }?.code == .invalidRequest)
    }

    @Test(arguments: [1e300, 1e-300, .infinity, .greatestFiniteMagnitude]) func timeoutsThatAreOdd(_ seconds: Double)
        throws
    {
        for clock in TimeoutClock.allCases { _ = try Self.build([.timeout(seconds, clock)]) }
        _ = MonotonicTime.now().advanced(bySeconds: seconds)
    }

    @Test(arguments: [
        (APIOption.maximumResponseSize, "-1"), (.maximumResponseSize, "x"), (.maximumResponseSize, ""),
        (.maximumResponseSize, "99999999999999999999"), (.maximumRedirects, "1.5"), (.httpVersion, "9"),
        (.rawData, "perhaps"), (.ignoreHTTPErrors, "2"), (.allowInvalidCertificate, " true"),
    ]) func optionsThatMakeNoSense(_ option: APIOption, _ value: String) throws {
        let error = try #require(thrown { _ = try Self.build([.option(option, value)]) })
        #expect(error.code == .invalidRequest)
        let namesIt = error.message.containsSubstring(option.name) || option == .httpVersion
        #expect(namesIt && error.message.containsSubstring(value))
    }

    @Test func aHugeCountIsClamped() throws {
        #expect(try Self.build([.option(.maximumRedirects, Int64.max)]).settings.maximumRedirects == Int.max)
    }
}

extension APIArg {
    fileprivate var isPath: Bool {
        if case .path = kind { true } else { false }
    }
}
