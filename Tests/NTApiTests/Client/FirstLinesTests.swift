import NTApi
import Testing

/// What a user of Alamofire types first, written for this library. Each line sends the request beside it.
/// Tests/docs/first_lines.swift has the lines that cannot be written, with the compiler's messages.
@Suite struct FirstLinesTests {
    struct Line: CustomTestStringConvertible, Sendable {
        /// The line in Alamofire.
        let testDescription: String
        /// Method, path, headers and body, without the headers that every request has.
        let sent: String
        let here: @Sendable (APIClient) async throws -> Void

        init(_ there: String, _ sent: String, _ here: @escaping @Sendable (APIClient) async throws -> Void) {
            (testDescription, self.sent, self.here) = (there, sent, here)
        }
    }

    struct Order: Codable, Equatable { var city: String }

    static let json = "Content-Type: application/json"
    static let form = "Content-Type: application/x-www-form-urlencoded"

    static let lines: [Line] = [
        Line(#"AF.request(url + "find")"#, "GET find") { _ = try await $0.get("find") },
        Line(#"AF.request(url + "find", parameters: ["q": "London"])"#, "GET find?q=London") {
            _ = try await $0.get("find", args: [.url("q", "London")])
        },
        Line(#"parameters: ["id": [7, 8]]"#, "GET find?id=7&id=8") {
            _ = try await $0.get("find", args: [.url("id", 7), .url("id", 8)])
        },
        Line(#"AF.request(url + "find?q=London")"#, "GET find?q=London") { _ = try await $0.get("find?q=London") },
        Line(#"method: .post"#, "POST orders") { try await $0.post("orders") },
        Line(#"method: .delete"#, "DELETE orders/7") { try await $0.delete("orders/7") },
        Line(#"method: .head"#, "HEAD find") { _ = try await $0.send("find", args: [.method("HEAD")]) },
        Line(#"encoder: JSONParameterEncoder.default"#, #"POST orders | \#(json) | {"city":"Bern"}"#) {
            try await $0.post("orders", args: [.json(encoding: Order(city: "Bern"))])
        },
        Line(#"encoding: JSONEncoding.default"#, #"PUT orders/7 | \#(json) | {"city":"Bern","days":[1,2]}"#) {
            try await $0.put("orders/7", args: [.json(["city": "Bern", "days": [1, 2]])])
        },
        Line(#"encoder: URLEncodedFormParameterEncoder.default"#, "POST orders | \(form) | city=S%C3%A3o+Paulo") {
            try await $0.post("orders", args: [.form("city", "São Paulo")])
        },
        Line(#"headers: [.authorization(bearerToken: "t")]"#, "GET find | Authorization: Bearer t") {
            _ = try await $0.get("find", args: [.bearer("t")])
        },
        Line(#"headers: [.authorization(username: "a", password: "b")]"#, "GET find | Authorization: Basic YTpi") {
            _ = try await $0.get("find", args: [.basicAuth("a", "b")])
        },
        Line(#"headers: ["X-Trace": "7"]"#, "GET find | X-Trace: 7") {
            _ = try await $0.get("find", args: [.header("X-Trace", "7")])
        },
        Line(#"headers: [.accept("text/csv")]"#, "GET find | Accept: text/csv") {
            _ = try await $0.get("find", args: [.header("Accept", "text/csv")])
        },
        Line(#".serializingDecodable(Order.self).value"#, "GET order") {
            let order = try await $0.get("order", as: Order.self)
            #expect(order == Order(city: "Bern"))
        },
        Line(#".responseDecodable(of: Order.self) { … }"#, "GET order") { client in
            let order = try await withCheckedThrowingContinuation { continuation in
                client.begin("order", args: [.responseThread(.background)]) { response in
                    continuation.resume(with: Result { try response.decode(Order.self) })
                }
            }
            #expect(order == Order(city: "Bern"))
        },
        Line(#".serializingString().value"#, "GET order") {
            let response = try await $0.get("order")
            #expect(response.text == #"{"city":"Bern"}"#)
        },
        Line(#".serializingData().value"#, "GET order") {
            let response = try await $0.get("order")
            #expect(response.data.count == 15)
        },
        Line(#".validate()"#, "GET gone") { client in
            await #expect(throws: APIError.self) { try await client.get("gone") }
        },
        Line(#"error.responseCode"#, "GET gone") {
            let response = await $0.response("gone")
            #expect(response.error?.httpStatus == 410)
        },
        Line(#"without .validate()"#, "GET gone") {
            let response = try await $0.get("gone", args: [.option(.ignoreHTTPErrors)])
            #expect(response.status == 410)
        },
        Line(#"AF.upload(data, to:)"#, "POST photo | Content-Type: application/octet-stream | abc") {
            try await $0.post("photo", args: [.data(Array("abc".utf8))])
        },
        Line(#"interceptor: RetryPolicy()"#, "GET busy; GET busy") {
            let response = try await $0.get("busy", args: [.retry(RetryPolicy(base: 0))])
            #expect(response.status == 200)
        },
        Line(#"AF.streamRequest(url)"#, "GET order") { client in
            var count = 0
            for try await piece in try await client.stream("order") { count += piece.count }
            #expect(count == 15)
        },
        Line(#".cURLDescription { … }"#, "") {
            #expect($0.request("find").curlCommand?.hasSuffix("https://api.test/v1/find") == true)
        },
    ]

    @Test(arguments: lines) func isWrittenHere(line: Line) async throws {
        let stub = Stub()
        stub.on(nil, "**").answer(.json([]))
        stub.on("GET", "order").answer(.json(["city": "Bern"]))
        stub.on("GET", "gone").answer(.status(410))
        stub.on("GET", "busy").answer(.status(503), .status(200))
        let client = APIClient(baseURL: "https://api.test/v1")
        client.stub = stub
        client.logFlags = []
        try await line.here(client)
        #expect(stub.requests.map(shown).joined(separator: "; ") == line.sent)
    }

    private func shown(_ request: StubRequest) -> String {
        let usual = [("Accept", "application/json, */*;q=0.5"), ("User-Agent", "ntapi/\(ntapiVersion)")]
        let headers = request.headers.filter { field in !usual.contains { $0 == field.name && $1 == field.value } }
        let words = ["\(request.method) \(request.url.dropFirst("https://api.test/v1/".count))"]
        return (words + headers.map { "\($0.name): \($0.value)" } + (request.text.isEmpty ? [] : [request.text]))
            .joined(separator: " | ")
    }
}
