/// A queue or event loop of the program that runs handlers.
public protocol APIExecutor: Sendable {
    /// Runs the job once, on any thread. The library calls this on its own threads, so it must not block.
    func execute(_ job: @escaping @Sendable () -> Void)
}

/// Where a handler runs.
public struct CallbackThread: Sendable {
    enum Kind: Sendable {
        case main
        case background
        case anywhere
        case current
        case mailbox(MailboxReference)
        indirect case executor(any APIExecutor)
    }

    let kind: Kind

    /// The main thread, when it runs its mailbox. The default.
    public static let main = CallbackThread(kind: .main)
    /// A worker thread of the library.
    public static let background = CallbackThread(kind: .background)
    /// The thread that begins the request, when it runs its mailbox.
    public static let current = CallbackThread(kind: .current)
    /// Swift's main actor, for programs that use `await` and do not run the main thread's mailbox.
    public static let mainActor = CallbackThread(kind: .executor(MainActorExecutor()))
    /// The thread that drains this mailbox. The request does not keep the mailbox alive: keep it as long as you drain
    /// it. Without it, handlers run on a worker.
    public static func mailbox(_ mailbox: Mailbox) -> CallbackThread {
        CallbackThread(kind: .mailbox(mailbox.reference))
    }
    /// Whichever thread has the response first, perhaps the network thread. For the library's own handlers that run no
    /// user code.
    static let anywhere = CallbackThread(kind: .anywhere)
    /// The program's own queue or event loop.
    public static func executor(_ executor: any APIExecutor) -> CallbackThread {
        CallbackThread(kind: .executor(executor))
    }
}

/// Runs handlers on the main actor.
private struct MainActorExecutor: APIExecutor {
    func execute(_ job: @escaping @Sendable () -> Void) { Task { @MainActor in job() } }
}

/// Where callbacks run once the request has begun: `main` and `current` have been resolved to mailboxes.
enum Destination: Sendable {
    case mailbox(MailboxReference)
    case background
    case anywhere
    indirect case executor(any APIExecutor)

    /// Resolves the thread. Called on the thread that begins the request.
    init(_ thread: CallbackThread) {
        switch thread.kind {
        case .main: self = .mailbox(Mailbox.main.reference)
        case .current: self = .mailbox(Mailbox.current.reference)
        case .background: self = .background
        case .anywhere: self = .anywhere
        case .mailbox(let reference): self = .mailbox(reference)
        case .executor(let executor): self = .executor(executor)
        }
    }

    var isMailbox: Bool {
        if case .mailbox = self { true } else { false }
    }

    /// Whether jobs sent to both destinations always run in the order sent.
    func isInOrder(with other: Destination) -> Bool {
        if case .mailbox(let mine) = self, case .mailbox(let others) = other { return mine.mailbox === others.mailbox }
        return false
    }

    /// Adds a job for this destination to a batch.
    func send(_ job: Job, _ deliveries: DeliveryBatch) throws(Forked) {
        switch self {
        case .mailbox(let reference):
            if let mailbox = reference.mailbox { return deliveries.add(job, to: mailbox) }
            deliveries.add(reference.orphaned(job))
        case .background: deliveries.add(job)
        case .anywhere: try job.run()
        // The executor is user code, and this may be the network thread. So a worker calls it.
        case .executor(let executor):
            deliveries.add(Job { () throws(Forked) in try Delivery.call { executor.execute { job.runAlone() } } })
        }
    }

    /// Adds an event for this mailbox to a batch.
    ///
    /// - Returns: false when there is no mailbox.
    func send(_ event: DeliveryBatch.Event, _ deliveries: DeliveryBatch) -> Bool {
        guard case .mailbox(let reference) = self, let mailbox = reference.mailbox else { return false }
        deliveries.add(event, to: mailbox)
        return true
    }
}

