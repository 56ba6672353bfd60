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
