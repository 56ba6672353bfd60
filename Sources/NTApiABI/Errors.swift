public import CNTApi
import NTApi

/// What an `ntapi_error` stands for.
final class ErrorBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let error: APIError
    let details: UnsafeMutablePointer<ntapi_error_details>
    private let problem: HandleOwner<JSONBox>?

    init(_ error: APIError) {
        self.error = error
        problem = error.problem.map { HandleOwner(JSONBox($0.json)) }
        details = .allocate(capacity: 1)
        details.initialize(to: error.details(problem?.handle))
    }

    deinit { details.deallocate() }

    var message: UnsafePointer<CChar>? { text(.message) { error.message } }
}

extension APIError {
    /// A new handle of the error.
    var handle: OpaquePointer? {
        // Inlined in every function that reports an error it would cost several kilobytes.
        @inline(never) get { Handles.make(ErrorBox(self)) }
    }

    fileprivate func details(_ problem: OpaquePointer?) -> ntapi_error_details {
        ntapi_error_details(
            size: MemoryLayout<ntapi_error_details>.size, domain: domain.c,
            http_status: CInt(clamping: httpStatus ?? 0),
            failure: failure?.c ?? NTAPI_FAILURE_NONE, transport_code: CInt(clamping: transportCode ?? 0),
            clock: clock?.c ?? NTAPI_CLOCK_NONE, is_retryable: isRetryable,
            retry_after: retryAfter ?? -1, problem: problem)
    }
}

extension APIError.Domain {
    var c: ntapi_error_domain {
        switch self {
        case .request: NTAPI_ERROR_DOMAIN_REQUEST
        case .network: NTAPI_ERROR_DOMAIN_NETWORK
        case .http: NTAPI_ERROR_DOMAIN_HTTP
        case .json: NTAPI_ERROR_DOMAIN_JSON
        case .service: NTAPI_ERROR_DOMAIN_SERVICE
        case .cancelled: NTAPI_ERROR_DOMAIN_CANCELLED
        }
    }

    init(_ domain: ntapi_error_domain) {
        switch domain {
        case NTAPI_ERROR_DOMAIN_REQUEST: self = .request
        case NTAPI_ERROR_DOMAIN_NETWORK: self = .network
        case NTAPI_ERROR_DOMAIN_HTTP: self = .http
        case NTAPI_ERROR_DOMAIN_JSON: self = .json
        case NTAPI_ERROR_DOMAIN_CANCELLED: self = .cancelled
        default: self = .service
        }
    }
}

@_cdecl("ntapi_code_register") @implementation
public func ntapi_code_register(_ name: UnsafePointer<CChar>!) -> UnsafePointer<CChar>! {
    String(c: name).map { ErrorCode($0).cString }
}

@_cdecl("ntapi_error_create") @implementation
public func ntapi_error_create(
    _ domain: ntapi_error_domain, _ code: UnsafePointer<CChar>!, _ message: UnsafePointer<CChar>!,
    _ is_retryable: Bool
) -> OpaquePointer! {
    let codeText = code == nil ? ErrorCode.generic.name : String(c: code)
    let messageText = message == nil ? codeText : String(c: message)
    guard let codeText, let messageText else { return nil }
    return APIError(
        domain: .init(domain), code: ErrorCode(codeText), message: messageText, isRetryable: is_retryable
    ).handle
}

@_cdecl("ntapi_error_retain") @implementation
public func ntapi_error_retain(_ error: OpaquePointer!) -> OpaquePointer! {
    Handles.get(error, ErrorBox.self).flatMap { Handles.make($0) }
}

@_cdecl("ntapi_error_free") @implementation
public func ntapi_error_free(_ error: OpaquePointer!) { Handles.free(error, ErrorBox.self) }

@_cdecl("ntapi_error_get_details") @implementation
public func ntapi_error_get_details(_ error: OpaquePointer!) -> UnsafePointer<ntapi_error_details>! {
    UnsafePointer(Handles.get(error, ErrorBox.self)?.details ?? noDetails)
}

/// For a wrong handle, forever.
// Safe to share: never written once it is made.
nonisolated(unsafe) private let noDetails = {
    let details = UnsafeMutablePointer<ntapi_error_details>.allocate(capacity: 1)
    details.initialize(to: ntapi_error_details())
    details.pointee.size = MemoryLayout<ntapi_error_details>.size
    details.pointee.retry_after = -1
    return details
}()

