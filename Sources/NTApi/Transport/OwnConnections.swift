/// Connections of which other clients get nothing: a session's, or those of everyone who identifies himself in the same way.
///
/// libcurl uses a connection again for whatever it takes to be the same. What it does not look at must be kept apart.
final class OwnConnections: Sendable {
    let identity: ConnectionIdentity
    /// How many there may be to all servers together; nil is no limit.
    let maximum: Int?
    /// Whether they are one client's alone. They are closed with it.
    let isOfOne: Bool

    private struct State {
        /// Nil before the first request.
        var network: OwnNetwork?
        /// The same client's as somebody else, whom a challenge was answered with.
        var others: [ConnectionIdentity: OwnConnections] = [:]
        var isClosed = false
    }

    // One mutex for all, because a forked child goes on using it.
    private let state: Lock<State>

    init(_ identity: ConnectionIdentity, maximum: Int?, isOfOne: Bool = true) {
        self.identity = identity
        self.maximum = maximum
        self.isOfOne = isOfOne
        state = Lock(State(), sharing: .clients)
    }

    // Never under a lock: this takes one, and closes connections.
    deinit {
        guard let network = state.withLock({ $0.network.take() }) else { return }
        if network.isOfThisProcess { network.requestStop() } else { network.leak() }
    }

    /// What makes the exchanges, made when it is asked for. It ends with this object.
    func network(_ make: () -> OwnNetwork) -> OwnNetwork {
        if let known = state.withLock({ $0.network }), known.isOfThisProcess { return known }
        let made = make()
        let (network, isClosed) = state.withLock { state in
            if let known = state.network, known.isOfThisProcess { return (known, false) }
            // The parent's threads do not exist in a forked child: to free them would be to touch them.
            state.network?.leak()
            state.network = made
            return (made, state.isClosed)
        }
        // Too late: what is begun on it ends as cancelled.
        if isClosed { network.requestStop() }
        return network
    }

    /// Closes all of them, when the client's last request is over. Waits for the thread that does it.
    func close() {
        let (network, others) = state.withLock { state in
            state.isClosed = true
            return (state.network, state.others.values.map { $0 })
        }
        for other in others { other.close() }
        if let network, network.isOfThisProcess { network.stop() }
    }

    /// Those that the same requests open as somebody else: with the same limit, if this has one.
    func opened(as other: ConnectionIdentity) -> OwnConnections {
        guard isOfOne else { return .of(other) }
        let made = OwnConnections(other, maximum: maximum)
        return state.withLock { state in
            if let known = state.others[other] { return known }
            state.others[other] = made
            return made
        }
    }

    // MARK: Shared by identity

    private struct Reference {
        weak var connections: OwnConnections?
    }

    private static let known = Lock<[ConnectionIdentity: Reference]>([:], survivesFork: true)

    /// Those of everyone with this identity who has no configuration, so that a hundred clients with one certificate need
    /// one thread.
    static func of(_ identity: ConnectionIdentity) -> OwnConnections {
        // Whose last other reference goes meanwhile ends here, and not under the lock.
        let (found, seen) = known.withLock { known -> (OwnConnections, [OwnConnections]) in
            if let alive = known[identity]?.connections { return (alive, []) }
            let seen = known.compactMapValues(\.connections)
            known = known.filter { seen[$0.key] != nil }
            let made = OwnConnections(identity, maximum: nil, isOfOne: false)
            known[identity] = Reference(connections: made)
            return (made, Array(seen.values))
        }
        return withExtendedLifetime(seen) { found }
    }
}
