/// The fields of a response as they came: one piece of memory and where in it each name and value is.
///
/// Most responses are asked for one header or none, so a `Field` is made only when it is looked at.
final class ReceivedHeaders: Sendable {
    /// Where a name and its value are. Heads are bounded, far below what 32 bits can count.
    struct Line: Sendable {
        var name: Range<UInt32>
        var value: Range<UInt32>
    }

    private let bytes: [UInt8]
    private let lines: [Line]

    /// - Parameter lines: ranges within the bytes.
    init(_ bytes: [UInt8], _ lines: [Line]) {
        self.bytes = bytes
        self.lines = lines
    }

    var count: Int { lines.count }

    func field(at index: Int) -> HTTPHeaders.Field {
        HTTPHeaders.Field(name: text(lines[index].name), value: value(at: index))
    }

    /// Bytes that are not UTF-8 become replacement characters: a header is never the reason to lose a response.
    func value(at index: Int) -> String { text(lines[index].value) }

    func withValue<Result>(at index: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withBytes(in: lines[index].value, body)
    }

    func firstIndex(named name: String, from start: Int) -> Int? {
        name.withBytes { name in
            lines[start...].firstIndex { line in
                line.name.count == name.count && withBytes(in: line.name) { $0.equalsIgnoringASCIICase(name) }
            }
        }
    }

    private func text(_ range: Range<UInt32>) -> String { withBytes(in: range) { String(decoding: $0, as: UTF8.self) } }

    private func withBytes<Result>(in range: Range<UInt32>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        bytes.withUnsafeBufferPointer {
            body(UnsafeBufferPointer(rebasing: $0[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
    }
}
