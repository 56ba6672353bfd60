/// What went wrong with a request: the one error type of the library.
public struct APIError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where an error comes from.
    public enum Domain: String, Sendable {
        /// The request could not be built or sent: mend the call.
        case request
        /// No answer came, or not a whole one.
        case network
        /// The answer's status is 300 or above.
        case http
        /// The body is not JSON.
        case json
        /// The service says so in its own fields.
        case service
        /// The caller cancelled.
        case cancelled
    }

    public var domain: Domain
    public var code: ErrorCode
    /// What happened and what to do about it, for people.
    public var message: String
    /// The HTTP status that came with the error, if there was an answer.
    public var httpStatus: Int?
    /// The transport's own code: a `CURLcode`.
    public var transportCode: Int?
    /// Which of the five clocks ran out; nil when none did.
    public var clock: TimeoutClock?
    /// What kind of failure of the network it was; nil when it was none.
    public var failure: NetworkFailure?
    /// Whether sending the same request again may help, and is safe.
    public var isRetryable: Bool
    /// The seconds after which the server asks to come again (Retry-After), counted from its answer; nil when it did not say.
    public var retryAfter: Double?
    /// What else the service said, as a type of the program's own: a list of what is wrong with the fields, say.
    ///
    /// Put there by the hook `mapServiceError`: `error.details as? [FieldError]`. Errors compare without it.
    public var details: (any Sendable)? {
        get { box.value?.details }
        set { box.value = newValue.map(DetailsBox.Content.init) }
    }
    private var box = DetailsBox()

    public init(
        domain: Domain = .service, code: ErrorCode, message: String? = nil, httpStatus: Int? = nil,
        transportCode: Int? = nil, isRetryable: Bool = false, details: (any Sendable)? = nil
    ) {
        self.domain = domain
        self.code = code
        self.message = message ?? code.name
        self.httpStatus = httpStatus
        self.transportCode = transportCode
        self.isRetryable = isRetryable
        if let details { self.details = details }
    }

    public var description: String { message == code.name ? code.name : "\(code.name): \(message)" }
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

/// The details of an error: a pointer, as most errors have none. Values of any type cannot be compared: all count as equal.
private struct DetailsBox: Sendable, Equatable {
    final class Content: Sendable {
        let details: any Sendable

        init(_ details: any Sendable) { self.details = details }
    }

    var value: Content?

    static func == (_: DetailsBox, _: DetailsBox) -> Bool { true }
}

extension APIError {
    static func invalidRequest(_ message: String) -> APIError {
        APIError(domain: .request, code: .invalidRequest, message: message)
    }

    static let cancelled = APIError(
        domain: .cancelled, code: .cancelled, message: "the request was cancelled by the caller")
}
