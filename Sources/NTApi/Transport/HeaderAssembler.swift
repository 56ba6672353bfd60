#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Makes the head of the final response from header lines: lines in, head out. A pure value.
///
/// Reports interim (1xx) responses other than 100 and 101, and keeps trailers apart. The total size is limited, so that a
/// server cannot fill the memory with endless headers.
struct HeaderAssembler {
    /// Status lines, headers and trailers, interim responses included. Newer versions of libcurl have the same bound.
    static let maximumBytes = 300 * 1024

    enum Outcome: Equatable {
        case more
        /// `information` is complete.
        case information
        /// The final response's head is complete.
        case complete
        case tooLarge
        case malformed
        /// The first header line begins with a blank: it continues a line that does not exist.
        case continuesNothing
        /// A header that says where the body ends is folded: libcurl reads only its first line, or both as one.
        case foldedFraming
        /// The server has switched protocols (101): `information` is complete, and no other head follows.
        case switched
    }

    /// The most interim responses that are reported.
    static let maximumInterim = 32

    /// The latest interim response other than 100 and 101.
    @Boxed private(set) var information: ResponseHead?

    private var byteCount = 0
    private var interimCount = 0
    /// The status line of the response whose fields follow.
    private var current: (status: Int, httpVersion: Double)?
    private var fields: ReceivedHeaders?
    /// The final response's head, once its empty line was read. Nothing after it can change it.
    private(set) var head: ResponseHead?
    private var hasTrailer = false
    /// The fields behind the body; nil for none.
    var trailers: HTTPHeaders? { head == nil ? nil : fields.map { HTTPHeaders($0) } }
    /// Whether nothing of an answer has arrived.
    var isEmpty: Bool { head == nil && current == nil }

    /// Discards a partial answer, because the request is sent again. The received bytes still count towards the limit.
    mutating func restart() {
        current = nil
        fields = nil
        head = nil
        hasTrailer = false
    }

