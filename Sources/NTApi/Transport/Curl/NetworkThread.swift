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
    let ending = Ending()
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
    ///
    /// - Returns: what cancels it; nil when it runs now.
    func schedule(at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void) -> EngineTimers.Token? {
        guard generation == Fork.generation else { return nil }
        let (acceptance, timer) = commands.schedule(at: moment, Job(job))
        switch acceptance {
        case .accepted: break
        case .startThread: startThread()
        case .refused: workers.run(job)
        }
        return timer
    }

    /// Cancels a job, unless its time has come.
    func cancel(_ timer: EngineTimers.Token) {
        if generation == Fork.generation { commands.cancel(timer) }
    }

    /// Asks the thread to end.
    func requestStop(until deadline: MonotonicTime) {
        ending.stop(until: deadline)
        _ = commands.requestStop()
    }

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
        let started = Thread.start(name: "ntapi-network", atEnd: ending.threadEnds) {
            _ = LibraryCode.enter()
            defer { LibraryCode.leave() }
            let loop = EngineLoop(
                commands: commands, workers: workers, connections: connections, share: share, limit: limit,
                connectionAge: connectionAge)
            guard let loop else {
                return Self.give(up: commands.fail(), Self.noThread, workers, connections)
            }
            let isIdle = loop.run(deliveringBy: workers, idleTime: idleTime, heldUntil: { ending.limit })
            // After an idle end, the next thread gets the commands.
            if !isIdle { Self.give(up: commands.end(), .cancelled, workers, connections) }
        }
        guard !started else { return }
        Self.give(up: commands.fail(), Self.noThread, workers, connections)
        ending.threadEnds()
    }

    private static var noThread: APIError {
        let reason =
            Descriptors.shortage(Descriptors.lack) ?? "the system has no thread left, or libcurl cannot be set up"
        return APIError(
            domain: .network, code: .generic, message: "the network thread cannot be started: \(reason)",
            isRetryable: true)
    }

    private static func give(
        up rest: CommandQueue.Rest, _ error: APIError, _ workers: WorkerPool, _ connections: ConnectionCount
    ) {
        for command in rest.commands { give(up: command, error, workers, connections) }
        workers.run(rest.timers)
    }

    /// Ends a command that will not be carried out. Does it on a worker, never inside the call that gave the command.
    private static func give(
        up command: EngineCommand, _ error: APIError, _ workers: WorkerPool, _ connections: ConnectionCount
    ) {
        switch command {
        case .begin(let exchange):
            connections.end()
            workers.run { () throws(Forked) in
                let deliveries = DeliveryBatch()
                exchange.observer.exchangeDidEnd(ExchangeResult(error: error), deliveries)
                try deliveries.flushRunningJobs(workers)
            }
        case .cancel, .change, .resumeUpload, .uploadIdle: break
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

/// Waits for the end of a network thread, with a limit. Outlives the thread's owner.
final class Ending: Sendable {
    private struct State {
        var running = 0
        var limit = MonotonicTime.distantFuture
    }

    private let state = Monitor(State())

    /// How long the thread may wait for others at its end.
    var limit: MonotonicTime { state.withLock(inChild: .now()) { $0.limit } }

    var isOver: Bool { state.withLock(inChild: true) { $0.running == 0 } }

    func stop(until limit: MonotonicTime) {
        state.withLock(inChild: ()) { $0.limit = min($0.limit, limit) }
    }

    /// A thread is started. An earlier idle one may still be closing its connections.
    func threadStarts() { state.withLock(inChild: ()) { $0.running += 1 } }

    /// It has ended, or could not be started.
    @Sendable func threadEnds() {
        state.withLock(inChild: ()) { $0.running -= 1 }
        state.broadcast()
    }

    /// - Returns: whether the threads have ended.
    func wait(until deadline: MonotonicTime) -> Bool {
        state.wait(until: deadline) { $0.running == 0 ? () : nil } != nil
    }
}
