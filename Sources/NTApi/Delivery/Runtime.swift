#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the process has once: the network thread, the workers, the main thread's mailbox and the running requests.
///
/// A forked child gets one of its own, and leaves the parent's alone: the threads in it do not exist there.
final class Runtime: Sendable {
    let workers = WorkerPool()
    let mainMailbox: Mailbox
    let requests = RequestRegistry()
    private let mailboxes = Lock<[MailboxReference]>([])
    let engine: CurlEngine
    let waiters = ThreadWaiters()
    var clock: SystemClock { SystemClock(engine: engine) }
    private let generation = Fork.generation

    private init(networkThreads: Int) {
        mainMailbox = Mailbox(owner: .mainThread)
        engine = CurlEngine(workers: workers, threads: networkThreads)
    }

    private static let slot = Lock<Runtime?>(nil, survivesFork: true)

    static var current: Runtime {
        let generation = Fork.generation
        if let runtime = slot.withLock({ $0 }), runtime.generation == generation { return runtime }
        let networkThreads = Defaults.global.ownValue("networkThreads")?.int ?? 1
        return slot.withLock { slot in
            if let runtime = slot, runtime.generation == generation { return runtime }
            // The parent's runtime is leaked in the child on purpose: to free it would be to touch it.
            if let inherited = slot { _ = Unmanaged.passRetained(inherited) }
            let runtime = Runtime(networkThreads: networkThreads)
            slot = runtime
            ProcessExit.arrange()
            return runtime
        }
    }

    /// Runs on a worker what waited for a thread that has ended, or for a mailbox that nobody can drain any more.
    static func adopt(_ callbacks: [Job], _ events: [DeliveryBatch.Event]) {
        let count = callbacks.count + events.count
        guard count > 0 else { return }
        current.workers.run {
            APILog.warn("\(count) callback(s) asked for a thread that has ended: run on a background worker")
            for callback in callbacks { callback.run() }
            for event in events { _ = event.take() }
        }
    }

    /// Remembers a mailbox, so that what waits in it can be run when the process exits.
    func register(_ mailbox: Mailbox) {
        mailboxes.withLock { mailboxes in
            if mailboxes.count >= 64, mailboxes.count.nonzeroBitCount == 1 { mailboxes.removeAll { $0.mailbox == nil } }
            mailboxes.append(mailbox.reference)
        }
    }

    /// The process exits: what runs may finish, for as long as its `exitTimeout` says, and then is cancelled. Its handlers get
    /// a moment to be called: first where they asked to be, then, as other threads may never run their mailboxes again,
    /// on a worker.
    func exit() {
        requests.detachBackground()
        requests.finish(since: .now())
        let begun = MonotonicTime.now()
        func isOver(bySeconds seconds: Double) -> Bool {
            requests.wait(until: begun.advanced(bySeconds: seconds)) == 0
        }
        requests.cancelAll { _ in true }
        if !isOver(bySeconds: 1) {
            let others = mailboxes.withLock { Array($0) }.compactMap(\.mailbox) + [mainMailbox]
            for mailbox in others where !mailbox.isMine || mailbox.isAnyones { mailbox.close() }
            if !isOver(bySeconds: 1.25) {
                // A body's callback still blocks. The network thread ends without it, and the handler is called.
                engine.stop(timeout: 0.25)
                _ = isOver(bySeconds: 2)
            }
        }
        engine.stop(timeout: max(0, 1.5 - MonotonicTime.now().seconds(since: begun)))
        workers.stop()
        for job in Self.exitJobs.withLock({ $0 }) { job() }
    }

    private static let exitJobs = Lock<[@Sendable () -> Void]>([], survivesFork: true)

    /// Runs a job as the last thing, when the process exits.
    static func atExit(_ job: @escaping @Sendable () -> Void) { exitJobs.withLock { $0.append(job) } }
}

/// Ends the library's threads before libcurl's and OpenSSL's own exit handlers free what they use.
private enum ProcessExit {
    // Exit handlers run in reverse order, so this one must come after those that curl_global_init registers.
    private static let registered: Void = {
        _ = CurlGlobal.ready
        atexit {
            // A child that was forked and never used the library has nothing to end.
            ProcessExit.run()
        }
    }()

    static func arrange() { registered }

    private static func run() { Runtime.ifAny?.exit() }
}

extension Runtime {
    /// This process's runtime, if it has used one.
    static var ifAny: Runtime? {
        slot.withLock { $0 }.flatMap { $0.generation == Fork.generation ? $0 : nil }
    }
}
