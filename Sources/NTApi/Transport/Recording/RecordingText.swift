/// The text of a recording or a HAR, to which exchanges can be added.
///
/// The rest of the text is not written anew: numbers keep their digits, and what was edited by hand stays.
struct RecordingText: Sendable {
    let isHAR: Bool
    private let bytes: [UInt8]
    /// What is between the brackets of its exchanges.
    private let exchanges: Range<Int>

    /// - Parameters:
    ///   - bytes: a valid recording or HAR.
    ///   - path: the path for messages.
    init(_ bytes: [UInt8], of path: String) throws(APIError) {
        let text = JSONText(bytes: bytes)
        let log = text.value(of: "log", in: 0..<bytes.count)
        let list =
            if let log { text.value(of: "entries", in: log) } else {
                text.value(of: "exchanges", in: 0..<bytes.count)
            }
        guard let list, list.count >= 2 else {
            throw .invalidRequest("the recording \(quoted(path)): its exchanges were not found in the text")
        }
        self.bytes = bytes
        isHAR = log != nil
        exchanges = (list.lowerBound + 1)..<(list.upperBound - 1)
    }

    /// The text with the exchanges of another one, of the same format, after its own.
    func adding(_ other: RecordingText) -> [UInt8] {
        let (own, more) = (bytes[exchanges], other.bytes[other.exchanges])
        guard let lastOfMore = more.lastIndex(where: { !$0.isJSONSpace }) else { return bytes }
        guard let last = own.lastIndex(where: { !$0.isJSONSpace }) else {
            return Array(bytes[..<exchanges.lowerBound] + more + bytes[exchanges.upperBound...])
        }
        return Array(bytes[...last]) + [UInt8(ascii: ",")] + more[...lastOfMore] + bytes[(last + 1)...]
    }
}

/// Finds values in valid JSON text.
private struct JSONText {
    let bytes: [UInt8]

    /// Where the value of a member is; nil when there is none.
    ///
    /// - Parameter object: where the object is, perhaps with spaces around it.
    func value(of name: String, in object: Range<Int>) -> Range<Int>? {
        var index = start(after: object.lowerBound)
        guard byte(index) == UInt8(ascii: "{") else { return nil }
        repeat {
            index = start(after: index + 1)
            guard byte(index) == UInt8(ascii: "\"") else { return nil }
            let end = IndentedJSON.endOfString(bytes, from: index)
            let isWanted = bytes[(index + 1)..<max(index + 1, end - 1)].elementsEqual(name.utf8)
            // After the colon.
            let value = start(after: start(after: end) + 1)
            let endOfValue = endOfValue(from: value)
            if isWanted { return value..<endOfValue }
            index = start(after: endOfValue)
        } while byte(index) == UInt8(ascii: ",")
        return nil
    }

    private func byte(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

    /// The index of the first byte from here on that is no space.
    private func start(after index: Int) -> Int {
        var index = index
        while byte(index)?.isJSONSpace == true { index += 1 }
        return min(index, bytes.count)
    }

    private func endOfValue(from start: Int) -> Int {
        var (index, depth) = (start, 0)
        while let byte = byte(index) {
            switch byte {
            case UInt8(ascii: "\""):
                index = IndentedJSON.endOfString(bytes, from: index)
                if depth == 0 { return index }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The end of the value, or of what a number is in.
                if depth <= 1 { return depth == 0 ? index : index + 1 }
                depth -= 1
            case UInt8(ascii: ","): if depth == 0 { return index }
            default: break
            }
            index += 1
        }
        return index
    }
}

extension UInt8 {
    fileprivate var isJSONSpace: Bool { [0x20, 0x09, 0x0a, 0x0d].contains(self) }
}
