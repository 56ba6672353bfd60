import Synchronization

/// A clock for tests: time stands still until it is advanced, so that nothing is waited for.
///
///     let clock = ManualClock()
///     client.clock = clock
///     let response = Task { await client.response("busy") }
///     clock.waitForSleepers(1)  // the request waits before its next attempt
///     clock.advance(by: 2)
///
/// By it go the waits of the library itself: between the attempts of a request and the connections of a stream of events,
/// the delays of a ``Stub``, the timeouts of a request whose answers come from a stub, and those of credentials and
/// decisions. What watches a socket goes by the system's time. May serve several clients. Safe to use from any thread;
/// belongs to the process that made it: a forked child makes one of its own.
public final class ManualClock: WaitingClock {
    private struct Waiting {
        let purpose: WaitPurpose
        let job: @Sendable () -> Void
    }

    /// A thread in `waitForSleepers`.
    private final class Watcher: Sendable {
        let count: Int
        let isThere = Monitor(false)

        init(_ count: Int) { self.count = count }
    }

    private struct State {
        var waiting = IndexedHeap<MonotonicTime, Waiting>()
        var sleepers = 0
        var watchers: [Watcher] = []
        var generation = Fork.generation
    }

    private let start = MonotonicTime.now()
    private let calendarStart: Double
    /// Changed under the lock, and read without.
    private let moment: Atomic<UInt64>
    private let state = Lock(State(), sharing: .clients)

    /// - Parameter calendar: the time of the calendar at the beginning, in seconds since 1970-01-01 00:00 UTC; nil is the
    ///   system's time now.
    public init(calendar: Double? = nil) {
        moment = Atomic(start.nanoseconds)
        calendarStart = calendar.flatMap { $0.isFinite ? $0 : nil } ?? wallClockSeconds()
    }

    /// Seconds that it was advanced in all.
    public var elapsed: Double { now.seconds(since: start) }

    /// The time of the calendar, in seconds since 1970-01-01 00:00 UTC.
    public var calendarSeconds: Double { calendarStart + elapsed }

    /// How many wait for time to pass, to go on then; what only waits to give up is not counted.
    public var sleepers: Int { ofThisProcess { $0.sleepers } }

    /// In how many seconds the first of the sleepers goes on; nil when there is none.
    public var nextWake: Double? {
        ofThisProcess { $0.waiting.firstKey(where: { $0.purpose == .pause }) }?.seconds(since: now)
    }

    /// Lets time pass. What is due by then goes on, in order, on background workers; this does not wait for it.
    ///
    /// Time jumps: what goes on sees the new time, and what it begins counts from that.
    ///
    /// - Parameter seconds: 0 and less, or nothing that is a number, lets no time pass.
    public func advance(by seconds: Double) {
        let jobs = ofThisProcess { state -> [Job] in
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

    /// Waits until so many sleepers wait for time to pass, so that an advance finds them.
    ///
    /// - Parameter timeout: seconds of the system's time; nil is for ever.
    /// - Returns: false when the timeout has passed before.
    @discardableResult public func waitForSleepers(_ count: Int = 1, timeout: Double? = 30) -> Bool {
        let watcher = Watcher(count)
        let isThere = ofThisProcess { state in
            if state.sleepers < count { state.watchers.append(watcher) }
            return state.sleepers >= count
        }
        if isThere { return true }
        let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
        return DeliveryRuntime.current.workers.whileBlocked {
            let came = watcher.isThere.wait(until: deadline) { $0 ? true : nil } ?? false
            ofThisProcess { $0.watchers.removeAll { $0 === watcher } }
            return came
        }
    }

    /// The same for code that may not block its thread.
    @discardableResult public func waitForSleepers(_ count: Int = 1, timeout: Double? = 30) async -> Bool {
        // Checked, because ThreadSanitizer does not see how the runtime orders what comes before a resumption.
        await withCheckedContinuation { continuation in
            DeliveryRuntime.current.workers.run {
                let isThere: Bool = self.waitForSleepers(count, timeout: timeout)
                continuation.resume(returning: isThere)
            }
        }
    }

    // MARK: For who waits

    var now: MonotonicTime { MonotonicTime(nanoseconds: moment.load(ordering: .acquiring)) }

    @discardableResult func schedule(
        _ purpose: WaitPurpose, at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void
    ) -> ScheduledJob {
        let waiting = Waiting(purpose: purpose, job: job)
        let (token, found) = ofThisProcess { state -> (IndexedHeap<MonotonicTime, Waiting>.Token?, [Watcher]) in
            guard moment > now else { return (nil, []) }
            let token = state.waiting.insert(waiting, key: moment)
            guard purpose == .pause else { return (token, []) }
            state.sleepers += 1
            let sleepers = state.sleepers
            defer { state.watchers.removeAll { $0.count <= sleepers } }
            return (token, state.watchers.filter { $0.count <= sleepers })
        }
        for watcher in found {
            watcher.isThere.withLock { $0 = true }
            watcher.isThere.broadcast()
        }
        guard let token else {
            DeliveryRuntime.current.workers.run(job)
            return ScheduledJob {}
        }
        return ScheduledJob { [weak self] in self?.callOff(token) }
    }

    func onSystemClock(_ moment: MonotonicTime) -> MonotonicTime {
        guard moment < .distantFuture else { return moment }
        return .now().advanced(bySeconds: moment.seconds(since: now))
    }

    private func callOff(_ token: IndexedHeap<MonotonicTime, Waiting>.Token) {
        // What it holds may run the user's code as it goes, so it must outlive the lock.
        let waiting = ofThisProcess { state in
            let waiting = state.waiting.remove(token)
            if waiting?.purpose == .pause { state.sleepers -= 1 }
            return waiting
        }
        withExtendedLifetime(waiting) {}
    }

    private func ofThisProcess<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            if state.generation != Fork.generation {
                // The parent's: not even released here.
                _ = Unmanaged.passRetained(Inherited(exchange(&state, with: State())))
            }
            return body(&state)
        }
    }

    private final class Inherited {
        let state: State

        init(_ state: State) { self.state = state }
    }
}
