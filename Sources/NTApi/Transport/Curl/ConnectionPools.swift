import CCurl

/// The curl multi handles of a loop. Each is a pool of connections of its own, and nearly always there is only the first.
///
/// libcurl cannot be told to leave a single connection alone. So the exchanges that must not use the connections of others go
/// to another pool: see `number`.
final class ConnectionPools {
    private let first: CurlMulti
    /// Those beside the first, by their number less 1. Nil is one that is not there.
    private var others: [CurlMulti?] = []
    /// The number of each socket's pool, by the socket. Those beyond its end are the first's: it is empty where there is no other.
    private var owners: [UInt8] = []
    private let poller: SystemPoller
    private let limit: Int?

    /// Nil when libcurl cannot be set up.
    ///
    /// - Parameter limit: how many connections each pool may have, idle ones counted; nil is no limit.
    init?(poller: SystemPoller, limit: Int?) {
        guard let first = CurlMulti(poller: poller, number: 0) else { return nil }
        self.first = first
        self.poller = poller
        self.limit = limit
        first.state.pools = self
        if let limit { first.limitConnections(to: limit) }
    }

    /// libcurl before 8.5 sends a request that may use HTTP/2 over a connection of HTTP/1.1 to the same server that is in use, and
    /// mixes up the answers (curl pull request 12373).
    private static let mixesVersions = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_05_00
    /// The pool of what goes over TLS and may not use HTTP/2, where that must not be near what may.
    private static let http1 = HostConnections.poolCount

    /// Which pool an exchange goes to.
    ///
    /// - Parameters:
    ///   - isSecure: whether the server is spoken to over TLS.
    ///   - sharesConnections: whether the exchange may use HTTP/2.
    ///   - pool: the server's `HostConnections.pool`; 0, the first, but for few.
    static func number(isSecure: Bool, sharesConnections: Bool, pool: Int) -> Int {
        mixesVersions && isSecure && !sharesConnections ? http1 : pool
    }

    /// The pool of this number; nil when the system has no descriptors for it and no other will do.
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

    /// How many there are.
    var count: Int { others.reduce(1) { $1 == nil ? $0 : $0 + 1 } }

    /// The earliest moment at which libcurl wants to be called, whatever the sockets do.
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

    /// The next transfer that is done, and how it ended.
    func nextMessage() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        if let message = first.nextMessage() { return message }
        for case let pool? in others {
            if let message = pool.nextMessage() { return message }
        }
        return nil
    }

    /// Closes pools beside the first that had nothing to do for a while, with their idle connections: libcurl looks at those only
    /// when a transfer starts. Not while messages are read.
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

    /// Seconds after which libcurl does not use an idle connection again.
    static let idleTime = 118.0

    /// Closes every connection. The last call; every handle must have been removed and cleaned up before.
    func close() {
        for pool in others { pool?.close() }
        others = []
        first.close()
    }

    /// The pool of this number has this socket from now on.
    func setOwner(_ number: Int, of socket: Int32) {
        guard socket >= 0, number > 0 || socket < owners.count else { return }
        while owners.count <= socket { owners.append(0) }
        owners[Int(socket)] = UInt8(truncatingIfNeeded: number)
    }
}
