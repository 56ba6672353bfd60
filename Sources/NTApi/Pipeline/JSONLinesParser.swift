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
