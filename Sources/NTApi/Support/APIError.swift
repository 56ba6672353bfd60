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
    /// Whether sending the same request again may help, and is safe.
    public var isRetryable: Bool
    /// The seconds after which the server asks to come again (Retry-After), counted from its answer; nil when it did not say.
    public var retryAfter: Double?

    public init(
        domain: Domain = .service, code: ErrorCode, message: String? = nil, httpStatus: Int? = nil,
        transportCode: Int? = nil, isRetryable: Bool = false
    ) {
        self.domain = domain
        self.code = code
        self.message = message ?? code.name
        self.httpStatus = httpStatus
        self.transportCode = transportCode
        self.isRetryable = isRetryable
    }

    public var description: String { message == code.name ? code.name : "\(code.name): \(message)" }
}

extension APIError {
    static func invalidRequest(_ message: String) -> APIError {
        APIError(domain: .request, code: .invalidRequest, message: message)
    }

    static let cancelled = APIError(
        domain: .cancelled, code: .cancelled, message: "the request was cancelled by the caller")
}
