/// Which exchanges may be on the network and which wait: a queue for each server, by priority and then in order.
///
/// Ours and not libcurl's, because a handle that waits inside libcurl has its clocks running, and a thousand waiting
/// handles slow down every other. It decides and does nothing: the engine's loop asks it what to start.
struct HostQueue<Element> {
    fileprivate struct Waiting {
        var element: Element
        var limit: Int
        /// Grows with each that was enqueued, to whatever server.
        var number: UInt64
    }

    fileprivate final class Host {
        let origin: Origin
        var running = 0
        fileprivate var waiting = IndexedHeap<Double, Waiting>()
        /// Whether the host is in `candidates`.
        var isCandidate = false

        init(_ origin: Origin) { self.origin = origin }
    }

    /// Names what was enqueued, until it is removed.
    struct Ticket {
        fileprivate let host: Host
        fileprivate let token: IndexedHeap<Double, Waiting>.Token
    }

    private var hosts: [Origin: Host] = [:]
    /// Hosts at which something changed, so that an exchange may be ready.
    private var candidates: [Host] = []
    /// How many may run to all servers together; nil is no limit.
    private let total: Int?
    private var running = 0
    private var lastNumber: UInt64 = 0

    init(total: Int? = nil) { self.total = total }

    /// How many exchanges wait or run.
    var count: Int { hosts.values.reduce(0) { $0 + $1.running + $1.waiting.count } }
    /// How many servers are remembered.
    var hostCount: Int { hosts.count }

    /// Lets an exchange wait for its turn.
    ///
    /// - Parameter limit: how many may run to this server at once while this one starts; at least 1.
    mutating func enqueue(_ element: Element, to origin: Origin, priority: Double, limit: Int) -> Ticket {
        let host: Host
        if let known = hosts[origin] {
            host = known
        } else {
            host = Host(origin)
            hosts[origin] = host
        }
        // The least key comes first, hence the sign. What cannot be compared would break the heap's order.
        let order = priority.isNaN ? 0 : -priority
        lastNumber &+= 1
        let waiting = Waiting(element: element, limit: max(limit, 1), number: lastNumber)
        let token = host.waiting.insert(waiting, key: order)
        reconsider(host)
        return Ticket(host: host, token: token)
    }

    /// Takes the next exchange that may start; it then runs until `remove`. Nil when all others must wait.
    ///
    /// - Parameter reserved: how many connections to each server others use.
    mutating func startNext(reserved: Int = 0) -> Element? {
        while let host = candidates.last {
            if let total {
                guard running < total else { return nil }
                if candidates.count > 1 { return startFirst(reserved: reserved) }
            }
            if let next = ready(host, reserved) { return start(next, to: host) }
            candidates.removeLast()
            host.isCandidate = false
            forgetIfUnused(host)
        }
        return nil
    }

    /// The one that has waited longest at any server, of those with the highest priority. Servers compete for a place only
    /// where there is a limit for all of them.
    private mutating func startFirst(reserved: Int) -> Element? {
        let isReady = candidates.map { ready($0, reserved) != nil }
        for (host, isReady) in zip(candidates, isReady) where !isReady { host.isCandidate = false }
        let passed = candidates.filter { !$0.isCandidate }
        candidates.removeAll { !$0.isCandidate }
        for host in passed { forgetIfUnused(host) }
        let first = candidates.min { left, right in
            guard let one = left.waiting.first, let other = right.waiting.first else { return false }
            return one.key == other.key ? one.element.number < other.element.number : one.key < other.key
        }
        return first.flatMap { host in ready(host, reserved).map { start($0, to: host) } }
    }

    /// What may start at a server now.
    private func ready(_ host: Host, _ reserved: Int) -> Waiting? {
        host.waiting.first.map(\.element).flatMap { host.running < max(1, $0.limit - reserved) ? $0 : nil }
    }

    private mutating func start(_ waiting: Waiting, to host: Host) -> Element {
        _ = host.waiting.popFirst()
        host.running += 1
        running += 1
        return waiting.element
    }

    /// Forgets an exchange, whether it waits or runs; the one that waited behind it may be next. Once for each ticket.
    mutating func remove(_ ticket: Ticket) {
        if ticket.host.waiting.remove(ticket.token) == nil {
            ticket.host.running -= 1
            running -= 1
        }
        reconsider(ticket.host)
    }

    private mutating func reconsider(_ host: Host) {
        guard !host.isCandidate else { return }
        if host.waiting.isEmpty { return forgetIfUnused(host) }
        host.isCandidate = true
        candidates.append(host)
    }

    /// Nothing is kept of a host that nobody talks to: a crawler sees millions.
    private mutating func forgetIfUnused(_ host: Host) {
        if host.running == 0, host.waiting.isEmpty { hosts[host.origin] = nil }
    }
}
