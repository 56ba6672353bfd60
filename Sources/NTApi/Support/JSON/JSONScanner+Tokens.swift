import CScan

// One token each. All take the place where it begins, and answer where it ends; nil says that it is no such token.
// Before `wide` there are 16 bytes to be read at once.
extension JSONScanner {
    @inline(__always)
    static func skipWhiteSpace(_ p: Pointer, _ wide: Pointer) -> Pointer {
        p.pointee > 0x20 ? p : skipWhiteSpaceRun(p, wide)
    }

    @inline(never)
    private static func skipWhiteSpaceRun(_ start: Pointer, _ wide: Pointer) -> Pointer {
        var p = start
        while JSONParser.isWhiteSpace(p.pointee) {
            let isLineEnd = p.pointee == 0x0A
            p += 1
            guard isLineEnd else { continue }
            // Text that is laid out for people has long indents behind its line ends.
            while p < wide {
                let spaces = Int(ntapi_scan_space_prefix(p))
                p += spaces
                if spaces < 16 { break }
            }
        }
        return p
    }

    /// - Returns: the closing quote.
    @inline(__always)
    static func string(_ start: Pointer, _ text: Pointer, _ wide: Pointer, _ word: Words) -> Pointer? {
        shortString(start, text, wide, word) ?? longString(start, text, wide, word, isKey: false)
    }

    /// - Returns: the closing quote.
    @inline(__always)
    static func key(_ start: Pointer, _ text: Pointer, _ wide: Pointer, _ word: Words) -> Pointer? {
        shortString(start, text, wide, word) ?? longString(start, text, wide, word, isKey: true)
    }

    /// Most keys, and many strings, are plain and at most 16 bytes long.
    @inline(__always)
    private static func shortString(_ start: Pointer, _ text: Pointer, _ wide: Pointer, _ word: Words) -> Pointer? {
        guard start < wide else { return nil }
        let length = UInt64(ntapi_scan_plain_prefix(start))
        let end = start + Int(truncatingIfNeeded: length)
        guard end.pointee == UInt8(ascii: "\"") else { return nil }
        // As `JSONTape.word` has it, for a length that is known to fit.
        word.pointee =
            JSONTape.Kind.plainString.rawValue << 60 | length << 32 | UInt64(truncatingIfNeeded: start - text)
        return end
    }

    @inline(never)
    private static func longString(
        _ start: Pointer, _ text: Pointer, _ wide: Pointer, _ word: Words, isKey: Bool
    ) -> Pointer? {
        var p = start
        var kind = JSONTape.Kind.plainString
        while true {
            while p < wide {
                let plain = Int(ntapi_scan_plain_prefix(p))
                p += plain
                if plain < 16 { break }
            }
            let byte = p.pointee
            if byte == UInt8(ascii: "\"") {
                word.pointee = JSONTape.word(kind, offset: start - text, length: p - start)
                return p
            } else if byte == UInt8(ascii: "\\") {
                guard let escape = JSONEscape(p), !(isKey && escape.scalar == 0) else { return nil }
                kind = .escapedString
                p += escape.length
            } else if byte >= 0x80 {
                repeat {
                    let length = UTF8Sequence.length(p)
                    guard length > 0 else { return nil }
                    p += length
                } while p.pointee >= 0x80
            } else if byte < 0x20 {
                return nil
            } else {
                p += 1
            }
        }
    }

    @inline(__always)
    static func number(_ start: Pointer, _ text: Pointer, _ word: Words) -> Pointer? {
        shortNumber(start, text, word) ?? longNumber(start, text, word)
    }

    /// Most numbers have no exponent, and so few digits that they are in range.
    @inline(__always)
    private static func shortNumber(_ start: Pointer, _ text: Pointer, _ word: Words) -> Pointer? {
        var p = start
        if p.pointee == UInt8(ascii: "-") { p += 1 }
        guard p.pointee != UInt8(ascii: "0") || !p[1].isASCIIDigit, let whole = skipDigits(p) else { return nil }
        var end = whole
        var kind = JSONTape.Kind.int
        if end.pointee == UInt8(ascii: ".") {
            guard let fraction = skipDigits(end + 1) else { return nil }
            end = fraction
            kind = .double
        }
        let length = end - start
        guard length < JSONNumber.safeIntegerDigits, end.pointee | 0x20 != UInt8(ascii: "e") else { return nil }
        word.pointee =
            kind.rawValue << 60 | UInt64(truncatingIfNeeded: length) << 32 | UInt64(truncatingIfNeeded: start - text)
        return end
    }

    @inline(never)
    private static func longNumber(_ start: Pointer, _ text: Pointer, _ word: Words) -> Pointer? {
        var p = start
        if p.pointee == UInt8(ascii: "-") { p += 1 }
        let isZero = p.pointee == UInt8(ascii: "0")
        guard let whole = skipDigits(p), !isZero || whole == p + 1 else { return nil }
        p = whole
        var kind = JSONTape.Kind.int
        if p.pointee == UInt8(ascii: ".") {
            guard let end = skipDigits(p + 1) else { return nil }
            p = end
            kind = .double
        }
        var isInRange = p - start < JSONNumber.safeDoubleDigits
        if p.pointee | 0x20 == UInt8(ascii: "e") {
            p += 1
            if p.pointee == UInt8(ascii: "+") || p.pointee == UInt8(ascii: "-") { p += 1 }
            guard let end = skipDigits(p) else { return nil }
            p = end
            kind = .double
            isInRange = false
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: p - start)
        if kind == .int, !JSONNumber.fitsInt64(bytes) { kind = .double }
        if kind == .double, !isInRange, !JSONNumber.fitsDouble(bytes) { return nil }
        word.pointee = JSONTape.word(kind, offset: start - text, length: p - start)
        return p
    }

    /// Behind one digit or more.
    @inline(__always)
    private static func skipDigits(_ start: Pointer) -> Pointer? {
        var p = start
        guard p.pointee.isASCIIDigit else { return nil }
        repeat { p += 1 } while p.pointee.isASCIIDigit
        return p
    }

    /// `true`, `false` or `null`.
    @inline(__always)
    static func literal(_ p: Pointer, _ text: Pointer, _ word: Words) -> Pointer? {
        // A NUL is none of the letters, so that no byte behind one is looked at.
        let kind: JSONTape.Kind
        let length: Int
        if p[0] == UInt8(ascii: "t"), p[1] == UInt8(ascii: "r"), p[2] == UInt8(ascii: "u"), p[3] == UInt8(ascii: "e") {
            (kind, length) = (.yes, 4)
        } else if p[0] == UInt8(ascii: "n"), p[1] == UInt8(ascii: "u"), p[2] == UInt8(ascii: "l"),
            p[3] == UInt8(ascii: "l")
        {
            (kind, length) = (.null, 4)
        } else if p[0] == UInt8(ascii: "f"), p[1] == UInt8(ascii: "a"), p[2] == UInt8(ascii: "l"),
            p[3] == UInt8(ascii: "s"), p[4] == UInt8(ascii: "e")
        {
            (kind, length) = (.no, 5)
        } else {
            return nil
        }
        word.pointee = JSONTape.word(kind, offset: p - text)
        return p + length
    }
}
