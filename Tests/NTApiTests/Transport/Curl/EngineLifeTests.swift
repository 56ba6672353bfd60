import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Queues, clocks, cancel, and the engine's own end.
@Suite struct EngineLifeTests {
    private func silence() throws -> RawServer {
        try RawServer { connection in
            _ = connection.readHead()
            connection.waitForEnd()
        }
    }

    private func request(_ url: String, _ change: (inout TransferSettings) -> Void) -> HTTPRequest {
        var request = HTTPRequest(method: "GET", url: url)
        change(&request.settings)
        return request
    }

    @Test(arguments: [TimeoutClock.idle, .attempt]) func namesTheClock(_ clock: TimeoutClock) async throws {
        let server = try silence()
        let engine = TestEngine()
        let result = await engine.send(request(server.url) { $0.timeouts[clock] = 0.05 })
        #expect(result.error?.code == .timeout && result.error?.domain == .network)
        #expect(result.error?.message.containsSubstring("0.05 s (\(clock.rawValue) timeout") == true)
        #expect(result.error?.message.containsSubstring("127.0.0.1") == true)
        #expect(result.error?.isRetryable == true)
    }

    @Test(arguments: [TimeoutClock.idle, .attempt])
    func aPOSTThatTimedOutMayHaveBeenDone(_ clock: TimeoutClock) async throws {
        try await untilOneCounts { scale in
            let asked = Signal()
            let server = try RawServer { connection in
                if connection.readHead() != nil { asked.set() }
                connection.waitForEnd()
            }
            var post = request(server.url) { $0.timeouts[clock] = 0.05 * scale }
            post.method = "POST"
            let result = await TestEngine().send(post)
            #expect(result.error?.code == .timeout)
            // If the request was not sent in time, it may be sent again.
            guard asked.isSet else { return false }
            #expect(result.error?.isRetryable == false)
            return true
        }
    }

    @Test func keepsTheDeadline() async throws {
        let server = try silence()
        let engine = TestEngine()
        let result = await engine.send(
            HTTPRequest(method: "GET", url: server.url), deadline: MonotonicTime.now().advanced(bySeconds: 0.05))
        #expect(result.error?.code == .timeout)
        #expect(result.error?.message.containsSubstring("total timeout") == true)
    }

    /// The connect timeout also includes the TLS handshake.
    @Test func timesAConnectionOut() async throws {
        // This server never answers the handshake, so the connection is never ready.
        let server = try RawServer { $0.waitForEnd() }
        let engine = TestEngine()
        var hanging = request("https://127.0.0.1:\(server.port)/") { $0.timeouts.connect = 0.05 }
        hanging.method = "POST"
        let result = await engine.send(hanging)
        #expect(result.error?.message.containsSubstring("connect timeout") == true)
        #expect(result.error?.isRetryable == true)
    }

    /// Sends a body byte by byte, and measures the longest time between two bytes.
    private final class PacedServer: Sendable {
        let url: String
        private let server: RawServer
        private let (slowest, isOver) = (Lock(0.0), Signal())

        init(bytes: Int, seconds: Double) throws {
            let beginning = MonotonicTime.now()
            server = try RawServer { [slowest, isOver] connection in
                var before = beginning
                _ = connection.readRequest()
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(bytes)\r\n\r\n")
                for _ in 0..<bytes {
                    // The pace is the subject of the test.
                    poll(nil, 0, Int32(seconds * 1000))
                    let now = MonotonicTime.now()
                    connection.send("x")
                    slowest.withLock { $0 = max($0, MonotonicTime.now().seconds(since: before)) }
                    before = now
                }
                isOver.set()
            }
            url = server.url
        }

        /// Whether the server itself was delayed by this many seconds.
        func wasLate(_ seconds: Double) async -> Bool {
            await isOver.wait()
            return slowest.withLock { $0 } > seconds
        }
    }

