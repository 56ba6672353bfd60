#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Names of headers, schemes and options are ASCII, so bytes are compared in place. Only `lowercasedASCII()` allocates,
// and only if the text has capitals.

extension String {
    /// Calls the body with the text's UTF-8, which is valid during the call.
    @inline(__always) func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        // A string that another runtime stores (NSString).
        var copy = self
        return copy.withUTF8(body)
    }

    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        withBytes { bytes in other.withBytes { bytes.equalsIgnoringASCIICase($0) } }
    }

    func hasASCIIPrefix(_ prefix: String) -> Bool {
        withBytes { bytes in prefix.withBytes { bytes.hasPrefix($0) } }
    }

    func lowercasedASCII() -> String {
        guard withBytes({ $0.contains { $0 != $0.lowercasedASCII } }) else { return self }
        return String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self)
    }

    func containsSubstring(_ needle: String) -> Bool {
        withBytes { bytes in needle.withBytes { bytes.contains($0) } }
    }
}

extension UnsafeBufferPointer<UInt8> {
    func equalsIgnoringASCIICase(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        count == other.count && hasPrefixIgnoringASCIICase(other)
    }

    /// Whether it begins with a word, which must be given in lower case.
    func hasPrefixIgnoringASCIICase(_ word: StaticString) -> Bool {
        hasPrefixIgnoringASCIICase(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    func hasPrefix(_ prefix: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count >= prefix.count else { return false }
        guard let mine = baseAddress, let other = prefix.baseAddress else { return true }
        return memcmp(mine, other, prefix.count) == 0
    }

    /// Whether it has no space, no control character and no byte beyond ASCII. It never stops early, so that the
    /// compiler can check many bytes in one instruction.
    var areVisibleASCII: Bool {
        guard let start = baseAddress else { return true }
        var isOdd: UInt8 = 0
        for index in 0..<count { isOdd |= start[index] &- 0x21 > 0x5D ? 1 : 0 }
        return isOdd == 0
    }

    /// Whether one of them is this one.
    func has(_ byte: UInt8) -> Bool { baseAddress.map { memchr($0, Int32(byte), count) != nil } ?? false }

    /// The index right after `://`; nil without a scheme.
    var endOfScheme: Int? {
        guard let start = baseAddress, let colon = memchr(start, Int32(UInt8(ascii: ":")), count) else { return nil }
        let end = UnsafeRawPointer(colon) - UnsafeRawPointer(start) + 3
        guard end <= count, self[end - 2] == UInt8(ascii: "/"), self[end - 1] == UInt8(ascii: "/") else { return nil }
        return end
    }

    private func hasPrefixIgnoringASCIICase(_ prefix: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count >= prefix.count else { return false }
        for index in 0..<prefix.count where self[index] != prefix[index] {
            guard self[index].lowercasedASCII == prefix[index].lowercasedASCII else { return false }
        }
        return true
    }

    fileprivate func contains(_ needle: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count >= needle.count else { return false }
        return (0...(count - needle.count)).contains {
            UnsafeBufferPointer(rebasing: self[$0...]).hasPrefix(needle)
        }
    }
}

extension UInt8 {
    var lowercasedASCII: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }

    var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    var isASCIILetter: Bool { lowercasedASCII >= UInt8(ascii: "a") && lowercasedASCII <= UInt8(ascii: "z") }

    /// Whether the byte may be part of a token of RFC 9110, 5.6.2: a method or a header name.
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

    /// Whether percent-encoding leaves the byte as it is everywhere (RFC 3986, 2.3).
    var isUnreserved: Bool {
        if isASCIIDigit || isASCIILetter { return true }
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): return true
        default: return false
        }
    }
}
