/// Servers at which a request timed out. Connections that were opened before are not trusted.
///
/// A pure value. One request opens a new connection, and older idle ones are not used again.
struct SuspectConnections {
    /// The maximum age of any connection, in seconds.
    private static let memory = 600.0

    private struct Suspicion {
        var since: MonotonicTime
        var needsConnection = true
    }

    private var suspicions: [Origin: Suspicion] = [:]

    mutating func add(_ origin: Origin, _ now: MonotonicTime) {
        if suspicions.count >= 1024 {
            suspicions = suspicions.filter { now.seconds(since: $0.value.since) < Self.memory }
        }
        suspicions[origin] = Suspicion(since: now)
    }

    /// What a request that starts now must ask for; nil for nothing.
    mutating func freshness(for origin: Origin, _ now: MonotonicTime) -> Freshness? {
        guard let suspicion = suspicions[origin] else { return nil }
        let age = now.seconds(since: suspicion.since)
        guard age < Self.memory else {
            suspicions[origin] = nil
            return nil
        }
        suspicions[origin]?.needsConnection = false
        return Freshness(opensConnection: suspicion.needsConnection, maximumAge: max(1, Int(age)))
    }
}
