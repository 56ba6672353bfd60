import Synchronization

/// Named values for one level: the process, a client class, or a client.
///
/// They are looked up in the client, its class, the superclasses, and the global level, in this order. Safe to use from
/// many threads. Built-in names may be spelled as in C and Python: `request_timeout` is `requestTimeout`.
public final class Defaults: Sendable, RedactedMirror {
    /// A dynamic default. Called at each look-up, on the thread that looks it up. Nil continues with the next level.
    public typealias Provider = @Sendable (_ key: String) -> JSON?

    private enum Entry {
        case value(JSON)
        case provider(Provider)

        var isProvider: Bool {
            if case .provider = self { true } else { false }
        }
    }

    private struct Store {
        var entries: [ObjectIdentifier: [String: Entry]] = [:]
        /// What is wrong with a name or its value, until that is set again.
        var mistakes: [ObjectIdentifier: [String: String]] = [:]
        var version = 0
        var providers = 0
    }

    // One lock for all levels. So a forked child finds them all consistent, and a look-up through the levels sees one
    // state.
    private static let store = Lock(Store(), survivesFork: true)

    /// The last level of every look-up.
    public static let global = Defaults()

    package let name: String
    private let parent: Defaults?

    package init(name: String, parent: Defaults?) {
        self.name = name
        self.parent = parent ?? .global
    }

    private init(rootNamed name: String = "global") {
        self.name = name
        parent = nil
    }

    /// A level that inherits nothing: the settings of a configuration.
    package static func configuration() -> Defaults { Defaults(rootNamed: "configuration") }

    /// A level with a copy of another one's current values.
    package convenience init(copying other: Defaults, parent: Defaults) {
        self.init(name: other.name, parent: parent)
        Self.store.withLock { store in
            store.mistakes[ObjectIdentifier(self)] = store.mistakes[ObjectIdentifier(other)]
            guard let entries = store.entries[ObjectIdentifier(other)], !entries.isEmpty else { return }
            store.entries[ObjectIdentifier(self)] = entries
            store.providers += entries.values.count(where: \.isProvider)
            store.version &+= 1
            Self.tellVersion(of: store)
        }
    }

    deinit {
        let entries = Self.store.withLock { store in
            let entries = store.entries.removeValue(forKey: ObjectIdentifier(self))
            store.mistakes[ObjectIdentifier(self)] = nil
            store.providers -= entries?.values.count(where: \.isProvider) ?? 0
            Self.tellVersion(of: store)
            return entries
        }
        withExtendedLifetime(entries) {}
    }

    /// The value of a default, looked up here and in the levels after this one. Setting nil removes it here.
    public subscript(key: String) -> JSON? {
        get { lookUp(DefaultName.canonical(key)) }
        set { set(newValue.map(Entry.value), for: DefaultName.canonical(key)) }
    }

    /// The value that was set at this level. Calls no provider, so it may be used where user code must not run.
    func ownValue(_ key: String) -> JSON? {
        Self.store.withLock { store in
            if case .value(let value) = store.entries[ObjectIdentifier(self)]?[key] { value } else { nil }
        }
    }

    /// Makes a default dynamic; nil removes it.
    public func setProvider(_ key: String, _ provider: Provider?) {
        set(provider.map(Entry.provider), for: DefaultName.canonical(key))
    }

    /// The error for a mistake at this or a later level: a name that is nearly a built-in one and would never be looked
    /// up, or a value that could not be set.
    var mistake: APIError? {
        let found = Self.store.withLock { store -> String? in
            var place: Defaults? = self
            while !store.mistakes.isEmpty, let here = place {
                if let found = store.mistakes[ObjectIdentifier(here)]?.min(by: { $0.key < $1.key }) {
                    return found.value
                }
                place = here.parent
            }
            return nil
        }
        return found.map { .invalidRequest($0) }
    }

    /// For other languages: the value of a default could not be set. Requests fail until it is set.
    package func refuse(_ key: String, _ problem: String) {
        Self.store.withLock { store in
            store.version &+= 1
            store.mistakes[ObjectIdentifier(self), default: [:]][DefaultName.canonical(key)] = problem
            Self.tellVersion(of: store)
        }
    }

    /// Grows with each change at any level. While it stays the same, values need not be read again. Nil while there is
    /// a provider, because its answers may change at any time.
    static var version: Int? {
        let version = lastVersion.load(ordering: .acquiring)
        return version == unknownVersion ? nil : version
    }

