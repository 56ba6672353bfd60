/// One range of bytes that a request asks for: the header Range (RFC 9110, 14.2).
enum ByteRange: Sendable, Equatable {
    /// Both included; a `last` that is not named is the largest there is.
    case from(Int, to: Int)
    /// So many bytes at the end.
    case suffix(Int)

    /// What a body has of a range.
    enum Place: Equatable {
        case part(Range<Int>)
        /// The range lies outside.
        case unsatisfied
        /// The body is empty: no Content-Range could name a part of it.
        case whole
    }

    /// - Returns: nil for several ranges, another unit, and what is no range.
    init?(_ text: String) {
        let sides = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2, String(sides[0])?.equalsIgnoringASCIICase("bytes") == true else { return nil }
        let ends = sides[1].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }) else { return nil }
        switch (ends[0].isEmpty, ends[1].isEmpty) {
        case (true, true): return nil
        case (true, false): self = .suffix(Self.number(ends[1]))
        case (false, true): self = .from(Self.number(ends[0]), to: .max)
        case (false, false):
            let (first, last) = (Self.number(ends[0]), Self.number(ends[1]))
            guard first <= last else { return nil }
            self = .from(first, to: last)
        }
    }

    /// - Parameter count: of the body's bytes.
    func place(in count: Int) -> Place {
        switch self {
        case .from(let first, let last): first < count ? .part(first..<min(last, count - 1) + 1) : .unsatisfied
        case .suffix(0): .unsatisfied
        case .suffix(let length): count > 0 ? .part(max(0, count - length)..<count) : .whole
        }
    }

    /// More than can be counted is the most that can: no body has so many bytes.
    private static func number(_ digits: Substring.UTF8View.SubSequence) -> Int {
        String(digits).flatMap { Int($0) } ?? .max
    }
}
