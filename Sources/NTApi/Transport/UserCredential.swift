/// A name and its password, as a server or a proxy asks for them.
struct UserCredential: Sendable, Hashable, CustomStringConvertible {
    var user: String
    var password: String

    var description: String { "\(user):\(Secrets.redacted)" }
}
