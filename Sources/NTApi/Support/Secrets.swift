/// What must not be seen in a log: decided by name, unless the caller marked it.
enum Secrets {
    static let redacted = "<redacted>"

    /// Authorization, X-Api-Key, X-Auth-Token and the like have one of the words in their name; these two have none.
    static func isSecretHeader(_ name: String) -> Bool {
        isSecretName(name) || name.equalsIgnoringASCIICase("cookie") || name.equalsIgnoringASCIICase("set-cookie")
    }

    /// Whether a query pair, form field or part of this name holds a secret: one of the words stands somewhere in it.
    static func isSecretName(_ name: String) -> Bool {
        name.withBytes { bytes in
            var rest = bytes[...]
            while rest.count >= shortestWord {
                if beginsWithSecretWord(UnsafeBufferPointer(rebasing: rest)) { return true }
                rest.removeFirst()
            }
            return false
        }
    }

    private static let shortestWord = 5

    private static func beginsWithSecretWord(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        func begins(_ word: StaticString) -> Bool { name.hasPrefixIgnoringASCIICase(word) }
        switch name.first?.lowercasedASCII {
        case UInt8(ascii: "a"):
            return begins("appid") || begins("api_key") || begins("api-key") || begins("apikey")
                || begins("authorization")
        case UInt8(ascii: "c"): return begins("credential")
        case UInt8(ascii: "p"): return begins("password") || begins("passwd")
        case UInt8(ascii: "s"): return begins("secret")
        case UInt8(ascii: "t"): return begins("token")
        default: return false
        }
    }
}
