/// A loop that a caller's own thread runs while it waits for its answer. This saves two switches between threads.
///
/// A caller may leave before the end because of a signal, and come back. Meanwhile nobody runs the loop. If the
/// exchange is cancelled then, a worker ends it.
final class DirectLoop: Transport, @unchecked Sendable {
    // Safe to share: `loop` and `watched` belong to the thread that runs the loop, which `state` names. The command
    // queue has a lock.
    private enum Driver {
        case nobody
        case caller
        case worker
    }

    private struct State {
        var driver = Driver.nobody
        var isCancelled = false
        /// The number of the current loan. Each caller that borrows the loop gets the next one.
        var loan = 0
        var isLent = false
        var isClosed = false
    }

    private let loop: EngineLoop
    private let commands: CommandQueue
    private let workers: WorkerPool
    private let state = Monitor(State())
    private let lender: DirectLoops
    /// A file descriptor of the caller that also ends a wait.
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
        if state.isOfThisProcess { close() }
    }

    /// Leaks the object on purpose, in a forked child.
    func leak() { _ = Unmanaged.passRetained(self) }

    var waker: Waker { loop.waker }

    func watch(_ descriptor: Int32) {
        watched = descriptor
        loop.watch(descriptor)
    }

    func begin(_ exchange: Exchange) { _ = commands.add(.begin(exchange)) }

    func change(_ exchange: Exchange, _ change: ExchangeChange) { commands.report(.change(exchange, change)) }

    func cancel(_ exchange: Exchange) {
        guard state.isOfThisProcess else { return }
        _ = commands.add(.cancel(exchange))
        state.withLock(inChild: ()) { $0.isCancelled = true }
        endIfLeft()
    }

    /// Makes the calling thread the one that runs the loop. Waits for a worker that ends a cancelled exchange.
    ///
    /// - Returns: false when the loan has ended.
    func enter(_ loan: Int) -> Bool {
        let isMine = state.wait { state -> Bool? in
            guard state.isLent, state.loan == loan else { return false }
            guard state.driver == .nobody else { return nil }
            state.driver = .caller
            return true
        }
        // The loop's time may be old. The clocks of a new exchange would start in the past.
        if isMine == true { loop.wake() }
        return isMine ?? false
    }

    /// Call it in the loop when the caller has used a piece of the body meanwhile. No byte was received in that time,
    /// which is not the server's silence.
    func comeBack(watching descriptor: Int32) {
        loop.restartClocks()
        // Another thread may read the rest.
        if descriptor != watched { watch(descriptor) }
    }

    /// Does everything that needs no waiting, and runs the client's hooks, as a worker would.
    ///
    /// - Returns: whether nothing is left to do.
    func turn() throws(Forked) -> Bool {
        loop.turn()
        try loop.deliveries.flushRunningJobs(workers)
        return loop.isEmpty && commands.isEmpty
    }

    func sleep(until limit: MonotonicTime) -> Interruption? { loop.sleep(until: limit) }

    /// Stops running the loop, for now or for good.
    func leave() {
        state.withLock(inChild: ()) { $0.driver = .nobody }
        state.broadcast()
        endIfLeft()
    }

    /// Ends the loan.
    func giveBack(_ loan: Int) { lender.giveBack(self, loan) }

    /// Begins a loan.
    ///
    /// - Returns: the number of the loan.
    func beginLoan() -> Int {
        state.withLock(inChild: 0) { state in
            state = State(loan: state.loan &+ 1, isLent: true, isClosed: state.isClosed)
            return state.loan
        }
    }

    /// Closes the connections. Call it while nobody borrows the loop. Requests may keep the object longer.
    func close() {
        let closes = state.withLock(inChild: false) { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if closes { loop.close() }
    }

    /// - Returns: false when the loan has ended before.
    func endLoan(_ loan: Int) -> Bool {
        let isOver = state.withLock(inChild: false) { state in
            guard state.isLent, state.loan == loan else { return false }
            state.isLent = false
            return true
        }
        state.broadcast()
        return isOver
    }

    private func endIfLeft() {
        let loan = state.withLock(inChild: nil) { state -> Int? in
            // After the loan, a cancel must not start a worker in a loop that another caller may be about to run.
            guard state.isCancelled, state.isLent, state.driver == .nobody else { return nil }
            state.driver = .worker
            state.isCancelled = false
            return state.loan
        }
        guard let loan else { return }
        workers.run { () throws(Forked) in
            self.watch(-1)
            self.loop.wake()
            try self.workers.whileBlocked { () throws(Forked) in
                while try !self.turn() { _ = self.loop.sleep(until: .distantFuture) }
            }
            self.leave()
            // The caller need not come back.
            self.giveBack(loan)
        }
    }
}

/// The loops for callers. Each keeps its connections for the next caller.
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

    /// Lends a loop until `giveBack`. Nil when all connections are taken, or after `stop`.
    func take(connectionLimit limit: Int, watching descriptor: Int32) -> (loop: DirectLoop, loan: Int)? {
        guard connections.enterDirect(limit: limit) else { return nil }
        let (idle, isStopped) = state.withLock { state -> (DirectLoop?, Bool) in
            guard !state.isStopped else { return (nil, true) }
            // A loop that already watches the descriptor saves two system calls. Otherwise take the last one, which has
            // open connections.
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

    /// The second call does nothing: after a cancel, both the caller and a worker may end the loan.
    func giveBack(_ loop: DirectLoop, _ loan: Int) {
        guard loop.endLoan(loan) else { return }
        let isStopped = state.withLock { state in
            if !state.isStopped { state.idle.append(loop) }
            return state.isStopped
        }
        if isStopped { loop.close() }
        connections.leaveDirect()
    }

    /// Lends no more loops. Closes the connections of idle loops; the others close theirs when they are given back.
    func stop() {
        let idle = state.withLock { state in
            state.isStopped = true
            defer { state.idle = [] }
            return state.idle
        }
        for loop in idle { loop.close() }
    }
}
