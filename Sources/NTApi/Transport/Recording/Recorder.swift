/// Records the exchanges of a client, so that a ``Stub`` can replay them.
///
///     let recorder = Recorder(path: "Tests/find.json")
///     client.recorder = recorder
///     _ = try await client.send("find", args: [.url("q", "London")])
///     try recorder.save()
///
/// There is one entry for each exchange, including redirects and retries, so that a replay takes the same path. Secrets
/// are not written to the file: Authorization, values of cookies and of headers with secret names, values that args
/// marked as secret, and values with secret names in queries, forms, multipart parts and JSON, also in answers. Secrets
/// elsewhere, for example in plain text, are not found: check the file before you share it. Bodies stay in memory until
/// `save`. Safe to use from any thread.
public final class Recorder: Sendable, RedactedMirror {
    /// The file that the recording is saved to.
    public let path: String
    private struct State {
        var names: Set<String>
        var entries: [RecordingObserver.Entry?] = []
    }

    private let state: Lock<State>

    /// - Parameters:
    ///   - path: the file, which is written by `save`.
    ///   - secrets: additional secret names of headers, pairs, parts and JSON members.
    public init(path: String, secrets: [String] = []) {
        self.path = path
        state = Lock(State(names: Set(secrets)), sharing: .clients)
    }

    /// Adds the name of a secret header, query pair, form field, part or JSON member.
    public func addSecret(_ name: String) { state.withLock { _ = $0.names.insert(name) } }

    /// The number of completed exchanges.
    public var count: Int { state.withLock { $0.entries.count { $0 != nil } } }

    /// Writes the file atomically. May be called again.
    public func save() throws(APIError) {
        let (entries, names) = state.withLock { ($0.entries.compactMap(\.self), $0.names) }
        var recording = Recording()
        for entry in entries { recording.exchanges.append(entry.recorded(names)) }
        do {
            try SystemFile.replace(path, with: IndentedJSON.text(recording.json))
        } catch {
            throw .invalidRequest("the recording \(quoted(path)) was not written: \(error)")
        }
    }

    /// Observes an exchange that is about to begin. Reads its file, if it sends one.
    func observe(_ http: HTTPRequest, _ secrets: MarkedSecrets, for observer: any ExchangeObserver) -> RecordingObserver
    {
        let index = state.withLock { state in
            state.entries.append(nil)
            return state.entries.count - 1
        }
        return RecordingObserver(http, secrets, for: observer) { entry in
            self.state.withLock { $0.entries[index] = entry }
        }
    }
}

/// Sits between an exchange and its observer, and records what passes.
final class RecordingObserver: ExchangeObserver {
    /// A recorded exchange, not redacted yet.
    struct Entry: Sendable {
        let http: HTTPRequest
        let secrets: MarkedSecrets
        let sent: [UInt8]
        let head: ResponseHead?
        let received: Bytes
        let error: APIError?
    }

    /// The request, with a body that is recorded while it is read.
    let request: HTTPRequest
    private let secrets: MarkedSecrets
    private let observer: any ExchangeObserver
    private let keep: @Sendable (Entry) -> Void
    private let sent = Lock<[UInt8]>([])
    /// The body bytes that did not go into the result.
    private let passed = Bytes()

    init(
        _ http: HTTPRequest, _ secrets: MarkedSecrets, for observer: any ExchangeObserver,
        keep: @escaping @Sendable (Entry) -> Void
    ) {
        self.secrets = secrets
        self.observer = observer
        self.keep = keep
        var request = http
        switch http.body {
        case .none, .multipart: break
        case .bytes(let bytes): sent.withLock { $0 = bytes }
        case .file(let path, _):
            if let bytes = try? SystemFile.read(path) { sent.withLock { $0 = bytes } }
        case .stream(let stream): request.body = .stream(Self.listening(to: stream, sent))
        }
        self.request = request
    }

    private static func listening(to stream: BodyStream, _ sent: Lock<[UInt8]>) -> BodyStream {
        let read: BodyStream.Read = { buffer in
            let count = try stream.read(buffer)
            if count > 0, count <= buffer.count {
                let piece = Array(buffer[..<count])
                sent.withLock { $0 += piece }
            }
            return count
        }
        guard stream.isRewindable else { return BodyStream(length: stream.length, read: read) }
        let rewindBoth: @Sendable () -> Bool = {
            sent.withLock { $0 = [] }
            return stream.rewind()
        }
        return BodyStream(length: stream.length, rewind: rewindBoth, read: read)
    }

