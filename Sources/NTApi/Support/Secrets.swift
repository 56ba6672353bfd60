/// Decides by name what must not appear in a log.
enum Secrets {
    static let redacted = "<redacted>"

    static func isSecretHeader(_ name: String) -> Bool { isSecretName(name) }

    /// Whether a query pair, form field, part or JSON member of this name holds a secret.
    ///
    /// Long words count anywhere in the name. Short words, which are also parts of harmless words, count only as
    /// separate words: `sig` in `X-Sig` and `urlSig`, not in `design`.
    static func isSecretName(_ name: String) -> Bool {
        name.withBytes { bytes in
            var start = 0
            while bytes.count - start >= shortestWord {
                guard begins(bytes[start]) else {
                    start += 1
                    continue
                }
                let rest = UnsafeBufferPointer(rebasing: bytes[start...])
                if beginsWithSecretWord(rest) { return true }
                if let length = lengthOfShortWord(rest), standsAlone(bytes, start, length) { return true }
                start += 1
            }
            return isCookie(bytes)
        }
    }

    private static let shortestWord = 3

    /// Whether any secret word begins with this letter. Skips most letters of most names.
    @inline(__always) private static func begins(_ byte: UInt8) -> Bool {
        switch byte | 0x20 {
        case UInt8(ascii: "a"), UInt8(ascii: "b"), UInt8(ascii: "c"), UInt8(ascii: "h"), UInt8(ascii: "j"),
            UInt8(ascii: "o"), UInt8(ascii: "p"), UInt8(ascii: "s"), UInt8(ascii: "t"):
            true
        default: false
        }
    }

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

    // Only the whole name counts: a cookie policy is not a secret.
    private static func isCookie(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 6: name.hasPrefixIgnoringASCIICase("cookie")
        case 7: name.hasPrefixIgnoringASCIICase("cookies")
        case 10: name.hasPrefixIgnoringASCIICase("set-cookie")
        default: false
        }
    }

    /// Whether the word is not part of a longer word. An upper case letter begins a new word (camelCase).
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

/// What the caller marked as secret, in addition to names that are always secret.
struct MarkedSecrets: Sendable {
    /// Names of query pairs, form fields and parts.
    private(set) var names: Set<String> = []
    /// Values of path args, as the URL contains them.
    private(set) var pathValues: Set<String> = []
    private(set) var isWholeBody = false
    /// Whether the body contains a secret. It is then not sent to another origin.
    private(set) var isInBody = false
    /// Whether the body consists of pairs, whatever its content type says.
    var isForm = false

    init() {}

    /// Whether a URL may contain one.
    var areInURL: Bool { !names.isEmpty || !pathValues.isEmpty }

    /// Marks a query pair or a part.
    mutating func mark(name: String) { names.insert(name) }

    /// Marks all pairs of a URL's query.
    mutating func mark(queryOf url: String) { names.formUnion(Secrets.queryNames(of: url)) }

    /// Marks the value of a path arg.
    mutating func mark(pathValue value: String) {
        pathValues.insert(PercentEncoding.component(value))
        // `{name*}` splits the value at slashes.
        if value.contains("/") {
            pathValues.formUnion(value.split(separator: "/").map { PercentEncoding.component(String($0)) })
        }
    }

    /// Marks a field or a part of the body; the whole body when there is no name.
    mutating func markBody(name: String? = nil) {
        if let name { names.insert(name) } else { isWholeBody = true }
        isInBody = true
    }

    /// The form in which a background session stores them.
    var json: JSON {
        [
            "names": JSON(names.sorted().map { JSON($0) }), "pathValues": JSON(pathValues.sorted().map { JSON($0) }),
            "isWholeBody": JSON(isWholeBody), "isInBody": JSON(isInBody),
        ]
    }

    init(_ json: JSON?) {
        names = Set(json?["names"]?.array?.compactMap(\.string) ?? [])
        pathValues = Set(json?["pathValues"]?.array?.compactMap(\.string) ?? [])
        isWholeBody = json?["isWholeBody"]?.bool == true
        isInBody = json?["isInBody"]?.bool == true
    }

    /// Redacts the text of a body, or its beginning.
    func redact(body text: String) -> String {
        if isWholeBody { return Secrets.redacted }
        return isForm ? Secrets.redactPairs(text, alsoNamed: names) : Secrets.redact(text, alsoNamed: names)
    }

    func redact(url: String) -> String {
        let redacted = Secrets.redactURL(url, alsoNamed: names)
        guard !pathValues.isEmpty else { return redacted }
        let end = redacted.firstIndex(of: "?") ?? redacted.endIndex
        let segments = redacted[..<end].split(separator: "/", omittingEmptySubsequences: false)
        return segments.map { hasSecret($0) ? Secrets.redacted : String($0) }.joined(separator: "/") + redacted[end...]
    }

    // A value may be only a part of its segment. The whole segment is hidden then.
    private func hasSecret(_ segment: Substring) -> Bool {
        pathValues.contains { !$0.isEmpty && String(segment).containsSubstring($0) }
    }

    func isSecret(part name: String) -> Bool { names.contains(name) || Secrets.isSecretName(name) }
}
