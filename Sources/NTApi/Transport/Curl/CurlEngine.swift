import Synchronization

/// The network: every exchange of the process over libcurl.
///
/// One thread of its own, or as many as the default `networkThreads` says, and the threads of callers that wait for
/// their answer anyway. After a fork the child makes a new engine; the inherited one is never touched again.
final class CurlEngine: Sendable {
    private let threads: [NetworkThread]
    private let direct: DirectLoops
    private let workers: WorkerPool
    /// Of those who have connections of their own.
    private let own = Lock<(networks: [Reference], isStopped: Bool)>(([], false))
    private let ownIdleTime: Double
    private let next = Atomic<Int>(0)

    private struct Reference {
        weak var network: OwnNetwork?
    }

    /// - Parameters:
    ///   - connectionAge: seconds after which a connection that is always in use gets no more to do.
    ///   - ownIdleTime: seconds after which a thread for connections of one's own ends that has nothing to do.
    init(
        workers: WorkerPool, threads count: Int = 1, connectionAge: Double = HostConnections.maximumAge,
        ownIdleTime: Double = ConnectionPools.idleTime
    ) {
        self.ownIdleTime = ownIdleTime
        let connections = ConnectionCount()
        let count = max(1, min(count, 64))
        self.workers = workers
        threads = (0..<count).map { index in
            NetworkThread(
                workers: workers, connections: connections, share: ConnectionShare(index: index, count: count),
                connectionAge: connectionAge)
        }
        direct = DirectLoops(workers: workers, connections: connections)
    }

    /// The thread for a request: the client's own, or one for all, in turns.
    func transport(for settings: TransferSettings) -> NetworkThread {
        if let own = settings.context?.connections { return network(of: own).thread }
        return transport(connectionLimit: settings.maximumConnectionsPerHost)
    }

    /// - Parameter limit: the connections to a server that are allowed: so many threads at most can share them.
    func transport(connectionLimit limit: Int) -> NetworkThread {
        guard threads.count > 1 else { return threads[0] }
        let turn = next.wrappingAdd(1, ordering: .relaxed).newValue
        return threads[Int(UInt(bitPattern: turn) % UInt(max(1, min(threads.count, limit))))]
    }

    private func network(of connections: OwnConnections) -> OwnNetwork {
        connections.network { makeNetwork(limit: connections.maximum) }
    }

    private func makeNetwork(limit: Int?) -> OwnNetwork {
        let connections = ConnectionCount()
        let thread = NetworkThread(
            workers: workers, connections: connections, share: .whole, limit: limit, idleTime: ownIdleTime)
        let direct = limit == nil ? DirectLoops(workers: workers, connections: connections) : nil
        let network = OwnNetwork(thread: thread, direct: direct)
        let isStopped = own.withLock { own in
            // Now and then, so that thousands of sessions do not count each other all the time.
            if own.networks.count.nonzeroBitCount == 1 { own.networks.removeAll { $0.network == nil } }
            own.networks.append(Reference(network: network))
            return own.isStopped
        }
        // Too late: what is begun on it ends as cancelled.
        if isStopped { network.requestStop() }
        return network
    }

    /// A loop for the calling thread to drive itself; nil when it has to leave that to a network thread.
    func directLoop(
        for settings: TransferSettings, watching descriptor: Int32 = -1
    ) -> (loop: DirectLoop, loan: Int)? {
        let loops = settings.context?.connections.map { network(of: $0).direct } ?? direct
        return loops?.take(connectionLimit: settings.maximumConnectionsPerHost, watching: descriptor)
    }

    /// Runs a job on a worker at a moment; at once when the engine is stopped before.
    @discardableResult func schedule(at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void) -> EngineTimer {
        let timer = EngineTimer(at: moment, job)
        threads[0].schedule(timer)
        return timer
    }

    /// Calls a job off, unless its moment has come.
    func cancel(_ timer: EngineTimer) { threads[0].cancel(timer) }

    /// Ends every exchange as cancelled, and the threads. For process exit; may be called again.
    ///
    /// - Parameter timeout: how many seconds to wait for the threads; the most that a caller's body stream which is
    ///   being read can hold up the end of its exchange.
    /// - Returns: whether the threads have ended.
    @discardableResult
    func stop(timeout: Double) -> Bool {
        direct.stop()
        let deadline = MonotonicTime.now().advanced(bySeconds: timeout)
        let others = own.withLock { own in
            own.isStopped = true
            return own.networks.compactMap(\.network)
        }
        let running =
            threads.filter { $0.requestStop(until: deadline) }
            + others.filter { $0.requestStop(until: deadline) }.map(\.thread)
        return running.reduce(true) { $1.wait(until: deadline.advanced(bySeconds: 0.5)) && $0 }
    }
}
