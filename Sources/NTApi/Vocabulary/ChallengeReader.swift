extension HTTPChallenge {
    /// All challenges in the lines of a header, in order. Skips malformed ones.
    static func parse(_ lines: [String]) -> [HTTPChallenge] {
        lines.flatMap { line in
            var reader = ChallengeReader(line)
            return reader.all()
        }
    }
}

/// Reads one line. Commas separate challenges and also the parameters of a challenge: a name followed by `=` is a
/// parameter, any other name a scheme.
private struct ChallengeReader {
    private let bytes: [UInt8]
    private var index = 0

    /// Real servers send far fewer. A malicious line must not become a list of thousands.
    private static let maximumChallenges = 64

    init(_ line: String) { bytes = Array(line.utf8) }

    mutating func all() -> [HTTPChallenge] {
        var challenges: [HTTPChallenge] = []
        while challenges.count < Self.maximumChallenges {
            skip { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
            guard index < bytes.count else { break }
            let name = takeToken()
            guard !name.isEmpty else {
                skipElement()
                continue
            }
            if let value = takeValue() {
                // A parameter without a scheme before it is dropped.
                if let last = challenges.indices.last {
                    challenges[last].parameters.append(.init(name: name, value: value))
                }
            } else {
                challenges.append(HTTPChallenge(scheme: name, token68: takeToken68()))
            }
        }
        return challenges
    }

    /// Takes the value after `=`; nil, without reading anything, when there is no `=`.
    private mutating func takeValue() -> String? {
        let start = index
        skip(Self.isSpace)
        guard peek == UInt8(ascii: "=") else {
            index = start
            return nil
        }
        index += 1
        skip(Self.isSpace)
        guard peek == UInt8(ascii: "\"") else {
            let value = takeToken()
            // Some servers send invalid tokens, such as realm=my realm. Skip to the comma.
            skipElement()
            return value
        }
        return takeQuoted()
    }

    private mutating func takeQuoted() -> String {
        index += 1
        var value: [UInt8] = []
        while let byte = peek, byte != UInt8(ascii: "\"") {
            index += 1
            if byte == UInt8(ascii: "\\"), let escaped = peek {
                index += 1
                value.append(escaped)
            } else {
                value.append(byte)
            }
        }
        index += 1
        return String(decoding: value, as: UTF8.self)
    }

    /// Takes the token68 after a scheme, up to the comma or the end, if it is not a parameter.
    private mutating func takeToken68() -> String? {
        let start = index
        skip(Self.isSpace)
        guard index > start else { return nil }
        let first = index
        skip { $0.isASCIILetter || $0.isASCIIDigit || "-._~+/".utf8.contains($0) }
        guard index > first else {
            index = start
            return nil
        }
        skip { $0 == UInt8(ascii: "=") }
        let end = index
        skip(Self.isSpace)
        guard index >= bytes.count || peek == UInt8(ascii: ",") else {
            index = start
            return nil
        }
        return String(decoding: bytes[first..<end], as: UTF8.self)
    }

    private mutating func takeToken() -> String {
        let start = index
        skip(\.isTokenCharacter)
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func skipElement() { skip { $0 != UInt8(ascii: ",") } }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while let byte = peek, isSkipped(byte) { index += 1 }
    }

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

extension AuthenticationChallenge {
    /// Picks the challenge to answer. Digest is preferred to Basic because it does not reveal the password.
    static func best(of lines: [String]) -> (scheme: String, realm: String?)? {
        let all = HTTPChallenge.parse(lines)
        let strong = all.first { challenge in
            challenge.isScheme(digest) && isKnown(challenge["algorithm"]) && challenge["nonce"] != nil
        }
        if let strong { return (digest, strong.realm) }
        return all.first { $0.isScheme(basic) }.map { (basic, $0.realm) }
    }

    /// The algorithms of RFC 7616, which `DigestAuthentication` computes.
    private static func isKnown(_ algorithm: String?) -> Bool {
        guard let algorithm = algorithm?.lowercasedASCII() else { return true }
        return ["md5", "md5-sess", "sha-256", "sha-256-sess", "sha-512-256", "sha-512-256-sess"].contains(algorithm)
    }
}