    /// The idle clock restarts when a byte comes. It does not depend on when the loop was last active.
    @Test func eachByteHasTheWholeIdleTime() async throws {
        try await untilOneCounts { scale in
            let server = try PacedServer(bytes: 3, seconds: 1.3 * scale)
            let result = await TestEngine().send(request(server.url) { $0.timeouts.idle = 2 * scale })
            if result.error != nil, await server.wasLate(1.9 * scale) { return false }
            #expect(result.error == nil)
            return true
        }
    }

    /// In total this takes longer than the idle timeout, but between two bytes far less.
    @Test func bytesKeepTheIdleClockFromRunningOut() async throws {
        try await untilOneCounts { scale in
            let server = try PacedServer(bytes: 25, seconds: 0.1 * scale)
            let result = await TestEngine().send(request(server.url) { $0.timeouts.idle = 2 * scale })
            if result.error != nil, await server.wasLate(1.9 * scale) { return false }
            #expect(result.error == nil && result.body.count == 25)
            return true
        }
    }

    /// The time in the queue does not count for the other clocks.
    @Test func queuesByPriorityOutsideOfTheClocks() async throws {
        try await untilOneCounts { scale in
            let (isBusy, mayAnswer) = (Signal(), Signal())
            let order = Lock<[String]>([])
            let server = try RawServer { connection in
                while let request = connection.readRequest() {
                    order.withLock { $0.append(request.firstLine) }
                    if request.firstLine == "GET /first HTTP/1.1" {
                        isBusy.set()
                        mayAnswer.block()
                    }
                    connection.send(okResponse("x"))
                }
            }
            let engine = TestEngine()
            let settings: (inout TransferSettings) -> Void = { $0.maximumConnectionsPerHost = 1 }
            let (first, low, high, timedOut) = (Recorder(), Recorder(), Recorder(), Recorder())
            engine.begin(request(server.url + "/first", settings), first)
            await isBusy.wait()
            let lowRequest = request(server.url + "/low") {
                settings(&$0)
                $0.timeouts = Timeouts(queue: nil, connect: scale, idle: scale, attempt: scale)
            }
            engine.begin(lowRequest, low, priority: 0.1)
            engine.begin(request(server.url + "/high", settings), high, priority: 0.9)
            let queued = request(server.url + "/queued") {
                settings(&$0)
                $0.timeouts.queue = 1.2 * scale
            }
            engine.begin(queued, timedOut)
            let late = await timedOut.result()
            #expect(late.error?.message.containsSubstring("queue timeout") == true)
            #expect(late.error?.isRetryable == true)
            #expect(late.metrics.queued >= 1.2 * scale)
            let released = MonotonicTime.now()
            mayAnswer.set()
            #expect(await first.result().error == nil)
            #expect(await high.result().error == nil)
            let error = await low.result().error
            // When the server could answer at last, the request may have had less than its full time left.
            if error != nil, MonotonicTime.now().seconds(since: released) > 0.9 * scale { return false }
            #expect(error == nil)
            #expect(order.withLock { $0 } == ["GET /first HTTP/1.1", "GET /high HTTP/1.1", "GET /low HTTP/1.1"])
            #expect(server.connectionCount == 1)
            return true
        }
    }

    @Test func cancels() async throws {
        let server = try silence()
        let engine = TestEngine()
        let recorder = Recorder()
        let exchange = engine.begin(HTTPRequest(method: "GET", url: server.url), recorder)
        engine.cancel(exchange)
        #expect(await recorder.result().error == .cancelled)
        engine.cancel(exchange)
        #expect(recorder.endCount == 1)
    }

