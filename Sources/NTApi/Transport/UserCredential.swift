/// A name and its password, as a server or a proxy asks for them.
struct UserCredential: Sendable, Equatable {
    var user: String
    var password: String
}
