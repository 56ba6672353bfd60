/// Who the program is on a Redis server, and how it verifies that server.
public struct RedisOptions: Sendable {
    /// The name of an ACL user, in place of the URL's.
    public var username: String?
    /// The password, in place of the URL's.
    public var password: String?
    /// A PEM file of trusted certificates, in place of the system's store.
    public var caFile: String?
    /// A PEM file.
    public var clientCertificate: String?
    /// A PEM file, that of the certificate.
    public var clientKey: String?
    /// The keys that encrypt tokens and responses, so that the server cannot read them: base64 of 32 bytes each, with
    /// blanks between. `openssl rand -base64 32` makes one. The first one encrypts (XAES-256-GCM); all decrypt. All
    /// processes need the same.
    public var encryptionKeys: String?
    /// Seconds without a connection or a reply, after which the store connects anew.
    public var timeout: Double = 5

    /// The options of a server that needs none.
    public init() {}
}

extension RedisOptions: CustomStringConvertible, CustomReflectable {
    /// Without the password and the keys.
    public var description: String { "RedisOptions(username: \(username ?? "none"), timeout: \(timeout))" }
    public var customMirror: Mirror { Mirror(self, children: ["username": username as Any, "timeout": timeout]) }
}
