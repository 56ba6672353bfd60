/// Decides which exchanges may be on the network and which wait: a queue for each server, by priority and then in
/// order.
///
/// Exchanges with different connection limits have separate queues to the same server, and are counted separately. A
/// low-limit exchange would otherwise wait until every high-limit one had finished, and block all others behind it.
///
/// libcurl's own queue is not used: a handle that waits inside libcurl has its clocks running, and a thousand waiting
/// handles slow down all others. This type only decides: the engine's loop asks it what to start.
struct HostQueue<Element> {
    fileprivate struct Waiting {
        var element: Element
        var sharesConnections: Bool
        /// Grows with each enqueued exchange, for any server.
        var number: UInt64
    }

    fileprivate struct Key: Hashable {
        let origin: Origin
        /// The connections to the server that may be open at once.
        let limit: Int
    }

    fileprivate final class Host {
        let key: Key
        @exclusivity(unchecked) fileprivate var state: State
        fileprivate let changes: Changes

        init(_ key: Key, _ changes: Changes, connectionAge: Double) {
            self.key = key
            self.changes = changes
            state = State(connections: HostConnections(maximumAge: connectionAge))
        }
    }

    fileprivate struct State: ~Copyable {
        var running = 0
        var waiting = IndexedHeap<Double, Waiting>()
        /// Whether the host is in `candidates`.
        var isCandidate = false
        var connections: HostConnections
        /// How many connections it may have now. Only counted with a limit for all servers.
        var inUse = 0
    }

    /// Hosts with a newly connected exchange, so that there may be room for others. Noted during libcurl's callbacks.
    fileprivate final class Changes {
        @exclusivity(unchecked) var state = ChangesState()
    }

    fileprivate struct ChangesState {
        var hosts: [Host] = []
        /// Whether changes matter even when nobody waits at the host.
        var isWanted = false
    }

    /// Identifies an enqueued exchange until it is removed.
    struct Ticket {
        fileprivate let host: Host
        fileprivate let token: IndexedHeap<Double, Waiting>.Token
    }

    private var hosts: [Key: Host] = [:]
    /// The last host that became unused, kept for the next request of a sequence.
    private var unused: Host?
    /// Hosts that changed, so that an exchange may be able to start.
    private var candidates: [Host] = []
    private let changes = Changes()
    private let connectionAge: Double
    /// The limit of connections to all servers together; nil for none.
    private let total: Int?
    /// The connections that may be open now.
    private var inUse = 0
    private var lastNumber: UInt64 = 0

    init(total: Int? = nil, connectionAge: Double = HostConnections.maximumAge) {
        self.total = total
        self.connectionAge = connectionAge
        changes.state.isWanted = total != nil
    }

    /// The number of waiting and running exchanges.
    var count: Int { hosts.values.reduce(0) { $0 + $1.state.running + $1.state.waiting.count } }
    /// The number of hosts that are kept, once for each limit, without the unused one.
    var hostCount: Int { hosts.count - (unused == nil ? 0 : 1) }

    /// Enqueues an exchange.
    ///
    /// - Parameters:
    ///   - limit: how many connections to this server the exchanges with this limit may have open at once; at least 1.
    ///   - sharesConnections: whether it can share a connection.
    ///   - again: whether it was started before. It then goes before others of its priority.
    mutating func enqueue(
        _ element: Element, to origin: Origin, priority: Double, limit: Int, sharesConnections: Bool = false,
        again: Bool = false
    ) -> Ticket {
        let key = Key(origin: origin, limit: max(limit, 1))
        let host: Host
        if let known = hosts[key] {
            host = known
            if known === unused {
                unused = nil
                known.state.connections = HostConnections(maximumAge: connectionAge)
            }
        } else {
            host = Host(key, changes, connectionAge: connectionAge)
            hosts[key] = host
        }
        // The smallest key comes first, hence the sign. NaN would break the heap's order.
        let order = priority.isNaN ? 0 : -priority
        lastNumber &+= 1
        let waiting = Waiting(element: element, sharesConnections: sharesConnections, number: lastNumber)
        let token = host.state.waiting.insert(waiting, key: again ? order.nextDown : order)
        reconsider(host)
        return Ticket(host: host, token: token)
    }

    /// Takes the next exchange that may start; it then runs until `remove`. Nil when all others must wait.
    ///
    /// - Parameter reserved: the connections to each server that others use.
    mutating func startNext(reserved: Int = 0) -> Element? {
        if !changes.state.hosts.isEmpty { reconsiderChanged() }
        while let host = candidates.last {
            if let total {
                guard inUse + reserved < total else { return startShared(reserved: reserved) }
                if candidates.count > 1 { return startFirst(reserved: reserved) }
            }
            if let next = ready(host, reserved) { return start(next, to: host) }
            candidates.removeLast()
            host.state.isCandidate = false
            forgetIfUnused(host)
        }
        return nil
    }

