import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a process has once: the network threads, the workers and the running requests.
///
/// A forked child gets its own and does not touch the parent's, because the parent's threads do not exist in the child.
final class Runtime: Sendable {
    let workers: WorkerPool
    private let delivery: DeliveryRuntime
    let requests = RequestRegistry()
    let engine: CurlEngine
    let waiters = ThreadWaiters()
    var clock: SystemClock { SystemClock(engine: engine) }
    private let generation = Fork.generation

    private init(_ delivery: DeliveryRuntime, networkThreads: Int) {
        self.delivery = delivery
        workers = delivery.workers
        engine = CurlEngine(workers: workers, threads: networkThreads)
    }

    private static let slot = Lock<Runtime?>(nil, survivesFork: true)
    /// What is in the slot. A runtime is never freed, so it is read without the lock.
    private static let published = Atomic<UInt>(0)

    static var current: Runtime {
        let generation = Fork.generation
        if let pointer = UnsafeRawPointer(bitPattern: published.load(ordering: .acquiring)) {
            let runtime = Unmanaged<Runtime>.fromOpaque(pointer).takeUnretainedValue()
            if runtime.generation == generation { return runtime }
        }
        let networkThreads = Defaults.global.ownValue("networkThreads")?.int ?? 1
        let delivery = DeliveryRuntime.current
        EnvironmentRecorder.start()
        MailboxWatch.connect(
            .init(clock: { Runtime.current.clock }, hasRequests: { !Runtime.current.requests.isEmpty }))
        return slot.withLock { slot in
            if let runtime = slot, runtime.generation == generation { return runtime }
            // The child leaks the parent's runtime on purpose: freeing it would touch it.
            if let inherited = slot { _ = Unmanaged.passRetained(inherited) }
            let runtime = Runtime(delivery, networkThreads: networkThreads)
            slot = runtime
            published.store(UInt(bitPattern: Unmanaged.passUnretained(runtime).toOpaque()), ordering: .releasing)
            ProcessExit.arrange()
            return runtime
        }
    }

    /// Called when the process exits. Running requests may finish within their `exitTimeout`, and are then cancelled.
    /// Their handlers are called within a limited time: first on the requested threads, then on a worker, because other
    /// threads may never run their mailboxes again.
    func exit() {
        requests.detachBackground()
        requests.finish(since: .now())
        let begun = MonotonicTime.now()
        func isOver(bySeconds seconds: Double) -> Bool {
            requests.wait(until: begun.advanced(bySeconds: seconds)) == 0
        }
        requests.cancelAll()
        if !isOver(bySeconds: 1) {
            for mailbox in delivery.allMailboxes where !mailbox.isMine || mailbox.isAnyones { mailbox.close() }
            if !isOver(bySeconds: 1.25) {
                stopWaitingForCalls()
                _ = isOver(bySeconds: 2)
            }
        }
        let rest = max(0, 1.5 - MonotonicTime.now().seconds(since: begun))
        SharedCache.waitForAll()
        engine.stop(timeout: rest)
        Thread.joinEnded()
        ExitJobs.run()
    }
}

extension Runtime {
    /// The process ends, and code of the program blocks: a body, an interceptor, a hook, say. Neither the network thread
    /// nor the responses wait for it any more, so that the handlers are called.
    func stopWaitingForCalls() {
        // While there are timers, which the stores need.
        SharedCache.waitForAll()
        requests.stopWaitingForCalls()
        engine.stop(timeout: 0.25)
    }
}

/// Ends the library's threads before libcurl's and OpenSSL's own exit handlers free what they use.
private enum ProcessExit {
    // Exit handlers run in reverse order, so this one must be registered after those of curl_global_init.
    private static let registered: Void = {
        _ = CurlGlobal.ready
        atexit {
            // A forked child that never used the library has nothing to stop.
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

/// The system's clock. The network thread runs the timers.
struct SystemClock: WaitingClock {
    let engine: CurlEngine

    var now: MonotonicTime { .now() }
    var calendarSeconds: Double { wallClockSeconds() }

    func schedule(
        _ purpose: WaitPurpose, at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void
    ) -> ScheduledJob {
        engine.schedule(at: moment, job)
    }

}
