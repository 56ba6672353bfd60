/// What gives a `StreamSource` its pieces, on a worker, one call at a time.
protocol PieceReader: Sendable {
    /// The whole length in bytes; nil when it is unknown.
    var length: Int64? { get }
    var isRewindable: Bool { get }
    /// Whether code of the program runs in a call.
    var isOfProgram: Bool { get }

    /// - Parameter pulled: how many bytes it has given before.
    /// - Returns: no bytes at the end.
    func piece(after pulled: Int64) throws(Forked) -> Result<[UInt8], APIError>

    /// Begins again from the start, and returns whether that was possible.
    func startOver() throws(Forked) -> Bool

    /// No call follows.
    func close()
}

extension BodyStream: PieceReader {
    var isOfProgram: Bool { true }

    func piece(after pulled: Int64) throws(Forked) -> Result<[UInt8], APIError> {
        try Delivery.call { StreamSource.piece(of: self, after: pulled) }
    }

    func startOver() throws(Forked) -> Bool { try Delivery.call { rewind() } }

    func close() {}
}

/// A body that user code produces, or that is read from a file, piece by piece, on a worker.
///
/// The network thread takes pieces that are ready and never waits. If none is ready, the transfer pauses until a worker
/// has the next piece. At most one call of the user code runs at a time, and it stays at most two pieces ahead.
///
/// The exchange may end during a call: for example, the user cancels while the user code reads a file. If the response
/// handler ran then, the program might free the stream while it is in use. So the end of the exchange waits until the
/// call has returned. `close` says whether a call is running, and `whenIdle` is called after it. The end does not wait for a
/// file.
final class StreamSource: UploadSource, Sendable {
    private enum End {
        case finished
        case failed(APIError)
    }

    private struct State {
        var chunks: [[UInt8]] = []
        /// How much of the first chunk has been sent.
        var offset = 0
        var pulled: Int64 = 0
        var isPulling = false
        /// Whether to rewind before the next read.
        var needsRewind = false
        /// Distinguishes pieces begun before a rewind from later ones.
        var round = 0
        /// Whether libcurl was told to wait.
        var isAwaited = false
        var isClosed = false
        var end: End?

        var wantsMore: Bool { !isClosed && end == nil && chunks.count < 2 }
    }

    static let chunkSize = 65536

    private let reader: any PieceReader
    private let workers: WorkerPool
    private let whenReady: @Sendable () -> Void
    private let whenIdle: @Sendable () -> Void
    private let state = Lock(State())

