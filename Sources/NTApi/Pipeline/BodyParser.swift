#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the body of a streaming request is read as.
package enum BodyFormat: Sendable {
    case bytes
    /// A JSON value in each line.
    case jsonLines
    /// The event stream of WHATWG HTML, 9.2.
    case serverEvents
}

/// What is read off a body.
package enum BodyElement: Sendable {
    case bytes(ResponseData)
    case json(JSON)
    case event(ServerSentEvent)
}

/// Reads one body. A pure value: pieces in, elements out.
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

    /// What a later connection begins with, and how long to wait before it in milliseconds.
    var resumption: (lastEventID: String, retry: Int?) {
        if case .events(let parser) = kind { (parser.lastEventID, parser.retry) } else { ("", nil) }
    }

    /// Reads on to the end of the next element.
    ///
    /// - Parameter piece: what has arrived and was not read.
    /// - Returns: nil when the piece is used up.
    mutating func next(_ piece: inout UnsafeRawBufferPointer) throws(APIError) -> BodyElement? {
        switch kind {
        // Pieces of bytes are handed on as they are.
        case .bytes: return nil
        case .lines(var parser):
            // Taken out meanwhile: what is changed in two places at once would be copied.
            kind = .bytes
            defer { kind = .lines(parser) }
            return try parser.next(&piece).map { .json($0) }
        case .events(var parser):
            kind = .bytes
            defer { kind = .events(parser) }
            return try parser.next(&piece).map { .event($0) }
        }
    }

    /// Reads what stands at the end, when the body is whole.
    mutating func last() throws(APIError) -> BodyElement? {
        guard case .lines(var parser) = kind else { return nil }
        kind = .bytes
        defer { kind = .lines(parser) }
        return try parser.last().map { .json($0) }
    }
}

/// Reads JSON values off a stream that has one in each line (JSON Lines, NDJSON). A pure value: chunks in, values out.
///
/// Lines end in LF or CRLF, the last one also where the stream ends. Empty ones are skipped. The record separators of
/// RFC 7464 may stand in front of a value, as long as that is on one line.
struct JSONLinesParser {
    private var lines: LineSplitter
    private var failure: APIError?

    /// - Parameter maximumLength: the longest line in bytes.
    init(maximumLength: Int = LineSplitter.standardMaximumLength) {
        lines = LineSplitter(endingAt: .lineFeed, maximumLength: maximumLength)
    }

    /// Reads on to the end of the next value.
    ///
    /// - Parameter chunk: what has arrived and was not read.
    /// - Returns: nil when the chunk is used up.
    /// - Throws: `invalid JSON` that names the line, `response too large` when one is longer than allowed; the same again
    ///   from then on.
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

    /// Reads the last line, if nothing ended it, when no more will come.
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

/// Cuts a stream of bytes into lines, however it arrives in chunks. A pure value: chunks in, lines out.
///
/// A line that lies within one chunk is lent where it is; only what a chunk leaves unfinished is copied. That is bounded:
/// a server that never ends its line must not fill the memory.
struct LineSplitter {
    /// What ends a line.
    enum Ending: Sendable {
        /// A line feed; a carriage return before it belongs to the end.
        case lineFeed
        /// A carriage return, a line feed, or both as one.
        case carriageReturnOrLineFeed
    }

    /// A line without its end.
    enum Line {
        /// A part of the chunk.
        case inPlace(UnsafeRawBufferPointer)
        /// It was begun in an earlier chunk.
        case joined([UInt8])

        func withBytes<Value, Failure: Error>(
            _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
        ) throws(Failure) -> Value {
            switch self {
            case .inPlace(let bytes): return try body(bytes)
            case .joined(let bytes):
                // The standard library's own forgets which kind of error it is.
                return try bytes.withUnsafeBytes { bytes in
                    Result { () throws(Failure) in try body(bytes) }
                }.get()
            }
        }
    }

    /// The longest line, in bytes without its end, where nothing else is set.
    static let standardMaximumLength = 16 << 20

    private let ending: Ending
    private let maximumLength: Int
    private var begun: [UInt8] = []
    /// The last byte was a carriage return that ended a line: a line feed right behind it is the same end.
    private var isAfterCarriageReturn = false
    /// The lines that were begun: the number of the one that is being read, from 1.
    private(set) var lineNumber = 1

    init(endingAt ending: Ending, maximumLength: Int = standardMaximumLength) {
        self.ending = ending
        self.maximumLength = max(0, maximumLength)
    }

    /// Takes the next whole line off a chunk.
    ///
    /// - Parameter chunk: what has arrived and was not read; what is returned in place is valid as long as its memory.
    /// - Returns: nil when the chunk is used up.
    /// - Throws: `response too large` when a line is longer than allowed; there is no going on from there.
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

    /// Takes what stands behind the last end of a line, when no more will come.
    ///
    /// - Returns: nil when nothing does.
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
        // It may turn out to belong to the end.
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
