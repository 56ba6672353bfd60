import CCurl

/// The curl multi handles of a loop. Each is a separate pool of connections. Nearly always there is only the first.
///
/// libcurl cannot be told not to use a certain connection. So exchanges that must not use the connections of others go
/// to another pool: see `number`.
final class ConnectionPools {
    private let first: CurlMulti
    /// The other pools; pool 1 is at index 0. Nil for a pool that does not exist.
    @exclusivity(unchecked) private var others: [CurlMulti?] = []
    /// The pool number of each socket. Sockets beyond the end belong to the first pool, so the array stays empty if
    /// there is only one.
    @exclusivity(unchecked) private var owners: [UInt8] = []
    private let poller: SystemPoller
    private let limit: Int?

    /// Fails when libcurl cannot be set up.
    ///
    /// - Parameter limit: the most connections of each pool, including idle ones; nil for no limit.
    init?(poller: SystemPoller, limit: Int?) {
        guard let first = CurlMulti(poller: poller, number: 0) else { return nil }
        self.first = first
        self.poller = poller
        self.limit = limit
        first.state.pools = self
        if let limit { first.limitConnections(to: limit) }
    }

    /// libcurl before 8.5 sends a request that may use HTTP/2 over a busy HTTP/1.1 connection to the same server, and
    /// mixes up the answers (curl pull request 12373).
    private static let mixesVersions = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_05_00
    /// The pool for TLS exchanges that may not use HTTP/2, where libcurl would mix them up with those that may.
    private static let http1 = HostConnections.poolCount

    /// The number of the pool for an exchange.
    ///
    /// - Parameters:
    ///   - isSecure: whether the connection to the server uses TLS.
    ///   - sharesConnections: whether the exchange may use HTTP/2.
    ///   - pool: the server's `HostConnections.pool`, which is nearly always 0, the first.
    static func number(isSecure: Bool, sharesConnections: Bool, pool: Int) -> Int {
        mixesVersions && isSecure && !sharesConnections ? http1 : pool
    }

    /// The pool with this number. Nil when it cannot be made and the first pool is no replacement.
    func pool(_ number: Int) -> CurlMulti? {
        guard number > 0 else { return first }
        while others.count < number { others.append(nil) }
        if let pool = others[number - 1] { return pool }
        guard let pool = CurlMulti(poller: poller, number: number) else { return number == Self.http1 ? nil : first }
        pool.state.pools = self
        if let limit { pool.limitConnections(to: limit) }
        others[number - 1] = pool
        return pool
    }

    /// The number of pools.
    var count: Int { others.reduce(1) { $1 == nil ? $0 : $0 + 1 } }

    /// When libcurl next wants to be called, unless a socket is ready before.
    var timer: MonotonicTime? {
        var earliest = first.state.timer
        for pool in others {
            if let timer = pool?.state.timer { earliest = min(timer, earliest ?? timer) }
        }
        return earliest
    }

    /// Lets libcurl read and write.
    func run(_ socket: Int32, _ ready: Interest) {
        guard socket < owners.count, case let owner = Int(owners[Int(socket)]), owner > 0 else {
            return first.run(socket, ready)
        }
        if owner <= others.count { others[owner - 1]?.run(socket, ready) }
    }

    /// Calls libcurl for its timers.
    ///
    /// - Returns: whether one was due.
    func runTimers(_ now: MonotonicTime) -> Bool {
        var wasDue = first.isDue(now)
        if wasDue { first.runTimer() }
        for case let pool? in others where pool.isDue(now) {
            pool.runTimer()
            wasDue = true
        }
        return wasDue
    }

    /// The next transfer that has ended, with its result.
    func nextMessage() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        if let message = first.nextMessage() { return message }
        for case let pool? in others {
            if let message = pool.nextMessage() { return message }
        }
        return nil
    }

    /// Closes other pools than the first that have been idle for a while, with their connections. libcurl closes idle
    /// connections only when a transfer starts. Must not be called while messages are read.
    func closeIdle(_ now: MonotonicTime) {
        guard !others.isEmpty else { return }
        for (index, pool) in others.enumerated() {
            guard let pool, pool.state.transferCount == 0 else { continue }
            let idleSince = pool.state.idleSince ?? now
            pool.state.idleSince = idleSince
            guard now.seconds(since: idleSince) > Self.idleTime else { continue }
            pool.close()
            others[index] = nil
        }
        while case .some(nil) = others.last { others.removeLast() }
        if others.isEmpty { owners = [] }
    }

    /// After how many seconds libcurl does not use an idle connection again.
    static let idleTime = 118.0

    /// Closes every connection. This is the last call. Remove and clean up every handle before.
    func close() {
        for pool in others { pool?.close() }
        others = []
        first.close()
    }

    /// Records that this socket belongs to the pool with this number.
    func setOwner(_ number: Int, of socket: Int32) {
        guard socket >= 0, number > 0 || socket < owners.count else { return }
        while owners.count <= socket { owners.append(0) }
        owners[Int(socket)] = UInt8(truncatingIfNeeded: number)
    }
}
