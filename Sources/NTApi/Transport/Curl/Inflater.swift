import CZlib

/// Decodes a gzip or deflate body (RFC 1950 to 1952) piece by piece, as far as its receiver has room.
///
/// libcurl decodes all that it has read from the network at once, which can become a thousand times as large, and keeps
/// what the receiver does not take. A receiver that is slow, or stops early, must not pay for that.
final class Inflater {
    private static let windowSize = 32 * 1024

    private enum Phase {
        /// Nothing has come. A body that stays empty is complete.
        case new
        case inside
        /// A gzip member or the deflate stream is complete.
        case ended
    }

    private let isGzip: Bool
    private let hasMembers: Bool
    // zlib keeps the address of the stream.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let window = UnsafeMutableRawBufferPointer.allocate(byteCount: windowSize, alignment: 16)
    private var phase = Phase.new
    /// The decoded bytes that the receiver has not taken yet.
    private var waiting = 0
    /// How many bytes of the present piece are decoded. The piece comes again when the receiver has room.
    private var consumed = 0
    /// Why the body cannot be decoded; nil while it can.
    private(set) var problem: String?

    /// - Parameters:
    ///   - isGzip: whether the coding is gzip; otherwise it is deflate, with or without zlib's header.
    ///   - hasMembers: whether a gzip body may have several members; otherwise a second one is a problem.
    init?(isGzip: Bool, hasMembers: Bool = true) {
        self.isGzip = isGzip
        self.hasMembers = hasMembers
        stream.initialize(to: z_stream())
        // 16 means gzip's header and trailer.
        guard ntapi_inflate_init(stream, isGzip ? MAX_WBITS + 16 : MAX_WBITS) == Z_OK else { return nil }
    }

    deinit {
        inflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
        window.deallocate()
    }

    /// Whether it can decode a coding.
    static func knows(_ coding: String) -> Bool { ["gzip", "x-gzip", "deflate"].contains(coding) }

    /// Whether the body has ended too early.
    var isIncomplete: Bool { phase == .inside }

    /// - Parameter deliver: takes decoded bytes, or refuses all of them.
    /// - Returns: the receiver's answer; or `stopped`, with a `problem`.
    func receive(
        _ piece: UnsafeRawBufferPointer, _ deliver: (UnsafeRawBufferPointer) -> CurlTransfer.BodyAnswer
    ) -> CurlTransfer.BodyAnswer {
        guard let start = piece.baseAddress else { return .taken }
        while true {
            if waiting > 0 {
                let answer = deliver(UnsafeRawBufferPointer(rebasing: window[..<waiting]))
                guard case .taken = answer else { return answer }
                waiting = 0
            }
            let count = max(0, piece.count - consumed)
            let rest = start.advanced(by: piece.count - count).assumingMemoryBound(to: UInt8.self)
            let isDrained = stream.pointee.avail_out > 0 || phase != .inside
            guard count > 0 || !isDrained else { break }
            guard begins(with: rest) else { return .stopped }
            stream.pointee.next_in = UnsafeMutablePointer(mutating: rest)
            stream.pointee.avail_in = UInt32(truncatingIfNeeded: count)
            stream.pointee.next_out = window.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(truncatingIfNeeded: Self.windowSize)
            let code = inflate(stream, Z_NO_FLUSH)
            consumed += count - Int(stream.pointee.avail_in)
            waiting = Self.windowSize - Int(stream.pointee.avail_out)
            switch code {
            // Z_BUF_ERROR: there was nothing left to do.
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END: phase = .ended
            default:
                problem = stream.pointee.msg.map { String(cString: $0) } ?? "zlib's error \(code)"
                return .stopped
            }
        }
        consumed = max(0, consumed - piece.count)
        return .taken
    }

    /// Prepares for the first byte, or for the next member of a gzip body.
    ///
    /// - Returns: false when it is neither.
    private func begins(with byte: UnsafePointer<UInt8>) -> Bool {
        switch phase {
        case .inside: return true
        // Only zlib's header has an 8 there, for its method.
        case .new: if !isGzip, byte.pointee & 0x0F != 8 { inflateReset2(stream, -MAX_WBITS) }
        case .ended:
            guard isGzip, hasMembers, byte.pointee == 0x1F else {
                problem = "something follows the end of what was compressed"
                return false
            }
            inflateReset(stream)
        }
        phase = .inside
        return true
    }
}
