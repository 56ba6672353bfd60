#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The library's background threads: they parse, decide, and run the handlers with the thread `background`.
///
/// They are plain threads, not libdispatch, so that a forked child can have its own. As many run as there are
/// processors. A thread that runs user code, or that waits in the library, does not count: another one runs in its
/// place. So a handler that waits for something cannot block what it waits for. A thread that has been idle for a while
/// ends.
package final class WorkerPool: Sendable {
    private struct State {
        var jobs = Queue<Job>()
        var threads = 0
        /// Threads without a job.
        var idle = 0
        /// Threads that were idle and are about to look for a job.
        var woken = 0
        /// Threads that are about to look for their first job.
        var starting = 0
        /// Threads that run user code or wait in the library.
        var away = 0
        /// Those of them that wait in the library.
        var waiting = 0

        var running: Int { threads - idle - away }

        /// Lets one more thread look for a job, if there is one and not enough threads run.
        mutating func admit() -> Admission? {
            guard jobs.count > woken + starting, running < WorkerPool.maximumRunning else { return nil }
            if idle > 0 {
                idle -= 1
                woken += 1
                return .wake
            }
            guard threads - waiting < WorkerPool.maximumThreads else { return nil }
            threads += 1
            starting += 1
            return .start
        }
    }

    private enum Admission {
        case wake
        case start
    }

    /// The state of one worker thread.
    final class Worker {
        fileprivate let pool: WorkerPool
        /// How many nested calls of user code or waits it is in.
        fileprivate var depth = 0

        fileprivate init(_ pool: WorkerPool) { self.pool = pool }
    }

    fileprivate static let maximumRunning = max(2, min(8, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    /// The limit of threads, without those that wait in the library.
    fileprivate static let maximumThreads = 64
    /// Seconds after which an idle thread ends.
    private let idleTime: Double

    private let state = Monitor(State())

    init(idleTime: Double = 10) { self.idleTime = idleTime }

    /// Runs a job on a worker. Jobs start in order; several may run at once.
    func run(_ job: @escaping Job.Body) { run([Job(job)]) }

    func run(_ jobs: [Job]) {
        // A child does not do its parent's work.
        let (wakes, starts) = state.withLock(inChild: (0, 0)) { state in
            for job in jobs { state.jobs.append(job) }
            var (wakes, starts) = (0, 0)
            while let admission = state.admit() {
                if admission == .wake { wakes += 1 } else { starts += 1 }
            }
            return (wakes, starts)
        }
        for _ in 0..<wakes { state.signal() }
        for _ in 0..<starts { startThread() }
    }

    /// Runs `body`, which may block for long. On a worker, another thread takes over meanwhile.
    func whileBlocked<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let worker = Self.worker, worker.pool === self, leave(worker, waits: true) else { return try body() }
        defer { comeBack(worker, waits: true) }
        return try body()
    }

    /// Call before user code runs, which may block for long. On a worker, another thread takes over until `endCall`.
    ///
    /// - Returns: nil on other threads.
    static func beginCall() -> Worker? { worker.flatMap { $0.pool.leave($0, waits: false) ? $0 : nil } }

    static func endCall(of worker: Worker) { worker.pool.comeBack(worker, waits: false) }

    /// As `whileBlocked`, for a wait that a binding makes itself. If it returns true, call `endWait` after the wait.
    ///
    /// - Returns: false on other threads, which the pool does not count.
    package static func beginWait() -> Bool { worker.map { $0.pool.leave($0, waits: true) } ?? false }

    package static func endWait() {
        if let worker, worker.depth > 0 { worker.pool.comeBack(worker, waits: true) }
    }

    /// - Returns: false in a child.
    private func leave(_ worker: Worker, waits: Bool) -> Bool {
        guard state.isOfThisProcess else { return false }
        worker.depth += 1
        let admission = state.withLock(inChild: nil) { state in
            if worker.depth == 1 { state.away += 1 }
            if waits { state.waiting += 1 }
            return state.admit()
        }
        switch admission {
        case .wake: state.signal()
        case .start: startThread()
        case nil: break
        }
        return true
    }

    private func comeBack(_ worker: Worker, waits: Bool) {
        worker.depth -= 1
        state.withLock(inChild: ()) { state in
            if worker.depth == 0 { state.away -= 1 }
            if waits { state.waiting -= 1 }
        }
    }

    private func startThread() {
        let started = Thread.start(name: "ntapi-worker") { [self] in
            _ = LibraryCode.enter()
            defer { LibraryCode.leave() }
            pthread_setspecific(Self.key, Unmanaged.passRetained(Worker(self)).toOpaque())
            state.withLock(inChild: ()) { $0.starting -= 1 }
            while let job = nextJob() {
                job.runAlone()
                Mailbox.jobEnded()
            }
        }
        guard !started else { return }
        // The system has no thread left. If other workers run, one of them will take the job. If none runs, the caller
        // runs it, because nobody else would.
        let job = state.withLock(inChild: nil) { state in
            state.threads -= 1
            state.starting -= 1
            return state.threads == 0 ? state.jobs.popFirst() : nil
        }
        job?.runAlone()
    }

    /// The next job for the calling worker; nil ends its thread.
    private func nextJob() -> Job? {
        var isIdle = false
        let limit = MonotonicTime.now().advanced(bySeconds: idleTime)
        while true {
            let next = state.wait(until: limit) { state -> Job?? in
                if isIdle {
                    if state.woken > 0 {
                        state.woken -= 1
                        isIdle = false
                    } else if limit <= .now() {
                        // The idle count must change under the same lock: no job may be assigned to a thread that is
                        // about to end.
                        state.idle -= 1
                        state.threads -= 1
                        return .some(nil)
                    } else {
                        return nil
                    }
                }
                // When threads return from user code, more run than should. Then this one takes no job.
                if state.running <= Self.maximumRunning, let job = state.jobs.popFirst() { return .some(job) }
                state.idle += 1
                isIdle = true
                return nil
            }
            // Nil when the system's wait ended slightly before the limit.
            if let next { return next }
        }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { pointer in
            #if canImport(Glibc)
                guard let pointer else { return }
            #endif
            Unmanaged<Worker>.fromOpaque(pointer).release()
        }
        return key
    }()

    private static var worker: Worker? {
        pthread_getspecific(key).map { Unmanaged<Worker>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Whether the calling thread is a worker of a pool.
    static var isWorkerThread: Bool { pthread_getspecific(key) != nil }
}

/// Runs jobs one after the other on workers, like a thread that is rarely needed.
final class SerialJobs: Sendable {
    private struct State {
        var jobs = Queue<Job>()
        var isRunning = false
    }

    private let workers: WorkerPool
    private let state = Lock(State())

    init(on workers: WorkerPool) { self.workers = workers }

    /// Runs a job after the earlier ones. Does not wait.
    func run(_ job: @escaping Job.Body) { run(Job(job)) }

    func run(_ job: Job) {
        let starts = state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { workers.run(drain) }
    }

    @Sendable private func drain() throws(Forked) {
        while let job = next() { try job.run() }
    }

    private func next() -> Job? {
        state.withLock { state in
            let job = state.jobs.popFirst()
            state.isRunning = job != nil
            return job
        }
    }
}
