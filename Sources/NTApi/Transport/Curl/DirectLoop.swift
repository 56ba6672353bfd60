/// A loop that the thread of a caller drives while it waits for its answer: it has nothing better to do, and is spared
/// two hand-overs to other threads and back.
///
/// A caller may leave before the end, because a signal came, and come back. Nobody drives the loop meanwhile; if the
/// exchange is cancelled then, a worker brings it to its end.
final class DirectLoop: Transport, @unchecked Sendable {
    // Safe to share: `loop` and `watched` belong to whoever drives, which `state` says; the command queue is made for all.
    private enum Driver {
        case nobody
        case caller
        case worker
    }

    private struct State {
        var driver = Driver.nobody
        var isCancelled = false
        var isLent = false
    }

    private let loop: EngineLoop
    private let commands: CommandQueue
    private let workers: WorkerPool
    private let state = Monitor(State())
    private let lender: DirectLoops
    private let generation = Fork.generation
    /// The caller's own descriptor that ends a wait, too.
    private(set) var watched: Int32 = -1

    init?(of lender: DirectLoops, workers: WorkerPool) {
        let commands = CommandQueue(.running)
        guard let loop = EngineLoop(commands: commands, workers: workers, connections: nil) else { return nil }
        self.loop = loop
        self.lender = lender
        self.commands = commands
        self.workers = workers
    }

    deinit {
        if generation == Fork.generation { loop.close() }
    }

    var waker: Waker { loop.waker }

    func watch(_ descriptor: Int32) {
        guard descriptor != watched else { return }
        watched = descriptor
        loop.watch(descriptor)
    }

    func begin(_ exchange: Exchange) { _ = commands.add(.begin(exchange)) }

    func cancel(_ exchange: Exchange) {
        _ = commands.add(.cancel(exchange))
        state.withLock { $0.isCancelled = true }
        endIfLeft()
    }

    /// Begins to drive, after a worker that ends what was cancelled.
    func enter() {
        _ = state.wait { state -> Void? in
            guard state.driver == .nobody else { return nil }
            state.driver = .caller
            return ()
        }
    }

    /// Does what can be done now. As a worker would, it runs the client's hooks.
    ///
    /// - Returns: whether nothing is left to do.
    func turn() -> Bool {
        loop.turn()
        loop.deliveries.flushRunningJobs(workers)
        return loop.isEmpty && commands.isEmpty
    }

    func sleep(until limit: MonotonicTime) -> Interruption? { loop.sleep(until: limit) }

    /// Stops driving, for now or for good.
    func leave() {
        state.withLock { $0.driver = .nobody }
        state.broadcast()
        endIfLeft()
    }

    /// A caller has it from now on.
    func beginLoan() { state.withLock { $0 = State(isLent: true) } }

    /// - Returns: false when it was given back before.
    func endLoan() -> Bool {
        state.withLock { state in
            defer { state.isLent = false }
            return state.isLent
        }
    }

    private func endIfLeft() {
        let isLeft = state.withLock { state in
            guard state.isCancelled, state.driver == .nobody else { return false }
            state.driver = .worker
            state.isCancelled = false
            return true
        }
        guard isLeft else { return }
        workers.run {
            self.watch(-1)
            while !self.turn() { _ = self.loop.sleep(until: .distantFuture) }
            self.leave()
            // The caller need not come back.
            self.lender.giveBack(self)
        }
    }
}

/// The loops that callers drive: each keeps its connections for the next caller.
final class DirectLoops: Sendable {
    private struct State {
        var idle: [DirectLoop] = []
        var isStopped = false
    }

    private let state = Lock(State())
    private let workers: WorkerPool
    private let connections: ConnectionCount

    init(workers: WorkerPool, connections: ConnectionCount) {
        self.workers = workers
        self.connections = connections
    }

    /// Lends a loop until `giveBack`; nil when all connections are taken, or after `stop`.
    func take(connectionLimit limit: Int, watching descriptor: Int32) -> DirectLoop? {
        guard connections.enterDirect(limit: limit) else { return nil }
        let (idle, isStopped) = state.withLock { state -> (DirectLoop?, Bool) in
            guard !state.isStopped else { return (nil, true) }
            // The one that watches the descriptor already is spared two system calls; the last one has open connections.
            if let index = state.idle.lastIndex(where: { $0.watched == descriptor }) {
                return (state.idle.remove(at: index), false)
            }
            return (state.idle.popLast(), false)
        }
        guard !isStopped, let loop = idle ?? DirectLoop(of: self, workers: workers) else {
            connections.leaveDirect()
            return nil
        }
        loop.beginLoan()
        loop.watch(descriptor)
        return loop
    }

    /// A second time does nothing: after a cancel, both the caller and a worker may be done with it.
    func giveBack(_ loop: DirectLoop) {
        guard loop.endLoan() else { return }
        state.withLock { $0.idle.append(loop) }
        connections.leaveDirect()
    }

    /// Lends no more: the process exits.
    func stop() { state.withLock { $0.isStopped = true } }
}
