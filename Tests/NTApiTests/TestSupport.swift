import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How many seconds a test waits for something that is usually immediate. Only a failing test waits that long.
let patience = 120.0

/// An idle timeout in seconds that also holds on a busy machine, and a longer pause.
let idleTimeout = 6.0
let longerThanIdle = 7.0

/// Repeats a round until one counts. A round does not count if the machine was too slow for the test's own times.
///
/// - Parameter round: gets a factor for its times, which doubles with each round. Returns whether the round counts.
func untilOneCounts(_ round: (_ scale: Double) async throws -> Bool) async rethrows {
    for number in 0..<8 { if try await round(Double(1 << number)) { return } }
    Issue.record("the machine is too busy: no round was in time")
}

/// Runs code that may block on a new thread. The threads of tests belong to Swift Concurrency, and there are few of
/// them.
@discardableResult func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    // A process with a runtime waits for its threads at its end.
    _ = Runtime.current
    // A lock passes the result. Otherwise ThreadSanitizer does not see that a resumption comes after what precedes it.
    let found = Lock<Result?>(nil)
    await withCheckedContinuation { continuation in
        // `atEnd` runs when the thread can be joined, so a process that exits after this waits for the thread.
        let hasStarted = Thread.start(name: "test", atEnd: { continuation.resume() }) {
            let result = body()
            found.withLock { $0 = result }
        }
        guard hasStarted else { preconditionFailure("a thread cannot be started") }
    }
    guard let result = found.withLock({ $0 }) else { preconditionFailure("the thread has ended without a result") }
    return result
}

/// Waits for something that another thread or task brings about. The test fails if it does not come.
func wait(
    sourceLocation: SourceLocation = #_sourceLocation, until isSo: () async throws -> Bool
) async throws {
    let deadline = MonotonicTime.now().advanced(bySeconds: patience)
    while try await !isSo() {
        try #require(MonotonicTime.now() < deadline, "it does not come", sourceLocation: sourceLocation)
        await Task.yield()
    }
}

/// A list that many threads append to, and that a test can wait for.
final class Log<Element: Sendable>: Sendable {
    private let elements = Monitor<[Element]>([])

    func append(_ element: Element) {
        elements.withLock(inChild: ()) { $0.append(element) }
        elements.broadcast()
    }

    var all: [Element] { elements.withLock(inChild: []) { $0 } }
    var count: Int { elements.withLock(inChild: 0) { $0.count } }

    /// Waits, on a new thread, until there are this many elements, at most for `patience`. Returns the elements.
    func first(_ count: Int) async -> [Element] {
        await onThread {
            let deadline = MonotonicTime.now().advanced(bySeconds: patience)
            return self.elements.wait(until: deadline) { $0.count >= count ? $0 : nil } ?? self.all
        }
    }

    /// Waits for an element. The test fails if it does not come.
    func element(_ index: Int) async throws -> Element {
        let elements = await first(index + 1)
        try #require(elements.count > index)
        return elements[index]
    }
}

/// A client whose log lines are kept for the test.
class TestClient: APIClient, @unchecked Sendable {
    // Safe to share: the log is.
    let lines = Log<(level: LogLevel, message: String)>()

    override func writeLog(_ level: LogLevel, _ message: String) { lines.append((level, message)) }

    /// A client for a test server, which ignores proxies of the environment and trusts the test CA.
    static func of(_ server: String, args: [APIArg] = []) throws -> Self {
        try Self(server: server, args: args)
    }

    required init(server: String, args: [APIArg] = []) throws {
        super.init(baseURL: try TestServers.url(server), args: args)
        defaults["proxy"] = ""
        defaults["caFile"] = JSON(try TestServers.url("ca"))
    }

    required init(at baseURL: String?, args: [APIArg] = []) {
        super.init(baseURL: baseURL, args: args)
        defaults["proxy"] = ""
    }
}

extension SeededGenerator {
    /// The seed of this run: NTAPI_SEED, or a new one each time.
    static let ofThisRun: UInt64 = environment("NTAPI_SEED").flatMap { UInt64($0) } ?? .random(in: 1...999_999_999)
}

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// What a command line prints on standard output.
func shell(_ command: String) -> [UInt8] {
    guard let pipe = popen(command, "r") else { return [] }
    var bytes: [UInt8] = []
    while case let byte = fgetc(pipe), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
    pclose(pipe)
    return bytes
}

/// The library's error that a closure throws; nil if it throws none.
func thrown(_ body: () throws -> Void) -> APIError? {
    do {
        try body()
        return nil
    } catch {
        return error as? APIError
    }
}

/// A flag of each thread, initially false.
final class ThreadLocalFlag: @unchecked Sendable {
    // Safe to share: the key is constant; the values belong to their threads.
    private var key = pthread_key_t()

    init() { pthread_key_create(&key, nil) }

    func get() -> Bool { pthread_getspecific(key) != nil }

    func set(_ value: Bool) { pthread_setspecific(key, value ? UnsafeRawPointer(bitPattern: 1) : nil) }
}

extension ManualClock {
    /// The library's function with a longer timeout, for a busy machine. Swift prefers this one, because it has no
    /// defaults.
    func waitForSleepers() async throws(APIError) { try await waitForSleepers(1, timeout: patience) }
    func waitForSleepers(_ count: Int) async throws(APIError) { try await waitForSleepers(count, timeout: patience) }

    /// Waits until nothing sleeps. A request may be cancelled while it begins a pause: then it cancels the timer a
    /// moment after its end.
    func waitForNoSleepers() async -> Bool {
        let deadline = MonotonicTime.now().advanced(bySeconds: patience)
        while sleepers > 0, MonotonicTime.now() < deadline { await Task.yield() }
        return sleepers == 0
    }
}
