/// A recorded exchange, not redacted yet.
struct RecordedEntry: Sendable {
    let method: String
    let url: String
    /// The headers that the library has set. `sentHead` also has those of libcurl.
    let headers: HTTPHeaders
    /// Of a multipart body.
    private(set) var parts: [HTTPRequest.Part]?
    let secrets: MarkedSecrets
    /// Whether the received body is decompressed. That of a plain exchange is not.
    let isDecompressed: Bool
    /// Seconds since 1970-01-01 00:00 UTC.
    let startTime: Double
    /// The head as it was sent; nil when nothing was sent on a network.
    var sentHead: String?
    var sent: [UInt8] = []
    var isSentOmitted = false
    var head: ResponseHead?
    var trailers: HTTPHeaders?
    var received = Bytes.empty
    var isReceivedOmitted = false
    var error: APIError?
    var connection = ConnectionFacts()
    var metrics = ExchangeMetrics()
    var times = ExchangeTimes()

    init(_ http: HTTPRequest, _ secrets: MarkedSecrets, startTime: Double) {
        method = http.method
        url = http.url
        headers = http.headers
        if case .multipart(let parts) = http.body { self.parts = parts }
        self.secrets = secrets
        isDecompressed = http.settings.decompresses
        self.startTime = startTime
    }

    /// The size of its bodies in memory.
    var bodyBytes: Int {
        let ofParts = parts?.reduce(0) { total, part in
            if case .bytes(let bytes) = part.content { total + bytes.count } else { total }
        }
        return sent.count + received.count + (ofParts ?? 0)
    }

    /// The same without bodies of more bytes, and without files, which are read when the recording is written.
    func limited(to limit: Int) -> RecordedEntry {
        var entry = self
        if entry.received.count > limit {
            entry.received = .empty
            entry.isReceivedOmitted = true
        }
        if entry.sent.count > limit - entry.received.count {
            entry.sent = []
            entry.isSentOmitted = true
        }
        let hasFile = parts?.contains { if case .file = $0.content { true } else { false } } ?? false
        if hasFile || entry.bodyBytes > limit {
            entry.parts = nil
            entry.isSentOmitted = entry.isSentOmitted || parts != nil
        }
        return entry
    }

    /// The redacted form for the file.
    ///
    /// - Parameter names: additional names of secrets.
    func recorded(_ names: Set<String>) -> Recording.Exchange {
        let url = Secrets.redactURL(secrets.redact(url: url), alsoNamed: names)
        var exchange = Recording.Exchange(method: method, url: url)
        // The server may repeat what an arg has marked.
        let names = names.union(secrets.names)
        exchange.requestHeaders = Self.recorded(headers.ofMessage(), names)
        exchange.requestBody = requestBody(names)
        if case .parts = exchange.requestBody, let type = exchange.requestHeaders["Content-Type"] {
            // A program makes another one each time.
            exchange.requestHeaders.set("Content-Type", HeaderSyntax.withoutBoundary(type))
        }
        if let head {
            exchange.status = head.status
            exchange.httpVersion = head.httpVersion
            let fields = head.headers.ofAnswer(head.status, to: method, isDecompressed: isDecompressed)
            exchange.headers = Self.recorded(fields, names)
            let bytes = Array(received.buffer)
            exchange.body =
                isReceivedOmitted
                ? .omitted : RecordedBody(bytes, type: head.headers["Content-Type"], secretsNamed: names)
            if let trailers { exchange.trailers = Self.recorded(trailers, names) }
        }
        exchange.fault = error.map { StubFault.recordedName(of: $0) }
        return exchange
    }

    /// All headers that were sent, redacted.
    func sentHeaders(_ names: Set<String>) -> HTTPHeaders {
        guard let lines = sentHead?.split(whereSeparator: \.isNewline), lines.count > 1 else {
            return Self.recorded(headers, names)
        }
        // Only the request knows the names that the caller marked.
        let names = names.union(headers.lazy.filter(\.isSecret).map(\.name))
        let fields = lines.dropFirst().map { HTTPHeaders.Field(line: String($0)) }
        return Self.recorded(fields, names)
    }

    /// All headers that were received, redacted.
    func receivedHeaders(_ names: Set<String>) -> HTTPHeaders {
        head.map { Self.recorded($0.headers, names.union(secrets.names)) } ?? HTTPHeaders()
    }

