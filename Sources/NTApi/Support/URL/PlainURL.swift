/// A base URL, checked once for all requests below it.
final class BaseURL: Sendable {
    let text: String
    /// Nil when the base is not plain. URLs below it then go through the parser.
    let plain: PlainURL?

    init(_ text: String) {
        self.text = text
        plain = PlainURL(base: text)
    }

    /// Whether a URL is at the origin of this one.
    func isOrigin(of url: String) -> Bool {
        if plain?.isAbove(url) == true { return true }
        guard let origin = Origin(url: text) else { return false }
        return Origin(url: url) == origin
    }
}

/// The fast path to a URL: writes base, command and query one after the other, without a parser.
///
/// libcurl's parser still decides about every URL. It has parsed the base and did not change it. The base has no query
/// and no fragment. Only slashes, unreserved characters and percent-encoded bytes (RFC 3986, 2.3) follow the base's
/// path, and no dot segments, so the added text cannot change the parser's result. Anything else goes through
/// `URLBuilder.parsed`. A test compares the two.
struct PlainURL: Sendable {
    /// The URL without a command.
    private let whole: String
    /// The same without a final slash. Commands are appended to it.
    private let stem: String

    /// Longer URLs go through the parser, because libcurl has a limit of its own.
    private static let maximumLength = 65536
    /// Up to this many values are searched one by one.
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

    /// Whether a URL begins with this one, and goes on with a path or a query.
    fileprivate func isAbove(_ url: String) -> Bool {
        let rest = url.utf8.dropFirst(stem.utf8.count)
        let isAtEnd = rest.first.map { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? true
        return isAtEnd && url.utf8.starts(with: stem.utf8)
    }

    /// - Returns: nil when the parser is needed for the result or the error.
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
                // This may be a dot segment.
                if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { return false }
                if byte.isUnreserved || byte == UInt8(ascii: "/") {
                    writer.write(byte)
                } else {
                    // An empty value could make the command empty, and then there is no slash either.
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

    /// Enough bytes for the URL, even if everything is encoded. If a value is used twice, the writer reports that it is
    /// full.
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
    /// Whether a path arg with this value can never make a dot segment, whatever is next to it.
    fileprivate var isOrdinarySegment: Bool {
        withBytes { bytes in
            guard let first = bytes.first, first != UInt8(ascii: ".") else { return false }
            return bytes.allSatisfy { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }
        }
    }
}

/// Writes a URL into a buffer, never beyond its end.
struct URLWriter {
    // Each write first checks that it stays inside of the buffer.
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0
    /// Whether something did not fit and was dropped.
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

    /// Writes pairs as a query with its question mark. Writes nothing for no pairs.
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

    /// Writes a text in percent-encoding, so that it stays within a path segment or a query value.
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
