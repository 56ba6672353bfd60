import CCurl
import Testing

@testable import NTApi

@Suite struct EngineHTTP2Tests {
    private static let usesConnectionsAgain = (ntapi_version()?.pointee.version_num ?? 0) >= 0x08_00_00

    /// Knows just enough HTTP/2, without TLS, to answer the first stream of a connection, with 200 and no body.
    private func server() throws -> RawServer {
        try RawServer { connection in
            // Read the client's preface, send an empty SETTINGS frame, and then read the client's frames.
            guard connection.readBytes(24) != nil else { return }
            connection.send([0, 0, 0, 4, 0, 0, 0, 0, 0])
            while let header = connection.readBytes(9) {
                let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
                guard connection.readBytes(length) != nil else { return }
                // HEADERS of stream 1 only: `:status: 200` is entry 8 of the static table.
                if header[3] == 1, header[5...] == [0, 0, 0, 1] {
                    connection.send([0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88])
                }
            }
        }
    }

    private func request(_ server: RawServer, idle: Double = patience) -> HTTPRequest {
        var request = HTTPRequest(method: "GET", url: server.url)
        request.settings.httpVersion = .http2
        request.settings.timeouts.idle = idle
        return request
    }

    /// Without a connection for each request, libcurl 7.88 reports a framing error for the second one.
    @Test(.enabled(if: !usesConnectionsAgain)) func opensAConnectionForEachWithAnOldLibcurl() async throws {
        let server = try server()
        let engine = TestEngine()
        for _ in 0..<3 {
            let result = await engine.send(request(server))
            #expect(result.error == nil, "\(String(describing: result.error))")
            #expect(result.head?.httpVersion == 2)
        }
    }

    /// A server that falls silent must not block the next requests.
    @Test(.enabled(if: usesConnectionsAgain)) func leavesASilentConnection() async throws {
        let server = try server()
        let engine = TestEngine()
        #expect(await engine.send(request(server)).error == nil)
        #expect(await engine.send(request(server, idle: 0.2)).error?.code == .timeout)
        let third = await engine.send(request(server))
        #expect(third.error == nil)
        #expect(!third.metrics.connectionReused)
        #expect(server.connectionCount == 2)
    }
}
