/// How a session is made: a client with settings, cookies and limits of its own.
///
///     var configuration = SessionConfiguration.ephemeral
///     configuration.requestTimeout = 10
///     configuration.additionalHeaders = ["X-Api-Key": key]
///     let client = APIClient(baseURL: "https://api.example.com", configuration: configuration)
///
/// A value: the client has a copy, and changing this one later changes nothing. A setting that is nil is looked up in the
/// defaults of the client's class, then globally.
public struct SessionConfiguration: Sendable, CustomStringConvertible {
    /// What a session keeps, and how long.
    public enum Kind: Sendable, Hashable {
        /// Cookies are kept on disk, below the XDG data directory.
        case `default`
        /// Nothing is ever written.
        case ephemeral
        /// Transfers survive the process. The identifier is unique in the program.
        case background(identifier: String)
    }

    public let kind: Kind
    /// The settings by the names of the defaults.
    var values: [String: JSON] = [:]
    /// The session's cache, which others may use, too; nil, as at first, makes one of the session's kind.
    ///
    /// Not used by background sessions.
    public var cache: HTTPCache?
    /// Where the session finds credentials before its program is asked for them; nil is nowhere.
    ///
    /// At first ``CredentialStorage/shared``; of an ephemeral configuration one in memory, for the clients that are made with it.
    public var credentialStorage: CredentialStorage?

    private init(_ kind: Kind) {
        self.kind = kind
        credentialStorage = Self.credentialStorage(of: kind)
    }

    /// What a configuration of a kind has at first.
    package static func credentialStorage(of kind: Kind) -> CredentialStorage {
        kind == .ephemeral ? CredentialStorage() : .shared
    }

    public static var `default`: SessionConfiguration { SessionConfiguration(.default) }

    public static var ephemeral: SessionConfiguration { SessionConfiguration(.ephemeral) }

    /// - Parameter identifier: unique in the program: by it the transfers are found again.
    public static func background(_ identifier: String) -> SessionConfiguration {
        SessionConfiguration(.background(identifier: identifier))
    }

    /// The identifier of a background session.
    public var identifier: String? {
        if case .background(let identifier) = kind { identifier } else { nil }
    }

    /// A setting, or a default of your own, by name.
    public subscript(name: String) -> JSON? {
        get { values[DefaultName.canonical(name)] }
        set { values[DefaultName.canonical(name)] = newValue }
    }

    /// A place for defaults with these settings.
    var settings: Defaults {
        let place = Defaults.configuration()
        for (name, value) in values { place[name] = value }
        return place
    }

    /// The kind, and the settings with their secrets redacted.
    public var description: String {
        let kind =
            switch kind {
            case .default: "default"
            case .ephemeral: "ephemeral"
            case .background(let identifier): "background \(quoted(identifier))"
            }
        let settings = values.sorted { $0.key < $1.key }.map { name, value in
            "\(name): \(Secrets.redact(setting: name, value))"
        }
        return ([kind] + settings).joined(separator: ", ")
    }
}
