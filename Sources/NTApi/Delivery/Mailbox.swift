import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A queue of callbacks that wait for a thread to run them. It replaces a run loop, which Linux lacks.
///
/// Call `drain` whenever `fileDescriptor` is readable in your event loop, or let `run` do both.
public final class Mailbox: Sendable, RedactedMirror {
    /// Why `run` returned.
    public enum RunResult: Sendable {
        /// `stop` was called.
        case stopped
        /// The timeout has passed.
        case timedOut
        /// Nothing ran, because the mailbox belongs to another thread. Or a callback has forked, and the mailbox
        /// belongs to the parent process.
        case wrongThread
    }

    private struct State {
        var callbacks = Queue<Job>()
        var events = Queue<DeliveryBatch.Event>()
        var stops = 0
        var waiting = 0
        var isClosed = false
        var descriptor: Int32 = -1
        var isSignalled = false
        /// How many callbacks have been taken out.
        var runs = 0
        var isWatched = false
        /// Also wakes the thread while it waits for sockets.
        var waker: Waker?
    }

    /// Who may run it.
    enum Owner {
        case anyone
        case mainThread
        case thread(pthread_t)
    }

    /// What a wait runs.
    enum Scope {
        case all
        /// The callbacks of one request, or none.
        case only(ObjectIdentifier?)

        fileprivate func includes(_ callback: Job) -> Bool {
            switch self {
            case .all: true
            case .only(let request): request != nil && callback.request == request
            }
        }
    }

    private let owner: Owner
    private let watch: MailboxWatch
    private let state = ProcessLock(Lock(State()))
    /// Where the thread waits.
    private let parker = Parker()
    /// The weak reference that requests use.
    let reference = MailboxReference()

    /// Makes a mailbox that belongs to no thread: the thread that drains it runs its callbacks.
    public convenience init() {
        self.init(owner: .anyone)
        DeliveryRuntime.current.register(self)
    }

    init(owner: Owner, watch: MailboxWatch = .shared) {
        self.owner = owner
        self.watch = watch
        reference.set(self)
    }

    // Requests refer to a mailbox weakly, so this runs when nobody can drain it any more.
    deinit {
        do throws(Forked) {
            close()
            ntapi_system_close_wakeup(try state.withLock { $0.descriptor })
        } catch {
            // The callbacks belong to the parent, so they are not even released here.
            state.leak()
        }
    }

    /// Readable while callbacks or events wait here. Watch it level-triggered; never read or close it.
    ///
    /// -1 when the system has no file descriptor left.
    public var fileDescriptor: Int32 {
        state.withLock(inChild: -1) { state in
            if state.descriptor < 0 {
                state.descriptor = ntapi_system_make_wakeup()
                signalIfNeeded(&state)
            }
            return state.descriptor
        }
    }

    /// Whether the calling thread may run this mailbox.
    package var isMine: Bool {
        guard state.isOfThisProcess else { return false }
        switch owner {
        case .anyone: return true
        case .mainThread: return Thread.isMain
        case .thread(let thread): return pthread_equal(thread, pthread_self()) != 0
        }
    }

    /// Lets workers run what waits for the main thread, if that has ended before it used the library: then nothing of
    /// that thread has closed its mailbox.
    func closeIfMainHasEnded() {
        if case .mainThread = owner, Thread.mainHasEnded { close() }
    }

    /// Whether it belongs to no thread.
    var isAnyones: Bool {
        if case .anyone = owner { true } else { false }
    }

    /// Runs all waiting callbacks, without blocking. In a callback that runs in 15 others, it runs none.
    ///
    /// - Returns: how many ran; 0 on a thread that does not own the mailbox.
    @discardableResult public func drain() -> Int {
        var ran = 0
        // If a callback forks, the child leaves the rest to its parent.
        try? drain(&ran, running: Delivery.scope(ofWaitFor: nil))
        return ran
    }

    func drain(_ ran: inout Int, running scope: Scope = .all) throws(Forked) {
        guard isMine else { return }
        // Runs only the callbacks that wait now. Callbacks that begin new requests must not keep an event loop here for
        // ever.
        let waiting = try state.withLock { $0.callbacks.count }
        while ran < waiting, let callback = try state.withLock({ pop(&$0, scope) }) {
            ran += 1
            try callback.run()
        }
    }

    /// Runs callbacks as they arrive. In a callback that runs in 15 others, it only waits for `stop`.
    ///
    /// - Parameter timeout: seconds; nil runs until `stop`, 0 runs only the waiting callbacks.
    @available(*, noasync, message: "run blocks the thread: async code needs no mailbox")
    @discardableResult public func run(timeout: Double? = nil) -> RunResult {
        guard isMine else { return .wrongThread }
        let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
        do throws(Forked) {
            guard let timeout, timeout <= 0 else {
                let scope = Delivery.scope(ofWaitFor: nil)
                return try runUntil(deadline, running: scope, { () throws(Forked) in false }) ? .stopped : .timedOut
            }
            drain()
            return try state.withLock { takeStop(&$0) } ? .stopped : .timedOut
        } catch {
            return .wrongThread
        }
    }