    // Each request reads the version, so it is stored outside of the lock. It is written under the store's lock, after
    // the change that it counts. So a thread that reads it and then takes the lock sees that change.
    private static let lastVersion = Atomic<Int>(0)
    private static let unknownVersion = -1

    private static func tellVersion(of store: Store) {
        lastVersion.store(store.providers == 0 ? store.version : unknownVersion, ordering: .releasing)
    }

    private func set(_ entry: Entry?, for key: String) {
        let meant = entry == nil ? nil : DefaultName.nearest(to: key)
        let mistake = meant.map { "there is no default \(quoted(key)): did you mean \(quoted($0))?" }
        // Releasing the old value may run user code, so it must outlive the lock.
        let replaced = Self.store.withLock { store in
            store.version &+= 1
            let old = store.entries[ObjectIdentifier(self)]?[key]
            store.providers += (entry?.isProvider == true ? 1 : 0) - (old?.isProvider == true ? 1 : 0)
            store.entries[ObjectIdentifier(self), default: [:]][key] = entry
            if mistake != nil || !store.mistakes.isEmpty {
                store.mistakes[ObjectIdentifier(self), default: [:]][key] = mistake
            }
            Self.tellVersion(of: store)
            return old
        }
        withExtendedLifetime(replaced) {}
    }

    private func lookUp(_ key: String) -> JSON? {
        var place: Defaults? = self
        while let start = place {
            let found = Self.store.withLock { store -> (entry: Entry, place: Defaults)? in
                var next: Defaults? = start
                while let here = next {
                    if let entry = store.entries[ObjectIdentifier(here)]?[key] { return (entry, here) }
                    next = here.parent
                }
                return nil
            }
            switch found?.entry {
            case nil: return nil
            case .value(let value)?: return value
            case .provider(let provider)?:
                if let value = provider(key) { return value }
                place = found?.place.parent
            }
        }
        return nil
    }
}

/// The names of the built-in defaults.
enum DefaultName {
    static let builtIn = [
        "additionalHeaders", "allowsCellularAccess", "applicationName", "attemptTimeout", "backgroundFolder",
        "baseUrl",
        "cacheDiskCapacity", "cacheFolder", "cacheMemoryCapacity", "cachePolicy", "caFile", "circuitBreaker",
        "clientCertificate", "clientCertificateOrigins", "clientKey", "clientKeyPassword", "connectionPolicy",
        "connectTimeout",
        "connectTo", "cookieAcceptPolicy", "decompression", "dnsOverHttps", "exitTimeout", "httpVersion", "logFlags",
        "maximumConnections", "maximumConnectionsPerHost", "maximumRedirects", "maximumResponseSize",
        "networkInterface", "networkThreads", "password", "pinnedPublicKeys", "proxy", "proxyExceptions",
        "proxyPassword", "proxyUser", "queueTimeout", "rateLimit", "requestTimeout", "resolve", "resourceTimeout",
        "retry", "sendsCookies", "tlsMinimumVersion", "unixSocket", "user", "userAgent", "usesCache",
    ]

    private static let spellings: [String: String] = {
        var spellings = ["baseURL": "baseUrl", "dnsOverHTTPS": "dnsOverHttps"]
        for name in builtIn {
            spellings[name] = name
            spellings[snakeCase(name)] = name
        }
        return spellings
    }()

    /// The name that the library looks up: `request_timeout` becomes `requestTimeout`. Other names are not changed.
    static func canonical(_ name: String) -> String { spellings[name] ?? name }

    /// The built-in name that is probably meant: `requestTimeout` for `requestTimout`.
    static func nearest(to name: String) -> String? {
        spellings[name] == nil ? SimilarName.nearest(to: name, among: builtIn) : nil
    }

    private static func snakeCase(_ name: String) -> String {
        let bytes = name.utf8.flatMap { byte in
            byte == byte.lowercasedASCII ? [byte] : [UInt8(ascii: "_"), byte.lowercasedASCII]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The defaults of client classes, one level for each.
enum ClassDefaults {
    private static let places = Lock<[ObjectIdentifier: Defaults]>([:], survivesFork: true)

    /// The defaults of a class, which inherit from those of its superclass, up to `APIClient`'s and the global ones.
    static func of(_ type: APIClient.Type) -> Defaults {
        if let known = places.withLock({ $0[ObjectIdentifier(type)] }) { return known }
        let parent = (_getSuperclass(type) as? APIClient.Type).map(of)
        let made = Defaults(name: String(describing: type), parent: parent)
        return places.withLock { places in
            if let known = places[ObjectIdentifier(type)] { return known }
            places[ObjectIdentifier(type)] = made
            return made
        }
    }
}
