/// A request body that the library reads from the program piece by piece, with constant memory.
///
/// A stream belongs to one request. The request sends it once, or again after `rewind`.
public final class BodyStream: Sendable {
    /// Fills the buffer with the next bytes and returns how many; 0 is the end. Throwing fails the request.
    public typealias Read = @Sendable (_ buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// The whole length in bytes; nil when it is unknown. The body is then sent chunked.
    public let length: Int64?
    let isRewindable: Bool

    private struct State {
        var isClaimed = false
        /// Whether nothing was read since the stream was made or rewound.
        var isAtStart = true
        /// Nil once the request of the stream has ended.
        var functions: Functions?
    }

    private struct Functions {
        let read: Read
        let rewind: (@Sendable () -> Bool)?
    }

    private let state: Lock<State>

    /// - Parameters:
    ///   - length: the whole length in bytes, if it is known.
    ///   - rewind: starts again from the beginning, and returns whether that was possible. Without it, a redirect that needs the
    ///     body again fails.
    ///   - read: called on a background worker, one call at a time, never after the response handler. It may block.
    public init(length: Int64? = nil, rewind: (@Sendable () -> Bool)? = nil, read: @escaping Read) {
        self.length = length.map { max($0, 0) }
        isRewindable = rewind != nil
        state = Lock(State(functions: Functions(read: read, rewind: rewind)), sharing: .streams)
    }

    /// Assigns the stream to a request.
    ///
    /// - Returns: false when it was assigned to a request before.
    func claim() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }

    /// Calls the program's function. Not called any more when the request's response is delivered.
    func read(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let functions = state.withLock { state in
            state.isAtStart = false
            return state.functions
        }
        return try functions?.read(buffer) ?? 0
    }

    /// Calls the program's function, unless nothing was read.
    ///
    /// - Returns: whether the stream begins again.
    func rewind() -> Bool {
        let (isAtStart, functions) = state.withLock { ($0.isAtStart, $0.functions) }
        guard !isAtStart else { return true }
        guard functions?.rewind?() == true else { return false }
        state.withLock { $0.isAtStart = true }
        return true
    }

    /// Releases the program's functions with all that they hold: a C caller's destroy function may run here.
    ///
    /// The request calls this when it ends, because others keep the stream for longer: args, recorders, responses.
    func end() {
        let functions = state.withLock { $0.functions.take() }
        withExtendedLifetime(functions) {}
    }
}
