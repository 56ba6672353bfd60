/// Which exchanges may be on the network and which wait: a queue for each server, by priority and then in order.
///
/// Ours and not libcurl's, because a handle that waits inside libcurl has its clocks running, and a thousand waiting
/// handles slow down every other. A pure value: the engine's loop asks it what to start.
struct HostQueue {
    /// A server: what connections can be shared between.
    struct Key: Hashable, Sendable {
        var scheme: String
        var host: String
        var port: Int
    }

    private struct Waiting {
        var id: Exchange.ID
        var limit: Int
    }

    private struct Host {
        var running = 0
        var waiting = IndexedHeap<Double, Waiting>()
        /// Whether the host is in `candidates`.
        var isCandidate = false
    }

    private enum Place {
        case waiting(Key, IndexedHeap<Double, Waiting>.Token)
        case running(Key)
    }

    private var hosts: [Key: Host] = [:]
    private var places: [Exchange.ID: Place] = [:]
    /// Hosts at which something changed, so that an exchange may be ready.
    private var candidates: [Key] = []

    /// How many exchanges wait or run.
    var count: Int { places.count }
    /// How many servers are remembered.
    var hostCount: Int { hosts.count }

    /// Lets an exchange wait for its turn.
    ///
    /// - Parameter limit: how many may run to this server at once while this one starts; at least 1.
    mutating func enqueue(_ id: Exchange.ID, to key: Key, priority: Double, limit: Int) {
        guard places[id] == nil else { return }
        // The least key comes first, hence the sign. What cannot be compared would break the heap's order.
        let order = priority.isNaN ? 0 : -priority
        let token = hosts[key, default: Host()].waiting.insert(Waiting(id: id, limit: max(limit, 1)), key: order)
        places[id] = .waiting(key, token)
        reconsider(key)
    }

    /// Takes the next exchange that may start; it then runs until `remove`. Nil when all others must wait.
    mutating func startNext() -> Exchange.ID? {
        while let key = candidates.last {
            if let next = hosts[key]?.waiting.first?.element, let running = hosts[key]?.running, running < next.limit {
                _ = hosts[key]?.waiting.popFirst()
                hosts[key]?.running += 1
                places[next.id] = .running(key)
                return next.id
            }
            candidates.removeLast()
            hosts[key]?.isCandidate = false
            if let host = hosts[key], host.running == 0, host.waiting.isEmpty { hosts[key] = nil }
        }
        return nil
    }

    /// Forgets an exchange, wherever it is; the one that waited behind it may be next.
    mutating func remove(_ id: Exchange.ID) {
        switch places.removeValue(forKey: id) {
        case .waiting(let key, let token):
            hosts[key]?.waiting.remove(token)
            reconsider(key)
        case .running(let key):
            hosts[key]?.running -= 1
            reconsider(key)
        case nil: break
        }
    }

    private mutating func reconsider(_ key: Key) {
        guard let host = hosts[key] else { return }
        if host.waiting.isEmpty {
            // Nothing is kept of a host that nobody talks to: a crawler sees millions.
            if host.running == 0, !host.isCandidate { hosts[key] = nil }
        } else if !host.isCandidate {
            hosts[key]?.isCandidate = true
            candidates.append(key)
        }
    }
}
