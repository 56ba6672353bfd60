import Testing

@testable import NTApi

@Suite struct ConnectionCountTests {
    @Test func callersGetWhatTheNetworkThreadsLeave() {
        let count = ConnectionCount()
        #expect(!count.enterDirect(limit: 8), "too few to share")
        for _ in 0..<18 { count.begin() }
        #expect(count.enterDirect(limit: 20) && count.enterDirect(limit: 20))
        #expect(!count.enterDirect(limit: 20) && count.direct == 2)
        count.end()
        #expect(count.enterDirect(limit: 20) && count.direct == 3)
        count.leaveDirect()
        for _ in 2..<ConnectionCount.maximumDirect { #expect(count.enterDirect(limit: 1000)) }
        #expect(!count.enterDirect(limit: 1000))
    }

    /// The parts add up to the whole, and none is less than one.
    @Test func sharesAddUp() {
        for count in 1...8 {
            for limit in count...70 {
                let parts = (0..<count).map { ConnectionShare(index: $0, count: count).part(of: limit) }
                #expect(parts.reduce(0, +) == limit && parts.allSatisfy { $0 >= 1 })
            }
        }
        #expect(ConnectionShare(index: 3, count: 4).part(of: 2) == 1)
    }

    @Test func exchangesGoToAsManyThreadsAsCanShareTheLimit() {
        let engine = CurlEngine(workers: WorkerPool(), threads: 3)
        func threads(_ limit: Int) -> Set<ObjectIdentifier> {
            Set((0..<12).map { _ in ObjectIdentifier(engine.transport(connectionLimit: limit)) })
        }
        #expect(threads(64).count == 3 && threads(2).count == 2 && threads(1).count == 1)
        #expect(engine.stop(timeout: patience))
    }

    @Test func severalThreadsStayWithinTheLimit() async throws {
        let server = try CountingServer(okResponse("x"))
        let engine = TestEngine(threads: 3)
        var request = HTTPRequest(method: "GET", url: server.url)
        request.settings.maximumConnectionsPerHost = 5
        let recorders = (0..<200).map { _ in Recorder() }
        for recorder in recorders { engine.begin(request, recorder, connectionLimit: 5) }
        for recorder in recorders { #expect(await recorder.result().error == nil) }
        #expect(server.most <= 5 && server.connectionCount <= 5)
    }
}
