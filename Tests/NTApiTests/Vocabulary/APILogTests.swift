import Testing

@testable import NTApi

@Suite(.serialized) struct APILogTests {
    @Test func theSinkGetsTheLines() {
        let lines = Log<String>()
        APILog.sink = { level, message in lines.append("\(level): \(message)") }
        APILog.write(.warn, "of the test")
        APILog.sink = nil
        #expect(lines.all.contains("warn: of the test"))
    }

    /// A program may log for weeks. Earlier, each line left two more wrappers around the sink.
    @Test func theSinkStaysAsItIsHoweverManyLinesItGets() {
        let count = Lock(0)
        APILog.sink = { _, message in if message == "one of many" { count.withLock { $0 += 1 } } }
        for _ in 0..<200_000 { APILog.write(.warn, "one of many") }
        APILog.sink = nil
        #expect(count.withLock { $0 } == 200_000)
    }

    @Test func aSinkThatIsReplacedIsReleasedOutsideOfTheLock() {
        final class Owner: Sendable {
            deinit { APILog.sink = nil }
        }
        do {
            let owner = Owner()
            APILog.sink = { _, _ in withExtendedLifetime(owner) {} }
        }
        APILog.sink = nil
        #expect(APILog.sink == nil)
    }

    /// A line whose flag is off costs one comparison, and its message is not built.
    @Test(arguments: [LogLevel.debug, .info, .warn, .error]) func aFlagThatIsOffBuildsNoMessage(_ level: LogLevel)
        throws
    {
        let client = TestClient(at: "http://127.0.0.1")
        client.logFlags = LogFlags.all.subtracting(level.flag)
        let request = client.request()
        let built = Log<Int>()
        func message() -> String {
            built.append(1)
            return "built"
        }
        try request.log(level, message())
        #expect(built.count == 0 && client.lines.count == 0)
        client.logFlags = level.flag
        try client.request().log(level, message())
        #expect(built.count == 1 && client.lines.all.map(\.message) == ["built"])
    }

    @Test func theFlagsAreADefault() {
        let client = TestClient(at: "http://127.0.0.1")
        #expect(client.logFlags == [.warn, .error])
        APILog.flags = [.info, .warn, .error]
        let followed = client.logFlags
        APILog.flags = [.warn, .error]
        #expect(followed == [.info, .warn, .error])
        client.defaults["logFlags"] = 3
        #expect(client.logFlags == [.debug, .info])
    }
}
