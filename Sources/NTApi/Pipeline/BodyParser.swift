#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How the body of a streaming request is read.
package enum BodyFormat: Sendable {
    case bytes
    /// A JSON value in each line.
    case jsonLines
    /// The event stream of WHATWG HTML, 9.2.
    case serverEvents

    /// The Accept header of a request whose answer is read as one JSON value.
    static let acceptsJSON = "application/json, */*;q=0.5"
}

/// One element of a body.
package enum BodyElement: Sendable {
    case bytes(ResponseData)
    case json(JSON)
    case event(ServerSentEvent)
}

/// Reads one body: pieces in, elements out. A pure value.
struct BodyParser: Sendable {
    private enum Kind {
        case bytes
        case lines(JSONLinesParser)
        case events(EventStreamParser)
    }

    private var kind: Kind

    /// - Parameters:
    ///   - maximumSize: the largest line or event, in bytes.
    ///   - lastEventID: of an earlier connection.
    init(_ format: BodyFormat, maximumSize: Int, lastEventID: String) {
        switch format {
        case .bytes: kind = .bytes
        case .jsonLines: kind = .lines(JSONLinesParser(maximumLength: maximumSize))
        case .serverEvents:
            kind = .events(EventStreamParser(lastEventID: lastEventID, maximumSize: maximumSize))
        }
    }

    /// The last event id for the next connection, and the milliseconds to wait before it.
    var resumption: (lastEventID: String, retry: Int?) {
        if case .events(let parser) = kind { (parser.lastEventID, parser.retry) } else { ("", nil) }
    }

    /// Reads to the end of the next element.
    ///
    /// - Parameter piece: received bytes that are not read yet. The call removes what it reads.
    /// - Returns: nil when the piece is used up.
    mutating func next(_ piece: inout UnsafeRawBufferPointer) throws(APIError) -> BodyElement? {
        switch kind {
        // Plain bytes need no parsing.
        case .bytes: return nil
        case .lines(var parser):
            // Move the parser out during the call: with two owners, its buffers would be copied.
            kind = .bytes
            defer { kind = .lines(parser) }
            return try parser.next(&piece).map { .json($0) }
        case .events(var parser):
            kind = .bytes
            defer { kind = .events(parser) }
            return try parser.next(&piece).map { .event($0) }
        }
    }

    /// Reads the rest when the body is complete.
    mutating func last() throws(APIError) -> BodyElement? {
        guard case .lines(var parser) = kind else { return nil }
        kind = .bytes
        defer { kind = .lines(parser) }
        return try parser.last().map { .json($0) }
    }
}

/// Reads a stream with one JSON value per line (JSON Lines, NDJSON): chunks in, values out. A pure value.
///
/// Lines end in LF or CRLF, or at the end of the stream. Empty lines are skipped. A value on one line may have the
/// record separator of RFC 7464 before it.
struct JSONLinesParser {
    private var lines: LineSplitter
    private var failure: APIError?

    /// - Parameter maximumLength: the longest line in bytes.
    init(maximumLength: Int = LineSplitter.standardMaximumLength) {
        lines = LineSplitter(endingAt: .lineFeed, maximumLength: maximumLength)
    }

    /// Reads to the end of the next value.
    ///
    /// - Parameter chunk: received bytes that are not read yet. The call removes what it reads.
    /// - Returns: nil when the chunk is used up.
    /// - Throws: `invalid JSON`, naming the line; `response too large` when a line is longer than allowed. Later calls
    ///   throw the same error.
    mutating func next(_ chunk: inout UnsafeRawBufferPointer) throws(APIError) -> JSON? {
        if let failure { throw failure }
        do throws(APIError) {
            while true {
                let number = lines.lineNumber
                guard let line = try lines.next(&chunk) else { return nil }
                if let value = try Self.value(of: line, number) { return value }
            }
        } catch {
            failure = error
            throw error
        }
    }

    /// Reads an unterminated last line at the end of the stream.
    mutating func last() throws(APIError) -> JSON? {
        if let failure { throw failure }
        do throws(APIError) {
            let number = lines.lineNumber
            guard let line = try lines.last() else { return nil }
            return try Self.value(of: line, number)
        } catch {
            failure = error
            throw error
        }
    }

    private static func value(of line: LineSplitter.Line, _ number: Int) throws(APIError) -> JSON? {
        try line.withBytes { (bytes) throws(APIError) in
            let separators = bytes.prefix { $0 == recordSeparator }.count
            let text = UnsafeRawBufferPointer(rebasing: bytes[separators...])
            guard !text.allSatisfy(JSONParser.isWhiteSpace) else { return nil }
            switch JSONParser.parse(copying: text) {
            case .success(let json): return json
            case .failure(let error):
                throw APIError(
                    domain: .json, code: .invalidJSON,
                    message: "line \(number) of the stream is not JSON: column \(error.column): \(error.reason)")
            }
        }
    }

    private static let recordSeparator: UInt8 = 0x1E
}

