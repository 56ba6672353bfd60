#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The background threads of the library: they parse, decide, and run the handlers that asked for `background`.
///
/// Plain threads, not libdispatch, so that a forked child can have its own. Threads are started when work waits and none
/// is free, up to `maximumActive`, and stay. One that blocks in a wait says so (`whileBlocked`) and is stood in for, so
/// that a handler that waits for another request cannot starve that request's own delivery.
final class WorkerPool: @unchecked Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        var jobs = Queue<Job>()
        var idle = 0
        var threads = 0
        var blocked = 0
        var isStopped = false
    }

    private static let maximumActive = max(2, min(8, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    // Safe to share: `state` only under `lock`; `ready` is signalled and awaited with it.
    private var state = State()
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let ready: UnsafeMutablePointer<pthread_cond_t>

    init() {
        lock = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        ready = .allocate(capacity: 1)
        pthread_cond_init(ready, nil)
    }

    // Never destroyed while threads run: each holds the pool. After `stop` the last one to end gives it up.
    deinit {
        pthread_cond_destroy(ready)
        ready.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Runs a job on a worker, soon. Jobs start in order; several may run at once.
    func run(_ job: @escaping Job) {
        pthread_mutex_lock(lock)
        state.jobs.append(job)
        let startsThread = state.idle == 0 && state.threads - state.blocked < Self.maximumActive
        if startsThread { state.threads += 1 }
        let wakes = state.idle > 0
        pthread_mutex_unlock(lock)
        if wakes { pthread_cond_signal(ready) }
        if startsThread { startThread() }
    }

    /// Runs `body`, which may block for long, on a worker thread; another thread takes over the worker's part meanwhile.
    func whileBlocked<Result>(_ body: () -> Result) -> Result {
        guard Self.isWorkerThread else { return body() }
        pthread_mutex_lock(lock)
        state.blocked += 1
        let startsThread = !state.jobs.isEmpty && state.idle == 0 && state.threads - state.blocked < Self.maximumActive
        if startsThread { state.threads += 1 }
        pthread_mutex_unlock(lock)
        if startsThread { startThread() }
        defer {
            pthread_mutex_lock(lock)
            state.blocked -= 1
            pthread_mutex_unlock(lock)
        }
        return body()
    }

    /// Lets the threads end when their jobs are done. For process exit.
    func stop() {
        pthread_mutex_lock(lock)
        state.isStopped = true
        pthread_mutex_unlock(lock)
        pthread_cond_broadcast(ready)
    }

    private func startThread() {
        let started = Thread.start(name: "ntapi-worker") { [self] in
            Self.workerMark.set(true)
            work()
        }
        if !started {
            // The system has no thread to give. With others running the job only waits; alone, it would wait for ever.
            pthread_mutex_lock(lock)
            state.threads -= 1
            let job = state.threads == 0 ? state.jobs.popFirst() : nil
            pthread_mutex_unlock(lock)
            job?()
        }
    }

    private func work() {
        pthread_mutex_lock(lock)
        while true {
            if let job = state.jobs.popFirst() {
                pthread_mutex_unlock(lock)
                job()
                pthread_mutex_lock(lock)
                continue
            }
            // More threads than wanted exist after a blocked one was stood in for: the surplus ends here.
            if state.isStopped || state.threads - state.blocked > Self.maximumActive { break }
            state.idle += 1
            pthread_cond_wait(ready, lock)
            state.idle -= 1
        }
        state.threads -= 1
        pthread_mutex_unlock(lock)
    }

    private static let workerMark = ThreadLocalFlag()

    /// Whether the calling thread is a worker of a pool.
    static var isWorkerThread: Bool { workerMark.get() }
}
