/// A body that is read as lines or events, over all connections of its request.
final class RequestStream: Sendable {
    private struct State {
        var parser: BodyParser
        var reconnection: EventStreamReconnection
        /// What is wrong with the body. After an error nothing more is read.
        var failure: APIError?
    }

    let format: BodyFormat
    /// Whether it continues over many connections.
    let reconnects: Bool
    private let maximumSize: Int
    private let state: Lock<State>

    /// - Parameter http: the request that is sent first.
    init(_ format: BodyFormat, _ http: HTTPRequest, _ options: APIOptions) {
        self.format = format
        maximumSize = http.settings.maximumResponseSize.map { Int(clamping: $0) } ?? LineSplitter.standardMaximumLength
        let isWanted = options[.reconnect] == nil ? http.isIdempotent : (try? options.isOn(.reconnect)) ?? false
        reconnects = format == .serverEvents && isWanted
        let reconnection = EventStreamReconnection(
            reconnects: reconnects,
            maximumFailures: (try? options.number(.maximumFailures)).map { Int(clamping: $0) },
            lastEventID: http.headers["Last-Event-ID"] ?? "")
        let parser = BodyParser(format, maximumSize: maximumSize, lastEventID: reconnection.lastEventID)
        state = Lock(State(parser: parser, reconnection: reconnection))
    }

    /// The request to send on the next connection.
    private func request(_ http: HTTPRequest) -> HTTPRequest {
        guard format != .bytes else { return http }
        var http = http
        http.settings.deliversAnySize = true
        guard format == .serverEvents else {
            if http.headers["Accept"] == BodyFormat.acceptsJSON { http.headers.set("Accept", Self.acceptsLines) }
            return http
        }
        // The server may have reset the identifier that the program began with.
        http.headers.remove("Last-Event-ID")
        for header in state.withLock({ $0.reconnection.headers }) { http.headers.set(header.name, header.value) }
        return http
    }

    private static let acceptsLines = "application/x-ndjson, application/jsonl, application/json-seq, */*;q=0.5"

    /// Whether to read the body of an answer. A successful answer of the wrong type belongs in the response, because it
    /// may say why. It is an error at once when it may never end.
    func reads(_ head: ResponseHead) -> Result<Bool, APIError> {
        guard format == .serverEvents else { return .success(true) }
        var reconnection = state.withLock { $0.reconnection }
        switch reconnection.answered(head, jitter: 0) {
        case nil: return .success(true)
        case .fail(let error) where head.status < 300 && !Self.ends(head): return .failure(error)
        case .fail, .finish, .connectAgain: return .success(false)
        }
    }

    /// Whether a body surely ends soon: a document, and not a stream under another name.
    private static func ends(_ head: ResponseHead) -> Bool {
        if HeaderSyntax.isJSON(head.headers.contentType ?? "") { return true }
        guard case .bytes(let count) = head.announcedLength else { return false }
        return count <= ExchangeResult.maximumUnwantedBody
    }

    /// Reads to the end of the next element of a piece.
    ///
    /// - Parameter isLast: whether the body ends with this piece.
    /// - Returns: nil when the piece is used up or malformed; see `failure`.
    func next(_ piece: inout UnsafeRawBufferPointer, isLast: Bool) -> BodyElement? {
        state.withLock { state in
            guard state.failure == nil else { return nil }
            do throws(APIError) {
                let hasBytes = !piece.isEmpty
                let element = try state.parser.next(&piece)
                if hasBytes {
                    let (lastEventID, retry) = state.parser.resumption
                    state.reconnection.received(lastEventID: lastEventID, retry: retry)
                }
                if let element { return element }
                return isLast ? try state.parser.last() : nil
            } catch {
                state.failure = error
                return nil
            }
        }
    }

    var failure: APIError? { state.withLock { $0.failure } }

    /// Whether another connection follows the one that ended and whose body has been read.
    ///
    /// - Parameter calendar: now, in seconds since 1970.
    private func ended(_ head: ResponseHead?, _ error: APIError?, calendar: Double) -> EventStreamReconnection.Decision
    {
        guard format == .serverEvents else { return .finish }
        let jitter = Double.random(in: 0...1)
        return state.withLock { state in
            if let failure = state.failure { return .fail(failure) }
            let answer = head.flatMap { head in
                state.reconnection.answered(head, retryAfter: head.retryAfter(now: calendar), jitter: jitter)
            }
            let decision = answer ?? state.reconnection.ended(error, jitter: jitter)
            if case .connectAgain = decision {
                state.parser = BodyParser(
                    format, maximumSize: maximumSize, lastEventID: state.reconnection.lastEventID)
            }
            return decision
        }
    }

    /// The next connection could not be tried. A stream that has run treats this like a failure of its server.
    private func notSent(_ error: APIError) -> EventStreamReconnection.Decision {
        guard format == .serverEvents else { return .fail(error) }
        let jitter = Double.random(in: 0...1)
        return state.withLock { $0.reconnection.notSent(error, jitter: jitter) }
    }

    /// Answers a question of the stage.
    func answer(_ work: StreamWork) -> StreamReply {
        switch work {
        case .request(let http): return .request(request(http))
        case .notSent(let error):
            guard case .connectAgain(let seconds) = notSent(error) else { return .accept }
            return .connectAgain(afterSeconds: seconds)
        case .ended(let result, let calendar):
            if let failure { return .failed(failure) }
            switch ended(result.head, result.error, calendar: calendar) {
            case .finish: return .accept
            case .connectAgain(let seconds): return .connectAgain(afterSeconds: seconds)
            case .fail(let error):
                // An HTTP error says more than the stream's error.
                let isNews = result.error == nil && result.head.map { $0.status < 300 } ?? true
                guard isNews else { return .accept }
                if let head = result.head, case .success(false) = reads(head) { return .refused(error) }
                return .failed(error)
            }
        }
    }
}