/// Splits a stream of bytes into lines: chunks in, lines out. A pure value.
///
/// A line inside one chunk is not copied. An unfinished line at the end of a chunk is copied, up to a limit, so that a
/// server cannot fill the memory with an endless line.
struct LineSplitter {
    /// What ends a line.
    enum Ending: Sendable {
        /// A line feed. A carriage return before it is part of the line ending.
        case lineFeed
        /// A carriage return, a line feed, or both as one.
        case carriageReturnOrLineFeed
    }

    /// A line without its end.
    enum Line {
        /// A part of the chunk.
        case inPlace(UnsafeRawBufferPointer)
        /// The line began in an earlier chunk.
        case joined([UInt8])

        func withBytes<Value, Failure: Error>(
            _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
        ) throws(Failure) -> Value {
            switch self {
            case .inPlace(let bytes): return try body(bytes)
            case .joined(let bytes):
                // The standard library's version loses the type of the error.
                return try bytes.withUnsafeBytes { bytes in
                    Result { () throws(Failure) in try body(bytes) }
                }.get()
            }
        }
    }

    /// The default for the longest line, in bytes without its ending.
    static let standardMaximumLength = 16 << 20

    private let ending: Ending
    private let maximumLength: Int
    private var begun: [UInt8] = []
    /// Whether the last byte was a carriage return that ended a line. A line feed right after it belongs to the same
    /// ending.
    private var isAfterCarriageReturn = false
    /// The number of the line that is being read, from 1.
    private(set) var lineNumber = 1

    init(endingAt ending: Ending, maximumLength: Int = standardMaximumLength) {
        self.ending = ending
        self.maximumLength = max(0, maximumLength)
    }

    /// Takes the next complete line from a chunk.
    ///
    /// - Parameter chunk: received bytes that are not read yet. A line returned in place is valid as long as this
    ///   memory.
    /// - Returns: nil when the chunk is used up.
    /// - Throws: `response too large` when a line is longer than allowed. The splitter cannot continue after that.
    mutating func next(_ chunk: inout UnsafeRawBufferPointer) throws(APIError) -> Line? {
        if isAfterCarriageReturn, let first = chunk.first {
            isAfterCarriageReturn = false
            if first == UInt8(ascii: "\n") { chunk = UnsafeRawBufferPointer(rebasing: chunk[1...]) }
        }
        guard let end = endOfLine(in: chunk) else {
            try keep(chunk)
            chunk = UnsafeRawBufferPointer(rebasing: chunk[chunk.endIndex...])
            return nil
        }
        let line = try finish(UnsafeRawBufferPointer(rebasing: chunk[..<end]))
        isAfterCarriageReturn = chunk[end] == UInt8(ascii: "\r")
        chunk = UnsafeRawBufferPointer(rebasing: chunk[(end + 1)...])
        return line
    }

    /// Takes the text after the last line ending, at the end of the stream.
    ///
    /// - Returns: nil when there is none.
    mutating func last() throws(APIError) -> Line? {
        guard !begun.isEmpty else { return nil }
        return try finish(UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private func endOfLine(in chunk: UnsafeRawBufferPointer) -> Int? {
        guard let start = chunk.baseAddress else { return nil }
        switch ending {
        case .lineFeed:
            return memchr(start, Int32(UInt8(ascii: "\n")), chunk.count).map { UnsafeRawPointer($0) - start }
        case .carriageReturnOrLineFeed:
            return chunk.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        }
    }

    private mutating func keep(_ piece: UnsafeRawBufferPointer) throws(APIError) {
        guard let last = piece.last else { return }
        // The last byte may be a part of the line ending.
        let isOpen = ending == .lineFeed && last == UInt8(ascii: "\r")
        try check(begun.count + piece.count - (isOpen ? 1 : 0))
        begun.append(contentsOf: piece)
    }

    private mutating func finish(_ piece: UnsafeRawBufferPointer) throws(APIError) -> Line {
        var line: Line = .inPlace(piece)
        if !begun.isEmpty {
            begun.append(contentsOf: piece)
            line = .joined(begun)
            begun = []
        }
        if ending == .lineFeed { line = line.withoutCarriageReturn }
        try check(line.withBytes { $0.count })
        lineNumber += 1
        return line
    }

    private func check(_ length: Int) throws(APIError) {
        guard length > maximumLength else { return }
        throw APIError(
            domain: .network, code: .responseTooLarge,
            message: "line \(lineNumber) of the stream is longer than the allowed \(maximumLength) bytes")
    }
}

extension LineSplitter.Line {
    fileprivate var withoutCarriageReturn: LineSplitter.Line {
        switch self {
        case .inPlace(let bytes) where bytes.last == UInt8(ascii: "\r"):
            return .inPlace(UnsafeRawBufferPointer(rebasing: bytes.dropLast()))
        case .joined(var bytes) where bytes.last == UInt8(ascii: "\r"):
            bytes.removeLast()
            return .joined(bytes)
        default: return self
        }
    }
}
