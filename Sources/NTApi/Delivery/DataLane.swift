/// The body on its way to its handler, piece by piece. A pure value, like the `DeliveryGate` that owns it.
///
/// At most one job is posted at a time. Pieces that arrive meanwhile are joined, up to `capacity`. Then the network
/// waits until the handler is called again. So memory is bounded twice: by the piece that the handler has, and by the
/// one that waits.
struct DataLane: Sendable {
    /// In bytes. libcurl adds one piece of its own, of at most 64 KB.
    static let capacity = 256 * 1024

    enum Arrival: Equatable {
        case taken
        /// Taken; the caller must post a job.
        case takenFirst
        case full
        /// The request is cancelled: nobody takes the body any more.
        case unwanted
        case outOfMemory
    }

    private var waiting: Bytes?
    /// Whether to tell the handler that the head has arrived, even without bytes.
    private var headWaits = false
    /// Whether to tell the handler, after the waiting bytes, that the body is complete.
    private var endWaits = false
    private var isPosted = false
    private var isRunning = false
    /// Whether a reader holds the piece beyond the job, and returns it when it likes.
    private var outlivesJob = false
    /// Whether the network waits for the handler.
    private var isFull = false

    /// Whether the handler runs, or must still be called.
    var isBusy: Bool { isRunning || hasMore }

    /// Whether there is something to take, and nobody has the piece before.
    var isWaiting: Bool { hasMore && !isRunning }

    private var hasMore: Bool { waiting != nil || headWaits || endWaits }

    struct Taken {
        /// Nil when there is nothing to deliver; empty to announce the head or the end of the body.
        var bytes: Bytes?
        var isLast = false
        /// Whether the network waited and may go on now.
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

    /// The head has arrived; the reader of the body is to learn that.
    ///
    /// - Returns: whether to post a job.
    mutating func begin() -> Bool {
        headWaits = true
        defer { isPosted = true }
        return !isPosted
    }

    /// The body is complete; its reader is to learn that.
    ///
    /// - Returns: whether to post a job.
    mutating func end() -> Bool {
        endWaits = true
        defer { isPosted = true }
        return !isPosted
    }

    /// The posted job runs.
    ///
    /// - Parameter outlivesJob: whether the piece may outlive the job.
    /// - Returns: what to deliver; empty when nothing is left.
    mutating func take(outlivesJob: Bool) -> Taken {
        guard hasMore else { return Taken() }
        let taken = Taken(bytes: waiting ?? .empty, isLast: endWaits, wasFull: isFull)
        drop()
        isFull = false
        isRunning = true
        self.outlivesJob = outlivesJob
        return taken
    }

    /// The posted job is done, whether or not it delivered anything.
    ///
    /// - Returns: whether to post another job.
    mutating func returned() -> Bool {
        isRunning = false
        outlivesJob = false
        isPosted = hasMore
        return isPosted
    }

    /// Drops what waits. A piece that a reader still holds is not waited for.
    mutating func cancel() {
        drop()
        if outlivesJob { isRunning = false }
    }

    private mutating func drop() {
        waiting = nil
        headWaits = false
        endWaits = false
    }
}
