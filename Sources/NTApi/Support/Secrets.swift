/// What must not be seen in a log: decided by name, unless the caller marked it.
enum Secrets {
    static let redacted = "<redacted>"

    static func isSecretHeader(_ name: String) -> Bool { isSecretName(name) }

    /// Whether a query pair, form field, part or JSON member of this name holds a secret.
    ///
    /// Long words count wherever they stand in the name. Short ones, which are also parts of harmless words, count where
    /// they stand alone: `sig` in `X-Sig` and `urlSig`, not in `design`.
    static func isSecretName(_ name: String) -> Bool {
        name.withBytes { bytes in
            var start = 0
            while bytes.count - start >= shortestWord {
                let rest = UnsafeBufferPointer(rebasing: bytes[start...])
                if beginsWithSecretWord(rest) { return true }
                if let length = lengthOfShortWord(rest), standsAlone(bytes, start, length) { return true }
                start += 1
            }
            return isCookie(bytes)
        }
    }

    private static let shortestWord = 3

    private static func beginsWithSecretWord(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        func begins(_ word: StaticString) -> Bool { name.hasPrefixIgnoringASCIICase(word) }
        switch name.first?.lowercasedASCII {
        case UInt8(ascii: "a"):
            return begins("appid") || begins("api_key") || begins("api-key") || begins("apikey")
                || begins("authorization") || begins("access_key") || begins("access-key") || begins("accesskey")
        case UInt8(ascii: "c"): return begins("credential")
        case UInt8(ascii: "p"):
            return begins("password") || begins("passwd") || begins("passphrase") || begins("passcode")
                || begins("pwd") || begins("private_key") || begins("private-key") || begins("privatekey")
        case UInt8(ascii: "s"): return begins("secret") || begins("session") || begins("sessid") || begins("signature")
        case UInt8(ascii: "t"): return begins("token")
        default: return false
        }
    }

    private static func lengthOfShortWord(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        func length(_ word: StaticString) -> Int? {
            name.hasPrefixIgnoringASCIICase(word) ? word.utf8CodeUnitCount : nil
        }
        switch name.first?.lowercasedASCII {
        case UInt8(ascii: "a"): return length("auth")
        case UInt8(ascii: "b"): return length("bearer")
        case UInt8(ascii: "h"): return length("hmac")
        case UInt8(ascii: "j"): return length("jwt")
        case UInt8(ascii: "o"): return length("otp")
        case UInt8(ascii: "p"): return length("pass")
        case UInt8(ascii: "s"): return length("sig") ?? length("sid")
        default: return nil
        }
    }

    // Only the whole name: a policy for cookies is no secret.
    private static func isCookie(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 6: name.hasPrefixIgnoringASCIICase("cookie")
        case 7: name.hasPrefixIgnoringASCIICase("cookies")
        case 10: name.hasPrefixIgnoringASCIICase("set-cookie")
        default: false
        }
    }

    /// Whether the word is not a piece of a longer one. An upper case letter begins a word of camelCase.
    private static func standsAlone(_ name: UnsafeBufferPointer<UInt8>, _ start: Int, _ length: Int) -> Bool {
        let end = start + length
        if start > 0, name[start - 1].isASCIILetter, !(isUpper(name[start]) && !isUpper(name[start - 1])) {
            return false
        }
        guard end < name.count, name[end].isASCIILetter else { return true }
        return isUpper(name[end]) && !isUpper(name[end - 1])
    }

    private static func isUpper(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") }
}
