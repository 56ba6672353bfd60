/// Learns from libcurl's log that an HTTP/2 server did nothing with a request. A pure value: lines in, verdict out.
///
/// A server that is about to close a connection names the last stream that it looked at; the streams after it may be sent
/// again, whatever they are (RFC 9113, 6.8 and 8.7). nginx does so after every thousand requests. libcurl sends them again
/// by itself, but tells of the reason in words only. Where the words change, the verdict is "not known to be refused",
/// which is on the safe side.
struct StreamRefusal: Equatable {
    private var stream: Int?
    private var isRefused = false

    /// Takes one line of the transfer's log.
    ///
    /// - Returns: the last stream that the server looks at, when the line tells: it is so for all on the same connection, of
    ///   which only one hears it.
    mutating func hear(_ line: UnsafeRawBufferPointer) -> Int? {
        if line.starts(with: "REFUSED_STREAM".utf8) {
            isRefused = true
        } else if let number = Self.number(after: "Using Stream ID: ", in: line) {
            stream = number
            isRefused = false
        } else {
            return Self.number(after: " GOAWAY, error=", then: ", last_stream=", in: line)
        }
        return nil
    }

    /// Whether the server did nothing with the request.
    ///
    /// - Parameter lastStream: the last stream of the connection that it looks at.
    func isCertain(after lastStream: Int?) -> Bool {
        if isRefused { return true }
        guard let stream, let lastStream else { return false }
        return stream > lastStream
    }

    /// The decimal number that follows a text; with `then`, the one that follows that text after another number.
    private static func number(after prefix: String, then: String? = nil, in line: UnsafeRawBufferPointer) -> Int? {
        guard let start = line.firstIndex(of: prefix) else { return nil }
        let rest = line[start...].dropFirst(prefix.utf8.count)
        let digits = rest.prefix(while: \.isASCIIDigit)
        guard !digits.isEmpty else { return nil }
        if let then {
            let tail = rest.dropFirst(digits.count)
            guard tail.starts(with: then.utf8) else { return nil }
            return Int(String(decoding: tail.dropFirst(then.utf8.count).prefix(while: \.isASCIIDigit), as: UTF8.self))
        }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func firstIndex(of text: String) -> Int? {
        guard count >= text.utf8.count else { return nil }
        return (0...(count - text.utf8.count)).first { self[$0...].starts(with: text.utf8) }
    }
}
