/// How an exchange is to be made: what args and defaults say beside the message itself.
///
/// One reference to values that are shared until they are changed: nearly every request of a client has the same, and is
/// handed from hand to hand.
@dynamicMemberLookup struct TransferSettings: Sendable {
    struct Values: Sendable {
        var timeouts = Timeouts()
        var httpVersion = HTTPVersion.negotiated
        var allowsInvalidCertificate = false
        var trust = CertificateTrust.verified
        /// A PEM file that takes the place of the system's store.
        var caFile: String?
        /// What the environment said when the client was made, or the setting. Never left to libcurl to look up.
        var proxy = ProxySettings.none
        /// Decoded bytes.
        var maximumResponseSize: Int64?
        var maximumRedirects = 20
        var maximumConnectionsPerHost = 64
        var decompresses = true
        var cachePolicy = CachePolicy.protocol
        /// Nil unless the client says anything of it.
        var session: SessionSettings?
    }

    private final class Shared: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private static let standard = Shared(Values())
    private var shared: Shared
    /// Nil for nearly every client.
    var context: SessionContext?

    init() { shared = Self.standard }

    init(_ values: Values, _ context: SessionContext? = nil) {
        shared = Shared(values)
        self.context = context
    }

    var values: Values { shared.values }

    /// The same values, to be kept longer than the client.
    var withoutContext: TransferSettings {
        var settings = self
        settings.context = nil
        return settings
    }

    /// Whether both refer to the same values: true for the requests of one client, as a rule.
    func isIdentical(to other: TransferSettings) -> Bool { shared === other.shared }

    @inline(__always) subscript<Value>(dynamicMember member: WritableKeyPath<Values, Value>) -> Value {
        get { shared.values[keyPath: member] }
        set {
            var values = shared.values
            values[keyPath: member] = newValue
            shared = Shared(values)
        }
    }
}

/// What is made of the certificate that a server shows.
enum CertificateTrust: Sendable, Equatable {
    /// It is checked, as ever.
    case verified
    /// It is looked at: the exchange ends before anything is sent.
    case inspected
    /// The program trusts this one, in PEM, and no other: the exchange ends before anything is sent to another.
    case pinned(String)
}

/// A version of HTTP to ask for.
public enum HTTPVersion: String, Sendable, CaseIterable {
    /// The newest that both sides speak.
    case negotiated = ""
    case http10 = "1.0"
    case http11 = "1.1"
    /// Offered, not required.
    case http2 = "2"
}

/// The limits of the five clocks in seconds; nil is none.
public struct Timeouts: Sendable, Equatable {
    var queue: Double?
    var connect: Double? = 30
    var idle: Double? = 60
    var attempt: Double?
    var total: Double? = 7 * 86_400

    public subscript(clock: TimeoutClock) -> Double? {
        get {
            switch clock {
            case .queue: queue
            case .connect: connect
            case .idle: idle
            case .attempt: attempt
            case .total: total
            }
        }
        set {
            switch clock {
            case .queue: queue = newValue
            case .connect: connect = newValue
            case .idle: idle = newValue
            case .attempt: attempt = newValue
            case .total: total = newValue
            }
        }
    }

    /// What is wrong with one of them; nil when nothing is. None is also what is infinite.
    mutating func problem() -> String? {
        for clock in TimeoutClock.allCases {
            guard let seconds = self[clock] else { continue }
            guard seconds > 0 else { return "the \(clock.rawValue) timeout is \(seconds) s: it must be above 0" }
            if seconds.isInfinite { self[clock] = nil }
        }
        return nil
    }
}

/// How a cache may be used (RFC 9111); takes effect with a client that has a cache.
public enum CachePolicy: String, Sendable, CaseIterable {
    case `protocol`
    case reloadIgnoringCache = "reload_ignoring_cache"
    case returnCachedElseLoad = "return_cached_else_load"
    case returnCachedDontLoad = "return_cached_dont_load"
    case reloadRevalidating = "reload_revalidating"
    /// The cache is neither read nor written.
    case noStore = "no_store"

    /// What tells the caches on the way the same.
    var cacheControl: String? {
        switch self {
        case .reloadIgnoringCache: "no-cache"
        case .reloadRevalidating: "max-age=0"
        case .protocol, .returnCachedElseLoad, .returnCachedDontLoad, .noStore: nil
        }
    }
}
