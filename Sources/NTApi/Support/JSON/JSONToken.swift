/// One token of a text, read for an error message: its end, and what is wrong with it.
struct JSONToken {
    enum Kind {
        /// There is no token: the text ends.
        case end
        case string
        /// A number, a word or a bracket that is valid in JSON.
        case other
        /// Text that is not valid anywhere in JSON. The value describes it.
        case wrong(String)
    }

    var kind = Kind.other
    /// The offset after it, or the offset of a single wrong byte.
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
        // The scanner's check relies on a final NUL, which this text may lack.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 5) { buffer in
            buffer.initialize(repeating: 0)
            for (index, byte) in text[offset...].prefix(4).enumerated() { buffer[index] = byte }
            return buffer.baseAddress.map { UTF8Sequence.length($0) } ?? 0
        }
    }
}

// Strings: first the bytes and escapes up to the closing quote, then the escapes' values.
extension JSONToken {
    mutating func readString() {
        kind = .string
        end = start + 1
        var surrogates = Surrogates()
        while let byte = byte(end), byte != UInt8(ascii: "\"") {
            switch byte {
            case ..<0x20:
                kind = .wrong(byte == 0 ? "NUL byte" : "control character \(hex(byte)) in a string")
                return
            case UInt8(ascii: "\\"):
                guard let unit = readEscape() else { return }
                surrogates.take(unit)
                if unit == 0 { containsNUL = true }
            case 0x80...:
                let length = sequenceLength(end)
                guard length > 0 else {
                    kind = .wrong(notUTF8(end))
                    return
                }
                end += length
                surrogates.take(nil)
            default:
                end += 1
                surrogates.take(nil)
            }
        }
        guard byte(end) != nil else {
            kind = .wrong("unexpected end of the text in a string")
            return
        }
        end += 1
        surrogates.take(nil)
        if let lone = surrogates.lone {
            kind = .wrong("lone surrogate \\u" + String(lone, radix: 16, uppercase: true))
        }
    }

    /// Reads an escape of one character or one UTF-16 code unit, which may be half of a pair; nil when it is wrong.
    private mutating func readEscape() -> UInt32? {
        let escape = end
        end += 2
        switch byte(escape + 1) {
        case UInt8(ascii: "u"):
            var unit: UInt32 = 0
            for _ in 0..<4 {
                guard let digit = byte(end).flatMap(JSONEscape.hexadecimalDigit) else {
                    refuse(escape, at: end)
                    return nil
                }
                unit = unit << 4 | UInt32(digit)
                end += 1
            }
            return unit
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return 0x20
        default:
            refuse(escape, at: escape + 1)
            return nil
        }
    }

    private mutating func refuse(_ escape: Int, at offset: Int) {
        end = offset
        guard let byte = byte(offset) else {
            kind = .wrong("unexpected end of the text in a string")
            return
        }
        let length = byte < 0x80 ? 1 : sequenceLength(offset)
        if byte == 0 {
            kind = .wrong("NUL byte")
        } else if length == 0 {
            kind = .wrong(notUTF8(offset))
        } else {
            end = offset + length
            kind = .wrong("invalid escape near '\(String(decoding: text[escape..<end], as: UTF8.self))'")
        }
    }
}

/// Finds the first surrogate without its other half among the characters of a string.
private struct Surrogates {
    private(set) var lone: UInt32?
    private var high: UInt32?

    /// - Parameter unit: the unit of an escape; nil for an unescaped character.
    mutating func take(_ unit: UInt32?) {
        let isLow = unit.map { $0 & 0xFC00 == 0xDC00 } ?? false
        if let high, !isLow { lone = lone ?? high }
        if isLow, high == nil { lone = lone ?? unit }
        high = unit.flatMap { $0 & 0xFC00 == 0xD800 ? $0 : nil }
    }
}

/// Well-formed UTF-8 beyond ASCII: table 3-7 of the Unicode Standard.
enum UTF8Sequence {
    /// The length of the sequence that begins there: 2, 3 or 4; 0 when it is not well-formed.
    ///
    /// - Parameter start: a text that ends in NUL, which no sequence contains. No byte after the NUL is read.
    @inline(__always)
    static func length(_ start: UnsafePointer<UInt8>) -> Int {
        let lead = start.pointee
        if lead < 0xE0 {
            return lead >= 0xC2 && isContinuation(start[1]) ? 2 : 0
        }
        let second = start[1]
        if lead < 0xF0 {
            guard isContinuation(second), isContinuation(start[2]) else { return 0 }
            // An overlong form, or a surrogate.
            let isBad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0)
            return isBad ? 0 : 3
        }
        guard lead < 0xF5, isContinuation(second), isContinuation(start[2]), isContinuation(start[3]) else { return 0 }
        // An overlong form, or beyond U+10FFFF.
        let isBad = (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90)
        return isBad ? 0 : 4
    }

    @inline(__always)
    private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}