    /// Ends the innermost `run` after its current callback. If none is running, ends the next one.
    public func stop() {
        let wake = state.withLock(inChild: nil) { state -> Wake? in
            state.stops += 1
            return Wake(state)
        }
        if let wake { wakeThread(wake) }
    }

    /// Runs callbacks until a condition holds, `stop` is called (true) or the deadline has passed (false).
    ///
    /// - Parameters:
    ///   - ignoresStop: true for waits other than the user's `run`.
    ///   - scope: which callbacks.
    func runUntil(
        _ deadline: MonotonicTime, ignoresStop: Bool = false, running scope: Scope = .all,
        _ isDone: () throws(Forked) -> Bool
    ) throws(Forked) -> Bool {
        while true {
            if try isDone() { return true }
            let next: (callback: Job?, isStopped: Bool) = try state.withLock { state in
                if !ignoresStop, takeStop(&state) { return (nil, true) }
                return (pop(&state, scope), false)
            }
            if next.isStopped { return true }
            if let callback = next.callback {
                try callback.run()
                // New callbacks must not keep the caller past its deadline.
                guard deadline < .distantFuture, MonotonicTime.now() >= deadline else { continue }
                return try isDone()
            }
            if MonotonicTime.now() >= deadline { return try isDone() }
            try wait(until: deadline, ignoresStop: ignoresStop, scope, isDone)
        }
    }

    /// Makes a running `runUntil` check its condition again.
    func wake() {
        if let wake = state.withLock(inChild: nil, { Wake?(Wake($0)) }) { wakeThread(wake) }
    }

    /// Sets the waker to use while the mailbox's thread also waits for sockets.
    ///
    /// - Returns: the previous waker, to be restored afterwards.
    func lend(_ waker: Waker?) -> Waker? {
        state.withLock(inChild: nil) { exchange(&$0.waker, with: waker) }
    }

    /// - Returns: false when the mailbox's thread has ended. The caller then needs another destination.
    func post(_ callbacks: [Job], _ events: [DeliveryBatch.Event] = []) -> Bool {
        let wake = state.withLock(inChild: nil) { state -> Wake? in
            guard !state.isClosed else { return nil }
            for callback in callbacks { state.callbacks.append(callback) }
            for event in events { state.events.append(event) }
            signalIfNeeded(&state)
            return Wake(state)
        }
        guard let wake else { return false }
        // Before the other thread is woken: its callback may fork, and in the child nobody finishes what this thread does
        // for the first time, with locks of Swift's runtime held.
        if !wake.isWaiting, watch.isOn { beginWatch() }
        wakeThread(wake)
        return true
    }

    private func beginWatch() {
        let runs = state.withLock(inChild: nil) { state -> Int? in
            guard !state.isWatched else { return nil }
            state.isWatched = true
            return state.runs
        }
        if let runs { watch.begin(reference, runs: runs) }
    }

    /// Ends a watch. If something has run since, and callbacks wait now, a new watch begins.
    ///
    /// - Returns: true when callbacks wait and nothing has run since the watch began.
    func isUnattended(since runs: Int) -> Bool {
        let (isUnattended, isWaiting) = state.withLock(inChild: (false, false)) { state in
            state.isWatched = false
            let isWaiting = state.waiting == 0 && !(state.callbacks.isEmpty && state.events.isEmpty)
            return (isWaiting && state.runs == runs, isWaiting)
        }
        if isWaiting, !isUnattended { beginWatch() }
        return isUnattended
    }

    /// Takes the next event, and runs the callbacks that wait.
    package func takeEvent() -> AnyObject? {
        guard isMine else { return nil }
        drain()
        while let event = state.withLock(inChild: nil, popEvent) {
            if let taken = try? event.take() { return taken }
        }
        return nil
    }

    /// Closes the mailbox when its thread ends. Waiting callbacks run on a worker.
    func close() {
        let left = state.withLock(inChild: nil) { state -> (callbacks: [Job], events: [DeliveryBatch.Event])? in
            state.isClosed = true
            defer { unsignalIfEmpty(&state) }
            return (state.callbacks.removeAll(), state.events.removeAll())
        }
        guard let left else { return }
        DeliveryRuntime.adopt(left.callbacks, left.events, warns: !reference.isOfWorker)
    }

