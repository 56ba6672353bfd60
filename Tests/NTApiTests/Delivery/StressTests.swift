import Testing

@testable import NTApi

/// In any schedule, a request's response handler is called once, as its last callback.
///
/// A random schedule of begin, cancel, timeouts, dropped clients, ending threads and drains, with every kind of thread,
/// against a server that misbehaves at random. NTAPI_STRESS is the number of requests; NTAPI_SEED repeats a schedule.
@Suite struct StressTests {
    private static let count = environment("NTAPI_STRESS").flatMap { Int($0) } ?? 2000
    private static let threads = 8

    /// The events of each request.
    private final class Ledger: Sendable {
        struct Entry {
            var responses = 0
            var callbacksAfterResponse = 0
            var isRunning = false
            var overlaps = 0
            var wrongThread = 0
            var isReleased = false
        }

        private let entries: Monitor<(all: [Entry], open: Int)>

        init(count: Int) { entries = Monitor(([Entry](repeating: Entry(), count: count), count)) }

        /// Runs a callback of a request. Counts it if it is late, overlaps another one, or is on the wrong thread.
        func callback(_ number: Int, isResponse: Bool, onRightThread: Bool, _ body: () -> Void) {
            entries.withLock(inChild: ()) { entries in
                if entries.all[number].responses > 0 { entries.all[number].callbacksAfterResponse += 1 }
                if isResponse, entries.all[number].isRunning { entries.all[number].overlaps += 1 }
                if !onRightThread { entries.all[number].wrongThread += 1 }
                entries.all[number].isRunning = true
                if isResponse { entries.all[number].responses += 1 }
            }
            body()
            entries.withLock(inChild: ()) { $0.all[number].isRunning = false }
        }

        /// The handlers of the request are freed, with what they held.
        func released(_ number: Int) {
            entries.withLock(inChild: ()) { entries in
                entries.all[number].isReleased = true
                entries.open -= 1
            }
            entries.broadcast()
        }

        /// Waits until the handlers of every request are freed, at most for a long time. Returns all entries.
        func finished() -> [Entry] {
            let deadline = MonotonicTime.now().advanced(bySeconds: 4 * patience)
            _ = entries.wait(until: deadline) { $0.open == 0 ? true : nil }
            return entries.withLock(inChild: []) { $0.all }
        }
    }

    /// Only the handlers of a request hold it. Its end shows that they are freed.
    private final class Ticket: Sendable {
        let number: Int
        let ledger: Ledger

        init(_ number: Int, _ ledger: Ledger) {
            self.number = number
            self.ledger = ledger
        }

        deinit { ledger.released(number) }
    }

    private struct OtherThread: APIExecutor {
        static let mark = ThreadLocalFlag()
        static let workers = WorkerPool()

        func execute(_ job: @escaping @Sendable () -> Void) {
            Self.workers.run {
                Self.mark.set(true)
                job()
                Self.mark.set(false)
            }
        }
    }

    /// A thread that begins requests, with its own random numbers.
    private struct Player {
        var generator: SeededGenerator
        let seed: UInt64
        let ledger: Ledger
        let shared: Mailbox
        var client: TestClient
        var running: [APIRequest] = []

        init(seed: UInt64, number: Int, ledger: Ledger, shared: Mailbox) throws {
            generator = SeededGenerator(seed &+ UInt64(number))
            self.seed = seed
            self.ledger = ledger
            self.shared = shared
            client = TestClient(at: try TestServers.stressURL())
        }

        mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &generator) }

        mutating func play(_ number: Int) throws {
            begin(number)
            switch roll(20) {
            case 0..<6: running.randomElement(using: &generator)?.cancel()
            case 6: running.removeAll()
            case 7: client = TestClient(at: try TestServers.stressURL())
            case 8:
                client.close()
                client = TestClient(at: try TestServers.stressURL())
            case 9: shared.drain()
            case 10: client.drain(timeout: 0.002)
            case 11: running.last?.wait(timeout: 0.005)
            case 12: Mailbox.current.drain()
            case 13: client.cancelAll()
            default: break
            }
        }

        private mutating func begin(_ number: Int) {
            let (thread, isRight) = thread()
            let request = client.request(
                roll(50) == 0 ? "random{" : "random",
                args: [
                    .url("seed", seed), .url("n", number), .timeout(0.5, .attempt), .handlers(.all, on: thread),
                    .data(roll(3) == 0 ? [UInt8](repeating: 0, count: roll(50_000)) : nil),
                ])
            let (ledger, ticket) = (ledger, Ticket(number, ledger))
            let isWellTimed = roll(2) == 0
            request.setHandler { response in
                withExtendedLifetime(ticket) {
                    ledger.callback(number, isResponse: true, onRightThread: isRight()) {
                        if isWellTimed { response.request.cancel() }
                    }
                }
            }
            let progress: APIRequest.ProgressHandler = { _ in
                withExtendedLifetime(ticket) {
                    ledger.callback(number, isResponse: false, onRightThread: isRight()) {}
                }
            }
            if roll(2) == 0 { request.setUploadProgress(progress) }
            if roll(2) == 0 { request.setDownloadProgress(progress) }
            if roll(30) == 0 { request.cancel() }
            request.resume()
            running.append(request)
            if running.count > 20 { running.removeFirst() }
        }

        /// A thread kind, and how its handlers check that they run there. A worker replaces an ended thread.
        private mutating func thread() -> (CallbackThread, @Sendable () -> Bool) {
            switch roll(4) {
            case 0: return (.background, { WorkerPool.isWorkerThread })
            case 1: return (.mailbox(shared), { true })
            case 2: return (.executor(OtherThread()), { OtherThread.mark.get() })
            default:
                let mine = Mailbox.current.reference
                return (.current, { mine.mailbox?.isMine == true || WorkerPool.isWorkerThread })
            }
        }
    }

    @Test func everyRequestIsAnsweredOnceAndLast() async throws {
        let seed = SeededGenerator.ofThisRun
        let (ledger, shared) = (Ledger(count: Self.count), Mailbox())
        _ = try TestServers.stressURL()
        // A thread drains the shared mailbox until the end.
        async let pump = onThread { shared.run() }
        await withTaskGroup { group in
            for number in 0..<Self.threads {
                group.addTask { await Self.playOnThreads(number, seed: seed, ledger, shared) }
            }
        }
        let entries = await onThread { ledger.finished() }
        shared.stop()
        _ = await pump
        let wrong = entries.enumerated().filter {
            let entry = $0.element
            return entry.responses != 1 || entry.callbacksAfterResponse > 0 || entry.overlaps > 0
                || entry.wrongThread > 0 || !entry.isReleased
        }
        #expect(wrong.isEmpty, "NTAPI_SEED=\(seed) NTAPI_STRESS=\(Self.count): \(wrong.prefix(10))")
    }

    /// The work of one player: several threads, one after the other, each of which ends while requests run.
    private static func playOnThreads(_ number: Int, seed: UInt64, _ ledger: Ledger, _ shared: Mailbox) async {
        var lot = SeededGenerator(seed &+ UInt64(number) &* 7919)
        var mine = Array(stride(from: number, to: count, by: threads))[...]
        while !mine.isEmpty {
            let some = mine.prefix(Int.random(in: 1...60, using: &lot))
            mine = mine.dropFirst(some.count)
            let waits = Bool.random(using: &lot)
            await onThread {
                let playerSeed = seed &+ UInt64(some.startIndex)
                guard var player = try? Player(seed: playerSeed, number: number, ledger: ledger, shared: shared) else {
                    return
                }
                for request in some { try? player.play(request) }
                if waits { player.client.drain(timeout: 0.2) }
            }
        }
    }
}
