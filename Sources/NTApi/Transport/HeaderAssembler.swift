/// Makes the head of the final response out of header lines. A pure value: lines in, head out.
///
/// Interim (1xx) responses are counted and dropped, and so are trailers. All of them together are bounded: a server that
/// never stops sending headers must not fill the memory.
struct HeaderAssembler {
    /// Status lines, headers and trailers, interim responses included. Newer versions of libcurl have the same bound.
    static let maximumBytes = 300 * 1024

    enum Outcome: Equatable {
        case more
        /// The final response's head is whole.
        case complete
        case tooLarge
        case malformed
    }

    private var byteCount = 0
    private var current: ResponseHead?
    /// The final response's head, once its empty line was read. Nothing after it can change it.
    private(set) var head: ResponseHead?

    /// Forgets an answer that was begun, because the request is sent again. What was received still counts.
    mutating func restart() {
        current = nil
        head = nil
    }

    /// Takes one line, with or without its line break.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        byteCount += bytes.count
        guard byteCount <= Self.maximumBytes else { return .tooLarge }
        // A trailer, which might even look like a status line.
        guard head == nil else { return .more }
        let line = Self.withoutLineBreak(bytes)
        if line.isEmpty { return endHead() }
        if line.starts(with: "HTTP/".utf8) {
            current = Self.statusLine(line)
            return current == nil ? .malformed : .more
        }
        appendField(line)
        return .more
    }

    private mutating func endHead() -> Outcome {
        guard let ended = current else { return .more }
        current = nil
        if (100..<200).contains(ended.status) { return .more }
        head = ended
        return .complete
    }

    private mutating func appendField(_ line: UnsafeRawBufferPointer) {
        guard current != nil else { return }
        if line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t") {
            // Obsolete line folding (RFC 9112, 5.2): the line continues the value before it.
            current?.headers.continueLast(String(decoding: Self.trimmed(line), as: UTF8.self))
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = Self.trimmed(UnsafeRawBufferPointer(rebasing: line[..<colon]))
        guard !name.isEmpty else { return }
        let value = Self.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
        // Bytes that are not UTF-8 become replacement characters: a header is never the reason to lose a response.
        current?.headers.add(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
    }

    /// `HTTP/1.1 200 OK` or `HTTP/2 200`.
    private static func statusLine(_ line: UnsafeRawBufferPointer) -> ResponseHead? {
        let parts = line.dropFirst(5).split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, let version = version(parts[0]) else { return nil }
        let digits = parts[1].drop { $0 == UInt8(ascii: " ") }.prefix(3)
        guard digits.count == 3, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return status < 100 ? nil : ResponseHead(status: status, headers: HTTPHeaders(), httpVersion: version)
    }

    private static func version(_ text: Slice<UnsafeRawBufferPointer>) -> Double? {
        let text = Array(text)
        guard let major = text.first, major.isASCIIDigit else { return nil }
        let whole = Double(major - UInt8(ascii: "0"))
        if text.count == 1 { return whole }
        guard text.count == 3, text[1] == UInt8(ascii: "."), text[2].isASCIIDigit else { return nil }
        return whole + Double(text[2] - UInt8(ascii: "0")) / 10
    }

    private static func withoutLineBreak(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var end = line.count
        if end > 0, line[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        if end > 0, line[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: line[..<end])
    }

    private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var start = 0
        var end = text.count
        while start < end, isSpace(text[start]) { start += 1 }
        while end > start, isSpace(text[end - 1]) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: text[start..<end])
    }
}

extension ResponseHead {
    /// What the headers say of the body's length on the wire.
    enum AnnouncedLength: Equatable {
        case unknown
        case bytes(Int64)
        /// No number, too large a number, or several different ones: whoever believes one of them can be deceived.
        case invalid
    }

    var announcedLength: AnnouncedLength {
        var length: AnnouncedLength = .unknown
        for field in headers where field.name.equalsIgnoringASCIICase("content-length") {
            // One line can be a list of equal numbers, which some proxies make of two lines (RFC 9110, 8.6).
            for text in field.value.split(separator: ",", omittingEmptySubsequences: false) {
                let digits = text.utf8.filter { $0 != 0x20 && $0 != 0x09 }
                guard digits.allSatisfy(\.isASCIIDigit), let number = Int64(String(decoding: digits, as: UTF8.self)),
                    length == .unknown || length == .bytes(number)
                else { return .invalid }
                length = .bytes(number)
            }
        }
        return length
    }
}
