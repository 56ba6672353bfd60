/// The answer of a stub to a request.
public struct StubAnswer: Sendable, RedactedMirror {
    /// The HTTP status.
    public var status: Int
    /// The headers. Content-Length is added if it is missing and there are no trailers.
    public var headers: HTTPHeaders
    /// The body.
    public var body: [UInt8]
    /// The fields after the body. Answers to HEAD, and those with the status 204 or 304, have none.
    public var trailers = HTTPHeaders()
    /// How long to wait before the answer, in seconds of the client's clock.
    public var delay = 0.0
    /// The largest piece of the body in bytes; 0 is no limit.
    public var pieceSize = 0
    /// How long to wait before each piece except the first, in seconds of the client's clock.
    public var pieceDelay = 0.0
    /// The failure, if there is one.
    public var fault: StubFault?
    /// The version of HTTP, as recorded.
    var httpVersion = 1.1
    /// Why the requests fail instead: C has given an answer that cannot be one.
    private var mistake: String?

    /// Makes an answer, by default 200 without a body.
    public init(status: Int = 200, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An interceptor's answer. A length is left out: it may be that of a body that the interceptor has replaced.
    init(_ response: HTTPResponse) {
        self.init(status: response.status, headers: response.headers, body: Array(response.body.bytes.buffer))
        headers.remove("Content-Length")
        trailers = response.trailers ?? HTTPHeaders()
        httpVersion = response.httpVersion ?? 1.1
    }

    /// The status and the size of the body.
    public var description: String { "\(status), \(body.count) bytes" }

    /// An answer without a body.
    public static func status(
        _ status: Int, headers: KeyValuePairs<String, String> = [:], delay: Double = 0
    ) -> StubAnswer {
        make(status, headers, [], nil, delay)
    }

    /// A JSON value, as application/json.
    public static func json(
        _ json: JSON, status: Int = 200, headers: KeyValuePairs<String, String> = [:], delay: Double = 0
    ) -> StubAnswer {
        make(status, headers, json.utf8(), "application/json", delay)
    }

    /// Text, as text/plain unless a header says otherwise.
    public static func text(
        _ text: String, status: Int = 200, headers: KeyValuePairs<String, String> = [:], delay: Double = 0
    ) -> StubAnswer {
        make(status, headers, Array(text.utf8), "text/plain; charset=utf-8", delay)
    }

    /// Bytes, as application/octet-stream unless a header says otherwise.
    public static func data(
        _ bytes: [UInt8], status: Int = 200, headers: KeyValuePairs<String, String> = [:], delay: Double = 0
    ) -> StubAnswer {
        make(status, headers, bytes, "application/octet-stream", delay)
    }

    /// A failure of the network instead of an answer.
    public static func fault(_ fault: StubFault, delay: Double = 0) -> StubAnswer {
        var answer = StubAnswer()
        answer.fault = fault
        answer.delay = delay
        return answer
    }

    /// The same answer with its body in pieces.
    ///
    /// - Parameters:
    ///   - size: the largest piece in bytes.
    ///   - delay: how long to wait before each piece except the first, in seconds of the client's clock.
    public func inPieces(of size: Int, every delay: Double = 0) -> StubAnswer {
        var answer = self
        answer.pieceSize = size
        answer.pieceDelay = delay
        return answer
    }

    /// The same answer with a failure.
    public func with(_ fault: StubFault) -> StubAnswer {
        var answer = self
        answer.fault = fault
        return answer
    }

    private static func make(
        _ status: Int, _ headers: KeyValuePairs<String, String>, _ body: [UInt8], _ type: String?, _ delay: Double
    ) -> StubAnswer {
        let fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
        var answer = StubAnswer(status: status, headers: fields, body: body)
        if let type { answer.setType(type) }
        answer.delay = delay
        return answer
    }
}

extension StubAnswer {
    /// Sets the content type, unless a header does.
    package mutating func setType(_ type: String) { headers.setIfAbsent("Content-Type", type) }

    /// An answer that fails its requests with this message.
    package init(refused mistake: String) {
        self.init(status: 200)
        self.mistake = mistake
    }

    /// Why the answer is invalid; nil when it is valid.
    package var problem: String? {
        if let mistake { return mistake }
        guard (200..<1000).contains(status) else {
            return "the status \(status) is not one of a final response (200 to 999)"
        }
        guard delay >= 0, pieceDelay >= 0, pieceSize >= 0 else { return "a delay or the size of a piece is negative" }
        for fields in [headers, trailers] {
            for field in fields where !HeaderSyntax.allowsReceived(name: field.name, value: field.value) {
                return "\(quoted(field.name)) with \(quoted(field.value)) cannot be a header"
            }
        }
        return nil
    }
}

/// A failure instead of an answer, or in the middle of one.
public struct StubFault: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case noConnection, noInternet, unknownHost, untrustedCertificate, timeout, silence
        case connectionLost(after: Int?)
    }

    let kind: Kind

    /// Nothing listens at the address: `network`, as for a refused connection.
    public static let noConnection = StubFault(kind: .noConnection)
    /// The machine is offline: `no internet`.
    public static let noInternet = StubFault(kind: .noInternet)
    /// The host's name is not found: `network`.
    public static let unknownHost = StubFault(kind: .unknownHost)
    /// The server's certificate is not accepted: `TLS`.
    public static let untrustedCertificate = StubFault(kind: .untrustedCertificate)
    /// The idle clock has run out: `timeout`, at once.
    public static let timeout = StubFault(kind: .timeout)
    /// No answer comes: the request's own timeouts run out, by the client's clock.
    public static let silence = StubFault(kind: .silence)
    /// The connection breaks before the answer: `network`.
    public static let connectionLost = StubFault(kind: .connectionLost(after: nil))

    /// The connection breaks in the body: `network`.
    ///
    /// - Parameter bytes: how many bytes of the body arrive before.
    public static func connectionLost(after bytes: Int) -> StubFault {
        StubFault(kind: .connectionLost(after: max(0, bytes)))
    }

    /// How many bytes of the body arrive before; nil for a failure instead of an answer.
    var bytesBefore: Int? {
        if case .connectionLost(let bytes) = kind { bytes } else { nil }
    }

    /// The error that the network would give; nil for silence.
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
        // The numbers are libcurl's error codes.
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
            let what = "the server broke the connection before the answer was complete"
            return make(.network, what, 56, .reset, retry: http.mayBeRepeated)
        }
    }
}

/// The body that a stub expects.
public struct StubBody: Sendable, RedactedMirror {
    enum Kind: Sendable {
        case any
        case json(JSON)
        case containing(String)
        case recorded(RecordedBody)
    }

    let kind: Kind

    /// Any body, or none.
    public static let any = StubBody(kind: .any)

    /// JSON that equals this. The order of members and the formatting do not matter.
    public static func json(_ json: JSON) -> StubBody { StubBody(kind: .json(json)) }

    /// A body that contains this text.
    public static func containing(_ text: String) -> StubBody { StubBody(kind: .containing(text)) }

    /// How a request's body differs; nil when it matches.
    func mismatch(_ request: StubRequest) -> String? {
        switch kind {
        case .any: return nil
        case .json(let expected):
            guard let json = request.json else { return "the body is not JSON" }
            return json == expected ? nil : "the body is different JSON"
        case .containing(let text):
            return request.text.containsSubstring(text) ? nil : "the body does not contain \(quoted(text))"
        case .recorded(let body): return body.matches(request) ? nil : "the body is different"
        }
    }
}
