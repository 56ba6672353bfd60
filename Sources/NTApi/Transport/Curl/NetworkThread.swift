/// A thread of the library's own that drives a loop for everybody, started with the first exchange.
///
/// This is the part that other threads touch: it hands commands over and returns at once.
final class NetworkThread: Transport {
    private let workers: WorkerPool
    private let connections: ConnectionCount
    private let share: ConnectionShare
    private let limit: Int?
    private let connectionAge: Double
    private let commands = CommandQueue()
    private let ending = Ending()
    private let generation = Fork.generation

    /// - Parameter limit: how many connections it may have to all servers together; nil is no limit.
    init(
        workers: WorkerPool, connections: ConnectionCount, share: ConnectionShare, limit: Int? = nil,
        connectionAge: Double = HostConnections.maximumAge
    ) {
        self.workers = workers
        self.connections = connections
        self.share = share
        self.limit = limit
        self.connectionAge = connectionAge
    }

    deinit {
        if generation == Fork.generation { _ = commands.requestStop() }
    }

    func begin(_ exchange: Exchange) {
        connections.begin()
        submit(.begin(exchange))
    }

    func cancel(_ exchange: Exchange) { submit(.cancel(exchange)) }

    // Reported, not submitted: while the thread stops, an exchange may be waiting for just this.
    func change(_ exchange: Exchange, _ change: ExchangeChange) { commands.report(.change(exchange, change)) }

    /// Runs a job on a worker at a moment; at once when the thread is stopped before.
    func schedule(_ timer: EngineTimer) { submit(.timer(timer)) }

    func cancel(_ timer: EngineTimer) { commands.report(.cancelTimer(timer)) }

    /// Asks the thread to end. `wait` follows.
    ///
    /// - Returns: whether there is one to wait for.
    func requestStop(until deadline: MonotonicTime) -> Bool {
        ending.setLimit(deadline)
        return commands.requestStop()
    }

    /// - Returns: whether the thread has ended.
    func wait(until deadline: MonotonicTime) -> Bool { ending.wait(until: deadline) }

    private func submit(_ command: EngineCommand) {
        switch commands.add(command) {
        case .accepted: break
        case .startThread: startThread()
        case .refused: Self.give(up: command, .cancelled, workers, connections)
        }
    }

    private func startThread() {
        let (commands, ending, workers, connections) = (commands, ending, workers, connections)
        let (share, limit, connectionAge) = (share, limit, connectionAge)
        ending.reset()
        let started = Thread.start(name: "ntapi-network") {
            let loop = EngineLoop(
                commands: commands, workers: workers, connections: connections, share: share, limit: limit,
                connectionAge: connectionAge)
            guard let loop else {
                for command in commands.fail() { Self.give(up: command, Self.noThread, workers, connections) }
                return ending.signal()
            }
            loop.run(deliveringBy: workers, heldUntil: { ending.limit })
            for command in commands.end() { Self.give(up: command, .cancelled, workers, connections) }
            ending.signal()
        }
        guard !started else { return }
        for command in commands.fail() { Self.give(up: command, Self.noThread, workers, connections) }
        ending.signal()
    }

    private static let noThread = APIError(
        domain: .network, code: .generic,
        message:
            "the network thread cannot be started: the system has no thread or file descriptor to give, or libcurl "
            + "cannot be set up",
        isRetryable: true)

    /// Ends what will not be done, on a worker: never from inside the call that asked for it.
    private static func give(
        up command: EngineCommand, _ error: APIError, _ workers: WorkerPool, _ connections: ConnectionCount
    ) {
        switch command {
        case .begin(let exchange):
            connections.end()
            workers.run {
                let deliveries = DeliveryBatch()
                exchange.observer.exchangeDidEnd(ExchangeResult(error: error), deliveries)
                deliveries.flushRunningJobs(workers)
            }
        case .timer(let timer): workers.run(timer.job)
        case .cancel, .change, .cancelTimer, .resumeUpload, .uploadIdle: break
        }
    }
}

extension EngineLoop {
    /// Runs until a stop, on the thread that is the loop's for good.
    ///
    /// - Parameter heldUntil: when to give up waiting, at a stop, for body streams that are being read.
    fileprivate func run(deliveringBy workers: WorkerPool, heldUntil: () -> MonotonicTime) {
        while true {
            let isStopping = turn()
            deliveries.flush(to: workers)
            if isStopping, isEmpty || (isOnlyHeld && heldUntil() <= .now()) { break }
            sleep(until: isStopping ? heldUntil() : .distantFuture)
        }
        close()
        deliveries.flush(to: workers)
    }
}

/// Lets a thread wait for the end of the network thread, for a time.
private final class Ending: Sendable {
    private let state = Monitor((hasEnded: false, limit: MonotonicTime.distantFuture))

    /// Until when the thread may wait for others when it is to end.
    var limit: MonotonicTime { state.withLock { $0.limit } }

    func setLimit(_ moment: MonotonicTime) { state.withLock { $0.limit = min($0.limit, moment) } }

    /// A thread is started, maybe again after the system had none to give.
    func reset() { state.withLock { $0.hasEnded = false } }

    func signal() {
        state.withLock { $0.hasEnded = true }
        state.broadcast()
    }

    func wait(until deadline: MonotonicTime) -> Bool {
        state.wait(until: deadline) { $0.hasEnded ? true : nil } ?? false
    }
}
