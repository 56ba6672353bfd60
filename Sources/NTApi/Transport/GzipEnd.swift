/// The content in the received bytes of a body. A pure value.
struct BodyFraming {
    private enum Part {
        /// Not chunked: every byte is content.
        case plain
        /// Inside a chunk's size line: the size so far, and whether the extension has begun.
        case size(Int, isExtension: Bool)
        case content(Int)
        /// After the content of a chunk.
        case lineEnd
        case ended
        case unknown
    }

    private var part: Part

    /// - Parameter isChunked: whether the bytes include the framing of chunks (RFC 9112, 7.1).
    init(isChunked: Bool) { part = isChunked ? .size(0, isExtension: false) : .plain }

    /// - Returns: nil when there is another transfer coding.
    init?(_ head: ResponseHead) {
        let codings = head.headers.all("Transfer-Encoding")
        let isChunked = codings.count == 1 && codings[0].equalsIgnoringASCIICase("chunked")
        guard codings.isEmpty || isChunked else { return nil }
        self.init(isChunked: isChunked && head.httpVersion < 2)
    }

    /// Whether the content may end here. If the framing is not understood, it may not.
    var mayEnd: Bool {
        switch part {
        case .plain, .ended: true
        default: false
        }
    }

    /// - Parameter content: gets the pieces of the content.
    mutating func read(_ bytes: UnsafeRawBufferPointer, content: (Slice<UnsafeRawBufferPointer>) -> Void) {
        var rest = bytes[...]
        while let byte = rest.first {
            switch part {
            case .plain:
                content(rest)
                return
            case .content(let left):
                let piece = rest.prefix(left)
                content(piece)
                rest = rest.dropFirst(piece.count)
                part = left == piece.count ? .lineEnd : .content(left - piece.count)
            case .size(let size, let isExtension):
                rest = rest.dropFirst()
                if byte == UInt8(ascii: "\n") {
                    part = size == 0 ? .ended : .content(size)
                } else if byte == UInt8(ascii: ";") || byte == UInt8(ascii: "\r") || isExtension {
                    part = .size(size, isExtension: true)
                } else if let digit = JSONEscape.hexadecimalDigit(byte), size < 1 << 40 {
                    part = .size(size << 4 | Int(digit), isExtension: false)
                } else {
                    part = .unknown
                }
            case .lineEnd:
                rest = rest.dropFirst()
                if byte == UInt8(ascii: "\n") {
                    part = .size(0, isExtension: false)
                } else if byte != UInt8(ascii: "\r") {
                    part = .unknown
                }
            case .ended, .unknown: return
            }
        }
    }
}

/// Finds out whether a gzip body is complete, from its received bytes and the length of the decoded body.
///
/// libcurl delivers a truncated gzip body without an error. But the last four bytes of a gzip member are the length of
/// its content (RFC 1952, 2.3.1), and a truncated member ends with other bytes. A pure value. For unexpected bytes the
/// verdict is that nothing is known to be missing.
struct GzipEnd {
    private var framing: BodyFraming
    private var count = 0
    private var first: [UInt8] = []
    private var last: [UInt8] = []

    init(_ framing: BodyFraming) { self.framing = framing }

    /// Whether a body with this head can be judged: libcurl decodes it, and gzip is the only coding.
    static func judges(_ head: ResponseHead) -> Bool {
        let codings = head.headers.all("Content-Encoding")
        return codings.count == 1
            && ["gzip", "x-gzip"].contains { codings[0].equalsIgnoringASCIICase($0) }
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        var framing = framing
        framing.read(bytes) { keep($0) }
        self.framing = framing
    }

    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
        count += bytes.count
        if first.count < 2 { first += bytes.prefix(2 - first.count) }
        last = (last + bytes.suffix(4)).suffix(4)
    }

    /// Whether something is certainly missing.
    ///
    /// - Parameter decoded: the length of the decoded body.
    func isCutShort(decoded: Int64) -> Bool {
        guard framing.mayEnd, first == [0x1F, 0x8B] else { return false }
        // A head of ten bytes, an empty block of two, and the trailer.
        guard count >= 20 || decoded == 0 && count >= 18 else { return true }
        let length = last.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return length != UInt32(truncatingIfNeeded: decoded)
    }
}
