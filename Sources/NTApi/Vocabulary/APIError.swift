#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What went wrong with a request: the one error type of the library.
public struct APIError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where an error comes from.
    public enum Domain: String, Sendable {
        /// The request could not be built or sent. Fix the call.
        case request
        /// No answer came, or not a complete one.
        case network
        /// The answer's status is 300 or above.
        case http
        /// The body is not JSON.
        case json
        /// The service reports an error in its own fields.
        case service
        /// The caller cancelled.
        case cancelled
    }

    /// Where the error comes from.
    public var domain: Domain
    /// What kind of error it is: a built-in code, or the service's own.
    public var code: ErrorCode
    /// What happened and what to do about it, as text for people. Control characters are escaped, except line feeds and
    /// tabs: it may quote a server.
    public var message: String {
        didSet { message = printable(message) }
    }
    /// The HTTP status that came with the error, if there was an answer.
    public var httpStatus: Int?
    /// The transport's own code: a `CURLcode`.
    public var transportCode: Int?
    /// Which of the five clocks ran out; nil when none did.
    public var clock: TimeoutClock?
    /// The kind of network failure; nil for other errors.
    public var failure: NetworkFailure?
    /// Whether sending the same request again is safe and may help.
    public var isRetryable: Bool
    /// How many seconds after the answer the server wants the next attempt (Retry-After, retry-after-ms); nil when it
    /// did not say.
    public var retryAfter: Double?
    /// More that the service said, as a type of the program: a list of wrong fields, for example.
    ///
    /// The hook `mapServiceError` sets it. Read it with `error.details as? [FieldError]`. Comparing errors ignores it.
    public var details: (any Sendable)? {
        get { rare.details }
        set { rare.details = newValue }
    }
    /// What the server said in `application/problem+json` (RFC 9457); nil when the answer was none.
    ///
    /// It is also there after a hook has replaced the error, unless the hook has set another one.
    public var problem: ProblemDetails? {
        get { rare.problem }
        set { rare.problem = newValue }
    }
    private var rare = RareParts()

    /// Makes an error, by default one of the service. Without a message it has the code's name.
    public init(
        domain: Domain = .service, code: ErrorCode, message: String? = nil, httpStatus: Int? = nil,
        transportCode: Int? = nil, isRetryable: Bool = false, details: (any Sendable)? = nil
    ) {
        self.domain = domain
        self.code = code
        self.message = printable(message ?? code.name)
        self.httpStatus = httpStatus
        self.transportCode = transportCode
        self.isRetryable = isRetryable
        if let details { self.details = details }
    }

    public var description: String { message == code.description ? message : "\(code): \(message)" }
}

/// Which of the five clocks a timeout is for.
public enum TimeoutClock: String, Sendable, CaseIterable {
    /// How long no byte moved: the request timeout.
    case idle
    /// Name look-up, connection and TLS handshake.
    case connect
    /// Waiting for a free connection to the host.
    case queue
    /// One exchange with one server; each redirect starts another.
    case attempt
    /// The whole request, including waits, redirects and retries: the resource timeout.
    case total
}

/// What most errors do not have, behind one pointer. Details of any type cannot be compared, so all count as equal.
private struct RareParts: Sendable, Equatable {
    private final class Content: Sendable {
        let details: (any Sendable)?
        let problem: ProblemDetails?

        init(_ details: (any Sendable)?, _ problem: ProblemDetails?) {
            self.details = details
            self.problem = problem
        }
    }

    private var content: Content?

    var details: (any Sendable)? {
        get { content?.details }
        set { set(newValue, problem) }
    }

    var problem: ProblemDetails? {
        get { content?.problem }
        set { set(details, newValue) }
    }

    private mutating func set(_ details: (any Sendable)?, _ problem: ProblemDetails?) {
        content = details == nil && problem == nil ? nil : Content(details, problem)
    }

    static func == (left: RareParts, right: RareParts) -> Bool { left.problem == right.problem }
}

extension APIError {
    static func invalidRequest(_ message: String) -> APIError {
        APIError(domain: .request, code: .invalidRequest, message: message)
    }

    /// - Parameter objection: what of the URL or the connection, and the rule.
    static func notAllowed(_ origin: Origin, _ objection: String) -> APIError {
        APIError(
            domain: .request, code: .notAllowed,
            message: "\(origin.host):\(origin.port): the connection policy does not allow \(objection)")
    }

    static func circuitOpen(_ message: String) -> APIError {
        APIError(domain: .network, code: .circuitOpen, message: message, isRetryable: true)
    }

    static func storeFailed(_ message: String) -> APIError {
        APIError(domain: .network, code: .storeFailed, message: message, isRetryable: true)
    }

    static let cancelled = APIError(
        domain: .cancelled, code: .cancelled, message: "the request was cancelled by the caller")
}

/// The name of a kind of error. Names are interned: equal names are the same code.
///
/// Codes compare as pointers, here and in C. Make your own codes once, as static constants: `static let notFound =
/// ErrorCode("404")`. A name is kept until the process ends, so make no codes of texts that a server sends.
public struct ErrorCode: Sendable, Hashable, CustomStringConvertible {
    /// One for each name. Never freed, because C callers may keep the pointer for ever.
    private final class Entry: @unchecked Sendable {
        // Safe to share: both fields are constant, and the memory behind `cString` is never written again.
        let name: String
        let cString: UnsafePointer<CChar>

