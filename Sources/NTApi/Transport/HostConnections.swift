/// The addresses and ports of both ends of a connection, which identify it among the open ones.
struct ConnectionEnds: Hashable {
    let localPort: Int32
    /// A hash of the other three fields.
    private var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    /// The values of libcurl's prereq callback. The addresses are numeric text in ASCII.
    init(
        _ address: UnsafePointer<CChar>?, _ port: Int32, _ localAddress: UnsafePointer<CChar>?, _ localPort: Int32
    ) {
        self.localPort = localPort
        mix(UInt64(truncatingIfNeeded: port))
        add(address)
        add(localAddress)
    }

    private mutating func add(_ text: UnsafePointer<CChar>?) {
        guard var next = text else { return }
        while next.pointee != 0 {
            mix(UInt64(UInt8(bitPattern: next.pointee)))
            next += 1
        }
        mix(0)
    }

    // FNV-1a: half a dozen instructions a letter.
    private mutating func mix(_ value: UInt64) { hash = (hash ^ value) &* 0x100_0000_01B3 }
}

/// One connection that exchanges use now.
final class SharedConnection {
    let ends: ConnectionEnds
    /// When the first of its present exchanges began to use it.
    let since: MonotonicTime
    @exclusivity(unchecked) var state: State

    struct State {
        /// How many exchanges use it.
        fileprivate(set) var streams = 0
        /// When the last byte arrived on it.
        var lastActivity: MonotonicTime
        /// The last stream that the server processes, after its GOAWAY (RFC 9113, 6.8).
        var lastStream: Int?
        /// Whether no further exchange goes over it.
        fileprivate(set) var isLeft = false
        /// Whether its exchanges listen for GOAWAY, because one of them must not be repeated.
        var isListening = false
        /// Whether an exchange that can share has used it.
        fileprivate var wasOffered = false
    }

    fileprivate init(_ ends: ConnectionEnds, _ now: MonotonicTime) {
        self.ends = ends
        since = now
        state = State(lastActivity: now)
    }
}

/// The connections to one server. They decide how many exchanges may run, because over HTTP/2 many share one
/// connection.
///
/// A pure value. libcurl manages the connections and reports little about them, but enough. It reports the addresses
/// and ports of an exchange: two exchanges with the same ends share a connection. And it asks before it opens another
/// connection, which can be refused. Nobody knows in advance whether an exchange finds room on an open connection: the
/// server decides how many streams it allows and when it closes a connection. So room is assumed. If there is none, one
/// exchange at a time opens a connection while the others wait. libcurl alone would open one for each of them.
struct HostConnections {
    /// An exchange's place among the connections.
    struct Seat {
        fileprivate(set) var connection: SharedConnection?
        fileprivate var isOpening = false
    }

    /// Seconds after which a busy connection gets no further exchanges. An idle one is closed after the same time.
    static let maximumAge = 600.0

    private enum Sharing {
        case unknown
        /// Only HTTP/1.1 was seen.
        case never
        case always
    }

    /// The most streams that libcurl puts on one connection, if the server allows it.
    static let maximumStreams = 100

    private let maximumAge: Double
    private var sharing = Sharing.unknown
    private var connections: [ConnectionEnds: SharedConnection] = [:]
    /// Exchanges that have a connection.
    private var connected = 0
    /// Exchanges that open one.
    private var opening = 0
    /// Connections that get no more exchanges, and their running exchanges.
    private var left = (connections: 0, streams: 0)
    /// The loop's connection pool for new exchanges. It moves to the next pool when they must not use a connection that
    /// libcurl would choose.
    private(set) var pool = 0
    /// How many pools are used in rotation.
    static let poolCount = 8
    /// How many exchanges fit one connection, as far as is known.
    private var streams = maximumStreams
    /// A connection on which the server refused an exchange.
    private var refusing: SharedConnection?
    /// Whether an exchange beyond `streams` was refused. Valid until the number of connections changes.
    private var isFull = false

    init(maximumAge: Double = Self.maximumAge) { self.maximumAge = maximumAge }

    /// How many connections are in use.
    var count: Int { connections.count }

    /// How many exchanges fit the connections that still get new ones.
    private var room: Int { (count - left.connections) * streams }

