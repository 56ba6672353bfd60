import Synchronization

/// The network: all exchanges of the process go through libcurl.
///
/// The engine has one thread, or as many as the default `networkThreads` says. A caller that blocks until its answer
/// arrives may use its own thread instead. After a fork the child makes a new engine and never touches the parent's.
final class CurlEngine: Sendable {
    private let threads: [NetworkThread]
    private let direct: DirectLoops
    private let workers: WorkerPool
    /// The networks of clients with connections of their own.
    private let own = Lock<(networks: [Reference], isStopped: Bool)>(([], false))
    private let ownIdleTime: Double
    private let next = Atomic<Int>(0)

    private struct Reference {
        weak var network: OwnNetwork?
        /// A network that is gone may still close its connections.
        let ending: Ending

        var isOver: Bool { network == nil && ending.isOver }
    }

    /// - Parameters:
    ///   - connectionAge: after how many seconds a connection that is always in use gets no more requests.
    ///   - ownIdleTime: after how many seconds an idle thread of a client's own connections ends.
    init(
        workers: WorkerPool, threads count: Int = 1, connectionAge: Double = HostConnections.maximumAge,
        ownIdleTime: Double = ConnectionPools.idleTime
    ) {
        self.ownIdleTime = ownIdleTime
        // Reads the environment here, on the caller's thread.
        _ = CertificateStore.system
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

    /// The thread for a request: the client's own, or one of the common threads in rotation.
    func transport(for settings: TransferSettings) -> NetworkThread {
        if let own = settings.context?.connections { return network(of: own).thread }
        return transport(connectionLimit: settings.maximumConnectionsPerHost)
    }

    /// - Parameter limit: how many connections to a server are allowed. No more threads than that can share them.
    func transport(connectionLimit limit: Int) -> NetworkThread {
        guard threads.count > 1 else { return threads[0] }
        let number = next.wrappingAdd(1, ordering: .relaxed).newValue
        return threads[Int(UInt(bitPattern: number) % UInt(max(1, min(threads.count, limit))))]
    }

    private func network(of connections: OwnConnections) -> OwnNetwork {
        connections.network { makeNetwork(limit: connections.maximum) }
    }

    private func makeNetwork(limit: Int?) -> OwnNetwork {
        let connections = ConnectionCount()
        let thread = NetworkThread(
            workers: workers, connections: connections, share: .whole, limit: limit, idleTime: ownIdleTime)
        let hasDirect = limit.map { $0 >= ConnectionCount.leastTotal } ?? true
        let direct = hasDirect ? DirectLoops(workers: workers, connections: connections) : nil
        let network = OwnNetwork(thread: thread, direct: direct)
        let isStopped = own.withLock { own in
            // Not each time: with thousands of sessions, every one would scan all others.
            if own.networks.count.nonzeroBitCount == 1 { own.networks.removeAll { $0.isOver } }
            own.networks.append(Reference(network: network, ending: thread.ending))
            return own.isStopped
        }
        // The engine has stopped, so new exchanges end as cancelled.
        if isStopped { network.requestStop() }
        return network
    }

    /// A loop that the calling thread runs itself. Nil when the exchange must go to a network thread.
    func directLoop(
        for settings: TransferSettings, watching descriptor: Int32 = -1
    ) -> (loop: DirectLoop, loan: Int)? {
        let own = settings.context?.connections
        let loops = own.map { network(of: $0).direct } ?? direct
        let limit = min(settings.maximumConnectionsPerHost, own?.maximum ?? .max)
        return loops?.take(connectionLimit: limit, watching: descriptor)
    }

    /// Runs a job on a worker at a given time, or when the engine stops.
    @discardableResult func schedule(at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void) -> ScheduledJob {
        let thread = threads[0]
        let timer = thread.schedule(at: moment, job)
        return ScheduledJob { if let timer { thread.cancel(timer) } }
    }

    /// Ends every exchange as cancelled, and then the threads. For process exit; may be called again.
    ///
    /// - Parameter timeout: how many seconds to wait for the threads. A program's body stream that is being read can
    ///   delay the end of its exchange for at most that long.
    /// - Returns: whether the threads have ended.
    @discardableResult
    func stop(timeout: Double) -> Bool {
        direct.stop()
        let deadline = MonotonicTime.now().advanced(bySeconds: timeout)
        let others = own.withLock { own in
            own.isStopped = true
            return own.networks
        }
        for thread in threads { thread.requestStop(until: deadline) }
        for other in others { other.network?.requestStop(until: deadline) }
        // All of them: one that was idle may be ending just now.
        let endings = threads.map(\.ending) + others.map(\.ending)
        return endings.reduce(true) { $1.wait(until: deadline.advanced(bySeconds: 0.5)) && $0 }
    }
}

/// Makes the exchanges of a client with its own connections. They run on a network thread, which the first exchange
/// starts, or on the threads of callers that wait for their answer.
final class OwnNetwork: Sendable {
    let thread: NetworkThread
    /// Nil if the total number of connections has a low limit: then one loop has to count them all.
    let direct: DirectLoops?
    private let generation = Fork.generation