    /// How to wake the thread after the lock is released. Woken earlier, it would have to wait for the lock.
    private struct Wake {
        let isWaiting: Bool
        let waker: Waker?

        init(_ state: State) {
            isWaiting = state.waiting > 0
            waker = state.waker
        }
    }

    private func wakeThread(_ wake: Wake) {
        if wake.isWaiting { parker.unpark() }
        wake.waker?.wake()
    }

    // MARK: Under the lock

    private func pop(_ state: inout State, _ scope: Scope) -> Job? {
        defer { unsignalIfEmpty(&state) }
        state.runs &+= 1
        if case .all = scope { return state.callbacks.popFirst() }
        return state.callbacks.popFirst(where: scope.includes)
    }

    private func popEvent(_ state: inout State) -> DeliveryBatch.Event? {
        defer { unsignalIfEmpty(&state) }
        state.runs &+= 1
        return state.events.popFirst()
    }

    private func takeStop(_ state: inout State) -> Bool {
        guard state.stops > 0 else { return false }
        state.stops -= 1
        return true
    }

    // One write for all callbacks that arrive until the next drain.
    private func signalIfNeeded(_ state: inout State) {
        guard state.descriptor >= 0, !state.isSignalled, !(state.callbacks.isEmpty && state.events.isEmpty) else {
            return
        }
        state.isSignalled = true
        ntapi_system_signal_wakeup(state.descriptor)
    }

    private func unsignalIfEmpty(_ state: inout State) {
        guard state.isSignalled, state.callbacks.isEmpty, state.events.isEmpty else { return }
        state.isSignalled = false
        ntapi_system_clear_wakeup(state.descriptor)
    }

    private func wait(
        until deadline: MonotonicTime, ignoresStop: Bool, _ scope: Scope, _ isDone: () throws(Forked) -> Bool
    ) throws(Forked) {
        // From here on, posting wakes this thread. The ticket covers a post that comes before the thread sleeps.
        let ticket = try state.withLock { state -> UInt32? in
            guard !state.callbacks.contains(where: scope.includes), ignoresStop || state.stops == 0 else { return nil }
            state.waiting += 1
            return parker.ticket
        }
        guard let ticket else { return }
        // The condition takes other locks, so it is checked outside of this one.
        if try !isDone() { LibraryCode.outside { parker.park(ticket, until: deadline) } }
        try state.withLock { $0.waiting -= 1 }
    }
}

extension Mailbox {
    /// The mailbox of the process's main thread.
    public static var main: Mailbox { Thread.isMain ? current : DeliveryRuntime.current.mainMailbox }

    /// The mailbox of the calling thread.
    public static var current: Mailbox { ThreadMailbox.ofThisThread }

    /// Closes the mailbox of a worker whose job has ended. What waits there runs on any worker, and so does what comes
    /// later.
    ///
    /// Nobody runs a worker's mailbox between its jobs. The thread itself ends only after it was idle for a while, and a
    /// few jobs now and then wake all workers in turn: callbacks would wait as long as that goes on.
    static func jobEnded() { ThreadMailbox.close() }
}

/// Gives each thread its mailbox, and closes it when the thread ends.
private enum ThreadMailbox {
    private final class Slot {
        // The main thread can end before the process, with pthread_exit. Its mailbox is closed like any other.
        let mailbox = Thread.isMain ? DeliveryRuntime.current.mainMailbox : Mailbox(owner: .thread(pthread_self()))
        let generation = Fork.generation
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { pointer in
            #if canImport(Glibc)
                guard let pointer else { return }
            #endif
            ThreadMailbox.threadEnds(Unmanaged<Slot>.fromOpaque(pointer).takeRetainedValue())
        }
        return key
    }()

    static var ofThisThread: Mailbox {
        if let pointer = pthread_getspecific(key) {
            let slot = Unmanaged<Slot>.fromOpaque(pointer).takeUnretainedValue()
            // In a forked child the key still has the parent's mailbox, which must not be touched.
            if slot.generation == Fork.generation { return slot.mailbox }
        }
        let slot = Slot()
        pthread_setspecific(key, Unmanaged.passRetained(slot).toOpaque())
        DeliveryRuntime.current.register(slot.mailbox)
        return slot.mailbox
    }

    /// Closes the mailbox of the calling thread now; a later one is new.
    static func close() {
        guard let pointer = pthread_getspecific(key) else { return }
        pthread_setspecific(key, nil)
        threadEnds(Unmanaged<Slot>.fromOpaque(pointer).takeRetainedValue())
    }

    // The waiting callbacks can no longer run on their thread. That every handler is called is more important than
    // where.
    private static func threadEnds(_ slot: Slot) {
        guard slot.generation == Fork.generation else { return }
        slot.mailbox.close()
    }
}
