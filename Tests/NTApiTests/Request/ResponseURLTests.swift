import Testing

@testable import NTApi

/// The URL of a response for logs.
@Suite struct ResponseURLTests {
    @Test func whatIsSecretByNameOrByMarkIsRedacted() async throws {
        let client = TestClient(at: "http://api.test/v1")
        let stub = Stub()
        client.stub = stub
        stub.on("GET", "v1/users/hidden3").answer(.json(1))
        let response = try await client.send(
            "users/{id}",
            args: [
                .url("visible", "shown"), .url("api_key", "hidden1"), .url("q", "hidden2").secret,
                .path("id", "hidden3").secret,
            ])
        #expect(response.url.contains("hidden3"))
        #expect(response.redactedURL.hasPrefix("http://api.test/v1/users/"))
        #expect(response.redactedURL.contains("visible=shown"))
        #expect(!response.redactedURL.contains("hidden"))
    }

    @Test func aRequestThatCannotBeBuiltHasNone() async {
        let response = await TestClient(at: "http://api.test").response("{missing}")
        #expect(response.redactedURL.isEmpty)
    }
}
