/// A thread of the library that runs a loop for all requests. The first exchange starts it.
///
/// This class is what other threads use: it queues commands and returns at once.
final class NetworkThread: Transport {
    private let workers: WorkerPool
    private let connections: ConnectionCount
    private let share: ConnectionShare
    private let limit: Int?
    private let connectionAge: Double
    private let idleTime: Double?
    private let commands = CommandQueue()
    private let ending = Ending()
    private let generation = Fork.generation

    /// - Parameters:
    ///   - limit: the most connections to all servers together; nil for no limit.
    ///   - idleTime: after how many idle seconds the thread closes its connections and ends; the next exchange starts
    ///     another. Nil for never.
    init(
        workers: WorkerPool, connections: ConnectionCount, share: ConnectionShare, limit: Int? = nil,
        connectionAge: Double = HostConnections.maximumAge, idleTime: Double? = nil
    ) {
        self.idleTime = idleTime
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

    // Also accepted while the thread stops, because an exchange may wait for it.
    func change(_ exchange: Exchange, _ change: ExchangeChange) { commands.report(.change(exchange, change)) }

    /// Runs a job on a worker at a given time, or when the thread stops.
    func schedule(_ timer: EngineTimer) { submit(.timer(timer)) }

    func cancel(_ timer: EngineTimer) { commands.report(.cancelTimer(timer)) }

    /// Asks the thread to end.
    ///
    /// - Parameter isAwaited: whether the caller calls `wait` afterwards.
    func requestStop(until deadline: MonotonicTime, isAwaited: Bool) {
        ending.stop(until: deadline, isAwaited: isAwaited)
        _ = commands.requestStop()
    }

    /// - Returns: whether the thread has ended.
    func wait(until deadline: MonotonicTime) -> Bool { ending.wait(until: deadline) }

    private func submit(_ command: EngineCommand) {
        guard generation == Fork.generation else { return }
        switch commands.add(command) {
        case .accepted: break
        case .startThread: startThread()
        case .refused: Self.give(up: command, .cancelled, workers, connections)
        }
    }

    private func startThread() {
        let (commands, ending, workers, connections) = (commands, ending, workers, connections)
        let (share, limit, connectionAge, idleTime) = (share, limit, connectionAge, idleTime)
        ending.threadStarts()
        let started = Thread.start(name: "ntapi-network", isDetached: false) {
            ending.add(.current)
            // A separate function, so that the loop and its descriptors are released before the end is reported.
            func drive() {
                let loop = EngineLoop(
                    commands: commands, workers: workers, connections: connections, share: share, limit: limit,
                    connectionAge: connectionAge)
                guard let loop else {
                    for command in commands.fail() { Self.give(up: command, Self.noThread, workers, connections) }
                    return
                }
                let isIdle = loop.run(deliveringBy: workers, idleTime: idleTime, heldUntil: { ending.limit })
                // After an idle end, the next thread gets the commands.
                guard !isIdle else { return }
                for command in commands.end() { Self.give(up: command, .cancelled, workers, connections) }
            }
            drive()
            ending.end(.current)
        }
        guard !started else { return }
        for command in commands.fail() { Self.give(up: command, Self.noThread, workers, connections) }
        ending.threadIsMissing()
    }

    private static let noThread = APIError(
        domain: .network, code: .generic,
        message:
            "the network thread cannot be started: the system has no thread or file descriptor left, or libcurl "
            + "cannot be set up",
        isRetryable: true)

    /// Ends a command that will not be carried out. Does it on a worker, never inside the call that gave the command.
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
    /// Runs the loop on its thread until it is stopped or has been idle for a time.
    ///
    /// - Parameters:
    ///   - idleTime: how many idle seconds; nil for ever.
    ///   - heldUntil: when a stop gives up waiting for body streams that are being read.
    /// - Returns: whether it ended because it was idle.
    fileprivate func run(
        deliveringBy workers: WorkerPool, idleTime: Double?, heldUntil: () -> MonotonicTime
    ) -> Bool {
        var restsAt: MonotonicTime?
        var isIdle = false
        while true {
            let isStopping = turn()
            deliveries.flush(to: workers)
            if isStopping, isEmpty || (isOnlyHeld && heldUntil() <= .now()) { break }
            if let idleTime, isEmpty, state.timers.first == nil {
                let moment = restsAt ?? .now().advanced(bySeconds: idleTime)
                restsAt = moment
                isIdle = moment <= .now() && rest()
                if isIdle { break }
            } else {
                restsAt = nil
            }
            sleep(until: isStopping ? heldUntil() : restsAt ?? .distantFuture)
        }
        close()
        deliveries.flush(to: workers)
        return isIdle
    }
}

/// Waits for the end of the network thread, with a limit.
private final class Ending: Sendable {
    private struct State {
        var running = 0
        var limit = MonotonicTime.distantFuture
        /// Whether somebody joins the threads that end from now on. Until then each detaches itself.
        var isJoined = false
        var threads: [Thread.Handle] = []
    }

    private let state = Monitor(State())

    /// How long the thread may wait for others at its end.
    var limit: MonotonicTime { state.withLock { $0.limit } }

    /// - Parameter isAwaited: whether somebody is about to wait for the end.
    func stop(until limit: MonotonicTime, isAwaited: Bool) {
        state.withLock { state in
            state.limit = min(state.limit, limit)
            if isAwaited { state.isJoined = true }
        }
    }

    /// A thread is started. An earlier idle one may still be closing its connections.
    func threadStarts() { state.withLock { $0.running += 1 } }

    /// It could not be started.
    func threadIsMissing() {
        state.withLock { $0.running -= 1 }
        state.broadcast()
    }

    /// On the thread, first.
    func add(_ thread: Thread.Handle) { state.withLock { $0.threads.append(thread) } }

    /// On the thread, last.
    func end(_ thread: Thread.Handle) {
        let isJoined = state.withLock { state in
            state.running -= 1
            if !state.isJoined { state.threads.removeAll { $0 == thread } }
            return state.isJoined
        }
        if !isJoined { thread.detach() }
        state.broadcast()
    }

    /// Waits until the threads have ended, with the destructors that libraries have for a thread. At exit OpenSSL frees
    /// what its destructor frees, so a thread that is still ending would free it twice.
    func wait(until deadline: MonotonicTime) -> Bool {
        let ended = state.wait(until: deadline) { $0.running == 0 ? exchange(&$0.threads, with: []) : nil }
        // A thread that ends later detaches itself.
        let late = state.withLock { state -> [Thread.Handle] in
            if ended == nil { state.isJoined = false }
            return ended == nil && state.running == 0 ? exchange(&state.threads, with: []) : []
        }
        for thread in (ended ?? []) + late { thread.join() }
        return ended != nil
    }
}
