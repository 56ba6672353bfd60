// Strings: first their bytes and escapes, up to the closing quote, then what the escapes stand for.
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

    /// - Parameter unit: of an escape; nil for a character that stands for itself.
    mutating func take(_ unit: UInt32?) {
        let isLow = unit.map { $0 & 0xFC00 == 0xDC00 } ?? false
        if let high, !isLow { lone = lone ?? high }
        if isLow, high == nil { lone = lone ?? unit }
        high = unit.flatMap { $0 & 0xFC00 == 0xD800 ? $0 : nil }
    }
}
