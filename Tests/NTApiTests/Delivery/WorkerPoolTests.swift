import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct WorkerPoolTests {
    @Test func runsEveryJobOnItsThreads() async {
        let (workers, ran) = (WorkerPool(), Log<Bool>())
        for _ in 0..<1000 { workers.run { ran.append(WorkerPool.isWorkerThread) } }
        #expect(await ran.first(1000) == [Bool](repeating: true, count: 1000))
    }

    @Test func jobsMayAddJobs() async {
        let (workers, ran) = (WorkerPool(), Log<Int>())
        @Sendable func add(_ depth: Int) {
            ran.append(depth)
            guard depth < 8 else { return }
            for _ in 0..<2 { workers.run { add(depth + 1) } }
        }
        workers.run { add(0) }
        #expect(await ran.first(511).count == 511)
    }

    /// If no new threads replaced those that wait, all of them would wait here forever.
    @Test func aBlockedWorkerIsStoodInFor() async {
        let (workers, done) = (WorkerPool(), Log<Int>())
        let depth = 40
        @Sendable func wait(_ level: Int) {
            let gate = Log<Int>()
            if level < depth { workers.run { wait(level + 1) } }
            workers.run { gate.append(level) }
            workers.whileBlocked {
                let monitor = Monitor(0)
                while gate.count == 0 {
                    _ = monitor.wait(until: MonotonicTime.now().advanced(bySeconds: 0.001)) { _ in Int?.none }
                }
            }
            done.append(level)
        }
        workers.run { wait(1) }
        #expect(await done.first(depth).count == depth)
        // Surplus threads end, and the pool continues.
        let after = Log<Int>()
        for number in 0..<50 { workers.run { after.append(number) } }
        #expect(await after.first(50).count == 50)
    }

    @Test func blockingElsewhereIsJustACall() {
        #expect(WorkerPool().whileBlocked { 5 } == 5)
    }

    /// Handlers that wait for each other without telling the library.
    @Test func jobsThatBlockDoNotHoldUpTheNext() async {
        let pool = WorkerPool()
        let (gate, ended) = (Signal(), Log<Int>())
        for number in 0..<63 {
            pool.run { () throws(Forked) in
                try Delivery.call { gate.block() }
                ended.append(number)
            }
        }
        pool.run { () throws(Forked) in try Delivery.call { gate.set() } }
        #expect(await ended.first(63).count == 63)
    }

    @Test func anIdleThreadEnds() async {
        let (pool, ended) = (WorkerPool(idleTime: 0.001), ThreadEnds())
        for round in 1...3 {
            for _ in 0..<8 { pool.run { ended.watchThisThread() } }
            // Each round has started at least one thread, and each of these threads ends.
            #expect(await onThread { ended.wait(for: round) })
        }
        // The next job gets a new thread.
        let ran = Log<Bool>()
        pool.run { ran.append(true) }
        #expect(await ran.first(1) == [true])
    }

    #if os(Linux)
        /// Libraries free the data of a thread at its very end, and all data when the process exits. These two must not
        /// happen at the same time. Runs in its own process, because there the threads no longer end.
        @Test func atExitNoThreadIsEnding() async throws {
            let (lines, _) = try await ChildProcess.run("WorkerPoolTests/child", variables: ["NTAPI_POOL_CHILD=1"])
            let seen = lines.filter { $0.hasPrefix("ended ") }
            #expect(seen.count == 2 && seen.first == seen.last, "\(lines)")
        }

        @Test(.enabled(if: environment("NTAPI_POOL_CHILD") != nil)) func child() async {
            func say(_ count: Int) {
                let line = "ended \(count)\n"
                _ = write(STDOUT_FILENO, line, line.utf8.count)
            }
            let (pool, ended) = (WorkerPool(idleTime: 0.001), ThreadEnds())
            for _ in 0..<8 { pool.run { ended.watchThisThread() } }
            let seen = await onThread {
                _ = ended.wait(for: 1)
                Thread.joinEnded()
                return ended.all
            }
            say(seen)
            // The bodies of these threads return, but the threads do not end.
            let returned = Log<Int>()
            for number in 0..<50 {
                let atEnd = { @Sendable in returned.append(number) }
                #expect(Thread.start(name: "late", atEnd: atEnd) { ended.watchThisThread() })
            }
            _ = await returned.first(50)
            say(ended.all)
        }
    #endif

    /// Even if threads end soon, every job gets a thread.
    @Test func noJobIsLeftToAThreadThatEnds() async {
        let (pool, ran) = (WorkerPool(idleTime: 0), Log<Int>())
        for number in 0..<2000 {
            pool.run { ran.append(number) }
            if number.isMultiple(of: 3) { _ = await ran.first(number + 1) }
        }
        #expect(await ran.first(2000).count == 2000)
    }
}

/// Counts the threads that end.
private final class ThreadEnds: @unchecked Sendable {
    // Safe to share: the key is constant.
    private var key = pthread_key_t()
    private let count = Monitor(0)

    init() {
        pthread_key_create(&key) { pointer in
            #if canImport(Glibc)
                guard let pointer else { return }
            #endif
            let ends = Unmanaged<ThreadEnds>.fromOpaque(pointer).takeRetainedValue()
            ends.count.withLock(inChild: ()) { $0 += 1 }
            ends.count.broadcast()
        }
    }

    deinit { pthread_key_delete(key) }

    func watchThisThread() {
        guard pthread_getspecific(key) == nil else { return }
        pthread_setspecific(key, Unmanaged.passRetained(self).toOpaque())
    }

    var all: Int { count.withLock(inChild: 0) { $0 } }

    /// - Returns: false if there were fewer within `patience`.
    func wait(for count: Int) -> Bool {
        let deadline = MonotonicTime.now().advanced(bySeconds: patience)
        return self.count.wait(until: deadline) { $0 >= count ? true : nil } ?? false
    }
}
