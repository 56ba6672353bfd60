/// Reads server-sent events from a stream (WHATWG HTML, 9.2.6): chunks in, events out. A pure value.
///
/// The result does not depend on how the bytes are cut into chunks. An event that the end of the stream cuts off is
/// dropped.
struct EventStreamParser {
    /// The identifier of the last event that had one, for the header Last-Event-ID of a new connection.
    private(set) var lastEventID: String
    /// How many milliseconds clients should wait before they reconnect; nil if the server did not say.
    private(set) var retry: Int?

    private let maximumSize: Int
    private var lines: LineSplitter
    private var isFirstLine = true
    private var failure: APIError?

    // The buffers of the standard for the next event, with the same names.
    private var data: [UInt8] = []
    private var eventType = ""
    private var lastEventIDBuffer: String

    /// - Parameters:
    ///   - lastEventID: the last one of an earlier connection. An event without an identifier keeps it.
    ///   - maximumSize: the largest event, and the longest line, in bytes.
    init(lastEventID: String = "", maximumSize: Int = LineSplitter.standardMaximumLength) {
        self.lastEventID = lastEventID
        self.maximumSize = max(0, maximumSize)
        lastEventIDBuffer = lastEventID
        lines = LineSplitter(endingAt: .carriageReturnOrLineFeed, maximumLength: maximumSize)
    }

    /// Reads to the end of the next event.
    ///
    /// - Parameter chunk: bytes that have arrived and are not read yet.
    /// - Returns: nil when the chunk is used up.
    /// - Throws: `response too large` when a line or an event is larger than allowed. Later calls throw the same error.
    mutating func next(_ chunk: inout UnsafeRawBufferPointer) throws(APIError) -> ServerSentEvent? {
        if let failure { throw failure }
        do throws(APIError) {
            while let line = try lines.next(&chunk) {
                if let event = try line.withBytes({ (bytes) throws(APIError) in try take(bytes) }) { return event }
            }
            return nil
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer) throws(APIError) -> ServerSentEvent? {
        var line = bytes
        if isFirstLine {
            isFirstLine = false
            line = UnsafeRawBufferPointer(rebasing: line[JSONParser.byteOrderMarkLength(of: line)...])
        }
        if line.isEmpty { return dispatch() }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            try process(line, UnsafeRawBufferPointer(start: nil, count: 0))
            return nil
        }
        let hasSpace = colon + 1 < line.count && line[colon + 1] == UInt8(ascii: " ")
        try process(
            UnsafeRawBufferPointer(rebasing: line[..<colon]),
            UnsafeRawBufferPointer(rebasing: line[(colon + (hasSpace ? 2 : 1))...]))
        return nil
    }

    /// Ignores fields with other names, and comments, which have none.
    private mutating func process(_ field: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(APIError) {
        if field.isEqual(to: "data") {
            guard data.count + value.count <= maximumSize else {
                throw APIError(
                    domain: .network, code: .responseTooLarge,
                    message: "an event of the stream has more than the allowed \(maximumSize) bytes of data")
            }
            data.append(contentsOf: value)
            data.append(UInt8(ascii: "\n"))
        } else if field.isEqual(to: "event") {
            eventType = String(decoding: value, as: UTF8.self)
        } else if field.isEqual(to: "id") {
            if !value.contains(0) { lastEventIDBuffer = String(decoding: value, as: UTF8.self) }
        } else if field.isEqual(to: "retry") {
            if let milliseconds = Self.number(value) { retry = milliseconds }
        }
    }

    /// An empty line completes the event, if it has data.
    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = lastEventIDBuffer
        defer {
            data.removeAll(keepingCapacity: data.count <= 64 * 1024)
            eventType = ""
        }
        guard !data.isEmpty else { return nil }
        return ServerSentEvent(
            type: eventType.isEmpty ? "message" : eventType, data: String(decoding: data.dropLast(), as: UTF8.self),
            lastEventID: lastEventID)
    }

    /// Accepts digits only. A number that does not fit becomes the largest integer.
    private static func number(_ text: UnsafeRawBufferPointer) -> Int? {
        guard !text.isEmpty, text.allSatisfy(\.isASCIIDigit) else { return nil }
        return text.reduce(0) { number, digit in
            let (tenfold, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = tenfold.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            return isTooLarge || isLarger ? .max : sum
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isEqual(to word: StaticString) -> Bool {
        isEqual(to: UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }
}