    /// Whether one more exchange may start.
    ///
    /// - Parameters:
    ///   - running: how many have started and not ended.
    ///   - limit: how many connections may be open at once.
    ///   - shares: whether it can share a connection.
    func mayStart(running: Int, limit: Int, shares: Bool) -> Bool {
        guard running > 0 else { return true }
        let connecting = running - connected
        switch sharing {
        case .always: break
        case .never: return running < limit
        // An exchange that wants to share waits until the first connection shows whether it can.
        case .unknown: return shares ? connecting == 0 : running < limit
        }
        guard shares else { return count + connecting < limit }
        if hasRoom(running: running) { return true }
        return connecting == 0 && (count < limit || (streams < Self.maximumStreams && !isFull))
    }

    /// Whether one more exchange probably needs no new connection.
    func hasRoom(running: Int) -> Bool { sharing == .always && running - left.streams < room }

    /// The number of connections when all running exchanges have theirs.
    func needed(running: Int) -> Int {
        guard sharing == .always, running > 0 else { return running }
        return max(1, count + (running > connected && (opening > 0 || running - left.streams > room) ? 1 : 0))
    }

    /// Whether an exchange that found no room may open a connection. Otherwise it goes back to the queue.
    mutating func mayOpen(_ seat: inout Seat, limit: Int, shares: Bool) -> Bool {
        // More than one address may be tried.
        if seat.isOpening { return true }
        // libcurl would have used the existing connection.
        if shares, sharing == .unknown, connections.values.contains(where: { $0.state.wasOffered && !$0.state.isLeft })
        {
            sharing = .never
        }
        let isShared = sharing == .always && shares
        let staying = (streams: connected - left.streams, connections: count - left.connections)
        if isShared, staying.streams < room { streams = max(1, staying.streams / staying.connections) }
        if isShared, opening > 0 { return false }
        guard count + opening < limit else {
            isFull = true
            if sharing == .unknown { sharing = .never }
            return false
        }
        seat.isOpening = true
        opening += 1
        return true
    }

    /// An exchange has a connection and is about to be sent.
    ///
    /// - Parameter shares: whether it can share the connection.
    mutating func join(_ seat: inout Seat, _ ends: ConnectionEnds, shares: Bool, _ now: MonotonicTime) {
        let wasOpening = seat.isOpening
        leave(&seat)
        let connection = connections[ends] ?? SharedConnection(ends, now)
        connections[ends] = connection
        connection.state.streams += 1
        if shares { connection.state.wasOffered = true }
        connected += 1
        if connection.state.isLeft { left.streams += 1 }
        seat.connection = connection
        if connection.state.streams > 1 { sharing = .always }
        if wasOpening, let left = refusing?.state.streams {
            // A server announces its stream limit after the first streams have started. All refused ones are gone by
            // now.
            streams = max(1, min(streams, left))
            refusing = nil
        }
        if connected - left.streams > room { streams = min(2 * streams, Self.maximumStreams) }
        if now.seconds(since: connection.since) > maximumAge { replace(connection) }
    }

    /// Marks a connection as left: no further exchange uses it, because libcurl will not use it or because `pool`
    /// changes.
    mutating func leave(_ connection: SharedConnection) {
        guard !connection.state.isLeft, connection.state.streams > 0 else { return }
        connection.state.isLeft = true
        left.connections += 1
        left.streams += connection.state.streams
    }

    /// Leaves a connection that is too old or dead, without libcurl's knowledge.
    mutating func replace(_ connection: SharedConnection) {
        guard sharing == .always, !connection.state.isLeft else { return }
        leave(connection)
        pool = (pool + 1) % Self.poolCount
    }

    /// The connection of an exchange broke, or the server refused the exchange.
    mutating func lose(_ seat: inout Seat) {
        refusing = seat.connection
        if let connection = seat.connection { leave(connection) }
        leave(&seat)
    }

    /// An exchange is over.
    mutating func leave(_ seat: inout Seat) {
        if seat.isOpening {
            seat.isOpening = false
            opening -= 1
            isFull = false
        }
        guard let connection = seat.connection else { return }
        seat.connection = nil
        connection.state.streams -= 1
        connected -= 1
        if connection.state.isLeft { left.streams -= 1 }
        guard connection.state.streams == 0 else { return }
        if connection.state.isLeft { left.connections -= 1 }
        if refusing === connection { refusing = nil }
        connections[connection.ends] = nil
        isFull = false
    }

    /// The server has answered an exchange that can share, with this version of HTTP.
    mutating func hear(httpVersion: Double) {
        let heard = httpVersion < 2 ? Sharing.never : .always
        guard heard != sharing else { return }
        sharing = heard
        streams = Self.maximumStreams
    }
}
