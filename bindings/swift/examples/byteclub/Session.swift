import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The log-in, which is stored between runs in a file that only its user can read: the address of the service, and the
/// token, which is sent nowhere else.
struct Session: Codable, Sendable {
    let url: String
    /// The address for file contents. Some services have one address for everything.
    let content: String
    let token: String
    let secret: String

    var credentials: Token { Token(token: token, secret: secret) }

    private static let folder =
        "\(variable("XDG_CONFIG_HOME") ?? "\(variable("HOME") ?? "")/.config")/byteclub"
    private static let file = "\(folder)/session"

    static func load() throws(Failure) -> Session {
        guard let text = contents(of: file), let session = try? JSON(parsing: text).decode(Session.self) else {
            throw Failure("not signed in: byteclub login URL")
        }
        return session
    }

    /// Writes a file of mode 0600. If the program crashes meanwhile, the old file stays.
    func save() throws(Failure) {
        makeFolder(Self.folder)
        let new = "\(Self.file).new"
        remove(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw Failure("\(new) cannot be written") }
        close(descriptor)
        guard let json = try? JSON(encoding: self), write(json.text, to: new), rename(new, Self.file) == 0 else {
            throw Failure("\(Self.file) cannot be written")
        }
    }

    static func forget() { remove(file) }
}

/// Makes a folder that only its user can read, and its parents.
private func makeFolder(_ path: String) {
    var above = path.hasPrefix("/") ? "" : "."
    for name in path.split(separator: "/") {
        above += "/\(name)"
        mkdir(above, 0o700)
    }
}