    @Test(arguments: [UInt64.random(in: 0 ... .max)]) func endsEachExactlyOnce(seed: UInt64) async throws {
        var random = SeededGenerator(seed)
        let server = try RawServer(answering(okResponse("x")))
        let quiet = try silence()
        let engine = TestEngine()
        var running: [(Recorder, Exchange)] = []
        for index in 0..<2000 {
            let recorder = Recorder()
            let isQuiet = Int.random(in: 0..<20, using: &random) == 0
            let made = request(isQuiet ? quiet.url : server.url) {
                $0.maximumConnectionsPerHost = Int.random(in: 1...8, using: &random)
                $0.timeouts.idle = 0.05
            }
            running.append((recorder, engine.begin(made, recorder, progress: index % 2 == 0)))
            if Bool.random(using: &random), let victim = running.randomElement(using: &random) {
                engine.cancel(victim.1)
            }
        }
        for (recorder, _) in running {
            let result = await recorder.result()
            let isExpected = result.error == nil || result.error == .cancelled || result.error?.code == .timeout
            #expect(isExpected, "seed \(seed): \(String(describing: result.error))")
        }
        engine.engine.stop(timeout: patience)
        for (recorder, _) in running {
            #expect(recorder.endCount == 1, "seed \(seed)")
            #expect(recorder.reportsAfterEnd == 0, "seed \(seed)")
        }
    }

    @Test func stopsWithEverythingEnded() async throws {
        let server = try silence()
        let engine = TestEngine()
        let recorders = (0..<100).map { _ in Recorder() }
        for recorder in recorders { engine.begin(HTTPRequest(method: "GET", url: server.url), recorder) }
        let job = Signal()
        engine.engine.schedule(at: .distantFuture) { job.set() }
        #expect(engine.engine.stop(timeout: patience))
        for recorder in recorders {
            #expect(recorder.endCount == 1)
            #expect(await recorder.result().error == .cancelled)
        }
        await job.wait()
        #expect(engine.engine.stop(timeout: patience))
        #expect(await engine.get(server.url).error == .cancelled)
    }

    /// libcurl's limit also counts connections in use. Beyond the limit, each request would close an idle connection at
    /// its end.
    @Test func keepsAConnectionBesideManyThatHang() async throws {
        let hanging = 600
        let asked = Log<Int>()
        let server = try RawServer { connection in
            while let asking = connection.readRequest() {
                if asking.firstLine.containsSubstring("/hang") {
                    asked.append(1)
                } else {
                    connection.send(okResponse("x"))
                }
            }
        }
        let engine = TestEngine()
        let recorder = Recorder()
        let many: (inout TransferSettings) -> Void = {
            $0.maximumConnectionsPerHost = 1000
            // A connection whose request has timed out would not be used again.
            $0.timeouts = Timeouts(queue: nil, connect: nil, idle: nil, attempt: nil)
        }
        for _ in 0..<hanging { engine.begin(request("\(server.url)/hang", many), recorder) }
        _ = await asked.first(hanging)
        for _ in 0..<20 { #expect(await engine.send(request(server.url, many)).error == nil) }
        #expect(recorder.endCount == 0 && server.connectionCount == hanging + 1)
    }

    @Test func runsJobsInTime() async throws {
        await untilOneCounts { scale in
            let engine = TestEngine()
            let order = Lock<[Int]>([])
            let done = Signal()
            let now = MonotonicTime.now()
            for (index, delay) in [0.06, 0.02, 0.04].enumerated() {
                engine.engine.schedule(at: now.advanced(bySeconds: delay * scale)) {
                    let count = order.withLock {
                        $0.append(index)
                        return $0.count
                    }
                    if count == 3 { done.set() }
                }
            }
            // All jobs must be added before the first one is due. Otherwise it could run before the others are added.
            let isInTime = MonotonicTime.now().seconds(since: now) < 0.02 * scale
            await done.wait()
            #expect(MonotonicTime.now().seconds(since: now) >= 0.06 * scale)
            guard isInTime else { return false }
            #expect(order.withLock { $0 } == [1, 2, 0])
            return true
        }
    }
}

/// SplitMix64: the same seed gives the same numbers.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}
