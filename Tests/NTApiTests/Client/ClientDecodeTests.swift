import Testing

@testable import NTApi

/// Responses as the program's own types.
@Suite struct ClientDecodeTests {
    private struct Answer: Decodable, Equatable {
        struct Inner: Decodable, Equatable { let d: String }
        let a: Int
        let b: [Bool?]
        let c: Inner
    }

    @Test func sendsAndDecodes() async throws {
        let client = try TestClient.of("fault")
        let expected = Answer(a: 1, b: [true, false, nil], c: .init(d: "e"))
        #expect(try await client.send("json/ok", as: Answer.self) == expected)
        #expect(try await client.send("json/ok", as: String.self, at: "c.d") == "e")
        let options = DecodingOptions(dates: [.seconds])
        let date = try await client.send("json/ok", as: APIDate.self, at: "a", options: options)
        #expect(date.secondsSince1970 == 1)
        let response = await client.response("json/ok")
        #expect(try response.decode(Answer.self) == expected)
        let inferred: Answer = try response.decode()
        #expect(inferred == expected)
    }

    @Test func theResponsesOwnErrorComesFirst() async throws {
        let client = try TestClient.of("fault")
        await #expect { try await client.send("json/ok?status=404", as: Answer.self) } throws: {
            ($0 as? APIError)?.code == .httpError
        }
        await #expect { try await client.send("json/trailing-comma", as: Answer.self) } throws: {
            ($0 as? APIError)?.code == .invalidJSON
        }
        // If it is accepted as an answer, it is decoded.
        #expect(
            try await client.send("json/ok?status=404", args: [.option(.ignoreHTTPErrors)], as: Answer.self).a == 1)
    }

    @Test func whatDoesNotFitNamesTheRequestToo() async throws {
        let client = try TestClient.of("fault")
        let response = await client.response("json/duplicate-keys", args: [.url("token", "secret")])
        let error = #expect(throws: APIError.self) { try response.decode(Answer.self) }
        #expect(error?.domain == .json && error?.code == .unexpectedJSON && error?.httpStatus == 200)
        #expect(error?.message.containsSubstring("/json/duplicate-keys") == true)
        #expect(error?.message.containsSubstring("b: array expected, number 3 found") == true)
        #expect(error?.message.containsSubstring("secret") == false)
    }

    @Test(arguments: ["json/empty", "json/whitespace-only"]) func noJSONIsAnError(command: String) async throws {
        let client = try TestClient.of("fault")
        let response = await client.response(command)
        #expect(response.error == nil)
        let error = #expect(throws: APIError.self) { try response.decode(Answer.self) }
        #expect(error?.code == .unexpectedJSON && error?.message.containsSubstring("no JSON") == true)
    }
}
