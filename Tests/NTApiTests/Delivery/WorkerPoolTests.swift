import Testing

@testable import NTApi

@Suite struct WorkerPoolTests {
    @Test func runsEveryJobOnItsThreads() async {
        let (workers, ran) = (WorkerPool(), Log<Bool>())
        for _ in 0..<1000 { workers.run { ran.append(WorkerPool.isWorkerThread) } }
        #expect(await ran.first(1000) == [Bool](repeating: true, count: 1000))
        workers.stop()
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
        workers.stop()
    }

    /// Were nobody to stand in for the threads that wait, all of them would wait here, and for ever.
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
        // The surplus ends, and the pool goes on.
        let after = Log<Int>()
        for number in 0..<50 { workers.run { after.append(number) } }
        #expect(await after.first(50).count == 50)
        workers.stop()
    }

    @Test func blockingElsewhereIsJustACall() {
        #expect(WorkerPool().whileBlocked { 5 } == 5)
    }

    /// Handlers that wait for each other, without a word to the library.
    @Test func lendsThreadsWhenNothingGetsOn() async {
        let pool = WorkerPool()
        let (gate, ended) = (Signal(), Log<Int>())
        for number in 0..<20 {
            pool.run {
                gate.block()
                ended.append(number)
            }
        }
        pool.run { gate.set() }
        #expect(await ended.first(20).count == 20)
        pool.stop()
    }
}
