/// Which part of a representation a response has: the header Content-Range (RFC 9110, 14.4), in bytes.
enum ContentRange: Equatable {
    /// The bytes from the first to the last, both included; the total is nil where the server does not know it.
    case part(first: Int64, last: Int64, total: Int64?)
    /// Of a 416: the part that was asked for is not within the total.
    case unsatisfied(total: Int64)

    /// - Returns: nil when there is none, several, or one that contradicts itself.
    init?(_ headers: HTTPHeaders) {
        let values = headers.all("Content-Range")
        guard let value = values.first, values.count == 1 else { return nil }
        self.init(value)
    }

    init?(_ text: String) {
        let words = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard words.count == 2, String(words[0])?.equalsIgnoringASCIICase("bytes") == true else { return nil }
        let sides = words[1].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let total = Self.number(sides[1])
        guard total != nil || sides[1].elementsEqual("*".utf8) else { return nil }
        if sides[0].elementsEqual("*".utf8) {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = sides[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < total ?? .max
        else { return nil }
        self = .part(first: first, last: last, total: total)
    }

    private static func number(_ digits: Substring.UTF8View.SubSequence) -> Int64? {
        digits.allSatisfy(\.isASCIIDigit) ? Int64(String(digits) ?? "") : nil
    }
}
