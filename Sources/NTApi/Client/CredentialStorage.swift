import Synchronization

/// Users and passwords by protection space, in memory or in a file of the user.
///
/// When a server or proxy asks for a credential, a session looks here before it asks the program. Nothing is sent
/// without such a challenge.
///
/// Safe to use from many threads. A storage in a file reads the file again when another process has changed it.
public final class CredentialStorage: Sendable, RedactedMirror {
    private struct State {
        var list = CredentialList()
        /// The state of the file when it was last read; nil before that, and while there is no file.
        var stamp: FileStamp?
    }

    /// Nil for a storage in memory.
    private let file: CredentialFile?
    /// Whether it is the program's storage, whose name a session's settings can change.
    let isOfProgram: Bool
    // Held while the file is read and written, so `fork` waits for it. Never taken on a network thread.
    private let state = Lock(State(), sharing: .credentialFiles)
    private let isFilled = Atomic<Bool>(false)

    /// In memory.
    public init() {
        file = nil
        isOfProgram = false
    }

    /// Makes a storage in a file. The file is made when something is set, readable by the user only (0600). It contains
    /// the passwords as plain text.
    ///
    /// - Throws: `invalid request` when it is not the absolute path of a file.
    public init(file path: String) throws(APIError) {
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.last != UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw .invalidRequest("\(quoted(path)) is not the absolute path of a file for credentials")
        }
        file = CredentialFile(path: path)
        isOfProgram = false
    }

    private init(ofProgram path: String?) {
        file = path.map { CredentialFile(path: $0) }
        isOfProgram = true
    }

    // MARK: The program's storage

    // Storages are never released, so that clients can come and go.
    private static let known = Lock<[String: CredentialStorage]>([:], survivesFork: true)

    /// The program's storage, which default and background sessions use: `credentials.txt` in the folder of the
    /// cookies.
    public static var shared: CredentialStorage { ofProgram(Defaults.global.ownValue("applicationName")?.string) }

    /// - Parameter name: the program's name; nil is the name of its file.
    static func ofProgram(_ name: String?) -> CredentialStorage {
        let folder = DataFolder.path(of: name.flatMap { DataFolder.isName($0) ? $0 : nil })
        if let storage = known.withLock({ $0[folder ?? ""] }) { return storage }
        if folder == nil {
            APILog.warn("the user has no home directory: credentials are kept in memory only")
        }
        let made = CredentialStorage(ofProgram: folder.map { "\($0)/credentials.txt" })
        return known.withLock { known in
            if let first = known[folder ?? ""] { return first }
            known[folder ?? ""] = made
            return made
        }
    }

    // MARK: Reading

    /// The credential that requests use for a protection space.
    ///
    /// - Throws: `generic` when the file cannot be read or is damaged; the message says why.
    public func defaultCredential(for space: ProtectionSpace) throws(APIError) -> Credential? {
        try read().credentials(for: space).first
    }

    /// The credentials for a protection space, the default first.
    ///
    /// - Throws: as `defaultCredential`.
    public func credentials(for space: ProtectionSpace) throws(APIError) -> [Credential] {
        try read().credentials(for: space)
    }

    /// Every credential with its protection space. Within a space the default comes first.
    ///
    /// - Throws: as `defaultCredential`.
    public func all() throws(APIError) -> [(space: ProtectionSpace, credential: Credential)] {
        try read().entries.map { ($0.space, $0.credential) }
    }

    // MARK: Changing (waits for the disk, if there is a file)

    /// Sets a credential, and replaces one with the same user. The first credential of a space is its default.
    ///
    /// - Throws: `invalid request` for what cannot be sent; `generic` when the file cannot be read or written.
    public func set(_ credential: Credential, for space: ProtectionSpace) throws(APIError) {
        try check(credential, space)
        try change { $0.set(credential, for: space, isDefault: false) }
    }

    /// Sets a credential as ``set(_:for:)`` does, and makes it the default of its space.
    ///
    /// - Throws: as ``set(_:for:)``.
    public func setDefaultCredential(_ credential: Credential, for space: ProtectionSpace) throws(APIError) {
        try check(credential, space)
        try change { $0.set(credential, for: space, isDefault: true) }
    }

    /// Removes credentials of a protection space. It is no error if there are none.
    ///
    /// - Parameter user: only those of this user; nil for all.
    /// - Throws: `generic` when the file cannot be read or written.
    public func remove(user: String? = nil, for space: ProtectionSpace) throws(APIError) {
        try change { $0.remove(user: user, for: space) }
    }

    /// Removes every credential.
    ///
    /// - Throws: `generic` when the file cannot be read or written.
    public func removeAll() throws(APIError) { try change { $0.removeAll() } }

    /// Whether a request may find a credential here. Does not wait.
    var mayHaveCredentials: Bool { file != nil || isFilled.load(ordering: .relaxed) }

    private func check(_ credential: Credential, _ space: ProtectionSpace) throws(APIError) {
        if let mistake = space.mistake { throw .invalidRequest("the credential cannot be set: \(mistake)") }
        guard credential.fits(space.authenticationScheme) else {
            throw .invalidRequest(
                "the credential cannot be set: it has a control character, or a colon in the user, which Basic cannot send"
            )
        }
    }

    private func read() throws(APIError) -> CredentialList {
        guard let file else { return state.withLock { $0.list } }
        let result = state.withLock { state -> Result<CredentialList, CredentialFile.Problem> in
            let stamp = file.stamp
            if stamp == state.stamp { return .success(state.list) }
            return Result { () throws(CredentialFile.Problem) in
                state.list = try file.read()
                state.stamp = stamp
                return state.list
            }
        }
        do throws(CredentialFile.Problem) {
            return try result.get()
        } catch {
            throw Self.error("cannot be read", error)
        }
    }

    private func change(_ body: (inout CredentialList) -> Void) throws(APIError) {
        guard let file else {
            return state.withLock { state in
                body(&state.list)
                isFilled.store(!state.list.entries.isEmpty, ordering: .relaxed)
            }
        }
        var problem: CredentialFile.Problem?
        // The disk may be slow, and responses need the workers.
        whileBlocked {
            problem = state.withLock { state in
                do throws(CredentialFile.Problem) {
                    (state.list, state.stamp) = try file.change(body)
                    return nil
                } catch {
                    return error
                }
            }
        }
        if let problem { throw Self.error("cannot be changed", problem) }
    }

    private func whileBlocked(_ body: () -> Void) {
        // Managing credentials should not start the runtime.
        guard let runtime = Runtime.ifAny else { return body() }
        runtime.workers.whileBlocked(body)
    }

    private static func error(_ what: String, _ problem: CredentialFile.Problem) -> APIError {
        APIError(domain: .request, code: .generic, message: "the stored credentials \(what): \(problem)")
    }
}

