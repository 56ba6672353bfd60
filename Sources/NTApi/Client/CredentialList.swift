/// The credentials of a storage, in order: of those for one protection space the first is the default.
struct CredentialList: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        let space: ProtectionSpace
        var credential: Credential
    }

    private(set) var entries: [Entry] = []

    func credentials(for space: ProtectionSpace) -> [Credential] {
        entries.compactMap { $0.space == space ? $0.credential : nil }
    }

    /// Sets a credential, in the place of one with the same user.
    ///
    /// - Parameter isDefault: whether it comes before the others for the space.
    mutating func set(_ credential: Credential, for space: ProtectionSpace, isDefault: Bool) {
        let entry = Entry(space: space, credential: credential)
        let known = entries.firstIndex { $0.space == space && $0.credential.user == credential.user }
        if let known, !isDefault {
            entries[known] = entry
            return
        }
        if let known { entries.remove(at: known) }
        let first = isDefault ? entries.firstIndex { $0.space == space } : nil
        entries.insert(entry, at: first ?? entries.endIndex)
    }

    /// - Parameter user: nil is all.
    mutating func remove(user: String?, for space: ProtectionSpace) {
        entries.removeAll { $0.space == space && (user == nil || $0.credential.user == user) }
    }

    mutating func removeAll() { entries = [] }
}

// As text: a line for each, whose fields have tabs between them and are percent-encoded. No lock is taken for it.
extension CredentialList {
    private static let title = "# ntapi credentials 1"

    /// What is wrong with a text.
    struct Damage: Error, Equatable {
        let reason: String
    }

    var text: String {
        let comment =
            "# Written by ntapi; it is replaced as a whole. Everybody who can read this file can read the passwords."
        return ([Self.title, comment] + entries.map(Self.line)).joined(separator: "\n") + "\n"
    }

    /// - Throws: what is wrong; an empty text is, too: it was cut off.
    init(text: String) throws(Damage) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.popLast()?.isEmpty == true, lines.first.map(String.init) == Self.title else {
            throw Damage(reason: "its first line is not \(quoted(Self.title)), or its last one is cut off")
        }
        for (index, line) in lines.enumerated() where line.utf8.first != UInt8(ascii: "#") {
            guard let entry = Self.entry(line) else { throw Damage(reason: "line \(index + 1) is no credential") }
            entries.append(entry)
        }
    }

    private static func line(_ entry: Entry) -> String {
        let space = entry.space
        return [
            space.scheme, space.host, String(space.port), space.isProxy ? "proxy" : "server",
            space.authenticationScheme.rawValue, space.realm.map { "=\(PercentEncoding.component($0))" } ?? "",
            PercentEncoding.component(entry.credential.user), PercentEncoding.component(entry.credential.password),
        ].joined(separator: "\t")
    }

    private static func entry(_ line: Substring) -> Entry? {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 8, let port = Int(fields[2]), ["server", "proxy"].contains(fields[3]),
            let scheme = ProtectionSpace.AuthenticationScheme(rawValue: fields[4])
        else { return nil }
        let realm = fields[5].utf8.first.map { _ in PercentEncoding.decode(fields[5].dropFirst()) }
        let space = ProtectionSpace(
            scheme: fields[0], host: fields[1], port: port, realm: realm, authenticationScheme: scheme,
            isProxy: fields[3] == "proxy")
        let credential = Credential(
            user: PercentEncoding.decode(fields[6]), password: PercentEncoding.decode(fields[7]))
        return space.mistake == nil && credential.fits(scheme) ? Entry(space: space, credential: credential) : nil
    }
}
