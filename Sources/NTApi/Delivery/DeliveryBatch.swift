/// A piece of work for another thread.
struct Job: Sendable {
    let run: @Sendable () -> Void
    /// Runs instead, on a worker, where the thread that was to run it has ended.
    let runOrphaned: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void, orphaned: (@Sendable () -> Void)? = nil) {
        self.run = run
        runOrphaned = orphaned ?? run
    }
}

/// What one turn of a thread has for others: handed over at its end, with one lock and one wake-up for each place.
///
/// Belongs to one thread.
final class DeliveryBatch {
    @exclusivity(unchecked) private var state = State()

    private struct State {
        var mailboxes: [(mailbox: Mailbox, jobs: [Job], events: [Event])] = []
        /// For workers.
        var jobs: [Job] = []
    }

    /// What is taken from a mailbox in the pull style.
    struct Event: Sendable {
        /// Nil when there is nothing left to tell.
        let take: @Sendable () -> AnyObject?
        let runOrphaned: @Sendable () -> Void
    }

    var isEmpty: Bool { state.mailboxes.isEmpty && state.jobs.isEmpty }

    /// For a worker.
    func add(_ job: Job) { state.jobs.append(job) }

    /// For the thread that drains a mailbox.
    func add(_ job: Job, to mailbox: Mailbox) { state.mailboxes[index(of: mailbox)].jobs.append(job) }

    func add(_ event: Event, to mailbox: Mailbox) { state.mailboxes[index(of: mailbox)].events.append(event) }

    /// Hands everything over.
    func flush(to workers: WorkerPool) {
        // Most turns end with one request for one mailbox, or with nothing.
        for entry in state.mailboxes where !entry.mailbox.post(entry.jobs, entry.events) {
            state.jobs += entry.jobs.map { Job($0.runOrphaned) } + entry.events.map { Job($0.runOrphaned) }
        }
        state.mailboxes.removeAll(keepingCapacity: true)
        guard !state.jobs.isEmpty else { return }
        workers.run(state.jobs)
        state.jobs.removeAll(keepingCapacity: state.jobs.count <= 1024)
    }

    /// Runs what is for workers on the calling thread, and hands over the rest.
    func flushRunningJobs(_ workers: WorkerPool) {
        while !state.jobs.isEmpty {
            let mine = state.jobs
            state.jobs.removeAll()
            let generation = Fork.generation
            for job in mine {
                job.run()
                // The rest is the parent's.
                guard generation == Fork.generation else { return }
            }
        }
        flush(to: workers)
    }

    private func index(of mailbox: Mailbox) -> Int {
        if let index = state.mailboxes.firstIndex(where: { $0.mailbox === mailbox }) { return index }
        state.mailboxes.append((mailbox, [], []))
        return state.mailboxes.count - 1
    }
}