/// The credentials of a storage, in order. The first one of a protection space is its default.
struct CredentialList: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        let space: ProtectionSpace
        var credential: Credential
    }

    private(set) var entries: [Entry] = []

    func credentials(for space: ProtectionSpace) -> [Credential] {
        entries.compactMap { $0.space == space ? $0.credential : nil }
    }

    /// Sets a credential, and replaces one with the same user.
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

    /// - Parameter user: only those of this user; nil for all.
    mutating func remove(user: String?, for space: ProtectionSpace) {
        entries.removeAll { $0.space == space && (user == nil || $0.credential.user == user) }
    }

    mutating func removeAll() { entries = [] }
}

// The text form: a line for each credential, with percent-encoded fields separated by tabs. Takes no lock.
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

    /// - Throws: what is wrong. An empty text is wrong, too: it was cut off.
    init(text: String) throws(Damage) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.popLast()?.isEmpty == true, lines.first.map(String.init) == Self.title else {
            throw Damage(reason: "its first line is not \(quoted(Self.title)), or its last one is cut off")
        }
        for (index, line) in lines.enumerated() where line.utf8.first != UInt8(ascii: "#") {
            guard let entry = Self.entry(line) else { throw Damage(reason: "line \(index + 1) is not a credential") }
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

/// Credentials on disk, in a file that only the user can read and that is only replaced as a whole.
///
/// Writers (processes and storages) exclude each other with a lock on a second file.
struct CredentialFile: Sendable {
    /// Why the file cannot be used.
    struct Problem: Error, CustomStringConvertible {
        let description: String

        init(_ error: SystemError) { description = "\(error)" }

        init(_ path: String, _ damage: CredentialList.Damage) {
            description = "the file \(path) is damaged: \(damage.reason); repair or remove it"
        }
    }

    let path: String

    /// Nil when there is no file.
    var stamp: FileStamp? { FileStamp(path) }

    /// Reads the file. A missing file is an empty list.
    func read() throws(Problem) -> CredentialList {
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try SystemFile.read(path) } catch { throw Problem(error) }
        guard let bytes else { return CredentialList() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(path, CredentialList.Damage(reason: "it is not UTF-8"))
        }
        do throws(CredentialList.Damage) {
            return try CredentialList(text: text)
        } catch {
            throw Problem(path, error)
        }
    }

    /// Changes the current content. A damaged file is not touched.
    func change(_ body: (inout CredentialList) -> Void) throws(Problem) -> (list: CredentialList, stamp: FileStamp?) {
        var result: Result<CredentialList, Problem> = .success(CredentialList())
        var stamp: FileStamp?
        do throws(SystemError) {
            try SystemFile.makeFolder(folder)
            try SystemFile.withLock("\(path).lock", patience: 2) { () throws(SystemError) in
                result = Result { () throws(Problem) in try read() }
                guard case .success(let before) = result else { return }
                var list = before
                body(&list)
                if list != before { try SystemFile.replace(path, with: Array(list.text.utf8)) }
                result = .success(list)
                stamp = self.stamp
            }
        } catch {
            throw Problem(error)
        }
        return (try result.get(), stamp)
    }

    private var folder: String {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return folder.isEmpty ? "/" : folder
    }
}
