/// Answers a server's Digest challenges for one exchange (RFC 7616). Pure.
///
/// The body of a request is sent only with an answer, or when the server has asked for none: the first message, which
/// gets the challenge, has no body.
struct DigestAuthentication: Sendable {
    enum Verdict: Equatable {
        /// The answer is for the caller.
        case final
        /// The request is sent again, with `authorization` and its body.
        case sendAgain
        /// No challenge can be answered.
        case refuse(String)
    }

    /// The value of Authorization for the next message; nil when it has none. In bytes, because what the server has sent
    /// goes back unchanged, whatever its encoding.
    private(set) var authorization: [UInt8]?
    /// Whether the next message has the body.
    private(set) var sendsBody = false
    private var answered = 0

    /// A server may call a nonce stale that it has just made. After so many it will accept none.
    private static let maximumAnswers = 5

    /// Decides what an answer means.
    ///
    /// - Parameters:
    ///   - target: the target of the request, as it was sent.
    ///   - clientNonce: a number that is used once, as text.
    mutating func received(
        _ head: ResponseHead, to request: HTTPRequest, at target: String,
        clientNonce: String = String(UInt64.random(in: 0 ... .max), radix: 16)
    ) -> Verdict {
        guard let credential = request.digest else { return .final }
        guard head.status == 401 else {
            // The server wants no credentials, but it has not seen the body. These errors may be about that.
            let isOfMissingBody = (200..<300).contains(head.status) || [400, 411, 415, 422].contains(head.status)
            guard !sendsBody, request.hasBody, isOfMissingBody else { return .final }
            sendsBody = true
            return .sendAgain
        }
        let lines = head.headers.filter { $0.isNamed("www-authenticate") }.map { Text.latin1($0.bytes) }
        let challenges = HTTPChallenge.parse(lines).filter { $0.isScheme(AuthenticationChallenge.digest) }
        guard let first = challenges.first else { return .final }
        let readable = challenges.lazy.compactMap { DigestChallenge($0, for: request.body) }.first
        // The server has refused these credentials.
        guard authorization == nil || readable?.isStale == true else { return .final }
        guard let challenge = readable else { return .refuse(DigestChallenge.objection(to: first)) }
        answered += 1
        guard answered <= Self.maximumAnswers else {
            return .refuse("the server rejects every nonce of its Digest challenge as stale")
        }
        authorization = challenge.answer(credential, method: request.method, target: target, clientNonce)
        sendsBody = true
        return .sendAgain
    }
}

/// A challenge that can be answered. Its texts are bytes, one in each character.
private struct DigestChallenge {
    private enum Hash: String, CaseIterable {
        case md5 = "md5"
        case sha256 = "sha-256"
        case sha512 = "sha-512-256"

        func hex(_ bytes: [UInt8]) -> String {
            switch self {
            case .md5: MD5.hex(bytes)
            case .sha256: SHA256.hex(bytes: bytes)
            case .sha512: SHA512Truncated.hex(bytes)
            }
        }
    }

    private let challenge: HTTPChallenge
    private let hash: Hash
    /// Whether the hash of the password also depends on the nonces.
    private let isOfSession: Bool
    /// What the answer also covers: "auth", "auth-int" for the body, or nil as in RFC 2069.
    private let protection: String?
    private let content: [UInt8]

    /// - Returns: nil when it cannot be answered.
    init?(_ challenge: HTTPChallenge, for body: HTTPRequest.Body) {
        let name = Self.algorithm(of: challenge)
        isOfSession = name.hasSuffix("-sess")
        guard let hash = Hash(rawValue: isOfSession ? String(name.dropLast(5)) : name), challenge["nonce"] != nil,
            challenge.parameters.allSatisfy({ $0.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } })
        else { return nil }
        self.challenge = challenge
        self.hash = hash
        let kinds = Self.protections(of: challenge)
        switch body {
        case .none: content = []
        case .bytes(let bytes): content = bytes
        case .multipart, .file, .stream:
            content = []
            guard kinds.isEmpty || kinds.contains("auth") else { return nil }
        }
        protection = kinds.contains("auth") ? "auth" : kinds.contains("auth-int") ? "auth-int" : nil
        guard protection != nil || kinds.isEmpty else { return nil }
    }

    private static func algorithm(of challenge: HTTPChallenge) -> String {
        challenge["algorithm"]?.lowercasedASCII() ?? Hash.md5.rawValue
    }

    private static func protections(of challenge: HTTPChallenge) -> [String] {
        let names = challenge["qop"]?.lowercasedASCII().split { $0 == "," || $0 == " " || $0 == "\t" } ?? []
        return names.map(String.init)
    }

    /// Why the challenge cannot be answered.
    static func objection(to challenge: HTTPChallenge) -> String {
        let name = algorithm(of: challenge)
        let start = "the server's Digest challenge cannot be answered: "
        guard Hash.allCases.contains(where: { $0.rawValue == name || $0.rawValue + "-sess" == name }) else {
            return start + "the algorithm \(quoted(challenge["algorithm"] ?? "")) is not known, only MD5, SHA-256 and "
                + "SHA-512-256"
        }
        guard challenge["nonce"] != nil else { return start + "it has no nonce" }
        guard !protections(of: challenge).contains("auth-int") else {
            return start + "\"auth-int\" needs a body that is in memory"
        }
        return start + "its quality of protection (qop) is \(quoted(challenge["qop"] ?? ""))"
    }

    /// Whether the credentials were right, and only the nonce is too old.
    var isStale: Bool { challenge["stale"]?.equalsIgnoringASCIICase("true") == true }

    func answer(_ credential: Credential, method: String, target: String, _ clientNonce: String) -> [UInt8] {
        let user = Text.latin1(credential.user.utf8)
        let (realm, nonce) = (challenge["realm"] ?? "", challenge["nonce"] ?? "")
        var secret = hashed(user, realm, Text.latin1(credential.password.utf8))
        if isOfSession { secret = hashed(secret, nonce, clientNonce) }
        var message = hashed(method, target)
        if protection == "auth-int" { message = hashed(method, target, hash.hex(content)) }
        let hidesUser = challenge["userhash"]?.equalsIgnoringASCIICase("true") == true
        var pairs = [
            ("username", Self.quote(hidesUser ? hashed(user, realm) : user)), ("realm", Self.quote(realm)),
            ("nonce", Self.quote(nonce)), ("uri", Self.quote(target)),
        ]
        if let name = challenge["algorithm"] { pairs.append(("algorithm", name)) }
        if let protection {
            let count = "00000001"
            let response = hashed(secret, nonce, count, clientNonce, protection, message)
            pairs += [("response", Self.quote(response)), ("qop", protection), ("nc", count)]
        } else {
            pairs.append(("response", Self.quote(hashed(secret, nonce, message))))
        }
        if protection != nil || isOfSession { pairs.append(("cnonce", Self.quote(clientNonce))) }
        if let opaque = challenge["opaque"] { pairs.append(("opaque", Self.quote(opaque))) }
        if hidesUser { pairs.append(("userhash", "true")) }
        return Text.bytes("Digest " + pairs.map { "\($0)=\($1)" }.joined(separator: ", "))
    }

    private func hashed(_ parts: String...) -> String { hash.hex(Text.bytes(parts.joined(separator: ":"))) }

    private static func quote(_ text: String) -> String {
        let escaped = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }
        return "\"\(escaped.joined())\""
    }
}

/// Bytes as a text that has a character for each.
private enum Text {
    static func latin1(_ bytes: some Sequence<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        return String(text)
    }

    static func bytes(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}
