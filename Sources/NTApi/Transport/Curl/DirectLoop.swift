/// A loop that a caller's own thread drives while it waits for its answer. That saves two hand-overs between threads.
///
/// A caller may leave before the end, because a signal came, and come back. Nobody drives the loop meanwhile; if the
/// exchange is cancelled then, a worker brings it to its end.
final class DirectLoop: Transport, @unchecked Sendable {
    // Safe to share: `loop` and `watched` belong to the thread that drives, which `state` says; the command queue is for all.
    private enum Driver {
        case nobody
        case caller
        case worker
    }

    private struct State {
        var driver = Driver.nobody
        var isCancelled = false
        /// Counts the callers that it was lent to, one after the other.
        var loan = 0
        var isLent = false
        var isClosed = false
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
        if isOfThisProcess { close() }
    }

    /// False in a forked child: its sockets are the parent's, too, and are not touched.
    var isOfThisProcess: Bool { generation == Fork.generation }

    /// Keeps it for ever: in a forked child.
    func leak() { _ = Unmanaged.passRetained(self) }

    var waker: Waker { loop.waker }

    func watch(_ descriptor: Int32) {
        watched = descriptor
        loop.watch(descriptor)
    }

    func begin(_ exchange: Exchange) { _ = commands.add(.begin(exchange)) }

    func change(_ exchange: Exchange, _ change: ExchangeChange) { commands.report(.change(exchange, change)) }

    func cancel(_ exchange: Exchange) {
        guard isOfThisProcess else { return }
        _ = commands.add(.cancel(exchange))
        state.withLock { $0.isCancelled = true }
        endIfLeft()
    }

    /// Begins to drive, after a worker that ends what was cancelled.
    ///
    /// - Returns: false when the loan is over by then.
    func enter(_ loan: Int) -> Bool {
        let isMine = state.wait { state -> Bool? in
            guard state.isLent, state.loan == loan else { return false }
            guard state.driver == .nobody else { return nil }
            state.driver = .caller
            return true
        }
        // The loop's time may be old: the clocks of a new exchange would begin in the past.
        if isMine == true { loop.wake() }
        return isMine ?? false
    }

    /// Does what can be done now. As a worker would, it runs the client's hooks.
    ///
    /// - Returns: whether nothing is left to do.
    func turn() -> Bool {
        loop.turn()
        loop.deliveries.flushRunningJobs(workers)
        // A child that a hook has forked leaves the loop's work to its parent.
        guard isOfThisProcess else { return true }
        return loop.isEmpty && commands.isEmpty
    }

    func sleep(until limit: MonotonicTime) -> Interruption? { loop.sleep(until: limit) }

    /// Stops driving, for now or for good.
    func leave() {
        state.withLock { $0.driver = .nobody }
        state.broadcast()
        endIfLeft()
    }

    /// Its caller does not need it any more.
    func giveBack(_ loan: Int) { lender.giveBack(self, loan) }

    /// A caller has it from now on.
    ///
    /// - Returns: the number of the loan.
    func beginLoan() -> Int {
        state.withLock { state in
            state = State(loan: state.loan &+ 1, isLent: true, isClosed: state.isClosed)
            return state.loan
        }
    }

    /// Closes its connections, while nobody has it. Requests may keep the object longer.
    func close() {
        let closes = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if closes { loop.close() }
    }

    /// - Returns: false when it was given back before.
    func endLoan(_ loan: Int) -> Bool {
        let isOver = state.withLock { state in
            guard state.isLent, state.loan == loan else { return false }
            state.isLent = false
            return true
        }
        state.broadcast()
        return isOver
    }

    private func endIfLeft() {
        let loan = state.withLock { state -> Int? in
            // After the end, a cancel must not bring a worker into a loop that another caller may be about to drive.
            guard state.isCancelled, state.isLent, state.driver == .nobody else { return nil }
            state.driver = .worker
            state.isCancelled = false
            return state.loan
        }
        guard let loan else { return }
        workers.run {
            self.watch(-1)
            self.loop.wake()
            self.workers.whileBlocked { while !self.turn() { _ = self.loop.sleep(until: .distantFuture) } }
            self.leave()
            // The caller need not come back.
            self.giveBack(loan)
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
    func take(connectionLimit limit: Int, watching descriptor: Int32) -> (loop: DirectLoop, loan: Int)? {
        guard connections.enterDirect(limit: limit) else { return nil }
        let (idle, isStopped) = state.withLock { state -> (DirectLoop?, Bool) in
            guard !state.isStopped else { return (nil, true) }
            // A loop that watches the descriptor already saves two system calls. Otherwise the last one has open connections.
            if let index = state.idle.lastIndex(where: { $0.watched == descriptor }) {
                return (state.idle.remove(at: index), false)
            }
            return (state.idle.popLast(), false)
        }
        guard !isStopped, let loop = idle ?? DirectLoop(of: self, workers: workers) else {
            connections.leaveDirect()
            return nil
        }
        let loan = loop.beginLoan()
        loop.watch(descriptor)
        return (loop, loan)
    }

    /// A second time does nothing: after a cancel, both the caller and a worker may be done with it.
    func giveBack(_ loop: DirectLoop, _ loan: Int) {
        guard loop.endLoan(loan) else { return }
        let isStopped = state.withLock { state in
            if !state.isStopped { state.idle.append(loop) }
            return state.isStopped
        }
        if isStopped { loop.close() }
        connections.leaveDirect()
    }

    /// Lends no more loops, and closes the connections of those that are not lent; the others close when they are given back.
    func stop() {
        let idle = state.withLock { state in
            state.isStopped = true
            defer { state.idle = [] }
            return state.idle
        }
        for loop in idle { loop.close() }
    }
}
