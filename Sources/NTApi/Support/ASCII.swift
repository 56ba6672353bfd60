extension String {
    func equalsIgnoringASCIICase(_ other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { $0 == $1 || $0.lowercasedASCII == $1.lowercasedASCII }
    }

    func lowercasedASCII() -> String { String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self) }

    func containsSubstring(_ needle: String) -> Bool {
        let haystack = Array(utf8)
        let wanted = Array(needle.utf8)
        guard !wanted.isEmpty, haystack.count >= wanted.count else { return wanted.isEmpty }
        return (0...(haystack.count - wanted.count)).contains {
            haystack[$0..<($0 + wanted.count)].elementsEqual(wanted)
        }
    }

}

extension StringProtocol {
    func hasASCIIPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
}

extension UInt8 {
    var lowercasedASCII: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }

    var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    var isASCIILetter: Bool { lowercasedASCII >= UInt8(ascii: "a") && lowercasedASCII <= UInt8(ascii: "z") }

    /// Whether the byte may stand in a token of RFC 9110, 5.6.2: a method or a header name.
    var isTokenCharacter: Bool {
        if isASCIIDigit || isASCIILetter { return true }
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            return true
        default: return false
        }
    }
}
