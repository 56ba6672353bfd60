/// A body on its way to its handler, piece by piece. A pure value, as the machine that it is part of.
///
/// At most one job is posted at a time. Pieces that come meanwhile are joined, up to a bound; then the network waits until
/// the handler is called again. So two bounds of memory are in use: what the handler has, and what waits for it.
struct DataLane: Sendable {
    /// In bytes. libcurl adds a piece of its own, of 64 KB at most.
    static let capacity = 256 * 1024

    enum Arrival: Equatable {
        case taken
        /// As taken, and a job is to be posted that takes the data.
        case takenFirst
        case full
        case outOfMemory
    }

    private var waiting: Bytes?
    /// Whether the handler is to be told that the head is there, though there be no bytes yet.
    private var headWaits = false
    /// Whether the handler is to be told that the body is whole, after what waits.
    private var endWaits = false
    private var isPosted = false
    private var isRunning = false
    /// Whether what runs is no handler, but somebody who was lent a piece and gives it back when he likes.
    private var isLent = false
    /// Whether the network waits for the handler.
    private var isFull = false

    /// Whether the handler runs, or has to be called yet.
    var isBusy: Bool { isRunning || hasMore }

    private var hasMore: Bool { waiting != nil || headWaits || endWaits }

    struct Taken {
        /// Nil when there is nothing to tell; without bytes when there are none yet, or no more.
        var bytes: Bytes?
        var isLast = false
        /// Whether the network may go on.
        var wasFull = false
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Arrival {
        guard !bytes.isEmpty else { return .taken }
        let bytesSoFar = waiting ?? Bytes()
        guard bytesSoFar.count < Self.capacity else {
            isFull = true
            return .full
        }
        guard bytesSoFar.append(bytes) else { return .outOfMemory }
        waiting = bytesSoFar
        defer { isPosted = true }
        return isPosted ? .taken : .takenFirst
    }

    /// The head has come. The reader of the body is to be told.
    ///
    /// - Returns: whether a job is to be posted.
    mutating func begin() -> Bool {
        headWaits = true
        defer { isPosted = true }
        return !isPosted
    }

    /// The body is whole. Its reader is to be told.
    ///
    /// - Returns: whether a job is to be posted.
    mutating func end() -> Bool {
        endWaits = true
        defer { isPosted = true }
        return !isPosted
    }

    /// The posted job runs.
    ///
    /// - Parameter lends: whether the piece is lent, beyond the job.
    /// - Returns: what to tell the handler: nothing when there is nothing any more.
    mutating func take(lends: Bool) -> Taken {
        guard hasMore else { return Taken() }
        let taken = Taken(bytes: waiting ?? .empty, isLast: endWaits, wasFull: isFull)
        drop()
        isFull = false
        isRunning = true
        isLent = lends
        return taken
    }

    /// The posted job is through, whether it had something to tell or not.
    ///
    /// - Returns: whether another one is to be posted.
    mutating func returned() -> Bool {
        isRunning = false
        isLent = false
        isPosted = hasMore
        return isPosted
    }

    /// Nobody is told any more, and what is lent is not waited for.
    mutating func cancel() {
        drop()
        if isLent { isRunning = false }
    }

    private mutating func drop() {
        waiting = nil
        headWaits = false
        endWaits = false
    }
}
