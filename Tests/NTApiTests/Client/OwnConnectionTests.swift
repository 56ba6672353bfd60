import Testing

@testable import NTApi

/// A session has its own connections, which are closed with it.
@Suite struct OwnConnectionTests {
    @Test func sessionsShareNoConnection() async throws {
        let first = try session("fault") { _ in }
        let second = try session("fault") { _ in }
        let plain = try TestClient.of("fault")
        let ways: [(APIClient) async throws -> Int?] = [
            { try await $0.echo()["connection"]?.int },
            { client in await onThread { client.perform("echo").json?["connection"]?.int } },
        ]
        for way in ways {
            let (one, other, open) = (try await way(first), try await way(second), try await way(plain))
            #expect(one != nil && one != other && one != open && other != open)
            #expect(try await way(first) == one)
            #expect(try await way(second) == other)
        }
    }

    enum End: CaseIterable {
        case close, finish, invalidate, free
    }

    /// The server sees the end of each connection, even if the program keeps a response.
    @Test(arguments: End.allCases) func closesThemAtItsEnd(_ end: End) async throws {
        let closed = [Signal(), Signal()]
        let server = try RawServer { connection in
            for _ in 0..<2 { if connection.readHead() != nil { _ = connection.send(okResponse("{}")) } }
            connection.waitForEnd()
            closed[min(connection.index, 1)].set()
        }
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = ""
        var client: APIClient? = APIClient(baseURL: server.url, configuration: configuration)
        var kept: [APIResponse?] = [await client?.response("")]
        if let client { kept.append(await onThread { client.perform("") }) }
        #expect(kept.allSatisfy { $0?.error == nil })
        switch end {
        case .close: client?.close()
        case .finish: client?.finishAndInvalidate()
        case .invalidate: client?.invalidateAndCancel()
        case .free:
            kept = []
            client = nil
        }
        for signal in closed { await signal.wait() }
        withExtendedLifetime((client, kept)) {}
    }

    /// An idle thread ends after its connections are closed; the next request starts a new one.
    @Test func anIdleThreadEnds() async throws {
        let ended = Signal()
        let server = try RawServer { connection in
            if connection.readHead() != nil { _ = connection.send(okResponse("{}")) }
            connection.waitForEnd()
            if connection.index == 0 { ended.set() }
        }
        let engine = TestEngine(ownIdleTime: 0.05)
        var request = HTTPRequest(method: "GET", url: server.url)
        request.settings.context = SessionContext(
            connections: OwnConnections(ConnectionIdentity(), maximum: nil), cookies: nil)
        for _ in 0..<2 {
            let recorder = Recorder()
            let exchange = Exchange(
                request: request, priority: 0.5, deadline: .distantFuture, reportsProgress: false, observer: recorder)
            engine.engine.transport(for: request.settings).begin(exchange)
            #expect(await recorder.result().head?.status == 200)
            await ended.wait()
        }
    }

    /// A session with one connection sends its uploads one after the other.
    @Test func uploadsOverOneConnection() async throws {
        let folder = try TemporaryFolder()
        folder.write("photo", [UInt8](repeating: 7, count: 200_000))
        let uploads = try session("fault") { $0.maximumConnectionsPerHost = 1 }
        let others = try session("fault") { _ in }
        let responses = Log<APIResponse>()
        for number in 0..<6 {
            let args: [APIArg] = [
                .url("number", number), .method("PUT"), .file("\(folder.path)/photo"), .responseThread(.background),
            ]
            uploads.begin("echo", args: args) { responses.append($0) }
        }
        // Requests of another session do not wait for them.
        let other = try await others.echo()["connection"]?.int
        let all = await responses.first(6)
        #expect(all.allSatisfy { $0.error == nil && $0.json?["body"]?.string?.utf8.count == 200_000 })
        let connections = Set(all.map { $0.json?["connection"]?.int })
        #expect(connections.count == 1 && !connections.contains(nil) && !connections.contains(other))
    }
}
