/// Runs jobs one after the other, on workers: what a thread of its own would be, for who has little to do.
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
