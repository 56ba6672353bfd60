/// Connections that are not shared with all clients: those of a session, or of all clients with the same identity.
///
/// libcurl reuses a connection if the settings that it compares are equal. Settings that it does not compare need
/// separate connections.
final class OwnConnections: Sendable {
    let identity: ConnectionIdentity
    /// The limit for all servers together; nil for none.
    let maximum: Int?
    /// Whether they belong to one client, and are closed with it.
    let isOfOne: Bool

    private struct State {
        /// Nil before the first request.
        var network: OwnNetwork?
        /// The same client's connections with other identities, for answers to challenges.
        var others: [ConnectionIdentity: OwnConnections] = [:]
        var isClosed = false
    }

    // One mutex for all, because a forked child continues to use it.
    private let state: Lock<State>

    init(_ identity: ConnectionIdentity, maximum: Int?, isOfOne: Bool = true) {
        self.identity = identity
        self.maximum = maximum
        self.isOfOne = isOfOne
        state = Lock(State(), sharing: .clients)
    }

    // Must not run under a lock: it takes one, and closes connections.
    deinit {
        guard let network = state.withLock({ $0.network.take() }) else { return }
        if network.isOfThisProcess { network.requestStop() } else { network.leak() }
    }

    /// The network for the exchanges, made on first use. It ends with this object.
    func network(_ make: () -> OwnNetwork) -> OwnNetwork {
        if let known = state.withLock({ $0.network }), known.isOfThisProcess { return known }
        let made = make()
        let (network, isClosed) = state.withLock { state in
            if let known = state.network, known.isOfThisProcess { return (known, false) }
            // The parent's threads do not exist in a forked child, so its network is leaked, not freed.
            state.network?.leak()
            state.network = made
            return (made, state.isClosed)
        }
        // Already closed: new exchanges end as cancelled.
        if isClosed { network.requestStop() }
        return network
    }

    /// Closes all of them when the client's last request is over. Waits for the thread that closes them.
    func close() {
        let (network, others) = state.withLock { state in
            state.isClosed = true
            return (state.network, state.others.values.map { $0 })
        }
        for other in others { other.close() }
        if let network, network.isOfThisProcess { network.stop() }
    }

    /// The connections for another identity of the same client, with the same limit if there is one.
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

    /// The shared connections of all clients with this identity and without a configuration, so that a hundred clients
    /// with one certificate need one thread.
    static func of(_ identity: ConnectionIdentity) -> OwnConnections {
        // Another thread may release the last other reference meanwhile. Then the object is freed here, outside of the
        // lock.
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
