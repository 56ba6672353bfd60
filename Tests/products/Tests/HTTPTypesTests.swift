#if HTTPTypes
    import HTTPTypes
    import NTApi
    import NTApiHTTPTypes
    import Testing

    private typealias Request = HTTPTypes.HTTPRequest
    private typealias Response = HTTPTypes.HTTPResponse

    /// Requests, responses and header fields as swift-http-types has them.
    @Suite struct HTTPTypesTests {
        @Test func headersGoBothWays() {
            var headers = HTTPHeaders([(name: "Accept", value: "text/plain"), (name: "X-A", value: "1")])
            headers.add("x-a", "2")
            headers.add("Authorization", "Bearer s3cret")
            let fields = HTTPFields(headers)
            #expect(fields.map(\.name.rawName) == ["Accept", "X-A", "x-a", "Authorization"])
            #expect(fields[.accept] == "text/plain" && fields[values: .init("X-A")!] == ["1", "2"])
            #expect(fields.map { $0.indexingStrategy == .disallow } == [false, false, false, true])
            #expect(HTTPHeaders(fields) == headers)
        }

        @Test func aSecretFieldStaysSecret() {
            var field = HTTPField(name: .init("X-Ticket")!, value: "s3cret")
            field.indexingStrategy = .disallow
            #expect(HTTPHeaders(HTTPFields([field])).description == "X-Ticket: <redacted>")
        }

        @Test func aRequestIsSentAndItsResponseConverted() async throws {
            let client = try client(of: "httpbin")
            let base = try #require(client.defaults["baseUrl"]?.string)
            let authority = base.replacing("http://", with: "").split(separator: "/").first.map(String.init)
            var fields = HTTPFields()
            fields[.accept] = "application/json"
            fields.append(HTTPField(name: .init("X-Twice")!, value: "1"))
            fields.append(HTTPField(name: .init("X-Twice")!, value: "2"))
            let request = Request(
                method: .put, scheme: "http", authority: authority, path: "/anything?a=b%20c", headerFields: fields)
            let response = try await client.send(args: request.apiArgs + [.json(["n": 1])])
            #expect(response.json?["method"] == "PUT" && response.json?["args"]?["a"] == "b c")
            #expect(response.json?["json"]?["n"] == 1)
            #expect(response.json?["headers"]?["X-Twice"]?.string?.replacing(" ", with: "") == "1,2")
            let converted = try #require(Response(response))
            #expect(converted.status == .ok && converted.headerFields[.contentType] == "application/json")
            let failed = await APIClient(baseURL: "http://127.0.0.1:1").response(args: [.option(.init("x"))])
            #expect(Response(failed) == nil)
        }

        @Test(arguments: [
            ("http://h.example:8080/a/b?c=d", "http", "h.example:8080", "/a/b?c=d"),
            ("https://h.example?c=d", "https", "h.example", "/?c=d"), ("https://h.example", "https", "h.example", "/"),
        ])
        func aBuiltRequestIsConverted(url: String, scheme: String, authority: String, path: String) throws {
            let args: [APIArg] = [.baseURL(url), .method("PATCH"), .header("X-A", "1")]
            let built = try #require(APIClient().request(args: args).httpRequest)
            let request = try #require(Request(built))
            #expect(request.method == .patch && request.scheme == scheme)
            #expect(request.authority == authority && request.path == path)
            #expect(request.headerFields[.init("X-A")!] == "1")
        }
    }
#endif
