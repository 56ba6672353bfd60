import CScan

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads JSON text once from start to end, checks it completely, and writes its tape.
///
/// A NUL follows the text. JSON contains no NUL, so every loop ends there at the latest, and no pointer passes it. Only
/// code that reads several bytes at once checks how many are left. Readers of the tape rely on these checks.
///
/// Nothing recurses: the second word of an open array or object refers to the container around it.
struct JSONScanner {
    typealias Pointer = UnsafePointer<UInt8>
    typealias Words = UnsafeMutablePointer<UInt64>

    /// What is expected next.
    enum Expected { case value, key, keyOrEnd, commaOrEnd }

    enum Problem: Error {
        /// The token at this offset is malformed or unexpected, or the next one is.
        case unexpected(at: Int, Expected, isInObject: Bool)
        /// The bracket at this offset exceeds the limit of nesting.
        case depth(at: Int)
        case memory
    }

    struct Result {
        /// The caller frees it.
        let words: Words
        let height: Int
        /// The offset after the value.
        let end: Int
    }

    /// Reads the value at an offset, after optional white space. What follows the value does not matter.
    ///
    /// - Parameters:
    ///   - text: `count` bytes, less than 2^31, and a final NUL.
    ///   - start: at most `count`.
    static func scan(_ text: Pointer, count: Int, from start: Int) throws(Problem) -> Result {
        let wide = count >= 16 ? text + (count - 15) : text
        // Most texts have more than eight bytes for each word.
        var capacity = (count - start) / 8 + 32
        guard var words = malloc(capacity &* MemoryLayout<UInt64>.stride)?.assumingMemoryBound(to: UInt64.self) else {
            throw .memory
        }
        var used = 0
        var full = capacity - 3
        // The array or object that is open, or -1, and the commas seen in it.
        var open = -1
        var isObject = false
        var commas = 0
        var depth = 0
        var height = 0
        var p = skipWhiteSpace(text + start, wide)
        var problem: Problem?

        values: while true {
            // A value takes at most two words, and the first key of an object one.
            if used > full {
                guard let grown = grow(words, &capacity) else {
                    problem = .memory
                    break values
                }
                words = grown
                full = capacity &- 3
            }
            let byte = p.pointee
            var end: Pointer?
            switch byte {
            case UInt8(ascii: "\""):
                end = string(p + 1, text, wide, words + used).map { $0 + 1 }
                used &+= 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < JSONDepth.limit else {
                    problem = .depth(at: p - text)
                    break values
                }
                depth &+= 1
                height = max(height, depth)
                isObject = byte == UInt8(ascii: "{")
                words[used] = JSONTape.word(isObject ? .object : .array, offset: p - text)
                words[used &+ 1] = JSONTape.open(in: open, commas: commas)
                open = used
                used &+= 2
                commas = 0
                p = skipWhiteSpace(p + 1, wide)
                if p.pointee == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    end = p
                    break
                }
                guard isObject else { continue values }
                guard let value = member(p, text, wide, words + used) else {
                    problem = .unexpected(at: p - text, .keyOrEnd, isInObject: true)
                    break values
                }
                used &+= 1
                p = value
                continue values
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                end = number(p, text, words + used)
                used &+= 1
            case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
                end = literal(p, text, words + used)
                used &+= 1
            default: break
            }
            guard let end else {
                problem = .unexpected(at: p - text, .value, isInObject: isObject)
                break values
            }
            p = end

            // After a value, or at the end of an empty array or object.
            while true {
                guard open >= 0 else { break values }
                p = skipWhiteSpace(p, wide)
                let byte = p.pointee
                if byte == UInt8(ascii: ",") {
                    commas &+= 1
                    p = skipWhiteSpace(p + 1, wide)
                    guard isObject else { continue values }
                    guard let value = member(p, text, wide, words + used) else {
                        problem = .unexpected(at: p - text, .key, isInObject: true)
                        break values
                    }
                    used &+= 1
                    p = value
                    continue values
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    problem = .unexpected(at: p - text, .commaOrEnd, isInObject: isObject)
                    break values
                }
                p += 1
                depth &-= 1
                let outer = JSONTape.outer(ofOpen: words[open &+ 1])
                // No comma follows the last element.
                let count = used == open &+ 2 ? 0 : commas &+ 1
                words[open &+ 1] = JSONTape.closed(next: used, count: count)
                open = outer.index
                commas = outer.commas
                isObject = open >= 0 && words[open] >> 60 == JSONTape.Kind.object.rawValue
            }
        }
        if let problem {
            free(words)
            throw problem
        }
        return Result(words: words, height: height, end: p - text)
    }

    /// Doubles the room on the tape; nil, with an unchanged tape, when there is no memory.
    @inline(never)
    private static func grow(_ words: Words, _ capacity: inout Int) -> Words? {
        let (doubled, overflow) = (capacity &* MemoryLayout<UInt64>.stride).multipliedReportingOverflow(by: 2)
        guard !overflow, let grown = realloc(words, doubled) else { return nil }
        capacity = doubled / MemoryLayout<UInt64>.stride
        return grown.assumingMemoryBound(to: UInt64.self)
    }

    /// Reads a key and its colon, and writes the key's word; nil when either is missing or wrong.
    @inline(__always)
    private static func member(_ p: Pointer, _ text: Pointer, _ wide: Pointer, _ word: Words) -> Pointer? {
        guard p.pointee == UInt8(ascii: "\""), let quote = key(p + 1, text, wide, word) else { return nil }
        let colon = skipWhiteSpace(quote + 1, wide)
        guard colon.pointee == UInt8(ascii: ":") else { return nil }
        return skipWhiteSpace(colon + 1, wide)
    }
}

// Each function reads one token: it gets the start and returns the end, or nil when there is no such token. Before
// `wide`, 16 bytes can be read at once.
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
            // Formatted text has long indents after its line ends.
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
        // Like `JSONTape.word`, for a length that is known to fit.
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

    /// Most numbers have no exponent, and so few digits that they are certainly in range.
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

    /// After one digit or more.
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
        // A NUL matches no letter, so no byte after it is read.
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
