import CCurl

/// The curl multi handles of a loop. Each is a pool of connections of its own.
///
/// For each request libcurl looks through all connections of a pool to the host, until it finds an idle one: with a
/// thousand that wait for slow answers that costs as much as the request. So exchanges to one host are spread over
/// pools; see `PoolCounts`. What may share a connection, or has to count all of them, stays in the first.
final class ConnectionPools {
    private let first: CurlMulti
    /// Those that a host with many exchanges needs beside the first. Nil is one that was closed, and is made anew.
    @exclusivity(unchecked) private var others: [CurlMulti?] = []
    /// Those of the others in which libcurl ran since their messages were read.
    @exclusivity(unchecked) private var running: [CurlMulti] = []
    /// The pool of each socket, by the socket's number; the first has those that are not in it. Empty when all are the first's.
    @exclusivity(unchecked) private var owners: [UInt16] = []
    private let poller: SystemPoller
    private let limit: Int?
    /// Whether exchanges may be spread.
    var maySpread: Bool { limit == nil }

    /// Nil when libcurl cannot be set up.
    ///
    /// - Parameter limit: how many connections there may be in all, idle ones counted; nil is no limit.
    init?(poller: SystemPoller, limit: Int?) {
        guard let first = CurlMulti(poller: poller, number: 0) else { return nil }
        self.first = first
        self.poller = poller
        self.limit = limit
        first.pools = self
        if let limit { first.limitConnections(to: limit) }
    }

    /// libcurl before 8.5 sends a request that may share an HTTP/2 connection over one of HTTP/1.1 to the same server that is in
    /// use, and mixes up the answers (curl pull request 12373). So those that want HTTP/1.1 stay out of the first pool there. Where
    /// there is a limit for all connections, idle ones count in each pool by itself.
    static let mixesVersions = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_05_00

    /// How many there are.
    var count: Int { others.reduce(1) { $1 == nil ? $0 : $0 + 1 } }

    /// The earliest moment at which libcurl wants to be called, whatever the sockets do.
    var timer: MonotonicTime? {
        var earliest = first.timer
        for pool in others {
            if let timer = pool?.timer { earliest = min(timer, earliest ?? timer) }
        }
        return earliest
    }

    /// The pool of this number.
    ///
    /// - Parameter orFirst: whether the first will do when the system has no descriptors for one more.
    func pool(_ number: Int, orFirst: Bool) -> CurlMulti? {
        guard number > 0 else { return first }
        while others.count < number { others.append(nil) }
        if let pool = others[number - 1] { return pool }
        guard let pool = CurlMulti(poller: poller, number: number) else { return orFirst ? first : nil }
        pool.pools = self
        if let limit { pool.limitConnections(to: limit) }
        others[number - 1] = pool
        return pool
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
        while let pool = running.last {
            if let message = pool.nextMessage() { return message }
            pool.mayHaveMessages = false
            running.removeLast()
        }
        return nil
    }

    /// Closes pools that a burst has left behind, with their idle connections: at once where these are too many, and after
    /// a while in any case, as libcurl looks at the connections of a pool only when a transfer starts in it. Not while
    /// messages are read.
    func closeUnneeded(transfers: Int, _ now: MonotonicTime) {
        guard !others.isEmpty else { return }
        for index in others.indices.reversed() {
            guard let pool = others[index], pool.transferCount == 0 else { continue }
            let idleSince = pool.idleSince ?? now
            pool.idleSince = idleSince
            // The second one may have connections that the first one must not have.
            let number = Self.mixesVersions ? index : index + 1
            let areTooMany = number * PoolCounts.capacity > 2 * (transfers + CurlMulti.idleConnections)
            guard areTooMany || now.seconds(since: idleSince) > Self.idleTime else { continue }
            pool.close()
            running.removeAll { $0 === pool }
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
        running = []
        first.close()
    }

    /// libcurl is about to be called in one of the others.
    func willRun(_ pool: CurlMulti) {
        guard !pool.mayHaveMessages else { return }
        pool.mayHaveMessages = true
        running.append(pool)
    }

    /// A pool has this socket from now on.
    func setOwner(_ number: UInt16, of socket: Int32) {
        guard socket >= 0, number > 0 || socket < owners.count else { return }
        while owners.count <= socket { owners.append(0) }
        owners[Int(socket)] = number
    }
}
