/// What goes wrong with a request in the place of an answer, or in the middle of one.
public struct StubFault: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case noConnection, noInternet, unknownHost, untrustedCertificate, timeout, silence
        case connectionLost(after: Int?)
    }

    let kind: Kind

    /// Nobody listens: `network`, as libcurl tells of a refused connection.
    public static let noConnection = StubFault(kind: .noConnection)
    /// The machine is offline: `no internet`.
    public static let noInternet = StubFault(kind: .noInternet)
    /// The host's name is not found: `network`.
    public static let unknownHost = StubFault(kind: .unknownHost)
    /// The server's certificate is not accepted: `TLS`.
    public static let untrustedCertificate = StubFault(kind: .untrustedCertificate)
    /// The idle clock has run out: `timeout`, at once.
    public static let timeout = StubFault(kind: .timeout)
    /// Nothing ever comes: the request's own timeouts run out, by the client's clock.
    public static let silence = StubFault(kind: .silence)
    /// The connection breaks before the answer: `network`.
    public static let connectionLost = StubFault(kind: .connectionLost(after: nil))

    /// The connection breaks in the body: `network`.
    ///
    /// - Parameter bytes: how much of the answer's body comes before.
    public static func connectionLost(after bytes: Int) -> StubFault {
        StubFault(kind: .connectionLost(after: max(0, bytes)))
    }

    /// How much of the body comes before it; nil when it is in the place of the answer.
    var bytesBefore: Int? {
        if case .connectionLost(let bytes) = kind { bytes } else { nil }
    }

    /// The error that the network would have given; nil where there is none, because nothing happens.
    func error(_ http: HTTPRequest, _ origin: Origin) -> APIError? {
        func make(
            _ code: ErrorCode, _ what: String, _ transportCode: Int, _ failure: NetworkFailure, retry: Bool = false
        ) -> APIError {
            var error = APIError(
                domain: .network, code: code, message: "\(origin.host):\(origin.port): \(what) (a stub's fault)",
                transportCode: transportCode, isRetryable: retry)
            error.failure = failure
            return error
        }
        // The numbers are libcurl's.
        switch kind {
        case .noConnection: return make(.network, "no connection", 7, .refused, retry: true)
        case .noInternet: return make(.noInternet, "this machine has no network", 7, .unreachable, retry: true)
        case .unknownHost: return make(.network, "the host's name was not found", 6, .nameLookup, retry: true)
        case .untrustedCertificate: return make(.tls, "the server's certificate was not accepted", 60, .tls)
        case .timeout: return .timeout(.idle, http.settings.timeouts.idle, origin, isRetryable: http.mayBeRepeated)
        case .silence: return nil
        case .connectionLost(nil):
            let what = "the server closed the connection without an answer"
            return make(.network, what, 52, .noAnswer, retry: http.mayBeRepeated)
        case .connectionLost:
            let what = "the server broke the connection while the answer was awaited or received"
            return make(.network, what, 56, .reset, retry: http.mayBeRepeated)
        }
    }
}