@_cdecl("ntapi_error_code") @implementation
public func ntapi_error_code(_ error: OpaquePointer!) -> ntapi_code {
    guard let code = Handles.get(error, ErrorBox.self)?.error.code else { return NTAPI_CODE_NONE }
    return code.c
}

extension ErrorCode {
    /// No table: a forked child would have to make it, with locks of Swift's runtime that another thread may have held.
    fileprivate var c: ntapi_code {
        switch self {
        case .network: NTAPI_CODE_NETWORK
        case .noInternet: NTAPI_CODE_NO_INTERNET
        case .timeout: NTAPI_CODE_TIMEOUT
        case .tls: NTAPI_CODE_TLS
        case .invalidJSON: NTAPI_CODE_INVALID_JSON
        case .unexpectedJSON: NTAPI_CODE_UNEXPECTED_JSON
        case .httpError: NTAPI_CODE_HTTP_ERROR
        case .notCached: NTAPI_CODE_NOT_CACHED
        case .tooManyRedirects: NTAPI_CODE_TOO_MANY_REDIRECTS
        case .authentication: NTAPI_CODE_AUTHENTICATION
        case .detached: NTAPI_CODE_DETACHED
        case .cancelled: NTAPI_CODE_CANCELLED
        case .invalidRequest: NTAPI_CODE_INVALID_REQUEST
        case .responseTooLarge: NTAPI_CODE_RESPONSE_TOO_LARGE
        case .noStub: NTAPI_CODE_NO_STUB
        case .notAllowed: NTAPI_CODE_NOT_ALLOWED
        case .circuitOpen: NTAPI_CODE_CIRCUIT_OPEN
        case .storeFailed: NTAPI_CODE_STORE_FAILED
        case .generic: NTAPI_CODE_GENERIC
        default: NTAPI_CODE_CUSTOM
        }
    }
}

@_cdecl("ntapi_error_code_name") @implementation
public func ntapi_error_code_name(_ error: OpaquePointer!) -> UnsafePointer<CChar>! {
    Handles.get(error, ErrorBox.self)?.error.code.cString
}

@_cdecl("ntapi_error_message") @implementation
public func ntapi_error_message(_ error: OpaquePointer!) -> UnsafePointer<CChar>! {
    Handles.get(error, ErrorBox.self)?.message
}

extension TimeoutClock {
    init?(c clock: ntapi_clock) {
        guard let known = Self.allCases.first(where: { $0.c == clock }) else { return nil }
        self = known
    }

    var c: ntapi_clock {
        switch self {
        case .idle: NTAPI_CLOCK_IDLE
        case .connect: NTAPI_CLOCK_CONNECT
        case .queue: NTAPI_CLOCK_QUEUE
        case .attempt: NTAPI_CLOCK_ATTEMPT
        case .total: NTAPI_CLOCK_TOTAL
        }
    }
}

extension NetworkFailure {
    fileprivate var c: ntapi_failure {
        switch self {
        case .nameLookup: NTAPI_FAILURE_NAME_LOOKUP
        case .refused: NTAPI_FAILURE_REFUSED
        case .unreachable: NTAPI_FAILURE_UNREACHABLE
        case .proxy: NTAPI_FAILURE_PROXY
        case .tls: NTAPI_FAILURE_TLS
        case .reset: NTAPI_FAILURE_RESET
        case .noAnswer: NTAPI_FAILURE_NO_ANSWER
        case .cutShort: NTAPI_FAILURE_CUT_SHORT
        case .notHTTP: NTAPI_FAILURE_NOT_HTTP
        case .decoding: NTAPI_FAILURE_DECODING
        case .other: NTAPI_FAILURE_OTHER
        }
    }
}

/// Stores for C which parameter was wrong, if there is a place for it.
func refused(_ place: UnsafeMutablePointer<OpaquePointer?>?, _ problem: String) -> ntapi_status {
    place?.pointee = APIError.invalidArgument(problem).handle
    return NTAPI_STATUS_INVALID_ARGUMENT
}

/// Runs code that may throw, and stores the error for C if there is a place for it.
@inline(never) func status(
    _ place: UnsafeMutablePointer<OpaquePointer?>?, _ body: () throws(APIError) -> Void
) -> ntapi_status {
    do throws(APIError) {
        try body()
        return NTAPI_STATUS_OK
    } catch {
        place?.pointee = error.handle
        return NTAPI_STATUS_INVALID_STATE
    }
}
