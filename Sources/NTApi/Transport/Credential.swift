/// A user and a password, as a server or a proxy asks for them. What is printed of it has no password.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// How long an answer to a challenge is remembered.
    public enum Persistence: Sendable, CaseIterable {
        /// For this request alone.
        case none
        /// For the client's other requests to the same protection space, until it fails.
        case forSession
        /// The same, once the server has taken it, in the client's ``APIClient/credentialStorage``; without one as `forSession`.
        case permanent
    }

    /// The user; without a colon if the scheme is Basic.
    public var user: String
    /// The password, in clear text.
    public var password: String

    /// Makes a credential of any texts; one that cannot be sent is refused where it is used.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// The user, and no password.
    public var description: String { "\(user):\(Secrets.redacted)" }

    /// What a debugger and `dump` show: no password.
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }

    var hasControlCharacter: Bool { (user + password).utf8.contains { $0 < 0x20 || $0 == 0x7F } }

    /// Whether it can be sent: Basic has no way to send a user with a colon (RFC 7617, 2).
    package func fits(_ scheme: ProtectionSpace.AuthenticationScheme) -> Bool {
        !hasControlCharacter && (scheme == .digest || !user.utf8.contains(UInt8(ascii: ":")))
    }
}
