/// A network thread, and with it connections and handles, of which other clients get nothing, as long as this exists.
///
/// libcurl uses a connection again for whatever it takes to be the same. What it does not look at must be kept apart.
final class OwnConnections: Sendable {
    let identity: ConnectionIdentity
    /// How many there may be to all servers together; nil is no limit.
    let maximum: Int?
    /// Whether they are one client's alone, because it limits their number.
    let isOfOne: Bool
    // One mutex for all, because a forked child goes on using it.
    private let slot: Lock<(generation: Int, thread: NetworkThread)?>
    /// The same client's as somebody else, whom a challenge was answered with.
    private let others: Lock<[ConnectionIdentity: OwnConnections]>

    init(_ identity: ConnectionIdentity, maximum: Int?, isOfOne: Bool = true) {
        self.identity = identity
        self.maximum = maximum
        self.isOfOne = isOfOne
        slot = Lock(nil, sharing: .clients)
        others = Lock([:], sharing: .clients)
    }

    /// The thread, started when it is asked for. It ends with this object, and so do its connections.
    func thread(_ make: () -> NetworkThread) -> NetworkThread {
        let generation = Fork.generation
        if let known = slot.withLock({ $0 }), known.generation == generation { return known.thread }
        let made = make()
        return slot.withLock { slot in
            if let known = slot, known.generation == generation { return known.thread }
            // The parent's thread does not exist in a forked child: to free it would be to touch it.
            if let inherited = slot { _ = Unmanaged.passRetained(inherited.thread) }
            slot = (generation, made)
            return made
        }
    }

    /// Those that the same requests open as somebody else: with the same limit, if this has one.
    func opened(as other: ConnectionIdentity) -> OwnConnections {
        guard isOfOne else { return .of(other) }
        return others.withLock { others in
            if let known = others[other] { return known }
            let made = OwnConnections(other, maximum: maximum)
            others[other] = made
            return made
        }
    }

    // MARK: Shared by identity

    private struct Reference {
        weak var connections: OwnConnections?
    }

    private static let known = Lock<[ConnectionIdentity: Reference]>([:], survivesFork: true)

    /// Those of everyone with this identity, so that a hundred clients with one certificate need one thread.
    static func of(_ identity: ConnectionIdentity) -> OwnConnections {
        known.withLock { known in
            if let alive = known[identity]?.connections { return alive }
            known = known.filter { $0.value.connections != nil }
            let made = OwnConnections(identity, maximum: nil, isOfOne: false)
            known[identity] = Reference(connections: made)
            return made
        }
    }
}
