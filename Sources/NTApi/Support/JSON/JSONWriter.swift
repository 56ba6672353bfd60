/// Writes compact JSON text.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var open: [JSONCursor] = []

    mutating func write(_ value: JSON) {
        begin(value)
        while var cursor = open.popLast() {
            guard let child = cursor.next() else {
                bytes.append(UInt8(ascii: cursor.isObject ? "}" : "]"))
                continue
            }
            open.append(cursor)
            // Only right behind an opening bracket is there no comma; no value ends in one.
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
        case .int: bytes.append(contentsOf: (value.int64 ?? 0).description.utf8)
        // Swift writes the shortest digits that read back the same, always with a point or an exponent: 1.0, 1e+20.
        case .double: bytes.append(contentsOf: (value.double ?? 0).description.utf8)
        case .string: value.withUTF8 { string($0) }
        case .array, .object:
            bytes.append(UInt8(ascii: value.kind == .object ? "{" : "["))
            open.append(JSONCursor(value))
        }
    }

    private mutating func string(_ text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        var written = 0
        for (index, byte) in text.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5C {
            bytes.append(contentsOf: text[written..<index])
            escape(byte)
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
