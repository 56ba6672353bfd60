/// One token of a text, read for an error message: where it ends, and what is wrong with it.
struct JSONToken {
    enum Kind {
        /// There is none: the text ends.
        case end
        case string
        /// A number, a word or a bracket that may stand somewhere in JSON.
        case other
        /// It may stand nowhere.
        case wrong(String)
    }

    var kind = Kind.other
    /// The offset behind it; of the byte that is wrong, where a single one is.
    var end: Int
    /// Whether it is a string with U+0000 in it.
    var containsNUL = false

    let text: UnsafeRawBufferPointer
    let start: Int

    init(_ text: UnsafeRawBufferPointer, at offset: Int) {
        self.text = text
        start = min(offset, text.count)
        end = start
        guard let byte = byte(start) else {
            kind = .end
            return
        }
        switch byte {
        case UInt8(ascii: "\""): readString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): readNumber()
        case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ","),
            UInt8(ascii: ":"):
            end = start + 1
        case 0: kind = .wrong("NUL byte")
        case 0x80...: readBeyondASCII()
        case _ where byte.isASCIILetter: readWord()
        default:
            end = start + 1
            kind = .wrong(byte < 0x20 || byte == 0x7F ? "control character \(hex(byte))" : "invalid token" + quotation)
        }
    }

    /// The token itself, for a message, unless it is long.
    var quotation: String {
        end - start > 20 ? "" : " near '\(String(decoding: text[start..<end], as: UTF8.self))'"
    }

    func byte(_ offset: Int) -> UInt8? { offset < text.count ? text[offset] : nil }

    func hex(_ byte: UInt8) -> String {
        "0x" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    private mutating func readWord() {
        while let byte = byte(end), byte.isASCIILetter { end += 1 }
        let isKnown = ["true", "false", "null"].contains { text[start..<end].elementsEqual($0.utf8) }
        if !isKnown { kind = .wrong("invalid token" + quotation) }
    }

    private mutating func readBeyondASCII() {
        let length = sequenceLength(start)
        end = start + length
        kind = .wrong(length == 0 ? notUTF8(start) : "invalid token" + quotation)
    }

    private mutating func readNumber() {
        var isWhole = true
        if byte(end) == UInt8(ascii: "-") { end += 1 }
        if byte(end) == UInt8(ascii: "0") {
            end += 1
            isWhole = byte(end)?.isASCIIDigit != true
        } else {
            isWhole = skipDigits()
        }
        if isWhole, byte(end) == UInt8(ascii: ".") {
            end += 1
            isWhole = skipDigits()
        }
        if isWhole, let e = byte(end), e | 0x20 == UInt8(ascii: "e") {
            end += 1
            if let sign = byte(end), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { end += 1 }
            isWhole = skipDigits()
        }
        if !isWhole {
            kind = .wrong("invalid token" + quotation)
        } else if !JSONNumber.fitsDouble(UnsafeRawBufferPointer(rebasing: text[start..<end])) {
            kind = .wrong("number overflow: it is beyond a double")
        }
    }

    /// - Returns: whether there was a digit.
    private mutating func skipDigits() -> Bool {
        let first = end
        while let byte = byte(end), byte.isASCIIDigit { end += 1 }
        return end > first
    }

    func notUTF8(_ offset: Int) -> String { "the byte \(hex(text[offset])) is not UTF-8" }

    /// The length of the character at an offset, which is not ASCII; 0 when it is not UTF-8.
    func sequenceLength(_ offset: Int) -> Int {
        // The scanner's check relies on a NUL behind the text, which this need not have.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 5) { buffer in
            buffer.initialize(repeating: 0)
            for (index, byte) in text[offset...].prefix(4).enumerated() { buffer[index] = byte }
            return buffer.baseAddress.map { UTF8Sequence.length($0) } ?? 0
        }
    }
}
