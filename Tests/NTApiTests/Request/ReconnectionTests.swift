import Testing

@testable import NTApi

/// Each connection of a stream of events is a request like any other: credentials, trust and limits apply to it.
@Suite struct ReconnectionTests {
    /// A client that answers challenges, and records the questions.
    private final class Client: TestClient, @unchecked Sendable {
        // Safe to share: the log is, and the rest is set before the first request.
        let asked = Log<AuthenticationChallenge>()
        var judge: @Sendable (RequestDecision) -> Void = { $0.use(user: "ann", password: "pw") }

        override func decide(_ decision: RequestDecision) {
            if let challenge = decision.challenge { asked.append(challenge) }
            judge(decision)
        }
    }

    private let token = "r\(UInt64.random(in: 0...UInt64.max))"
    private static let basic = "Basic YW5uOnB3"

    private var args: [APIArg] { [.url("token", token)] }

    private func numbers(_ client: APIClient, _ args: [APIArg], command: String = "events") async throws -> [Int?] {
        var all: [Int?] = []
        for try await event in client.events(command, args: args) { all.append(event.json?["n"]?.int) }
        return all
    }

    /// The Authorization headers of the stream's connections.
    private var shown: [String?] {
        get async throws {
            let seen = try await TestClient.of("fault").send("seen", args: [.url("token", token)]).json
            return (seen?["requests"]?.array ?? []).map { $0["header"]?["authorization"]?.string }
        }
    }

    private func issue(_ client: APIClient) async throws -> Authenticator.Token {
        let args: [APIArg] = [.url("name", token), .option(.bypassAuthentication)]
        let json = try await client.send("token/issue", args: args).json
        return Authenticator.Token(try #require(json?["token"]?.string))
    }

    // MARK: Tokens

    @Test func theTokenGoesWithEachConnection() async throws {
        let client = try TestClient.of("fault")
        client.authenticator = Authenticator(token: try await issue(client)) { _ in try await self.issue(client) }
        #expect(try await numbers(client, args + [.url("name", token)]) == Array(1...9))
        #expect(try await shown == Array(repeating: "Bearer \(token)-1", count: 4))
    }

    @Test func eachConnectionMayRefreshTheToken() async throws {
        let client = try TestClient.of("fault")
        client.authenticator = Authenticator { _ in try await self.issue(client) }
        #expect(try await numbers(client, args + [.url("name", token), .url("once", 1)]) == Array(1...9))
        let names = [1, 1, 2, 2, 3, 3, 4].map { "Bearer \(token)-\($0)" }
        #expect(try await shown == names)
    }

    /// The token server may be down for a moment too.
    @Test func aRefreshThatMayHelpLaterIsTriedAgain() async throws {
        let client = try TestClient.of("fault")
        let count = Lock(0)
        client.authenticator = Authenticator(token: try await issue(client)) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 { throw APIError(domain: .network, code: .network, message: "down", isRetryable: true) }
            if number == 4 { throw APIError(domain: .request, code: .generic, message: "no more") }
            return try await self.issue(client)
        }
        let args = args + [.url("name", token), .url("once", 1), .url("per", 1)]
        let error = await #expect(throws: APIError.self) { try await self.numbers(client, args) }
        #expect(error?.code == .authentication && error?.message.containsSubstring("no more") == true)
        #expect(count.withLock { $0 } == 4)
    }

    @Test func aFirstRefreshThatFailsEndsTheStream() async throws {
        let client = try TestClient.of("fault")
        client.authenticator = Authenticator { _ in
            throw APIError(domain: .network, code: .network, message: "down", isRetryable: true)
        }
        let error = await #expect(throws: APIError.self) { try await self.numbers(client, self.args) }
        #expect(error?.code == .authentication)
    }

    // MARK: Challenges

    @Test func anAnswerGoesWithEachConnection() async throws {
        let client = try Client.of("fault")
        client.decisionKinds = .challenge
        #expect(try await numbers(client, args + [.url("unless", Self.basic)]) == Array(1...9))
        #expect(try await shown == [nil] + Array(repeating: Self.basic, count: 4))
        #expect(client.asked.count == 1)
    }

    @Test func theConfigurationsUserGoesWithEachConnection() async throws {
        var configuration = SessionConfiguration.ephemeral
        configuration.user = "ann"
        configuration.password = "pw"
        let client = APIClient(baseURL: try TestServers.url("fault"), configuration: configuration)
        client.defaults["proxy"] = ""
        #expect(try await numbers(client, args + [.url("unless", Self.basic)]) == Array(1...9))
        #expect(try await shown == [nil] + Array(repeating: Self.basic, count: 4))
    }

    /// The answer to a challenge is used on each connection, even behind a redirect.
    @Test func anAnswerBehindARedirectIsKept() async throws {
        let client = try Client.of("fault")
        client.decisionKinds = .challenge
        let target = "\(try TestServers.url("fault_other"))/events?token=\(token)&unless=Basic%20YW5uOnB3"
        #expect(try await numbers(client, [.url("url", target)], command: "redirect/to") == Array(1...9))
        #expect(try await shown == [nil] + Array(repeating: Self.basic, count: 4))
        #expect(client.asked.count == 1)
    }

    @Test func aTrustedCertificateIsTrustedByEachConnection() async throws {
        let client = try Client.of("fault_tls")
        client.defaults["caFile"] = nil
        client.decisionKinds = .challenge
        client.judge = { $0.trust() }
        #expect(try await numbers(client, args + [.url("whole", 1)]) == Array(1...9))
        #expect(client.asked.all.map(\.kind) == [.certificate])
    }

    // MARK: Others

    @Test func redirectsCountForOneConnection() async throws {
        let client = try TestClient.of("fault")
        let target = "\(try TestServers.url("fault"))/events?token=\(token)"
        let request = client.request(
            "redirect/to", args: [.url("url", target), .option(.maximumRedirects, "1"), .responseThread(.background)])
        let told = Log<ServerSentEvent>()
        request.setServerEventHandler { told.append($0) }
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        let response = try await responses.element(0)
        #expect(response.error == nil && response.status == 204 && response.metrics.redirects == 4)
        #expect(told.count == 9)
    }

    @Test func aBodyThatCannotBeReadTwiceEndsTheStream() async throws {
        let client = try TestClient.of("fault")
        for canRewind in [false, true] {
            let sent = Lock(false)
            let rewind: @Sendable () -> Bool = {
                sent.withLock { $0 = false }
                return true
            }
            let stream = BodyStream(rewind: canRewind ? rewind : nil) { buffer in
                guard !sent.withLock({ exchange(&$0, with: true) }) else { return 0 }
                buffer[0] = 65
                return 1
            }
            let token = "\(token)\(canRewind)"
            let args: [APIArg] = [.url("token", token), .stream(stream), .method("PUT")]
            #expect(try await numbers(client, args).count == (canRewind ? 9 : 3))
            let seen = try await client.send("seen", args: [.url("token", token)]).json?["requests"]?.array ?? []
            #expect(seen.map { $0["size"]?.int } == Array(repeating: 1, count: canRewind ? 4 : 1))
        }
    }
}