    /// Takes one line, with or without its line break.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        byteCount += bytes.count
        guard byteCount <= Self.maximumBytes else { return .tooLarge }
        guard head == nil else { return appendTrailer(bytes) }
        let line = Self.withoutLineBreak(bytes)
        if line.isEmpty { return endHead() }
        guard Self.isStatusLine(line) else { return current == nil ? .more : appendField(line) }
        fields = nil
        guard let (status, httpVersion, reason) = Self.statusLine(line) else {
            current = nil
            return .malformed
        }
        current = (status, httpVersion)
        if reason.count > 0 { fields = ReceivedHeaders(reason: reason) }
        return .more
    }

    private mutating func endHead() -> Outcome {
        guard let ended = current else { return .more }
        current = nil
        let headers = fields.map { HTTPHeaders($0) } ?? HTTPHeaders()
        fields = nil
        if (100..<200).contains(ended.status) {
            guard ended.status > 100, interimCount < Self.maximumInterim else { return .more }
            interimCount += 1
            information = ResponseHead(status: ended.status, headers: headers, httpVersion: ended.httpVersion)
            return ended.status == 101 ? .switched : .information
        }
        head = ResponseHead(status: ended.status, headers: headers, httpVersion: ended.httpVersion)
        return .complete
    }

    /// A trailer might even look like a status line: then it is dropped.
    private mutating func appendTrailer(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        let isFirst = !hasTrailer
        hasTrailer = true
        let line = Self.withoutLineBreak(bytes)
        guard let first = line.first, !Self.isStatusLine(line) else { return .more }
        guard Self.isSpace(first), fields == nil else { return appendField(line) }
        return isFirst ? .continuesNothing : .more
    }

    /// Whether libcurl can handle a line safely: see `EasyOptions.readsFreedHeader`.
    func accepts(_ line: UnsafeRawBufferPointer) -> Bool {
        guard fields?.count ?? 0 == 0, let first = line.first else { return true }
        return !Self.isSpace(first)
    }

    @inline(__always) private mutating func appendField(_ line: UnsafeRawBufferPointer) -> Outcome {
        // Obsolete line folding (RFC 9112, 5.2): the line continues the value before it.
        if Self.isSpace(line[0]) {
            guard let fields, fields.count > 0 else { return .continuesNothing }
            fields.continueLast(Self.trimmed(line))
            return Self.framesBody(fields.field(at: fields.count - 1)) ? .foldedFraming : .more
        }
        guard let start = line.baseAddress, let colon = memchr(start, Int32(UInt8(ascii: ":")), line.count) else {
            return .more
        }
        var name = UnsafeRawPointer(colon) - start
        var value = name &+ 1
        var end = line.count
        while name > 0, Self.isSpace(line[name &- 1]) { name &-= 1 }
        guard name > 0 else { return .more }
        while end > value, Self.isSpace(line[end &- 1]) { end &-= 1 }
        while value < end, Self.isSpace(line[value]) { value &+= 1 }
        if fields == nil { fields = ReceivedHeaders() }
        fields?.append(UnsafeRawBufferPointer(start: start, count: end), nameCount: name, valueStart: value)
        return .more
    }

    private static func framesBody(_ field: HTTPHeaders.Field) -> Bool {
        field.isNamed("content-length") || field.isNamed("transfer-encoding")
    }

    static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count >= 5 && line[0] == UInt8(ascii: "H") && line[1] == UInt8(ascii: "T") && line[2] == UInt8(ascii: "T")
            && line[3] == UInt8(ascii: "P") && line[4] == UInt8(ascii: "/")
    }

    /// `HTTP/1.1 200 OK` or `HTTP/2 200`.
    private static func statusLine(
        _ line: UnsafeRawBufferPointer
    ) -> (status: Int, httpVersion: Double, reason: UnsafeRawBufferPointer)? {
        let text = line.dropFirst(5)
        guard let space = text.firstIndex(of: UInt8(ascii: " ")), let version = version(text[..<space]) else {
            return nil
        }
        let rest = text[space...].drop { $0 == UInt8(ascii: " ") }
        let digits = rest.prefix(3)
        guard digits.count == 3, digits.allSatisfy(\.isASCIIDigit), rest.dropFirst(3).first.map(isSpace) ?? true else {
            return nil
        }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return status < 100 ? nil : (status, version, trimmed(UnsafeRawBufferPointer(rebasing: rest.dropFirst(3))))
    }

    /// `1.1` or `2`.
    private static func version(_ text: Slice<UnsafeRawBufferPointer>) -> Double? {
        let text = UnsafeRawBufferPointer(rebasing: text)
        guard let major = text.first, major.isASCIIDigit else { return nil }
        let whole = Double(major - UInt8(ascii: "0"))
        if text.count == 1 { return whole }
        guard text.count == 3, text[1] == UInt8(ascii: "."), text[2].isASCIIDigit else { return nil }
        return whole + Double(text[2] - UInt8(ascii: "0")) / 10
    }

    private static func withoutLineBreak(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var end = line.count
        if end > 0, line[end &- 1] == UInt8(ascii: "\n") { end &-= 1 }
        if end > 0, line[end &- 1] == UInt8(ascii: "\r") { end &-= 1 }
        return UnsafeRawBufferPointer(start: line.baseAddress, count: end)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        var end = text.count
        while start < end, isSpace(text[start]) { start += 1 }
        while end > start, isSpace(text[end - 1]) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: text[start..<end])
    }
}

extension ResponseHead {
    /// The body's length on the wire according to the headers.
    enum AnnouncedLength: Equatable {
        case unknown
        case bytes(Int64)
        /// Not a number, too large, or several different numbers. Trusting one of them would be dangerous.
        case invalid
    }

    var announcedLength: AnnouncedLength {
        var length: AnnouncedLength = .unknown
        headers.forEachValue(of: "content-length") { value in
            // One line may be a list of equal numbers, which some proxies make from two lines (RFC 9110, 8.6).
            var rest = value[...]
            while true {
                let comma = rest.firstIndex(of: UInt8(ascii: ","))
                guard let number = Self.number(rest[..<(comma ?? rest.endIndex)]),
                    length == .unknown || length == .bytes(number)
                else {
                    length = .invalid
                    return false
                }
                length = .bytes(number)
                guard let comma else { return true }
                rest = rest[(comma + 1)...]
            }
        }
        return length
    }

    /// Whether the body ends when the server closes the connection (RFC 9112, 6.3). Not for the answer to a HEAD.
    var endsWithConnection: Bool {
        guard httpVersion < 2, status != 204, status != 304, announcedLength == .unknown else { return false }
        let codings = headers.all("Transfer-Encoding").flatMap { $0.split { ", \t".contains($0) } }
        return codings.last.map { !String($0).equalsIgnoringASCIICase("chunked") } ?? true
    }

    /// Digits, with blanks only around them.
    private static func number(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        let isNoBlank: (UInt8) -> Bool = { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard let first = text.firstIndex(where: isNoBlank), let last = text.lastIndex(where: isNoBlank) else {
            return nil
        }
        var number: Int64?
        for byte in text[first...last] {
            guard byte.isASCIIDigit else { return nil }
            let (tenfold, isTooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = tenfold.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            guard !isTooLarge, !isLarger else { return nil }
            number = sum
        }
        return number
    }
}
