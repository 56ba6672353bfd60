/// Decides how a stream of server-sent events continues over several connections (WHATWG HTML, 9.2.3). Pure.
///
/// The server may close the connection at any time. The next request says with Last-Event-ID where to continue. If the
/// server is down, the waits between attempts grow, with random jitter so that clients do not all return at once.
struct EventStreamReconnection: Sendable {
    /// What to do after the end of a connection, or after an answer that is not a stream.
    enum Decision: Equatable {
        case connectAgain(afterSeconds: Double)
        /// The server says that the stream is over.
        case finish
        case fail(APIError)
    }

    /// The default wait between connections, in seconds.
    static let standardDelay = 3.0
    /// The shortest wait. A server may ask for none, and then end each connection at once.
    static let leastDelay = 0.1
    /// The longest wait, in seconds. Only a server can ask for a longer one, up to a day.
    static let maximumBackoff = 30.0
    static let maximumDelay = 86_400.0

    /// Whether to reconnect. It depends on the method and the caller's option: a POST is not repeated automatically.
    let reconnects: Bool
    /// The stream fails after this many connections in a row without an event; nil is never.
    let maximumFailures: Int?
    private(set) var lastEventID = ""
    private var delay = standardDelay
    /// Connections in a row without an event.
    private(set) var failures = 0
    private var hasBroughtSomething = false
    /// Whether any connection brought an event.
    private var hasRun = false

    init(reconnects: Bool = true, maximumFailures: Int? = nil, lastEventID: String = "") {
        self.reconnects = reconnects
        self.maximumFailures = maximumFailures
        self.lastEventID = lastEventID
    }

    /// Headers for the next request, which replace headers of the same name.
    var headers: [(name: String, value: String)] {
        var headers = [(name: "Accept", value: Self.contentType), (name: "Cache-Control", value: "no-store")]
        // The standard allows identifiers that a header cannot carry: UTF-8 is sent unchanged, an identifier with
        // control characters is not sent.
        if !lastEventID.isEmpty, (try? HeaderSyntax.check(name: "Last-Event-ID", value: lastEventID)) != nil {
            headers.append((name: "Last-Event-ID", value: lastEventID))
        }
        return headers
    }

    /// Handles the head of an answer.
    ///
    /// - Parameters:
    ///   - retryAfter: the seconds of its Retry-After.
    ///   - jitter: a random number from 0 to 1.
    /// - Returns: nil when the answer is a stream.
    mutating func answered(_ head: ResponseHead, retryAfter: Double? = nil, jitter: Double) -> Decision? {
        switch head.status {
        case 204, 205: return .finish
        case 200..<300:
            guard !HeaderSyntax.isMediaType(head.headers.contentType ?? "", Self.contentType) else { return nil }
            let type = head.headers["Content-Type"] ?? ""
            let found = type.isEmpty ? "no content type" : quoted(type)
            return .fail(error(head, "the answer is not a stream of events: \(found) instead of \(Self.contentType)"))
        case 500..<600:
            let failure = error(head, "HTTP \(HTTPStatus.text(head.status)) instead of a stream of events")
            return failed(failure, atLeast: retryAfter ?? 0, jitter: jitter)
        default:
            return .fail(error(head, "HTTP \(HTTPStatus.text(head.status)) instead of a stream of events"))
        }
    }

    /// Handles an event, or any other sign that the server is alive.
    mutating func received(lastEventID: String, retry: Int?) {
        self.lastEventID = lastEventID
        hasBroughtSomething = true
        hasRun = true
        if let retry { delay = min(max(Double(retry) / 1000, Self.leastDelay), Self.maximumDelay) }
    }

    /// Handles the end of a connection, after its answer or without one.
    ///
    /// - Parameter error: nil when the server closed the stream properly.
    mutating func ended(_ error: APIError?, jitter: Double) -> Decision {
        guard let error else {
            guard reconnects else { return .finish }
            return failed(Self.emptyStream, atLeast: 0, jitter: jitter)
        }
        switch error.code {
        case .network, .noInternet, .timeout: return failed(error, atLeast: 0, jitter: jitter)
        default: return .fail(error)
        }
    }

    /// The next connection could not be tried: its credentials could not be refreshed, or the circuit is open. Like other
    /// server failures, that may be temporary.
    mutating func notSent(_ error: APIError, jitter: Double) -> Decision {
        hasRun && error.isRetryable ? failed(error, atLeast: error.retryAfter ?? 0, jitter: jitter) : .fail(error)
    }

    private mutating func failed(_ error: APIError, atLeast: Double, jitter: Double) -> Decision {
        guard reconnects else { return .fail(error) }
        failures = hasBroughtSomething ? 0 : failures + 1
        hasBroughtSomething = false
        if let maximumFailures, failures > 0, failures >= maximumFailures { return .fail(error) }
        let base = failures <= 1 ? delay : backoff
        let wait = base + base / 2 * max(0, min(jitter, 1))
        return .connectAgain(afterSeconds: min(max(wait, atLeast), Self.maximumDelay))
    }

    /// Doubles each time. It is never shorter than the server asked for.
    private var backoff: Double {
        let factor = Double(1 << min(failures - 1, 16))
        return max(delay, min(max(delay, 1) * factor, Self.maximumBackoff))
    }

    private func error(_ head: ResponseHead, _ message: String) -> APIError {
        APIError(
            domain: .http, code: .httpError, message: message, httpStatus: head.status,
            isRetryable: HTTPStatus.isPassing(head.status))
    }

    private static let emptyStream: APIError = {
        var error = APIError(
            domain: .network, code: .network, message: "the server closed the stream before any event")
        error.failure = .noAnswer
        return error
    }()

    // Parameters are ignored, because the text is always UTF-8.
    private static let contentType = "text/event-stream"
}
