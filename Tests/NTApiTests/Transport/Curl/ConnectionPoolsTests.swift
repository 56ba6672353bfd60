import Testing

@testable import NTApi

/// Hosts with more connections than one pool is to have.
@Suite struct ConnectionPoolsTests {
    @Test func fillsOnePoolAfterTheOther() {
        var counts = PoolCounts()
        let capacity = PoolCounts.capacity
        let numbers = (0..<(2 * capacity + 1)).map { _ in counts.enter(maySpread: true) }
        #expect(numbers == [Int](repeating: 0, count: capacity) + [Int](repeating: 1, count: capacity) + [2])
        #expect(counts.enter(maySpread: false) == 0, "full or not")
        counts.leave(0)
        #expect(counts.enter(maySpread: true) == 2)
        counts.leave(1)
        #expect(counts.enter(maySpread: true) == 1)
        counts.leave(0)
        #expect(counts.enter(maySpread: true) == 0)
    }

    @Test func whatMustNotBeInTheFirstGoesToTheOthers() {
        var counts = PoolCounts()
        #expect(counts.enter(maySpread: true, skipsFirst: true) == 1)
        #expect(counts.enter(maySpread: true) == 0)
        #expect(counts.enter(maySpread: false, skipsFirst: true) == 1)
        counts.leave(1)
        counts.leave(1)
        #expect(counts.enter(maySpread: true, skipsFirst: true) == 1)
    }

    /// A pool opens a connection when all of its own are in use. So what all of them have open is the sum of the most
    /// that each had in use at a time, which must not exceed the most that were in use together: the host's limit.
    @Test func poolsTogetherOpenNoMoreThanOneWould() {
        var counts = PoolCounts()
        var running: [Int] = []
        var inUse = [Int](repeating: 0, count: 16)
        var open = inUse
        var most = 0
        for _ in 0..<20_000 {
            if running.isEmpty || (running.count < 1200 && Int.random(in: 0..<100) < 51) {
                let pool = counts.enter(maySpread: true)
                running.append(pool)
                inUse[pool] += 1
                open[pool] = max(open[pool], inUse[pool])
            } else {
                let pool = running.remove(at: Int.random(in: running.indices))
                counts.leave(pool)
                inUse[pool] -= 1
            }
            most = max(most, running.count)
            #expect(open.reduce(0, +) <= most)
        }
    }

    @Test func closesWhatABurstLeftBehind() throws {
        let poller = try #require(SystemPoller())
        let pools = try #require(ConnectionPools(poller: poller, limit: nil))
        #expect(pools.count == 1)
        for number in 1...9 { #expect(pools.pool(number, orFirst: true) === pools.pool(number, orFirst: true)) }
        #expect(pools.count == 10)
        let now = MonotonicTime.now()
        pools.closeUnneeded(transfers: 9 * PoolCounts.capacity, now)
        #expect(pools.count == 10)
        pools.closeUnneeded(transfers: 0, now)
        // One more where the second has what must not be in the first.
        let others = pools.count - (ConnectionPools.mixesVersions ? 2 : 1)
        #expect(others * PoolCounts.capacity == 2 * CurlMulti.idleConnections)
        // The rest is for those that may come soon.
        pools.closeUnneeded(transfers: 0, now.advanced(bySeconds: 100))
        #expect(pools.count > 1 && pools.pool(0, orFirst: true) !== pools.pool(1, orFirst: true))
        pools.closeUnneeded(transfers: 0, now.advanced(bySeconds: 120))
        #expect(pools.count == 1)
        #expect(pools.pool(2, orFirst: true) !== pools.pool(0, orFirst: true) && pools.count == 2)
        pools.close()
    }

    /// Some hang while others come and go, in another pool; then all end, and their connections are used again.
    @Test func answersComeFromEveryPool() async throws {
        let hanging = PoolCounts.capacity + 20
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
            // The connections of those that time out would not be trusted any more.
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

    /// The clocks, a cancel and the engine's end reach those in a later pool, too.
    @Test func endsReachEveryPool() async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.waitForEnd()
        }
        let engine = TestEngine()
        var request = HTTPRequest(method: "GET", url: server.url)
        request.settings.maximumConnectionsPerHost = 500
        request.settings.timeouts.idle = nil
        let recorders = (0..<PoolCounts.capacity + 2).map { _ in Recorder() }
        let exchanges = recorders.map { engine.begin(request, $0, connectionLimit: 500) }
        await onThread { server.waitForConnections(recorders.count) }
        request.settings.timeouts.idle = 0.05
        #expect(await engine.send(request).error?.code == .timeout)
        if let last = exchanges.last { engine.cancel(last) }
        #expect(await recorders.last?.result().error?.code == .cancelled)
        _ = await onThread { engine.engine.stop(timeout: patience) }
        for recorder in recorders { #expect(await recorder.result().error?.code == .cancelled) }
    }
}
