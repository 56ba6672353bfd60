/// A request for credentials or trust. The exchange continues when it is answered.
public struct AuthenticationChallenge: Sendable {
    /// Who asks, and for what.
    public enum Kind: Sendable {
        /// The server asks for a user and a password (401).
        case server
        /// The proxy asks for a user and a password (407).
        case proxy
        /// The server's certificate cannot be verified: trust it anyway?
        case certificate
    }

    /// Who asks, and for what.
    public let kind: Kind
    /// The host that the request goes to, also when a proxy asks.
    public let host: String
    /// The port that the request goes to.
    public let port: Int
    /// "Basic" or "Digest": how the answer is sent. Without https, anybody on the network can read a Basic password.
    public let scheme: String
    /// The realm that the server names; nil when it names none.
    public let realm: String?
    /// How many wrong answers this request's challenges have had so far.
    public let failures: Int
    /// The certificate chain of the server in PEM, its own certificate first.
    public let certificates: [String]
    /// Why the certificate was not accepted. For a proxy: its URL, redacted.
    public let reason: String
    /// The key under which a ``CredentialStorage`` stores the credential; nil for a certificate.
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

}
