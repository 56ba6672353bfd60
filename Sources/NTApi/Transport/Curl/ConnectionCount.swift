import Synchronization

/// How many exchanges the network threads have, and how many callers drive one of their own meanwhile.
///
/// Both use connections to the same servers, and no more of them than allowed may be open at once. A caller goes its own
/// way only when all that is under way, to whatever server, leaves room for it; the network threads then leave it that
/// room. Counted in one word, so that of two who see the last place only one gets it.
final class ConnectionCount: Sendable {
    /// Callers' own connections at once; more would only fight for the processor.
    static let maximumDirect = 8
    /// Below this limit every connection is the network threads': there is no room to share.
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

    /// At least 1: a thread that would get none is given no exchange of that limit.
    func part(of limit: Int) -> Int { max(1, limit / count + (index < limit % count ? 1 : 0)) }
}
