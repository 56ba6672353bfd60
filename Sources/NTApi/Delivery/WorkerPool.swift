#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The background threads of the library: they parse, decide, and run the handlers that asked for `background`.
///
/// Plain threads, not libdispatch, so that a forked child can have its own. Threads are started when work waits and none
/// is free, up to `maximumActive`, and stay. One that blocks in a wait says so (`whileBlocked`) and is stood in for, so
/// that a handler that waits for another request cannot starve that request's own delivery. A handler that waits for
/// something of its own cannot say so: when nothing gets on for a moment, one more thread is lent.
final class WorkerPool: Sendable {
    private struct State {
        var jobs = Queue<Job>()
        var idle = 0
        var threads = 0
        /// Of the threads, those that have yet to look for their first job.
        var starting = 0
        var blocked = 0
        /// Threads beyond the usual number, lent because nothing got on.
        var lent = 0
        /// How many jobs were begun.
        var begun: UInt64 = 0
        var isWatched = false
        var isStopped = false

        var allowed: Int { WorkerPool.maximumActive + lent }
    }

    fileprivate static let maximumActive = max(2, min(8, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    /// More than these are not lent.
    private static let maximumThreads = 64
    /// How long nothing may get on before a thread is lent, in milliseconds.
    private static let patience: Int32 = 100

    private let state = Monitor(State())
    private let generation = Fork.generation

    /// Runs a job on a worker, soon. Jobs start in order; several may run at once.
    func run(_ job: @escaping @Sendable () -> Void) { run([Job(job)]) }

    func run(_ jobs: [Job]) {
        // A child does not do its parent's work.
        guard generation == Fork.generation else { return }
        let (wakes, newThreads, watches) = state.withLock { state in
            for job in jobs { state.jobs.append(job) }
            var newThreads = 0
            while Self.takesThread(&state) { newThreads += 1 }
            let watches = !state.isWatched && state.jobs.count > state.idle + state.starting
            if watches { state.isWatched = true }
            return (min(state.idle, jobs.count), newThreads, watches)
        }
        for _ in 0..<wakes { state.signal() }
        for _ in 0..<newThreads { startThread() }
        if watches { watch() }
    }

    /// Runs `body`, which may block for long, on a worker thread; another thread takes over the worker's part meanwhile.
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
        guard state.jobs.count > state.idle + state.starting, state.threads - state.blocked < state.allowed else {
            return false
        }
        state.threads += 1
        state.starting += 1
        return true
    }

    /// Looks after the jobs that wait, until none does.
    private func watch() {
        let started = Thread.start(name: "ntapi-overseer") { [self] in
            var begun = state.withLock { $0.begun }
            while true {
                _ = poll(nil, 0, Self.patience)
                let (isOver, lends) = state.withLock { state -> (Bool, Bool) in
                    guard !state.isStopped, state.jobs.count > 0 else {
                        state.isWatched = false
                        return (true, false)
                    }
                    defer { begun = state.begun }
                    guard begun == state.begun, state.threads < Self.maximumThreads else { return (false, false) }
                    state.lent += 1
                    state.threads += 1
                    state.starting += 1
                    return (false, true)
                }
                if isOver { return }
                if lends { startThread() }
            }
        }
        if !started { state.withLock { $0.isWatched = false } }
    }

    private func startThread() {
        let started = Thread.start(name: "ntapi-worker") { [self] in
            Self.workerMark.set(true)
            state.withLock { $0.starting -= 1 }
            while let job = nextJob() { job.run() }
        }
        guard !started else { return }
        // The system has no thread to give. With others running the job only waits; alone, it would wait for ever.
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
        let next = state.wait { state -> Job?? in
            if isIdle { state.idle -= 1 }
            isIdle = false
            if let job = state.jobs.popFirst() {
                state.begun &+= 1
                return .some(job)
            }
            // More threads than wanted exist after a blocked one was stood in for: the surplus ends here, and what was lent.
            let isLent = state.lent > 0
            if state.isStopped || isLent || state.threads - state.blocked > state.allowed {
                if isLent { state.lent -= 1 }
                state.threads -= 1
                return .some(nil)
            }
            state.idle += 1
            isIdle = true
            return nil
        }
        return next ?? nil
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
