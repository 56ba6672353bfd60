import Synchronization

/// The network: every exchange of the process over libcurl.
///
/// One thread of its own, or as many as the default `networkThreads` says, and the threads of callers that wait for
/// their answer anyway. After a fork the child makes a new engine; the inherited one is never touched again.
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
    }

    /// - Parameters:
    ///   - connectionAge: seconds after which a connection that is always in use gets no more requests.
    ///   - ownIdleTime: seconds after which an idle thread of a client's own connections ends.
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

    /// The thread for a request: the client's own, or one of those for all, in turns.
    func transport(for settings: TransferSettings) -> NetworkThread {
        if let own = settings.context?.connections { return network(of: own).thread }
        return transport(connectionLimit: settings.maximumConnectionsPerHost)
    }

    /// - Parameter limit: how many connections to a server are allowed. No more threads than that can share them.
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
            // Not each time: thousands of sessions would count each other.
            if own.networks.count.nonzeroBitCount == 1 { own.networks.removeAll { $0.network == nil } }
            own.networks.append(Reference(network: network))
            return own.isStopped
        }
        // The engine has stopped: what is begun here ends as cancelled.
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

    /// Runs a job on a worker at a given time, or when the engine stops.
    @discardableResult func schedule(at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void) -> EngineTimer {
        let timer = EngineTimer(at: moment, job)
        threads[0].schedule(timer)
        return timer
    }

    /// Cancels a job, unless its time has come.
    func cancel(_ timer: EngineTimer) { threads[0].cancel(timer) }

    /// Ends every exchange as cancelled, and the threads. For process exit; may be called again.
    ///
    /// - Parameter timeout: how many seconds to wait for the threads. A caller's body stream that is being read can hold up the
    ///   end of its exchange for no longer than that.
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

/// Makes the exchanges of a client with its own connections: on a network thread, which the first exchange starts, and on the
/// threads of callers that wait for their answer.
final class OwnNetwork: Sendable {
    let thread: NetworkThread
    /// Nil where the connections to all servers are limited: one loop has to count them all.
    let direct: DirectLoops?
    private let generation = Fork.generation

    init(thread: NetworkThread, direct: DirectLoops?) {
        self.thread = thread
        self.direct = direct
    }

    var isOfThisProcess: Bool { generation == Fork.generation }

    /// Ends every exchange as cancelled, and closes every connection. Does not wait.
    func requestStop() { _ = requestStop(until: .now()) }

    /// - Parameter deadline: until when body streams may be read on.
    /// - Returns: whether there is a thread to wait for.
    func requestStop(until deadline: MonotonicTime) -> Bool {
        direct?.stop()
        return thread.requestStop(until: deadline)
    }

    /// The same, and waits until the connections are closed.
    func stop() {
        if requestStop(until: .now()) { _ = thread.wait(until: .now().advanced(bySeconds: 1)) }
    }

    /// Keeps it for ever: in a forked child, where it is the parent's.
    func leak() { _ = Unmanaged.passRetained(self) }
}

/// How many exchanges the network threads have, and how many callers drive one of their own meanwhile.
///
/// Both use connections to the same servers, and together they must keep to the limit. A caller drives its own exchange only
/// when all running exchanges, to whatever server, leave room for it; the network threads then leave it that room. One
/// atomic word has both counts, so that only one of two callers gets the last place.
final class ConnectionCount: Sendable {
    /// More callers at once would only compete for the processor.
    static let maximumDirect = 8
    /// Below this limit the network threads get every connection.
    private static let leastLimit = 16

    private static let oneDirect: UInt64 = 1 << 32
    private let word = Atomic<UInt64>(0)

    /// How many callers drive an exchange of their own.
    var direct: Int { Int(word.load(ordering: .acquiring) >> 32) }

    /// An exchange goes to a network thread.
    func begin() { word.wrappingAdd(1, ordering: .relaxed) }

    func end() { word.wrappingSubtract(1, ordering: .relaxed) }

    /// - Parameter limit: the connections to the server that are allowed.
    /// - Returns: whether the caller may drive an exchange itself; `leaveDirect` follows then.
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

/// One network thread's part of the connections that are allowed to a server.
struct ConnectionShare {
    let index: Int
    let count: Int

    static let whole = ConnectionShare(index: 0, count: 1)

    /// At least 1: a thread whose part would be 0 is given no exchange with that limit.
    func part(of limit: Int) -> Int { max(1, limit / count + (index < limit % count ? 1 : 0)) }
}
