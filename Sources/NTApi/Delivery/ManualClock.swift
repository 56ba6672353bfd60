import Synchronization

/// A clock for tests. Time stands still until the test advances it, so tests do not wait.
///
///     let clock = ManualClock()
///     client.clock = clock
///     let response = Task { await client.response("busy") }
///     try clock.waitForSleepers(1)  // the request waits before its next attempt
///     clock.advance(by: 2)
///
/// It controls the library's own waits: between the attempts of a request, between the connections of a stream of
/// events, the delays of a ``Stub``, the timeouts of a request whose answers come from a stub, and those of credentials
/// and decisions. It also says how old the answers in a cache are. Timers for sockets use the system's time. Several clients may share a clock. Safe to use from any
/// thread. It belongs to the process that made it: a forked child must make its own.
public final class ManualClock: WaitingClock {
    private struct Waiting {
        let purpose: WaitPurpose
        let job: @Sendable () -> Void
    }

    private struct State {
        var waiting = IndexedHeap<MonotonicTime, Waiting>()
        var sleepers = 0
        /// Those in `waitForSleepers`.
        var watchers = CountWatchers()
    }

    private let start = MonotonicTime.now()
    private let calendarStart: Double
    /// Written under the lock, read without it.
    private let moment: Atomic<UInt64>
    private let state = InheritedLock(State(), sharing: .clients) { Fork.leak(exchange(&$0, with: State())) }

    /// - Parameter calendar: the calendar's time at the beginning, in seconds since 1970-01-01 00:00 UTC; nil is the
    ///   current time.
    public init(calendar: Double? = nil) {
        moment = Atomic(start.nanoseconds)
        calendarStart = calendar.flatMap { $0.isFinite ? $0 : nil } ?? wallClockSeconds()
    }

    /// Seconds by which the clock was advanced in total.
    public var elapsed: Double { now.seconds(since: start) }

    /// The calendar's time, in seconds since 1970-01-01 00:00 UTC.
    public var calendarSeconds: Double { calendarStart + elapsed }

    /// How many waits continue when time passes. Timeouts are not counted.
    public var sleepers: Int { state.withLock { $0.sleepers } }

    /// Seconds until the first sleeper continues; nil when there is none.
    public var nextWake: Double? {
        state.withLock { $0.waiting.firstKey(where: { $0.purpose == .pause }) }?.seconds(since: now)
    }

    /// Lets time pass. Everything due by then continues in order on background workers; this call does not wait for it.
    ///
    /// Time jumps: whatever continues sees the new time, and begins new waits from there.
    ///
    /// - Parameter seconds: zero, a negative number or NaN lets no time pass.
    public func advance(by seconds: Double) {
        let jobs = state.withLock { state -> [Job] in
            let now = now.advanced(bySeconds: seconds)
            moment.store(now.nanoseconds, ordering: .releasing)
            var jobs: [Job] = []
            while let first = state.waiting.firstKey, first <= now, let due = state.waiting.popFirst() {
                if due.purpose == .pause { state.sleepers -= 1 }
                jobs.append(Job(due.job))
            }
            return jobs
        }
        if !jobs.isEmpty { DeliveryRuntime.current.workers.run(jobs) }
    }

    /// Waits until there are this many sleepers, so that the next advance reaches them.
    ///
    /// - Parameter timeout: seconds of the system's time; nil waits for ever.
    /// - Throws: the error `timeout` when the timeout has passed before.
    public func waitForSleepers(_ count: Int = 1, timeout: Double? = 30) throws(APIError) {
        let watcher = state.withLock { $0.sleepers >= count ? nil : $0.watchers.add(count) }
        guard let watcher else { return }
        defer { state.withLock { $0.watchers.remove(watcher) } }
        guard !watcher.wait(timeout: timeout) else { return }
        throw APIError(
            domain: .request, code: .timeout,
            message: "\(sleepers) of \(count) sleepers wait for the clock after \(timeout ?? 0) s")
    }

    /// The same for code that must not block its thread.
    public func waitForSleepers(_ count: Int = 1, timeout: Double? = 30) async throws(APIError) {
        // Checked, because ThreadSanitizer does not see how the runtime orders what comes before a resumption.
        let result = await withCheckedContinuation { continuation in
            DeliveryRuntime.current.workers.run {
                continuation.resume(
                    returning: Result { () throws(APIError) in try self.waitForSleepers(count, timeout: timeout) })
            }
        }
        try result.get()
    }

    // MARK: Waiting

    /// How many wait only to give up when their time is over.
    var limits: Int { state.withLock { $0.waiting.count - $0.sleepers } }

    var now: MonotonicTime { MonotonicTime(nanoseconds: moment.load(ordering: .acquiring)) }

    @discardableResult func schedule(
        _ purpose: WaitPurpose, at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void
    ) -> ScheduledJob {
        let waiting = Waiting(purpose: purpose, job: job)
        let (token, found) = state.withLock {
            state -> (IndexedHeap<MonotonicTime, Waiting>.Token?, [CountWatchers.Watcher]) in
            guard moment > now else { return (nil, []) }
            let token = state.waiting.insert(waiting, key: moment)
            guard purpose == .pause else { return (token, []) }
            state.sleepers += 1
            return (token, state.watchers.reached(state.sleepers))
        }
        for watcher in found { watcher.tell() }
        guard let token else {
            DeliveryRuntime.current.workers.run(job)
            return ScheduledJob {}
        }
        return ScheduledJob { [weak self] in self?.callOff(token) }
    }

    private func callOff(_ token: IndexedHeap<MonotonicTime, Waiting>.Token) {
        // Releasing it may run user code, so it must outlive the lock.
        let waiting = state.withLock { state in
            let waiting = state.waiting.remove(token)
            if waiting?.purpose == .pause { state.sleepers -= 1 }
            return waiting
        }
        withExtendedLifetime(waiting) {}
    }
}
