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
    private var isPosted = false
    private var isRunning = false
    /// Whether the network waits for the handler.
    private var isFull = false

    /// Whether the handler runs, or has to be called yet.
    var isBusy: Bool { isRunning || waiting != nil }

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

    /// The posted job runs.
    ///
    /// - Returns: what to tell the handler, nil when there is nothing any more; and whether the network may go on.
    mutating func take() -> (bytes: Bytes?, wasFull: Bool) {
        guard let bytes = waiting else { return (nil, false) }
        defer { isFull = false }
        waiting = nil
        isRunning = true
        return (bytes, isFull)
    }

    /// The posted job is through, whether it had something to tell or not.
    ///
    /// - Returns: whether another one is to be posted.
    mutating func returned() -> Bool {
        isRunning = false
        isPosted = waiting != nil
        return isPosted
    }

    mutating func drop() { waiting = nil }
}
