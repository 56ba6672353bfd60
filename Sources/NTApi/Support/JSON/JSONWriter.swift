#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes compact JSON text.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    /// The first infinity or NaN, for which null was written, and where it was.
    private(set) var unwritable: (number: Double, path: JSONPath)?
    private var open: [JSONCursor] = []

    mutating func write(_ value: JSON) {
        begin(value)
        while var cursor = open.popLast() {
            guard let child = cursor.next() else {
                bytes.append(UInt8(ascii: cursor.isObject ? "}" : "]"))
                continue
            }
            open.append(cursor)
            // The last byte is the opening bracket only before the first child, because no value ends in one. Other
            // children need a comma.
            if bytes.last != UInt8(ascii: cursor.isObject ? "{" : "[") { bytes.append(UInt8(ascii: ",")) }
            if let key = child.key {
                key.withUTF8 { string($0) }
                bytes.append(UInt8(ascii: ":"))
            }
            begin(child.value)
        }
    }

    /// Writes a scalar, or the opening bracket of a container and leaves the rest to the loop.
    private mutating func begin(_ value: JSON) {
        switch value.kind {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool: bytes.append(contentsOf: (value.bool == true ? "true" : "false").utf8)
        case .int, .double: number(value)
        case .string: value.withUTF8 { string($0) }
        case .array, .object:
            bytes.append(UInt8(ascii: value.kind == .object ? "{" : "["))
            open.append(JSONCursor(value))
        }
    }

    private mutating func number(_ value: JSON) {
        switch value.storage {
        case .parsed(let document, let index): bytes.append(contentsOf: document.tape.bytes(Int(index)))
        case .int(let integer): bytes.append(contentsOf: integer.description.utf8)
        // Swift writes the shortest digits that read back the same, always with a point or an exponent: 1.0, 1e+20.
        case .double(let double) where double.isFinite: bytes.append(contentsOf: double.description.utf8)
        default:
            bytes.append(contentsOf: "null".utf8)
            if unwritable == nil { unwritable = (value.double ?? 0, JSONPath(steps: open.map(\.step))) }
        }
    }

    private mutating func string(_ text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        var written = 0
        for index in 0..<text.count where text[index] < 0x20 || text[index] == 0x22 || text[index] == 0x5C {
            bytes.append(contentsOf: text[written..<index])
            escape(text[index])
            written = index + 1
        }
        bytes.append(contentsOf: text[written...])
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x22, 0x5C: bytes.append(byte)
        default:
            bytes.append(contentsOf: byte < 0x10 ? "u000".utf8 : "u001".utf8)
            bytes.append(contentsOf: String(byte & 0x0F, radix: 16).utf8)
        }
    }
}

/// An escape in a JSON string and its value (RFC 8259, 7).
struct JSONEscape {
    /// The character. A surrogate pair is one character.
    let scalar: UInt32
    /// The bytes of the escape: 2, 6 or 12.
    let length: Int

    /// Reads the escape that begins with a backslash; nil when it is none, or a lone surrogate.
    ///
    /// - Parameter start: a text that ends in NUL, which no escape contains. No byte after the NUL is read.
    @inline(__always)
    init?(_ start: UnsafePointer<UInt8>) {
        switch start[1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): self.init(UInt32(start[1]), length: 2)
        case UInt8(ascii: "n"): self.init(0x0A, length: 2)
        case UInt8(ascii: "r"): self.init(0x0D, length: 2)
        case UInt8(ascii: "t"): self.init(0x09, length: 2)
        case UInt8(ascii: "b"): self.init(0x08, length: 2)
        case UInt8(ascii: "f"): self.init(0x0C, length: 2)
        case UInt8(ascii: "u"): self.init(hexadecimal: start)
        default: return nil
        }
    }

    private init(_ scalar: UInt32, length: Int) {
        self.scalar = scalar
        self.length = length
    }

    private init?(hexadecimal start: UnsafePointer<UInt8>) {
        guard let unit = Self.unit(start + 2) else { return nil }
        guard unit & 0xF800 == 0xD800 else {
            self.init(unit, length: 6)
            return
        }
        guard unit < 0xDC00, start[6] == UInt8(ascii: "\\"), start[7] == UInt8(ascii: "u"),
            let low = Self.unit(start + 8), low & 0xFC00 == 0xDC00
        else { return nil }
        self.init(0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF), length: 12)
    }

    /// The UTF-16 code unit of four hexadecimal digits.
    private static func unit(_ start: UnsafePointer<UInt8>) -> UInt32? {
        var unit: UInt32 = 0
        for index in 0..<4 {
            guard let digit = hexadecimalDigit(start[index]) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    @inline(__always)
    static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
        default: nil
        }
    }

    /// Writes a checked string without its escapes, which makes it shorter.
    ///
    /// - Parameters:
    ///   - string: the string in its text; the text continues after it.
    ///   - target: room for as many bytes.
    /// - Returns: the bytes written.
    static func decode(_ string: UnsafeRawBufferPointer, into target: UnsafeMutablePointer<UInt8>) -> Int {
        guard let start = string.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
        let end = start + string.count
        var from = start
        var to = target
        while let escape = memchr(from, CInt(UInt8(ascii: "\\")), end - from) {
            let plain = UnsafePointer(escape.assumingMemoryBound(to: UInt8.self)) - from
            memcpy(to, from, plain)
            to += plain
            from += plain
            // Any other backslash was refused when the text was scanned.
            guard let escape = JSONEscape(from) else { break }
            to = encode(escape.scalar, at: to)
            from += escape.length
        }
        memcpy(to, from, end - from)
        return to + (end - from) - target
    }

    /// A checked string without its escapes.
    static func decode(_ string: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: string.count) { target in
            target.baseAddress.map { decode(string, into: $0) } ?? 0
        }
    }

    /// No escape is shorter than the UTF-8 of its value.
    private static func encode(
        _ scalar: UInt32, at target: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        func continuation(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: 0x80 | scalar >> shift & 0x3F) }
        if scalar < 0x80 {
            target[0] = UInt8(truncatingIfNeeded: scalar)
            return target + 1
        }
        if scalar < 0x800 {
            target[0] = UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6)
            target[1] = continuation(0)
            return target + 2
        }
        if scalar < 0x10000 {
            target[0] = UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12)
            target[1] = continuation(6)
            target[2] = continuation(0)
            return target + 3
        }
        target[0] = UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18)
        target[1] = continuation(12)
        target[2] = continuation(6)
        target[3] = continuation(0)
        return target + 4
    }
}
