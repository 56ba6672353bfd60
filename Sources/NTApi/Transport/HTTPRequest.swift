/// A request as it goes to the transport: built from args, then only changed by hooks.
public struct HTTPRequest: Sendable {
    /// The body and where it comes from.
    public enum Body: Sendable {
        case none
        case bytes([UInt8])
        case multipart([Part])
        /// A regular file of so many bytes.
        case file(path: String, length: Int64)
        case stream(BodyStream)
    }

    /// One part of a multipart/form-data body.
    public struct Part: Sendable {
        /// The content and where it comes from.
        public enum Content: Sendable {
            case bytes([UInt8])
            case file(path: String)
        }

        public var name: String
        public var content: Content
        public var filename: String?
        public var contentType: String?
    }

    /// A token of RFC 9110, 9.
    public var method: String
    /// An absolute http or https URL.
    public var url: String
    public var headers = HTTPHeaders()
    public var body = Body.none
    var settings = TransferSettings()
    /// Whether the body holds a secret, and so is not sent on to another origin.
    var hasSecretBody = false

    init(method: String, url: String) {
        self.method = method
        self.url = url
    }

    /// Whether sending it twice is the same as sending it once (RFC 9110, 9.2.2).
    var isIdempotent: Bool {
        switch method {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
        default: false
        }
    }
}

/// How an exchange is to be made: what args and defaults say beside the message itself.
struct TransferSettings: Sendable {
    enum HTTPVersion: String, Sendable {
        case negotiated = ""
        case http10 = "1.0"
        case http11 = "1.1"
        case http2 = "2"
    }

    var timeouts = Timeouts()
    var httpVersion = HTTPVersion.negotiated
    var allowsInvalidCertificate = false
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
}

/// The limits of the five clocks in seconds; nil is none.
struct Timeouts: Sendable, Equatable {
    var queue: Double?
    var connect: Double? = 30
    var idle: Double? = 60
    var attempt: Double?
    var total: Double? = 7 * 86_400

    subscript(clock: TimeoutClock) -> Double? {
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
}

/// Which of the five clocks a timeout is for.
public enum TimeoutClock: String, Sendable, CaseIterable {
    /// No byte has moved for so long: the request timeout.
    case idle
    /// Name look-up, connection and TLS handshake.
    case connect
    /// Waiting for a free connection to the host.
    case queue
    /// One exchange with one server; each redirect starts another.
    case attempt
    /// The whole request, everything included: the resource timeout.
    case total
}

/// How a cache may be used (RFC 9111); takes effect with a client that has a cache.
public enum CachePolicy: String, Sendable, CaseIterable {
    case `protocol`
    case reloadIgnoringCache = "reload_ignoring_cache"
    case returnCachedElseLoad = "return_cached_else_load"
    case returnCachedDontLoad = "return_cached_dont_load"
    case reloadRevalidating = "reload_revalidating"
}
