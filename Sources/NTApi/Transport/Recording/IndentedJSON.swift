/// JSON text that people read: a line for each member, four spaces for each level.
///
/// What is in the longest lists of scalars is kept on one line, so that the pairs of a header take one.
enum IndentedJSON {
    static func text(_ json: JSON) -> [UInt8] {
        let compact = json.utf8()
        var bytes: [UInt8] = []
        var depth = 0
        var index = 0
        while index < compact.count {
            let byte = compact[index]
            switch byte {
            case UInt8(ascii: "\""):
                let end = endOfString(compact, from: index)
                bytes += compact[index..<end]
                index = end
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if let end = endOfFlat(compact, from: index) {
                    bytes += spaced(compact[index..<end])
                    index = end
                    continue
                }
                depth += 1
                bytes.append(byte)
                breakLine(&bytes, depth)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                breakLine(&bytes, depth)
                bytes.append(byte)
            case UInt8(ascii: ","):
                bytes.append(byte)
                breakLine(&bytes, depth)
            case UInt8(ascii: ":"): bytes += Array(": ".utf8)
            default: bytes.append(byte)
            }
            index += 1
        }
        return bytes + [UInt8(ascii: "\n")]
    }

    private static func breakLine(_ bytes: inout [UInt8], _ depth: Int) {
        bytes.append(UInt8(ascii: "\n"))
        bytes += [UInt8](repeating: UInt8(ascii: " "), count: 4 * max(0, depth))
    }

    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    /// The end of an empty container, or of an array of two scalars at most.
    private static func endOfFlat(_ bytes: [UInt8], from start: Int) -> Int? {
        var index = start + 1
        var commas = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index = endOfString(bytes, from: index)
                continue
            case UInt8(ascii: "]"): return index + 1
            case UInt8(ascii: "}"): return index == start + 1 ? index + 1 : nil
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): return nil
            case UInt8(ascii: ","): commas += 1
            default: break
            }
            if commas > 1 { return nil }
            index += 1
        }
        return nil
    }

    /// With a space behind each comma that is not in a string.
    private static func spaced(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        var spaced: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\"") {
                let end = endOfString(bytes, from: index)
                spaced += bytes[index..<end]
                index = end
                continue
            }
            spaced.append(bytes[index])
            if bytes[index] == UInt8(ascii: ",") { spaced.append(UInt8(ascii: " ")) }
            index += 1
        }
        return spaced
    }
}