    init(thread: NetworkThread, direct: DirectLoops?) {
        self.thread = thread
        self.direct = direct
    }

    var isOfThisProcess: Bool { generation == Fork.generation }

    /// Ends every exchange as cancelled, and closes every connection. Does not wait.
    func requestStop() { requestStop(until: .now()) }

    /// - Parameter deadline: how long body streams may still be read.
    func requestStop(until deadline: MonotonicTime) {
        direct?.stop()
        thread.requestStop(until: deadline)
    }

    /// The same, and waits until the connections are closed.
    func stop() {
        requestStop()
        _ = thread.ending.wait(until: .now().advanced(bySeconds: 1))
    }

    /// Leaks the object on purpose: in a forked child it belongs to the parent.
    func leak() { _ = Unmanaged.passRetained(self) }
}

/// Counts the exchanges of the network threads, and the callers that run a loop of their own.
///
/// Both open connections to the same servers, and together they must respect the limit. A caller runs its own exchange
/// only if the limit has room for all running exchanges, to whatever server. The network threads then leave one
/// connection to it. One atomic word has both counts, so that only one of two callers gets the last place.
final class ConnectionCount: Sendable {
    /// More callers would only compete for the processor.
    static let maximumDirect = 8
    /// With a limit below this, the network threads get every connection.
    private static let leastLimit = 16
    /// The same for a limit of the connections to all servers. The idle connections of callers do not count: libcurl
    /// keeps at most four for each.
    static let leastTotal = 64

    private static let oneDirect: UInt64 = 1 << 32
    private let word = Atomic<UInt64>(0)

    /// How many callers run a loop of their own.
    var direct: Int { Int(word.load(ordering: .acquiring) >> 32) }

    /// An exchange goes to a network thread.
    func begin() { word.wrappingAdd(1, ordering: .relaxed) }

    func end() { word.wrappingSubtract(1, ordering: .relaxed) }

    /// - Parameter limit: the connections to the server that are allowed.
    /// - Returns: whether the caller may run the exchange itself. If so, it must call `leaveDirect` afterwards.
    func enterDirect(limit: Int) -> Bool {
        guard limit >= Self.leastLimit else { return false }
        var seen = word.load(ordering: .relaxed)
        while true {
            let direct = Int(seen >> 32)
            let network = Int(truncatingIfNeeded: seen & (Self.oneDirect - 1))
            guard direct < Self.maximumDirect, network + direct < limit else { return false }
            let (exchanged, original) = word.weakCompareExchange(
                expected: seen, desired: seen + Self.oneDirect, ordering: .acquiringAndReleasing)
            if exchanged { return true }
            seen = original
        }
    }

    func leaveDirect() { word.wrappingSubtract(Self.oneDirect, ordering: .releasing) }
}

/// How many of the connections to a server one network thread may open.
struct ConnectionShare {
    let index: Int
    let count: Int

    static let whole = ConnectionShare(index: 0, count: 1)

    /// At least 1. A thread whose part would be 0 gets no exchange with that limit.
    func part(of limit: Int) -> Int { max(1, limit / count + (index < limit % count ? 1 : 0)) }
}
