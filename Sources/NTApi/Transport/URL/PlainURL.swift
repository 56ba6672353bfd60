/// A base URL, looked at once for all requests below it.
final class BaseURL: Sendable {
    let text: String
    /// Nil when the base is not plain: URLs below it go the long way.
    let plain: PlainURL?

    init(_ text: String) {
        self.text = text
        plain = PlainURL(base: text)
    }
}

/// The short way to a URL: base, command and query written one after the other, without a parser.
///
/// libcurl's parser stays the judge of every URL. It was asked about the base, and what is added cannot change its answer:
/// the base came out of it as it went in, without query and fragment, and behind the base's path come only slashes,
/// unreserved characters and what percent-encoding makes of the rest (RFC 3986, 2.3), none of it a dot segment. Anything else
/// takes the long way, `URLBuilder.parsed`. A test compares the two.
struct PlainURL: Sendable {
    /// What is asked for without a command.
    private let whole: String
    /// The same without a slash at its end: what a command is appended to.
    private let stem: String

    /// A longer URL goes the long way: libcurl has a bound of its own.
    private static let maximumLength = 65536
    /// So few are searched one by one.
    private static let maximumValues = 32

    init?(base: String) {
        let isPlain = base.withBytes { bytes in
            bytes.count <= Self.maximumLength
                && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        }
        guard isPlain, let parts = try? URLParts(base), parts.text == base || parts.text == base + "/" else {
            return nil
        }
        whole = parts.text
        stem = whole.hasSuffix("/") ? String(whole.dropLast()) : whole
    }

    /// - Returns: nil where it takes the long way to say what comes out, or what is wrong.
    func url(
        _ command: String, path: [(name: String, value: String)], query: some Sequence<(name: String, value: String)>
    ) -> String? {
        guard path.count <= Self.maximumValues, let room = room(for: command, path, query) else { return nil }
        var isDone = false
        let url = String(unsafeUninitializedCapacity: room) { buffer in
            var writer = URLWriter(buffer)
            isDone = writePath(command, path, to: &writer)
            writer.write(query)
            isDone = isDone && !writer.isFull
            return writer.count
        }
        return isDone ? url : nil
    }

    private func writePath(
        _ command: String, _ values: [(name: String, value: String)], to writer: inout URLWriter
    ) -> Bool {
        guard !command.isEmpty else {
            writer.write(whole)
            return true
        }
        writer.write(stem)
        return command.withBytes { command in
            if command.first != UInt8(ascii: "/") { writer.write(UInt8(ascii: "/")) }
            var index = 0
            var previous = UInt8(ascii: "/")
            while index < command.count {
                let byte = command[index]
                index += 1
                defer { previous = byte }
                // It may be a dot segment.
                if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { return false }
                if byte.isUnreserved || byte == UInt8(ascii: "/") {
                    writer.write(byte)
                } else {
                    // An empty value could leave nothing of the command, and then there is no slash either.
                    guard byte == UInt8(ascii: "{"), let close = command[index...].firstIndex(of: UInt8(ascii: "}")),
                        let value = values.last(where: {
                            $0.name == String(decoding: command[index..<close], as: UTF8.self)
                        }), value.value.isOrdinarySegment
                    else { return false }
                    writer.write(encoding: value.value)
                    index = close + 1
                }
            }
            return true
        }
    }

    /// Enough bytes for the URL if all that is added had to be encoded. Should a value be used twice, the writer says so.
    private func room(
        for command: String, _ path: [(name: String, value: String)],
        _ query: some Sequence<(name: String, value: String)>
    ) -> Int? {
        var added = command.utf8.count
        for pair in path { added = added &+ pair.value.utf8.count }
        for pair in query { added = added &+ pair.name.utf8.count &+ pair.value.utf8.count &+ 2 }
        guard added >= 0, added <= Self.maximumLength else { return nil }
        return whole.utf8.count + 1 + 3 * added
    }
}

extension String {
    /// Whether a path arg with this value can make no dot segment, whatever stands beside it.
    fileprivate var isOrdinarySegment: Bool {
        withBytes { bytes in
            guard let first = bytes.first, first != UInt8(ascii: ".") else { return false }
            return bytes.allSatisfy { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }
        }
    }
}

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
