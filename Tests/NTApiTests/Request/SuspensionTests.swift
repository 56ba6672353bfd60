import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A suspension only delays the end of a request. It changes nothing else.
@Suite struct SuspensionTests {
    /// The race: two threads decide one after the other, and reach the network thread in either order. The last one
    /// counts.
    @Test func theLastWordCounts() async throws {
        let answers = Signal()
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            answers.block()
            connection.send(okResponse("{}"))
            connection.waitForEnd()
        }
        let client = APIClient(baseURL: server.url)
        client.defaults["proxy"] = ""
        let responses = Log<APIResponse>()
        let requests = (0..<24).map { _ in
            client.begin("", args: [.responseThread(.background)]) { responses.append($0) }
        }
        server.waitForConnections(requests.count)
        await withTaskGroup(of: Void.self) { group in
            for suspends in [true, false] {
                group.addTask {
                    await onThread {
                        for _ in 0..<400 {
                            for request in requests { _ = suspends ? request.suspend() : request.resume() }
                        }
                    }
                }
            }
        }
        for request in requests { request.resume() }
        answers.set()
        for index in requests.indices {
            let response = try await responses.element(index)
            #expect(response.error == nil && response.status == 200)
        }
    }

    /// HTTP/2 streams of one connection. Most of them are suspended before the head of their response has arrived.
    @Test func streamsAreSuspendedAtAnyMoment() async throws {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let client = try TestClient.of("nginx_tls")
        client.defaults["caFile"] = .init(try TestServers.url("ca"))
        for round in 0..<20 {
            let responses = Log<APIResponse>()
            let requests = (0..<10).map { _ in
                client.begin("slow", args: [.url("seconds", 0.05), .responseThread(.background)]) {
                    responses.append($0)
                }
            }
            for _ in 0..<Int.random(in: 0..<2000, using: &random) { sched_yield() }
            for request in requests { request.suspend() }
            // A stream that is not suspended shows that the connection continues meanwhile.
            let free = await client.response("slow", args: [.url("seconds", 0.1)])
            #expect(free.error == nil, "round \(round), seed \(seed)")
            for request in requests { request.resume() }
            for index in requests.indices {
                let response = try await responses.element(index)
                #expect(response.error == nil && response.status == 200, "round \(round), seed \(seed)")
            }
        }
    }

    /// A request that waits for a connection, or has ended, has no transfer that could be held.
    @Test func cyclesOfSuspensionChangeNothing() async throws {
        let client = try TestClient.of("weather")
        let responses = Log<APIResponse>()
        let requests = (0..<20).map { _ in
            client.begin("download", args: [.url("size", 1_000_000), .option(.rawData), .responseThread(.background)]) {
                responses.append($0)
            }
        }
        await onThread {
            for _ in 0..<50 {
                for request in requests {
                    request.suspend()
                    sched_yield()
                    request.resume()
                }
            }
        }
        for index in requests.indices {
            let response = try await responses.element(index)
            #expect(response.error == nil && response.data.count == 1_000_000, "\(response.error?.message ?? "")")
        }
    }
}