/// Keeps a weak reference to a mailbox, which lives as long as somebody can drain it: its thread, or the program that
/// made it.
final class MailboxReference: @unchecked Sendable {
    // Safe to share: set once, while the mailbox is initialized.
    private(set) weak var mailbox: Mailbox?
    /// Whether it is a worker's. Its callbacks may run on any worker, so nothing is wrong when it is closed.
    let isOfWorker = WorkerPool.isWorkerThread

    init() {}

    /// What runs when the mailbox is closed.
    func orphaned(_ job: Job) -> Job { isOfWorker ? job : Job(job.runOrphaned) }

    func set(_ mailbox: Mailbox) { self.mailbox = mailbox }
}

/// Work to run on another thread.
struct Job: Sendable {
    typealias Body = @Sendable () throws(Forked) -> Void

    let run: Body
    /// Runs on a worker instead when the job's thread has ended.
    let runOrphaned: Body
    /// The request whose callback it is.
    let request: ObjectIdentifier?

    init(_ run: @escaping Body, orphaned: Body? = nil, of request: AnyObject? = nil) {
        self.run = run
        runOrphaned = orphaned ?? run
        self.request = request.map(ObjectIdentifier.init)
    }

    /// Runs it at the bottom of a thread, or of a call of the program: a child has nothing else to do there.
    func runAlone() { try? run() }
}

/// Collects jobs for other threads and delivers them together, with one lock and one wake-up per destination.
///
/// Belongs to one thread.
final class DeliveryBatch {
    @exclusivity(unchecked) private var state = State()

    private struct State: ~Copyable {
        var mailboxes: [(mailbox: Mailbox, jobs: [Job], events: [Event])] = []
        /// For workers.
        var jobs: [Job] = []
    }

    /// An event that the program takes from a mailbox (pull style).
    struct Event: Sendable {
        /// Returns the event; nil when it is obsolete.
        let take: @Sendable () throws(Forked) -> AnyObject?
        let runOrphaned: Job.Body
    }

    var isEmpty: Bool { state.mailboxes.isEmpty && state.jobs.isEmpty }

    /// Adds a job for a worker.
    func add(_ job: Job) { state.jobs.append(job) }

    /// Adds a job for the thread that drains a mailbox.
    func add(_ job: Job, to mailbox: Mailbox) { state.mailboxes[index(of: mailbox)].jobs.append(job) }

    func add(_ event: Event, to mailbox: Mailbox) { state.mailboxes[index(of: mailbox)].events.append(event) }

    /// Delivers the whole batch.
    func flush(to workers: WorkerPool) {
        // Most batches have one job for one mailbox, or nothing.
        for entry in state.mailboxes where !entry.mailbox.post(entry.jobs, entry.events) {
            let reference = entry.mailbox.reference
            state.jobs += entry.jobs.map { reference.orphaned($0) } + entry.events.map { Job($0.runOrphaned) }
        }
        state.mailboxes.removeAll(keepingCapacity: true)
        guard !state.jobs.isEmpty else { return }
        workers.run(state.jobs)
        state.jobs.removeAll(keepingCapacity: state.jobs.count <= 1024)
    }

    /// Delivers the whole batch at the end of a worker's job. The worker runs the last job for workers itself, which saves
    /// a thread switch.
    func flushAsJob(of workers: WorkerPool) throws(Forked) {
        let last = WorkerPool.isWorkerThread ? state.jobs.popLast() : nil
        flush(to: workers)
        try last?.run()
    }

    /// Runs the jobs for workers on the calling thread, and delivers the rest.
    func flushRunningJobs(_ workers: WorkerPool) throws(Forked) {
        while !state.jobs.isEmpty {
            let mine = state.jobs
            state.jobs.removeAll()
            for job in mine { try job.run() }
        }
        flush(to: workers)
    }

    private func index(of mailbox: Mailbox) -> Int {
        if let index = state.mailboxes.firstIndex(where: { $0.mailbox === mailbox }) { return index }
        state.mailboxes.append((mailbox, [], []))
        return state.mailboxes.count - 1
    }
}
