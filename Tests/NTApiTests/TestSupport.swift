import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Seconds that a test waits for what should come at once. Only a failing test takes them: a busy machine may need many.
let patience = 120.0

/// An idle timeout in seconds that a busy machine keeps to, and a pause that does not fit into it.
let idleTimeout = 6.0
let longerThanIdle = 7.0

/// Runs rounds until one of them counts. One that the machine held up where the test itself must be in time shows nothing.
///
/// - Parameter round: takes what its times are multiplied with, which doubles, and returns whether it counts.
func untilOneCounts(_ round: (_ scale: Double) async throws -> Bool) async rethrows {
    for number in 0..<8 { if try await round(Double(1 << number)) { return } }
    Issue.record("the machine is too busy: no round was in time")
}

/// Runs code that may block on a thread of its own: those that tests run on belong to Swift Concurrency, and are few.
@discardableResult func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    // Handed over by a lock: ThreadSanitizer does not see how the runtime orders what comes before a resumption.
    let lock = Lock(())
    let result = await withCheckedContinuation { continuation in
        let hasStarted = Thread.start(name: "test") {
            let result = body()
            lock.withLock { _ in }
            continuation.resume(returning: result)
        }
        guard hasStarted else { preconditionFailure("no thread to be had") }
    }
    lock.withLock { _ in }
    return result
}

/// A list that many threads append to, and that a test can wait for.
final class Log<Element: Sendable>: Sendable {
    private let elements = Monitor<[Element]>([])

    func append(_ element: Element) {
        elements.withLock { $0.append(element) }
        elements.broadcast()
    }

    var all: [Element] { elements.withLock { $0 } }
    var count: Int { elements.withLock { $0.count } }

    /// Waits, on a thread of its own, until there are so many. What is there after `patience` is returned all the same.
    func first(_ count: Int) async -> [Element] {
        await onThread {
            let deadline = MonotonicTime.now().advanced(bySeconds: patience)
            return self.elements.wait(until: deadline) { $0.count >= count ? $0 : nil } ?? self.all
        }
    }

    /// Waits for one of them; one that does not come ends the test.
    func element(_ index: Int) async throws -> Element {
        let elements = await first(index + 1)
        try #require(elements.count > index)
        return elements[index]
    }
}

/// A client whose log lines stay in the test.
class TestClient: APIClient, @unchecked Sendable {
    // Safe to share: the log is.
    let lines = Log<(level: LogLevel, message: String)>()

    override func writeLog(_ level: LogLevel, _ message: String) { lines.append((level, message)) }

    /// A client for one of the servers' table: no proxy of the environment, and it trusts the test CA.
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

/// The library's error that a closure throws; nil when it throws none.
func thrown(_ body: () throws -> Void) -> APIError? {
    do {
        try body()
        return nil
    } catch {
        return error as? APIError
    }
}

/// A flag that each thread has for itself, false at first.
final class ThreadLocalFlag: @unchecked Sendable {
    // Safe to share: the key is constant; the values belong to their threads.
    private var key = pthread_key_t()

    init() { pthread_key_create(&key, nil) }

    func get() -> Bool { pthread_getspecific(key) != nil }

    func set(_ value: Bool) { pthread_setspecific(key, value ? UnsafeRawPointer(bitPattern: 1) : nil) }
}

extension ManualClock {
    /// Waits until nothing sleeps. A request that is cancelled while it begins a pause cancels the timer a moment after
    /// its end.
    func waitForNoSleepers() async -> Bool {
        let deadline = MonotonicTime.now().advanced(bySeconds: patience)
        while sleepers > 0, MonotonicTime.now() < deadline { await Task.yield() }
        return sleepers == 0
    }
}
