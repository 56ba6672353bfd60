/// How a stream of server-sent events is kept up over many connections (WHATWG HTML, 9.2.3): pure decisions.
///
/// The server may close the connection whenever it likes; the next one says with Last-Event-ID where to go on. A server that
/// is down is asked again ever more seldom, each client at its own moments, so that all of them do not come back at once.
struct EventStreamReconnection: Sendable {
    /// What comes after the end of a connection, or after an answer that is no stream.
    enum Decision: Equatable {
        case connectAgain(afterSeconds: Double)
        /// The server says that there is nothing more to come.
        case finish
        case fail(APIError)
    }

    /// Seconds between connections where the server says nothing else.
    static let standardDelay = 3.0
    /// Seconds. Longer ones only where the server itself asks for them; at most a day.
    static let maximumBackoff = 30.0
    static let maximumDelay = 86_400.0

    /// The method, and the reader's wish: a POST is not sent again by itself.
    let reconnects: Bool
    /// After how many connections in a row that brought nothing the stream fails; nil is never.
    let maximumFailures: Int?
    private(set) var lastEventID = ""
    private var delay = standardDelay
    /// Connections in a row that brought nothing.
    private(set) var failures = 0
    private var hasBroughtSomething = false
    /// Whether any connection has.
    private var hasRun = false

    init(reconnects: Bool = true, maximumFailures: Int? = nil, lastEventID: String = "") {
        self.reconnects = reconnects
        self.maximumFailures = maximumFailures
        self.lastEventID = lastEventID
    }

    /// What goes into the head of the next request, in the place of headers of the same name.
    var headers: [(name: String, value: String)] {
        var headers = [(name: "Accept", value: Self.contentType), (name: "Cache-Control", value: "no-store")]
        // The standard allows what a header cannot carry: UTF-8 is sent as it is, a control character not at all.
        if !lastEventID.isEmpty, (try? HeaderSyntax.check(name: "Last-Event-ID", value: lastEventID)) != nil {
            headers.append((name: "Last-Event-ID", value: lastEventID))
        }
        return headers
    }

    /// An answer has come.
    ///
    /// - Parameters:
    ///   - retryAfter: the seconds that its Retry-After asks for.
    ///   - jitter: by lot, from 0 to 1.
    /// - Returns: nil when it is a stream to be read.
    mutating func answered(_ head: ResponseHead, retryAfter: Double? = nil, jitter: Double) -> Decision? {
        switch head.status {
        case 204, 205: return .finish
        case 200..<300:
            let type = head.headers["Content-Type"] ?? ""
            guard !Self.isEventStream(type) else { return nil }
            let found = type.isEmpty ? "no content type" : quoted(type)
            return .fail(error(head, "the answer is no stream of events: \(found) in the place of \(Self.contentType)"))
        case 500..<600:
            let failure = error(head, "HTTP \(HTTPStatus.text(head.status)) in the place of a stream of events")
            return failed(failure, atLeast: retryAfter ?? 0, jitter: jitter)
        default:
            return .fail(error(head, "HTTP \(HTTPStatus.text(head.status)) in the place of a stream of events"))
        }
    }

    /// An event has come, or anything else that shows the server at work.
    mutating func received(lastEventID: String, retry: Int?) {
        self.lastEventID = lastEventID
        hasBroughtSomething = true
        hasRun = true
        if let retry { delay = min(Double(retry) / 1000, Self.maximumDelay) }
    }

    /// A connection has ended after its answer, or without one.
    ///
    /// - Parameter error: nil when the server closed a whole stream.
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

    /// The credentials of the next connection could not be refreshed. That may pass, as any trouble of a server does.
    mutating func hasNoToken(_ error: APIError, jitter: Double) -> Decision {
        hasRun && error.isRetryable ? failed(error, atLeast: 0, jitter: jitter) : .fail(error)
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

    /// Twice as long each time, though never shorter than the server asked for, nor nothing at all.
    private var backoff: Double {
        let factor = Double(1 << min(failures - 1, 16))
        return max(delay, min(max(delay, 1) * factor, Self.maximumBackoff))
    }

    private func error(_ head: ResponseHead, _ message: String) -> APIError {
        APIError(
            domain: .http, code: .httpError, message: message, httpStatus: head.status,
            isRetryable: HTTPStatus.isPassing(head.status))
    }

    private static let emptyStream = APIError(
        domain: .network, code: .network, message: "the server closed the stream before any event")

    private static let contentType = "text/event-stream"

    /// Parameters do not matter: the text is UTF-8 whatever they say.
    private static func isEventStream(_ type: String) -> Bool {
        let essence = type.prefix { $0 != ";" }
        return String(essence.filter { $0 != " " && $0 != "\t" }).equalsIgnoringASCIICase(contentType)
    }
}
