import Testing

@testable import NTApi

/// What requests get from a cache in memory, of a real server.
@Suite struct CacheTests {
    private let time = TestTime()

    @Test func whatIsFreshIsNotAskedForAgain() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=60")])
        let first = await page.get(client)
        #expect(first.source == .network && !first.metrics.fromCache && first.json?["count"]?.int == 1)
        time.advance(30)
        let second = await page.get(client)
        #expect(second.error == nil)
        #expect(second.source == .cache && second.metrics.fromCache && second.json?["count"]?.int == 1)
        #expect(second.headers["Age"] == "30" && second.status == 200)
        #expect(second.headers["Content-Type"] == "application/json")
        #expect(second.data.elementsEqual(first.data) && second.metrics.bytesReceived == 0)
        time.advance(31)
        let third = await page.get(client)
        #expect(third.source == .network && third.json?["count"]?.int == 2)
        #expect(await page.count(client) == 2)
    }
}