    /// Takes the exchange that has waited longest, of those with the highest priority at any server. Servers only
    /// compete when there is a limit for all of them.
    private mutating func startFirst(reserved: Int) -> Element? {
        let isReady = candidates.map { ready($0, reserved) != nil }
        for (host, isReady) in zip(candidates, isReady) where !isReady { host.state.isCandidate = false }
        let passed = candidates.filter { !$0.state.isCandidate }
        candidates.removeAll { !$0.state.isCandidate }
        for host in passed { forgetIfUnused(host) }
        let first = candidates.min { left, right in
            guard let one = left.state.waiting.first, let other = right.state.waiting.first else { return false }
            return one.key == other.key ? one.element.number < other.element.number : one.key < other.key
        }
        return first.flatMap { host in ready(host, reserved).map { start($0, to: host) } }
    }

    /// The exchange that may start at a server now.
    private func ready(_ host: Host, _ reserved: Int) -> Waiting? {
        host.state.waiting.first.map(\.element).flatMap { next in
            let limit = max(1, host.key.limit - reserved)
            let mayStart = host.state.connections.mayStart(
                running: host.state.running, limit: limit, shares: next.sharesConnections)
            return mayStart ? next : nil
        }
    }

    /// Takes an exchange that can share a connection, when no more may be opened.
    private mutating func startShared(reserved: Int) -> Element? {
        for host in candidates {
            guard let next = ready(host, reserved), next.sharesConnections,
                host.state.connections.hasRoom(running: host.state.running)
            else { continue }
            return start(next, to: host)
        }
        return nil
    }

    private mutating func start(_ waiting: Waiting, to host: Host) -> Element {
        _ = host.state.waiting.popFirst()
        host.state.running += 1
        recount(host)
        return waiting.element
    }

    /// Removes a waiting or running exchange, so that the next one may start. Call it once for each ticket.
    mutating func remove(_ ticket: Ticket) {
        if ticket.host.state.waiting.remove(ticket.token) == nil {
            ticket.host.state.running -= 1
            recount(ticket.host)
        }
        reconsider(ticket.host)
    }

    private mutating func reconsider(_ host: Host) {
        guard !host.state.isCandidate else { return }
        if host.state.waiting.isEmpty { return forgetIfUnused(host) }
        host.state.isCandidate = true
        candidates.append(host)
    }

    private mutating func reconsiderChanged() {
        for host in changes.state.hosts {
            recount(host)
            if !host.state.waiting.isEmpty { reconsider(host) }
        }
        changes.state.hosts.removeAll(keepingCapacity: true)
    }

    private mutating func recount(_ host: Host) {
        guard total != nil else { return }
        let needed = host.state.connections.needed(running: host.state.running)
        inUse += needed - host.state.inUse
        host.state.inUse = needed
    }

    /// Forgets unused hosts except the last one: a crawler sees millions.
    private mutating func forgetIfUnused(_ host: Host) {
        guard host.state.running == 0, host.state.waiting.isEmpty, host !== unused else { return }
        if let unused { hosts[unused.key] = nil }
        unused = host
    }
}

/// What a running exchange reports about its connection. May be called in libcurl's callbacks.
extension HostQueue.Ticket {
    /// - Returns: whether it may open one more connection.
    func mayOpen(_ seat: inout HostConnections.Seat, limit: Int, shares: Bool) -> Bool {
        host.state.connections.mayOpen(&seat, limit: limit, shares: shares)
    }

    func join(_ seat: inout HostConnections.Seat, _ ends: ConnectionEnds, shares: Bool, _ now: MonotonicTime) {
        host.state.connections.join(&seat, ends, shares: shares, now)
        if !host.state.waiting.isEmpty || host.changes.state.isWanted { host.changes.state.hosts.append(host) }
    }

    func lose(_ seat: inout HostConnections.Seat) { host.state.connections.lose(&seat) }

    func leave(_ seat: inout HostConnections.Seat) { host.state.connections.leave(&seat) }

    /// No further exchange uses this one's connection: the server has sent GOAWAY.
    func leaveConnection(of seat: HostConnections.Seat) {
        if let connection = seat.connection { host.state.connections.leave(connection) }
    }

    /// The same for a connection that libcurl would still use.
    func replaceConnection(of seat: HostConnections.Seat) {
        if let connection = seat.connection { host.state.connections.replace(connection) }
    }

    /// See `HostConnections.pool`.
    var pool: Int { host.state.connections.pool }

    func hear(httpVersion: Double) { host.state.connections.hear(httpVersion: httpVersion) }
}
