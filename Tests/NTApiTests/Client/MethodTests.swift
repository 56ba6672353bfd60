import NTApi
import Testing

/// Requests by the name of their method.
@Suite struct MethodTests {
    private struct Answer: Decodable, Equatable {
        let method: String
        let args: [String: String]
        let data: String?
    }

    @Test func eachSendsItsMethod() async throws {
        let client = try TestClient.of("httpbin")
        let body: [APIArg] = [.url("a", 1), .data(Array("hi".utf8), contentType: "text/plain")]
        let responses = [
            "GET": try await client.get("anything", args: [.url("a", 1)]),
            "POST": try await client.post("anything", args: body),
            "PUT": try await client.put("anything", args: body),
            "PATCH": try await client.patch("anything", args: body),
            "DELETE": try await client.delete("anything", args: [.url("a", 1)]),
        ]
        for (method, response) in responses {
            let answer = try response.decode(Answer.self)
            #expect(answer.method == method && answer.args == ["a": "1"])
            #expect(answer.data == (["GET", "DELETE"].contains(method) ? "" : "hi"))
        }
    }

    @Test func eachDecodesItsAnswer() async throws {
        let client = try TestClient.of("httpbin")
        let methods = [
            try await client.get("anything", as: Answer.self).method,
            try await client.post("anything", as: String.self, at: "method"),
            try await client.put("anything", as: String.self, at: "method"),
            try await client.patch("anything", as: String.self, at: "method"),
            try await client.delete("anything", as: String.self, at: "method"),
        ]
        #expect(methods == ["GET", "POST", "PUT", "PATCH", "DELETE"])
    }

    @Test func theNameWinsOverAnArg() async throws {
        let client = try TestClient.of("httpbin", args: [.method("PUT")])
        #expect(try await client.get("anything", args: [.method("HEAD")]).json?["method"] == "GET")
    }

    @Test func anErrorIsThrown() async throws {
        let client = try TestClient.of("httpbin")
        let error = await #expect(throws: APIError.self) { try await client.delete("status/404") }
        #expect(error?.httpStatus == 404)
    }
}