    private func requestBody(_ names: Set<String>) -> RecordedBody {
        if secrets.isWholeBody { return .redacted }
        if isSentOmitted { return .omitted }
        let type = headers["Content-Type"]
        guard let parts = parts ?? type.flatMap({ MultipartText.parts(sent, type: $0) }) else {
            return RecordedBody(sent, type: type, secretsNamed: names)
        }
        // The file may be gone, but it was sent.
        return .parts(
            parts.map { part in
                (try? RecordedBody.Part(part, secretsNamed: names))
                    ?? .init(
                        name: part.name, filename: part.filename, contentType: part.contentType, content: .text(""))
            })
    }

    private static func recorded(_ headers: some Sequence<HTTPHeaders.Field>, _ names: Set<String>) -> HTTPHeaders {
        var recorded = HTTPHeaders()
        for field in headers {
            let cookie = field.isNamed("set-cookie") ? withoutValue(cookie: field.value) : nil
            let shown = cookie ?? field.shownValue(alsoNamed: names)
            // If nothing is redacted, the bytes that were received stay.
            recorded.add(shown == field.value ? field : .init(name: field.name, value: shown))
        }
        return recorded
    }

    private static func withoutValue(cookie: String) -> String {
        let pair = cookie.prefix { $0 != ";" }
        let name = pair.prefix { $0 != "=" }
        return "\(name)=\(Secrets.redacted)\(cookie.dropFirst(pair.count))"
    }
}

extension HTTPHeaders {
    private static let ofConnection: Set<String> = [
        "connection", "content-length", "keep-alive", "transfer-encoding",
    ]

    /// Without headers of the connection, and of the coding if the recorded body is decompressed.
    func ofMessage(isDecompressed: Bool = true) -> [Field] {
        filter { field in
            let isOfCoding = isDecompressed && field.isNamed("content-encoding")
            return !isOfCoding && !Self.ofConnection.contains(field.name.lowercasedASCII())
        }
    }

    /// The same for an answer. One to HEAD and a 304 describe a body that does not come (RFC 9110, 8.6): its length and
    /// coding stay.
    func ofAnswer(_ status: Int, to method: String, isDecompressed: Bool) -> [Field] {
        guard method == "HEAD" || status == 304 else { return ofMessage(isDecompressed: isDecompressed) }
        return filter { field in
            field.isNamed("content-length") || !Self.ofConnection.contains(field.name.lowercasedASCII())
        }
    }
}

/// Where the time of an exchange went, in seconds. Nil means that there was no such step.
struct ExchangeTimes: Sendable {
    /// Waiting for a connection.
    private(set) var blocked = 0.0
    private(set) var nameLookup: Double?
    /// Includes the TLS handshake.
    private(set) var connect: Double?
    private(set) var tls: Double?
    private(set) var send = 0.0
    /// From the last byte sent to the first byte received.
    private(set) var wait = 0.0
    private(set) var receive = 0.0

    init() {}

    /// Of a stub's answer.
    init(withoutNetwork metrics: ExchangeMetrics) { wait = max(0, metrics.total) }

    /// - Parameters:
    ///   - metrics: its moments are in seconds from the start on the network.
    ///   - sentHead: when the head was sent, in the same seconds; nil when it was not.
    ///   - sent: when the last part of the request was sent.
    init(_ metrics: ExchangeMetrics, sentHead: Double?, sent: Double?) {
        blocked = max(0, metrics.queued)
        let total = max(0, metrics.total)
        guard let sentHead else {
            failed(metrics, total)
            return
        }
        var connected = 0.0
        if metrics.connect > 0 {
            connected = min(max(metrics.connect, metrics.tls), total)
            nameLookup = min(metrics.nameLookup, connected)
            connect = connected - min(metrics.nameLookup, connected)
            if metrics.tls > 0 { tls = max(0, connected - metrics.connect) }
        }
        let ready = min(max(sentHead, connected), total)
        blocked += ready - connected
        let answered = metrics.firstByte > 0 ? min(max(metrics.firstByte, ready), total) : total
        let sent = min(max(sent ?? ready, ready), answered)
        send = sent - ready
        wait = answered - sent
        receive = total - answered
    }

    /// No connection was ready: the time went to the step that failed.
    private mutating func failed(_ metrics: ExchangeMetrics, _ total: Double) {
        let found = min(metrics.nameLookup, total)
        nameLookup = found > 0 ? found : total
        guard found > 0 else { return }
        connect = total - found
        if metrics.connect > 0 { tls = max(0, total - metrics.connect) }
    }
}
