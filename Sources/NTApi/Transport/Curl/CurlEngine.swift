/// The network: every exchange of the process over libcurl, on one thread of its own.
///
/// This is the part that other threads touch: it hands commands over and returns at once. The thread is started with the
/// first exchange. After a fork the child makes a new engine; the inherited one is never touched again.
final class CurlEngine: Transport {
    private let workers: WorkerPool
    private let commands = CommandQueue()
    private let ending = Ending()
    private let generation = Fork.generation

    init(workers: WorkerPool) { self.workers = workers }

    deinit {
        if generation == Fork.generation { _ = commands.requestStop() }
    }

    func begin(_ exchange: Exchange) { submit(.begin(exchange)) }

    func cancel(_ id: Exchange.ID) { submit(.cancel(id)) }

    /// Runs a job on a worker at a moment; at once when the engine is stopped before.
    func schedule(at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void) { submit(.timer(moment, job)) }

    /// Ends every exchange as cancelled, and the thread. For process exit; may be called again.
    ///
    /// - Parameter timeout: how many seconds to wait for the thread; the most that a caller's body stream which is
    ///   being read can hold up the end of its exchange.
    /// - Returns: whether the thread has ended.
    @discardableResult
    func stop(timeout: Double) -> Bool {
        let deadline = MonotonicTime.now().advanced(bySeconds: timeout)
        ending.setLimit(deadline)
        return !commands.requestStop() || ending.wait(until: deadline.advanced(bySeconds: 0.5))
    }

    private func submit(_ command: EngineCommand) {
        switch commands.add(command) {
        case .accepted: break
        case .startThread: startThread()
        case .refused: Self.give(up: command, .cancelled, workers)
        }
    }

    private func startThread() {
        let (commands, ending, workers) = (commands, ending, workers)
        ending.reset()
        let started = Thread.start(name: "ntapi-network") {
            guard let loop = EngineLoop(commands: commands, workers: workers) else {
                for command in commands.fail() { Self.give(up: command, Self.noNetworkThread, workers) }
                return ending.signal()
            }
            loop.run(heldUntil: { ending.limit })
            for command in commands.end() { Self.give(up: command, .cancelled, workers) }
            ending.signal()
        }
        guard !started else { return }
        for command in commands.fail() { Self.give(up: command, Self.noNetworkThread, workers) }
        ending.signal()
    }

    private static let noNetworkThread = APIError(
        domain: .network, code: .generic,
        message:
            "the network thread cannot be started: the system has no thread or file descriptor to give, or libcurl "
            + "cannot be set up",
        isRetryable: true)

    /// Ends what will not be done, on a worker: never from inside the call that asked for it.
    private static func give(up command: EngineCommand, _ error: APIError, _ workers: WorkerPool) {
        switch command {
        case .begin(let exchange): workers.run { exchange.observer.exchangeDidEnd(ExchangeResult(error: error)) }
        case .timer(_, let job): workers.run(job)
        case .cancel, .resumeUpload, .uploadIdle: break
        }
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
