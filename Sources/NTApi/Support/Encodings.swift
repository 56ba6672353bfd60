/// Percent-encoding after RFC 3986, and the variant of HTML forms.
package enum PercentEncoding {
    /// A number from 0 to 15 as a hexadecimal digit, in upper case (RFC 3986, 2.1).
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "A") &+ (value &- 10)
    }

    /// Encodes everything except the unreserved characters of RFC 3986, 2.3.
    static func component(_ text: String) -> String {
        encode(text) { $0.isUnreserved ? $0 : nil }
    }

    /// For application/x-www-form-urlencoded (WHATWG URL, 5.2): a space becomes +, * stays, ~ is encoded.
    static func formComponent(_ text: String) -> String {
        encode(text) { byte in
            switch byte {
            case UInt8(ascii: " "): UInt8(ascii: "+")
            case UInt8(ascii: "*"): byte
            case UInt8(ascii: "~"): nil
            default: byte.isUnreserved ? byte : nil
            }
        }
    }

    /// For a path that a programmer wrote: keeps what a path may contain, including percent-encoded characters, and
    /// encodes the rest.
    package static func path(_ text: String) -> String {
        encode(text) { byte in
            switch byte {
            case UInt8(ascii: "%"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "!"),
                UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"),
                UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="),
                UInt8(ascii: "?"):
                byte
            default: byte.isUnreserved ? byte : nil
            }
        }
    }

    /// Undoes percent-encoding; a stray % stays.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), index + 2 < bytes.count, let high = bytes[index + 1].hexadecimalValue,
                let low = bytes[index + 2].hexadecimalValue
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                index += 1
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    private static func encode(_ text: String, keeping kept: (UInt8) -> UInt8?) -> String {
        if text.withBytes({ $0.allSatisfy { kept($0) == $0 } }) { return text }
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if let plain = kept(byte) {
                encoded.append(plain)
            } else {
                encoded.append(UInt8(ascii: "%"))
                encoded.append(digit(byte >> 4))
                encoded.append(digit(byte & 15))
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var hexadecimalValue: UInt8? {
        if isASCIIDigit { return self - UInt8(ascii: "0") }
        let letter = lowercasedASCII
        return letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "f") ? letter - UInt8(ascii: "a") + 10 : nil
    }
}

/// Base64 with padding (RFC 4648, 4).
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: some Collection<UInt8>) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity((bytes.count + 2) / 3 * 4)
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let group = rest.prefix(3)
            rest = rest.dropFirst(3)
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
            for position in 0..<4 {
                let index = Int(bits >> (18 - 6 * UInt32(position)) & 63)
                encoded.append(position <= group.count ? alphabet[index] : UInt8(ascii: "="))
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// - Returns: nil when the text is not base64; padding may be left out.
    static func decode(_ text: String) -> [UInt8]? {
        var characters = Array(text.utf8)
        while characters.last == UInt8(ascii: "=") { characters.removeLast() }
        guard characters.count % 4 != 1 else { return nil }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(characters.count / 4 * 3 + 3)
        var bits: UInt32 = 0
        var count = 0
        for character in characters {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            bits = (bits << 6 | UInt32(value)) & 0xFF_FFFF
            count += 6
            if count >= 8 {
                count -= 8
                decoded.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return decoded
    }
}
