#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The background threads of the library: they parse, decide, and run the handlers that asked for `background`.
///
/// Plain threads, not libdispatch, so that a forked child can have its own. A thread is started when a job waits and
/// none is idle, up to `maximumThreads`. A thread that has been idle for a while ends. Handlers may block, so there are
/// many more threads than processors. One that blocks in a wait of the library says so (`whileBlocked`) and does not
/// count: a handler that waits for another request cannot hold up that request's own delivery, however many do.
final class WorkerPool: Sendable {
    private struct State {
        var jobs = Queue<Job>()
        var idle = 0
        var threads = 0
        /// Threads that have not looked for their first job yet.
        var starting = 0
        var blocked = 0
        var isStopped = false
    }

    /// The most threads at once, without those that block in the library.
    private static let maximumThreads = 64
    /// Seconds after which an idle thread ends.
    private let idleTime: Double

    private let state = Monitor(State())
    private let generation = Fork.generation

    init(idleTime: Double = 10) { self.idleTime = idleTime }

    /// Runs a job on a worker, soon. Jobs start in order; several may run at once.
    func run(_ job: @escaping @Sendable () -> Void) { run([Job(job)]) }

    func run(_ jobs: [Job]) {
        // A child does not do its parent's work.
        guard generation == Fork.generation else { return }
        let (wakes, newThreads) = state.withLock { state in
            for job in jobs { state.jobs.append(job) }
            var newThreads = 0
            while Self.takesThread(&state) { newThreads += 1 }
            return (min(state.idle, jobs.count), newThreads)
        }
        for _ in 0..<wakes { state.signal() }
        for _ in 0..<newThreads { startThread() }
    }

    /// Runs `body`, which may block for long. On a worker thread, another thread takes its place meanwhile.
    func whileBlocked<Result>(_ body: () -> Result) -> Result {
        guard Self.isWorkerThread, generation == Fork.generation else { return body() }
        let startsThread = state.withLock { state in
            state.blocked += 1
            return Self.takesThread(&state)
        }
        if startsThread { startThread() }
        defer { if generation == Fork.generation { state.withLock { $0.blocked -= 1 } } }
        return body()
    }

    /// Lets the threads end when their jobs are done. Used at process exit.
    func stop() {
        state.withLock { $0.isStopped = true }
        state.broadcast()
    }

    private static func takesThread(_ state: inout State) -> Bool {
        guard state.jobs.count > state.idle + state.starting, state.threads - state.blocked < maximumThreads else {
            return false
        }
        state.threads += 1
        state.starting += 1
        return true
    }

    private func startThread() {
        let started = Thread.start(name: "ntapi-worker") { [self] in
            Self.workerMark.set(true)
            state.withLock { $0.starting -= 1 }
            while let job = nextJob() { job.run() }
        }
        guard !started else { return }
        // The system has no thread left. If other workers run, the job only waits. Without any it would wait for ever.
        let job = state.withLock { state in
            state.threads -= 1
            state.starting -= 1
            return state.threads == 0 ? state.jobs.popFirst() : nil
        }
        job?.run()
    }

    /// The next job for the calling worker; nil ends its thread.
    private func nextJob() -> Job? {
        var isIdle = false
        let limit = MonotonicTime.now().advanced(bySeconds: idleTime)
        while true {
            let next = state.wait(until: limit) { state -> Job?? in
                if isIdle { state.idle -= 1 }
                isIdle = false
                if let job = state.jobs.popFirst() { return .some(job) }
                // Count the thread out under the same lock: no job may be left to a thread that is about to end.
                if state.isStopped || state.threads - state.blocked > Self.maximumThreads || limit <= .now() {
                    state.threads -= 1
                    return .some(nil)
                }
                state.idle += 1
                isIdle = true
                return nil
            }
            // Nil when the system's wait ended slightly before the limit.
            if let next { return next }
        }
    }

    private static let workerMark = ThreadLocalFlag()

    /// Whether the calling thread is a worker of a pool.
    static var isWorkerThread: Bool { workerMark.get() }
}

/// Runs jobs one after the other on workers, like a thread that is rarely needed.
final class SerialJobs: Sendable {
    private struct State {
        var jobs = Queue<@Sendable () -> Void>()
        var isRunning = false
    }

    private let workers: WorkerPool
    private let state = Lock(State())

    init(on workers: WorkerPool) { self.workers = workers }

    /// Runs a job after those before it. Does not wait.
    func run(_ job: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { workers.run { self.drain() } }
    }

    private func drain() {
        while let job = next() { job() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let job = state.jobs.popFirst()
            state.isRunning = job != nil
            return job
        }
    }
}