    // MARK: Observing

    func exchangeDidSend(_ bytes: Int64, of total: Int64?) { observer.exchangeDidSend(bytes, of: total) }

    func exchangeMayStart() { observer.exchangeMayStart() }

    func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?) {
        observer.exchangeDidReceive(bytes, decoded: decoded, of: total)
    }

    func exchangeDidSendHead(_ head: String) { observer.exchangeDidSendHead(head) }

    func exchangeDidReceiveInformation(_ head: ResponseHead) { observer.exchangeDidReceiveInformation(head) }

    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute {
        listened(observer.exchangeDidReceiveHead(head, deliveries))
    }

    /// The same route for a body, with recording.
    func listened(_ route: BodyRoute) -> BodyRoute {
        guard case .sink(let sink) = route else { return route }
        return .sink(ListeningSink(sink, passed))
    }

    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        if result.error?.domain != .cancelled, result.error?.code != .noStub {
            let entry = Entry(
                http: request, secrets: secrets, sent: sent.withLock { $0 }, head: result.head,
                received: passed.count > 0 ? passed : result.body, error: result.error)
            keep(entry)
        }
        observer.exchangeDidEnd(result, deliveries)
    }

    // Runs on the transport's thread, like everything that fills the bytes.
    private final class ListeningSink: BodySink {
        private let sink: any BodySink
        private let passed: Bytes

        init(_ sink: any BodySink, _ passed: Bytes) {
            self.sink = sink
            self.passed = passed
        }

        func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
            let answer = sink.receive(bytes, deliveries)
            if case .taken = answer { _ = passed.append(bytes) }
            return answer
        }
    }
}

extension RecordingObserver.Entry {
    /// The redacted form for the file.
    ///
    /// - Parameter names: additional names of secrets.
    func recorded(_ names: Set<String>) -> Recording.Exchange {
        let all = names.union(secrets.names)
        let url = Secrets.redactURL(secrets.redact(url: http.url), alsoNamed: names)
        var exchange = Recording.Exchange(method: http.method, url: url)
        exchange.requestHeaders = Self.recorded(http.headers, names)
        exchange.requestBody = requestBody(all)
        if let head {
            exchange.status = head.status
            exchange.headers = Self.recorded(head.headers, names)
            let bytes = Array(received.buffer)
            exchange.body = RecordedBody(bytes, type: head.headers["Content-Type"], secretsNamed: names)
        }
        exchange.fault = error.map { StubFault.recordedName(of: $0) }
        return exchange
    }

    private func requestBody(_ names: Set<String>) -> RecordedBody {
        if secrets.isWholeBody { return .redacted }
        guard case .multipart(let parts) = http.body else {
            return RecordedBody(sent, type: http.headers["Content-Type"], secretsNamed: names)
        }
        // The file may be gone, but it was sent.
        return .parts(
            parts.map { part in
                (try? RecordedBody.Part(part, secretsNamed: names))
                    ?? .init(
                        name: part.name, filename: part.filename, contentType: part.contentType, content: .text(""))
            })
    }

    private static func recorded(_ headers: HTTPHeaders, _ names: Set<String>) -> HTTPHeaders {
        var recorded = HTTPHeaders()
        for field in headers {
            let name = field.name.lowercasedASCII()
            // Skip headers of the connection and of the coding: the body is stored decoded.
            guard !Self.ofConnection.contains(name) else { continue }
            let isSetCookie = name == "set-cookie"
            recorded.add(
                field.name, isSetCookie ? withoutValue(cookie: field.value) : field.shownValue(alsoNamed: names))
        }
        return recorded
    }

    private static let ofConnection: Set<String> = [
        "connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding",
    ]

    private static func withoutValue(cookie: String) -> String {
        let pair = cookie.prefix { $0 != ";" }
        let name = pair.prefix { $0 != "=" }
        return "\(name)=\(Secrets.redacted)\(cookie.dropFirst(pair.count))"
    }
}
