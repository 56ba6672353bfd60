/// Why and where a text is not JSON.
///
/// Places are where reading stopped: right behind the token that does not belong, or at the byte that is not UTF-8.
public struct JSONParseError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The line, from 1.
    public let line: Int

    /// The column in characters (Unicode scalars), from 1.
    public let column: Int

    /// The bytes before this place; a byte order mark counts.
    public let offset: Int

    /// What is wrong, for people, in English; it may quote up to 20 bytes of the text.
    public let reason: String

    /// The place and the reason in one line.
    public var description: String {
        "line \(line), column \(column) (byte \(offset)): \(reason)"
    }

    /// Makes an error at a byte of a text; the line and the column are counted.
    init(at offset: Int, of text: UnsafeRawBufferPointer, reason: String) {
        let before = text.prefix(max(0, offset))
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // A byte that does not continue a UTF-8 sequence begins a character. The mark at the start is not seen.
        let characters = before[lineStart...].count { $0 & 0xC0 != 0x80 }
        let isMarked = lineStart == 0 && before.count >= 3 && JSONParser.byteOrderMarkLength(of: text) > 0
        self.line = before.count { $0 == UInt8(ascii: "\n") } + 1
        self.column = characters + (isMarked ? 0 : 1)
        self.offset = before.count
        self.reason = reason
    }
}
