/// A copy of a JSON text in which each integer beyond 64 bits has ".0" behind it, so that it is read as a double.
///
/// jansson can read all integers as doubles, or none. Reading all would round every other integer beyond 2^53, which is
/// where services keep their ids; so only those that cannot be exact are changed.
struct JSONBigIntegers {
    let rewritten: [UInt8]

    /// The offsets in `rewritten` right behind each ".0", ascending.
    private let insertions: [Int]

    /// Finds the big integers in one pass; nil when there are none.
    ///
    /// Text that is no JSON is never made into JSON: ".0" stands only where a digit of an integer was the last byte.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var rewritten: [UInt8] = []
        var insertions: [Int] = []
        var copied = 0
        var index = 0
        while index < bytes.count {
            let start = index
            switch bytes[index] {
            case UInt8(ascii: "\""): index = Self.endOfString(bytes, from: index)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                index = Self.endOfNumber(bytes, from: index)
                guard Self.isBigInteger(bytes[start..<index]) else { continue }
                if insertions.isEmpty { rewritten.reserveCapacity(bytes.count + bytes.count / 8) }
                rewritten.append(contentsOf: bytes[copied..<index])
                rewritten.append(contentsOf: ".0".utf8)
                insertions.append(rewritten.count)
                copied = index
            default: index += 1
            }
        }
        guard !insertions.isEmpty else { return nil }
        rewritten.append(contentsOf: bytes[copied...])
        self.rewritten = rewritten
        self.insertions = insertions
    }

    /// The offset in the original text of an offset in `rewritten`.
    func originalOffset(of offset: Int) -> Int {
        offset - 2 * (insertions.firstIndex { $0 > offset } ?? insertions.count)
    }

    private static func endOfString(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    private static func endOfNumber(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        let rest = bytes[start...]
        return rest.firstIndex { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): false
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "E"), UInt8(ascii: "e"): false
            default: true
            }
        } ?? rest.endIndex
    }

    private static func isBigInteger(_ token: Slice<UnsafeRawBufferPointer>) -> Bool {
        let digits = token.first == UInt8(ascii: "-") ? token.dropFirst() : token
        // Int64.max has 19 digits.
        guard digits.count >= 19, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        return Int64(String(decoding: token, as: UTF8.self)) == nil
    }
}
