import Testing

@testable import NTApi

/// The arg that takes its value from a default.
@Suite struct URLDefaultTests {
    private func target(_ args: [APIArg], _ set: (Defaults) -> Void = { _ in }) -> String? {
        let client = TestClient(at: "http://h")
        set(client.defaults)
        return client.request("x", args: args).httpRequest?.url
    }

    @Test func takesTheValueWhenTheRequestIsMade() {
        let args: [APIArg] = [.url("a", 1), .urlDefault("units", "unit"), .urlDefault("n"), .url("z", 2)]
        #expect(target(args) == "http://h/x?a=1&z=2")
        let filled = target(args) {
            $0["unit"] = "me tric"
            $0["n"] = 5
        }
        #expect(filled == "http://h/x?a=1&units=me%20tric&n=5&z=2")
        #expect(target(args) { $0["n"] = true } == "http://h/x?a=1&n=true&z=2")
        #expect(target(args) { $0["n"] = 0.5 } == "http://h/x?a=1&n=0.5&z=2")
        #expect(target(args) { $0["n"] = JSON.null } == "http://h/x?a=1&z=2")
    }

    @Test func aDefaultThatIsNoValueFailsTheRequest() async {
        let client = TestClient(at: "http://h")
        client.defaults["n"] = [1]
        let error = await client.response(args: [.urlDefault("n")]).error
        #expect(error?.code == .invalidRequest && error?.message.containsSubstring("\"n\"") == true)
    }

    @Test func isWrittenAsJSON() throws {
        let args = try APIArg.list(parsing: #"[["url_default","a"],["url_default","a","b"],["url_default","a",null]]"#)
        #expect(
            args.map(\.description) == [
                #"urlDefault("a", "a")"#, #"urlDefault("a", "b")"#, #"urlDefault("a", "a")"#,
            ])
        for wrong in [#"["url_default"]"#, #"["url_default",5]"#, #"["url_default","a",5]"#] {
            #expect(throws: APIError.self) { try APIArg.list(parsing: "[\(wrong)]") }
        }
    }

    @Test func aMarkedSecretStaysOne() throws {
        let client = TestClient(at: "http://h")
        client.defaults["mine"] = "s3cr3t"
        let request = client.request("x", args: [.urlDefault("mine").secret])
        #expect(request.httpRequest?.url == "http://h/x?mine=s3cr3t")
        #expect(request.curlCommand?.containsSubstring("s3cr3t") == false)
    }
}
