/// Which exchanges may be on the network and which wait: a queue for each server, by priority and then in order.
///
/// Ours and not libcurl's, because a handle that waits inside libcurl has its clocks running, and a thousand waiting
/// handles slow down every other. It decides and does nothing: the engine's loop asks it what to start.
struct HostQueue<Element> {
    fileprivate struct Waiting {
        var element: Element
        var limit: Int
        var sharesConnections: Bool
    }

    fileprivate final class Host {
        let origin: Origin
        var running = 0
        fileprivate var waiting = IndexedHeap<Double, Waiting>()
        /// Whether the host is in `candidates`.
        var isCandidate = false
        var connections: HostConnections
        fileprivate let changes: Changes

        init(_ origin: Origin, _ changes: Changes, connectionAge: Double) {
            self.origin = origin
            self.changes = changes
            connections = HostConnections(maximumAge: connectionAge)
        }
    }

    /// Hosts at which an exchange was connected, so that there may be room for others. Noted from inside libcurl's calls.
    fileprivate final class Changes {
        var hosts: [Host] = []
    }

    /// Names what was enqueued, until it is removed.
    struct Ticket {
        fileprivate let host: Host
        fileprivate let token: IndexedHeap<Double, Waiting>.Token
    }

    private var hosts: [Origin: Host] = [:]
    /// Hosts at which something changed, so that an exchange may be ready.
    private var candidates: [Host] = []
    private let changes = Changes()
    private let connectionAge: Double

    init(connectionAge: Double = HostConnections.maximumAge) { self.connectionAge = connectionAge }

    /// How many exchanges wait or run.
    var count: Int { hosts.values.reduce(0) { $0 + $1.running + $1.waiting.count } }
    /// How many servers are remembered.
    var hostCount: Int { hosts.count }

    /// Lets an exchange wait for its turn.
    ///
    /// - Parameters:
    ///   - limit: how many connections to this server may be open at once while this one starts; at least 1.
    ///   - sharesConnections: whether it may do with a part of a connection.
    ///   - again: whether it had its turn before: then it goes before others of its priority.
    mutating func enqueue(
        _ element: Element, to origin: Origin, priority: Double, limit: Int, sharesConnections: Bool = false,
        again: Bool = false
    ) -> Ticket {
        let host: Host
        if let known = hosts[origin] {
            host = known
        } else {
            host = Host(origin, changes, connectionAge: connectionAge)
            hosts[origin] = host
        }
        // The least key comes first, hence the sign. What cannot be compared would break the heap's order.
        let order = priority.isNaN ? 0 : -priority
        let waiting = Waiting(element: element, limit: max(limit, 1), sharesConnections: sharesConnections)
        let token = host.waiting.insert(waiting, key: again ? order.nextDown : order)
        reconsider(host)
        return Ticket(host: host, token: token)
    }

    /// Takes the next exchange that may start; it then runs until `remove`. Nil when all others must wait.
    ///
    /// - Parameter reserved: how many connections to each server others use.
    mutating func startNext(reserved: Int = 0) -> Element? {
        if !changes.hosts.isEmpty { reconsiderChanged() }
        while let host = candidates.last {
            if let next = host.waiting.first?.element, mayStart(next, to: host, reserved) {
                _ = host.waiting.popFirst()
                host.running += 1
                return next.element
            }
            candidates.removeLast()
            host.isCandidate = false
            forgetIfUnused(host)
        }
        return nil
    }

    private func mayStart(_ next: Waiting, to host: Host, _ reserved: Int) -> Bool {
        let limit = max(1, next.limit - reserved)
        return host.connections.mayStart(running: host.running, limit: limit, shares: next.sharesConnections)
    }

    /// Forgets an exchange, whether it waits or runs; the one that waited behind it may be next. Once for each ticket.
    mutating func remove(_ ticket: Ticket) {
        if ticket.host.waiting.remove(ticket.token) == nil { ticket.host.running -= 1 }
        reconsider(ticket.host)
    }

    private mutating func reconsider(_ host: Host) {
        guard !host.isCandidate else { return }
        if host.waiting.isEmpty { return forgetIfUnused(host) }
        host.isCandidate = true
        candidates.append(host)
    }

    private mutating func reconsiderChanged() {
        for host in changes.hosts where !host.waiting.isEmpty { reconsider(host) }
        changes.hosts.removeAll(keepingCapacity: true)
    }

    /// Nothing is kept of a host that nobody talks to: a crawler sees millions.
    private mutating func forgetIfUnused(_ host: Host) {
        if host.running == 0, host.waiting.isEmpty { hosts[host.origin] = nil }
    }
}

/// What an exchange that runs says of its connection. May be called while libcurl calls back.
extension HostQueue.Ticket {
    /// - Returns: whether it may open one more connection.
    func mayOpen(_ seat: inout HostConnections.Seat, limit: Int, shares: Bool) -> Bool {
        host.connections.mayOpen(&seat, limit: limit, shares: shares)
    }

    func join(_ seat: inout HostConnections.Seat, port: Int, _ now: MonotonicTime) {
        host.connections.join(&seat, port: port, now)
        if !host.waiting.isEmpty { host.changes.hosts.append(host) }
    }

    func lose(_ seat: inout HostConnections.Seat) { host.connections.lose(&seat) }

    func leave(_ seat: inout HostConnections.Seat) { host.connections.leave(&seat) }

    /// Nothing more goes over the connection that the exchange uses: the server has said good-bye.
    func leaveConnection(of seat: HostConnections.Seat) {
        if let connection = seat.connection { host.connections.leave(connection) }
    }

    /// The same, of a connection that libcurl would use.
    func replaceConnection(of seat: HostConnections.Seat) {
        if let connection = seat.connection { host.connections.replace(connection) }
    }

    /// See `HostConnections.generation`.
    var generation: UInt8 { host.connections.generation }

    func hear(httpVersion: Double) { host.connections.hear(httpVersion: httpVersion) }
}
