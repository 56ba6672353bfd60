/// What a server or a proxy asks for before it goes on.
public struct AuthenticationChallenge: Sendable {
    /// Who asks for what.
    public enum Kind: Sendable {
        /// The server wants a user and a password (401).
        case server
        /// The proxy does (407).
        case proxy
        /// The server's certificate cannot be verified: whether it is trusted all the same.
        case certificate
    }

    public let kind: Kind
    /// Of the server, or of the proxy's client: the host that the request goes to.
    public let host: String
    public let port: Int
    /// "Basic" or "Digest": how the answer is sent. Basic shows the password to anybody who listens, unless it is https.
    public let scheme: String
    /// The part of the server that it is for; nil when it is not told.
    public let realm: String?
    /// How many answers of this request were wrong.
    public let failures: Int
    /// The chain that the server has shown, in PEM, its own certificate first.
    public let certificates: [String]
    /// Why the certificate was not accepted; what else stands in the way.
    public let reason: String
    /// Where a credential for it holds, as a ``CredentialStorage`` has it; nil for a certificate.
    public let protectionSpace: ProtectionSpace?

    init(
        _ kind: Kind, host: String, port: Int, scheme: String = "", realm: String? = nil, failures: Int = 0,
        certificates: [String] = [], reason: String = "", protectionSpace: ProtectionSpace? = nil
    ) {
        self.kind = kind
        self.host = host
        self.port = port
        self.scheme = scheme
        self.realm = realm
        self.failures = failures
        self.certificates = certificates
        self.reason = reason
        self.protectionSpace = protectionSpace
    }

    var isDigest: Bool { scheme == Self.digest }

    static let basic = "Basic"
    static let digest = "Digest"

    func allows(_ credential: Credential) -> Bool { credential.fits(isDigest ? .digest : .basic) }

    /// The challenge to answer: Digest rather than Basic, as it does not show the password.
    static func best(of lines: [String]) -> (scheme: String, realm: String?)? {
        let all = HTTPChallenge.parse(lines)
        let strong = all.first { challenge in
            challenge.isScheme(digest) && isKnown(challenge["algorithm"]) && challenge["nonce"] != nil
        }
        if let strong { return (digest, strong.realm) }
        return all.first { $0.isScheme(basic) }.map { (basic, $0.realm) }
    }

    /// The algorithms of RFC 7616 that libcurl knows.
    private static func isKnown(_ algorithm: String?) -> Bool {
        guard let algorithm = algorithm?.lowercasedASCII() else { return true }
        return ["md5", "md5-sess", "sha-256", "sha-256-sess"].contains(algorithm)
    }
}
