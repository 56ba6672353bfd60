/// A body that the library pulls from the caller, piece by piece, with constant memory.
///
/// A stream belongs to one request, which sends it once, or again after `rewind`.
public final class BodyStream: Sendable {
    /// Fills the buffer with the next bytes and returns how many; 0 is the end. Throwing fails the request.
    public typealias Read = @Sendable (_ buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// The whole length in bytes; nil when it is not known, and the body is sent chunked.
    public let length: Int64?
    let read: Read
    private let isClaimed = Lock(false, sharing: .streams)
    let rewind: (@Sendable () -> Bool)?

    /// - Parameters:
    ///   - length: the whole length in bytes, if it is known.
    ///   - rewind: starts again from the beginning and returns whether it could; without it, a redirect that needs
    ///     the body once more fails.
    ///   - read: called on a background worker, one call at a time, never after the response handler. It may block.
    public init(length: Int64? = nil, rewind: (@Sendable () -> Bool)? = nil, read: @escaping Read) {
        self.length = length.map { max($0, 0) }
        self.read = read
        self.rewind = rewind
    }

    /// Takes the stream for a request.
    ///
    /// - Returns: false when another request has it, or has had it.
    func claim() -> Bool {
        isClaimed.withLock { isClaimed in
            defer { isClaimed = true }
            return !isClaimed
        }
    }
}
