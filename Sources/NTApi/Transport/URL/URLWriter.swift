/// Writes a URL into memory that was set aside for it, and no further.
struct URLWriter {
    // Each write asks first whether it stays below the buffer's count.
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0
    /// Whether something did not fit, and was left out.
    private(set) var isFull = false

    init(_ buffer: UnsafeMutableBufferPointer<UInt8>) { self.buffer = buffer }

    @inline(__always) mutating func write(_ byte: UInt8) {
        guard count < buffer.count else {
            isFull = true
            return
        }
        buffer[count] = byte
        count += 1
    }

    mutating func write(_ text: String) {
        text.withBytes { bytes in
            guard bytes.count <= buffer.count - count else {
                isFull = true
                return
            }
            _ = UnsafeMutableBufferPointer(rebasing: buffer[count...]).update(fromContentsOf: bytes)
            count += bytes.count
        }
    }

    /// Pairs as a query, question mark included; nothing for none.
    mutating func write(_ query: some Sequence<(name: String, value: String)>) {
        var mark = UInt8(ascii: "?")
        for pair in query {
            write(mark)
            write(encoding: pair.name)
            write(UInt8(ascii: "="))
            write(encoding: pair.value)
            mark = UInt8(ascii: "&")
        }
    }

    /// A text in percent-encoding: no more than a part of a segment or of a query pair, whatever is in it.
    mutating func write(encoding text: String) {
        text.withBytes { bytes in
            for byte in bytes {
                if byte.isUnreserved {
                    write(byte)
                } else {
                    write(UInt8(ascii: "%"))
                    write(PercentEncoding.digit(byte >> 4))
                    write(PercentEncoding.digit(byte & 15))
                }
            }
        }
    }
}