        init(_ name: String) {
            self.name = name
            let utf8 = Array(name.utf8CString)
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: utf8.count)
            copy.initialize(from: utf8, count: utf8.count)
            cString = UnsafePointer(copy)
        }
    }

    private static let entries = Lock<[String: Entry]>(leaf: [:], survivesFork: true)

    private let entry: Entry

    /// Finds the code of this name, or registers it.
    public init(_ name: String) {
        entry = Self.entries.withLock { entries in
            if let known = entries[name] { return known }
            let entry = Entry(name)
            entries[name] = entry
            return entry
        }
    }

    /// The code's text.
    public var name: String { entry.name }

    /// The name, with control characters escaped: it may come from a server.
    public var description: String { printable(name) }

    /// The interned text for C, valid for ever.
    package var cString: UnsafePointer<CChar> { entry.cString }

    public static func == (left: ErrorCode, right: ErrorCode) -> Bool { left.entry === right.entry }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(entry)) }
}

extension ErrorCode {
    /// The connection failed or broke, or the server does not speak HTTP.
    public static let network = ErrorCode("network")
    /// The machine has no network except loopback.
    public static let noInternet = ErrorCode("no internet")
    /// One of the five clocks ran out; the message names it.
    public static let timeout = ErrorCode("timeout")
    /// The TLS handshake or the verification of the certificate failed; the message says why.
    public static let tls = ErrorCode("TLS")
    /// The body is not JSON; the message says where.
    public static let invalidJSON = ErrorCode("invalid JSON")
    /// The JSON does not fit the program's type. The message names the path, what was expected and what was found.
    public static let unexpectedJSON = ErrorCode("unexpected JSON")
    /// The status is 300 or above.
    public static let httpError = ErrorCode("HTTP error")
    /// Only the cache was allowed to answer, but it has no answer. The status is 504.
    public static let notCached = ErrorCode("not cached")
    /// The client's authenticator could not get new credentials; the message says why.
    public static let authentication = ErrorCode("authentication failed")
    /// The server redirected more often than allowed.
    public static let tooManyRedirects = ErrorCode("too many redirects")
    /// The caller cancelled the request.
    public static let cancelled = ErrorCode("request cancelled")
    /// The background session was closed, or the process is ending. The transfer continues when the session is opened
    /// again.
    public static let detached = ErrorCode("detached")
    /// The request could not be built; the message names the arg and the fix.
    public static let invalidRequest = ErrorCode("invalid request")
    /// The decoded body is larger than allowed.
    public static let responseTooLarge = ErrorCode("response too large")
    /// A test's stub has no answer for the request, or an expected request did not come. The message names the nearest
    /// match.
    public static let noStub = ErrorCode("no stub")
    /// The session's ``ConnectionPolicy`` does not allow the URL, or the address of its host. Nothing was sent.
    public static let notAllowed = ErrorCode("not allowed")
    /// The ``CircuitBreakerPolicy`` of the session allows no request to the server now. Nothing was sent.
    public static let circuitOpen = ErrorCode("circuit open")
    /// The ``SharedStore`` of the rate limit has failed, and requests are to fail with it. Nothing was sent.
    public static let storeFailed = ErrorCode("store failed")
    /// Anything else.
    public static let generic = ErrorCode("generic")
}

extension ErrorCode {
    /// Makes the built-in codes, and what they need, unless they are made already. Before a fork.
    ///
    /// One thread makes a code for the first time while another one forks. In the child nobody finishes that code, and
    /// the child would wait for it for ever.
    static func makeBuiltIn() {
        let codes: [ErrorCode] = [
            .network, .noInternet, .timeout, .tls, .invalidJSON, .unexpectedJSON, .httpError, .notCached,
            .authentication, .tooManyRedirects, .cancelled, .detached, .invalidRequest, .responseTooLarge, .noStub,
            .notAllowed, .circuitOpen, .storeFailed, .generic, APIError.cancelled.code,
        ]
        withExtendedLifetime(codes) {}
    }
}

/// The kind of network failure behind an error; see ``APIError/failure``.
public enum NetworkFailure: String, Sendable, CaseIterable {
    /// The host's name was not found.
    case nameLookup = "name_lookup"
    /// Nothing listens at the address.
    case refused
    /// No connection for another reason: no route to the host, or this machine is offline.
    case unreachable
    /// The proxy's name was not found, or the proxy refused.
    case proxy
    /// The TLS handshake failed, or the certificate was not accepted.
    case tls
    /// The connection broke before the answer was complete: the server reset it, or it broke while the request was
    /// sent.
    case reset
    /// The server closed the connection without an answer.
    case noAnswer = "no_answer"
    /// The server closed the connection in the middle of the answer.
    case cutShort = "cut_short"
    /// The answer is not HTTP, or breaks its rules.
    case notHTTP = "not_http"
    /// The body cannot be decompressed, or a part of the compressed body is missing.
    case decoding
    /// Anything else.
    case other
}
