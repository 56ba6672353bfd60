import Testing

@testable import NTApi

/// The connection pools of a loop, and hosts with many connections in one of them.
@Suite struct ConnectionPoolsTests {
    @Test func closesWhatHasNothingToDo() throws {
        let poller = try #require(SystemPoller())
        let pools = try #require(ConnectionPools(poller: poller, limit: nil))
        #expect(pools.count == 1)
        for number in 1...8 { #expect(pools.pool(number) === pools.pool(number)) }
        #expect(pools.count == 9 && pools.pool(0) !== pools.pool(1))
        let now = MonotonicTime.now()
        pools.closeIdle(now)
        pools.closeIdle(now.advanced(bySeconds: 100))
        #expect(pools.count == 9)
        pools.closeIdle(now.advanced(bySeconds: 120))
        #expect(pools.count == 1)
        #expect(pools.pool(2) !== pools.pool(0) && pools.count == 2)
        pools.close()
    }

    /// Some requests hang while others come and go. Then all of them end, and their connections are used again.
    @Test func manyHangBesideOthers() async throws {
        let hanging = 300
        let (mayAnswer, areThere) = (Signal(), Signal())
        let waiting = Lock(0)
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                if request.firstLine.hasPrefix("GET /hang ") {
                    let count = waiting.withLock { count in
                        count += 1
                        return count
                    }
                    if count == hanging { areThere.set() }
                    mayAnswer.block()
                }
                connection.send(okResponse(request.firstLine))
            }
        }
        let engine = TestEngine()
        func request(_ path: String) -> HTTPRequest {
            var request = HTTPRequest(method: "GET", url: server.url + path)
            request.settings.maximumConnectionsPerHost = 500
            // A connection whose request has timed out would not be used again.
            request.settings.timeouts.idle = nil
            return request
        }
        let recorders = (0..<hanging).map { _ in Recorder() }
        for recorder in recorders { engine.begin(request("/hang"), recorder, connectionLimit: 500) }
        await areThere.wait()
        for number in 0..<30 {
            let result = await engine.send(request("/\(number)"))
            #expect(result.text == "GET /\(number) HTTP/1.1")
            #expect(result.metrics.connectionReused == (number > 0))
        }
        #expect(server.connectionCount == hanging + 1)
        mayAnswer.set()
        for recorder in recorders { #expect(await recorder.result().text == "GET /hang HTTP/1.1") }
        let others = (0..<hanging).map { _ in Recorder() }
        for recorder in others { engine.begin(request("/again"), recorder, connectionLimit: 500) }
        for recorder in others { #expect(await recorder.result().text == "GET /again HTTP/1.1") }
        #expect(server.connectionCount == hanging + 1)
    }
}