    /// - Parameters:
    ///   - whenReady: called on a worker when a piece is ready after `.wait`.
    ///   - whenIdle: called on a worker when a call that ran during `close` has returned.
    init(
        _ reader: any PieceReader, workers: WorkerPool, whenReady: @escaping @Sendable () -> Void,
        whenIdle: @escaping @Sendable () -> Void
    ) {
        self.reader = reader
        self.workers = workers
        self.whenReady = whenReady
        self.whenIdle = whenIdle
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadChunk {
        let (chunk, pulls) = state.withLock { state -> (UploadChunk, Bool) in
            let chunk = Self.take(from: &state, into: buffer)
            let pulls = state.wantsMore && !state.isPulling
            if pulls { state.isPulling = true }
            return (chunk, pulls)
        }
        if pulls { workers.run(pull) }
        return chunk
    }

    /// Only to the beginning. If something was already read, a worker calls `rewind` before the next read.
    func seek(to offset: Int64) -> Bool {
        offset == 0
            && state.withLock { state in
                let isAllHere = state.pulled == state.chunks.reduce(0) { $0 + Int64($1.count) }
                guard isAllHere || reader.isRewindable else { return false }
                state.offset = 0
                guard !isAllHere else { return true }
                state.chunks = []
                state.pulled = 0
                state.end = nil
                state.needsRewind = true
                state.round += 1
                return true
            }
    }

    var isOfProgram: Bool { reader.isOfProgram }

    /// Whether the network waits for a file.
    var awaitsFile: Bool { !isOfProgram && state.withLock { $0.isAwaited } }

    /// Reads the first pieces before they are asked for.
    func begin() {
        let pulls = state.withLock { state in
            defer { state.isPulling = true }
            return !state.isPulling
        }
        if pulls { workers.run(pull) }
    }

    func close() -> Bool {
        let (isPulling, mayBeOpen) = state.withLock { state in
            state.isClosed = true
            state.chunks = []
            return (state.isPulling, state.pulled > 0 && state.end == nil)
        }
        if isOfProgram { return isPulling }
        if !isPulling, mayBeOpen { workers.run(closeReader) }
        return false
    }

    @Sendable private func closeReader() { workers.whileBlocked(reader.close) }

    private static func take(from state: inout State, into buffer: UnsafeMutableRawBufferPointer) -> UploadChunk {
        guard let first = state.chunks.first else {
            switch state.end {
            case .finished: return .end
            case .failed(let error): return .failed(error)
            case nil:
                state.isAwaited = true
                return .wait
            }
        }
        let count = min(buffer.count, first.count - state.offset)
        first.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[state.offset..<(state.offset + count)]))
        }
        state.offset += count
        if state.offset == first.count {
            state.chunks.removeFirst()
            state.offset = 0
        }
        return .bytes(count)
    }

    /// Reads until two pieces are ready. Runs on a worker.
    @Sendable private func pull() throws(Forked) {
        enum Next {
            case read(Int64, round: Int)
            case rewind, pause, closed
        }
        while true {
            let next = state.withLock { state -> Next in
                if state.wantsMore, state.needsRewind {
                    state.needsRewind = false
                    return .rewind
                }
                if state.wantsMore { return .read(state.pulled, round: state.round) }
                state.isPulling = false
                return state.isClosed ? .closed : .pause
            }
            switch next {
            case .pause: return
            case .closed:
                closeReader()
                return isOfProgram ? whenIdle() : ()
            case .rewind:
                if try workers.whileBlocked(reader.startOver) { continue }
                let wakes = state.withLock { state in
                    state.end = .failed(Self.error("the body's stream could not be rewound"))
                    defer { state.isAwaited = false }
                    return state.isAwaited && !state.isClosed
                }
                if wakes { whenReady() }
            case .read(let pulled, let round):
                let piece = try workers.whileBlocked { () throws(Forked) in
                    try reader.piece(after: pulled)
                }
                let (wakes, isOver) = state.withLock { state in
                    guard state.round == round else { return (false, false) }
                    switch piece {
                    case .success(let bytes) where bytes.isEmpty: state.end = .finished
                    case .success(let bytes):
                        state.pulled += Int64(bytes.count)
                        if !state.isClosed { state.chunks.append(bytes) }
                        if state.pulled == reader.length { state.end = .finished }
                    case .failure(let error): state.end = .failed(error)
                    }
                    defer { state.isAwaited = false }
                    return (state.isAwaited && !state.isClosed, state.end != nil)
                }
                if isOver { closeReader() }
                if wakes { whenReady() }
            }
        }
    }

    /// Calls the user code once.
    ///
    /// - Parameter pulled: how many bytes the stream has given before.
    /// - Returns: no bytes at the end of the stream.
    static func piece(of stream: BodyStream, after pulled: Int64) -> Result<[UInt8], APIError> {
        var size = chunkSize
        if let length = stream.length {
            let rest = length - pulled
            // Do not read past the announced end: if the reader's source stays open, the read would wait for ever.
            if rest <= 0 { return .success([]) }
            // Ask for one more byte than expected, to detect a reader that has more than it announced.
            if rest <= Int64(size) { size = Int(rest) + 1 }
        }
        var count = 0
        let bytes: [UInt8]
        do {
            bytes = try [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
                count = try stream.read(UnsafeMutableRawBufferPointer(buffer))
                initialized = min(max(count, 0), size)
            }
        } catch let error as APIError {
            return .failure(Self.error("the body stream failed: \(error.message)"))
        } catch {
            return .failure(Self.error("the body stream failed: \(error)"))
        }
        guard count >= 0, count <= size else {
            return .failure(Self.error("the body stream returned \(count) for a buffer of \(size) bytes"))
        }
        guard let length = stream.length else { return .success(bytes) }
        let total = pulled + Int64(count)
        if total > length { return .failure(Self.error("the body stream has more than the announced \(length) bytes")) }
        if count == 0 {
            return .failure(Self.error("the body stream ended after \(total) of the announced \(length) bytes"))
        }
        return .success(bytes)
    }

    private static func error(_ message: String) -> APIError {
        APIError(domain: .request, code: .generic, message: message)
    }
}
