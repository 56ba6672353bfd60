import CCurl

/// What a turn of the loop shares with its transfers.
final class LoopTurn {
    /// The time at which the loop woke, so that a callback for every 16 KB need not ask the system.
    @exclusivity(unchecked) var now = MonotonicTime.now()
    /// What is to happen elsewhere, handed over at the end of the turn.
    let deliveries = DeliveryBatch()
}

/// An exchange and everything that libcurl uses for it. On the network thread only.
///
/// libcurl copies neither header lists nor bodies: they live here until the handle has left the multi.
final class CurlTransfer {
    let exchange: Exchange
    let origin: Origin
    /// The request's URL, checked, and in ASCII.
    let url: String
    let turn: LoopTurn
    /// Of the request's settings: asked for with each line of an answer.
    let context: SessionContext?
    @exclusivity(unchecked) var clocks: ExchangeClocks
    @exclusivity(unchecked) var timer: IndexedHeap<MonotonicTime, LoopTimer>.Token?
    /// Its place in the queue of its server.
    @exclusivity(unchecked) var ticket: HostQueue<CurlTransfer>.Ticket?
    /// Its place among the connections to its server.
    @exclusivity(unchecked) var seat = HostConnections.Seat()
    /// How many connections to its server may be open.
    @exclusivity(unchecked) var connectionLimit = Int.max
    /// Whether it was stopped because it may not open a connection now.
    @exclusivity(unchecked) var mustWait = false
    @exclusivity(unchecked) private var hasReportedStart = false

    /// Nil while it waits in the queue, and after its end.
    @exclusivity(unchecked) private(set) var handle: EasyHandle?
    @exclusivity(unchecked) var mime: OpaquePointer?
    @exclusivity(unchecked) var parts: [MimePart] = []
    @exclusivity(unchecked) var source: (any UploadSource)?
    /// How much of the source libcurl has.
    @exclusivity(unchecked) var bytesTaken: Int64 = 0

    /// Why we made libcurl stop; says more than its "failed writing".
    @exclusivity(unchecked) var failure: APIError?
    /// Whether we made libcurl stop because there is nothing more to come: it would wait for a body after a HEAD with one.
    @exclusivity(unchecked) private var endsWithHead = false
    /// Whether the server said of the connection before that it did nothing with the request.
    @exclusivity(unchecked) var refusal = StreamRefusal()
    @exclusivity(unchecked) var assembler = HeaderAssembler()
    @exclusivity(unchecked) private(set) var holds: Holds
    @exclusivity(unchecked) private var route = BodyRoute.memory
    private let body = Bytes()
    @exclusivity(unchecked) private var decodedBytes: Int64 = 0
    @exclusivity(unchecked) var connectionsUsed = 0
    /// How often libcurl has sent the request once more because of the server's Digest challenge.
    @exclusivity(unchecked) private var challengesAnswered = 0
    /// With certificates that the program decides about: how many it was compared with, and what there is to ask.
    @exclusivity(unchecked) private var handshakes = 0
    @exclusivity(unchecked) private var question: ConnectionQuestion?
    @exclusivity(unchecked) private var progress = ProgressReporter()

    init(_ exchange: Exchange, to origin: Origin, url: String, turn: LoopTurn) {
        self.exchange = exchange
        self.origin = origin
        self.url = url
        self.turn = turn
        context = exchange.request.settings.context
        clocks = ExchangeClocks(
            begun: turn.now, timeouts: exchange.request.settings.timeouts, deadline: exchange.deadline)
        holds = exchange.firstHolds
        if !holds.isEmpty { clocks.hold(holds, turn.now) }
    }

    var wasConnected: Bool { connectionsUsed > 0 }

    /// Sets a handle up for the exchange. It is owned from here on, also when this fails.
    func prepare(_ handle: EasyHandle, in multi: CurlMulti, freshness: Freshness?) throws(APIError) {
        self.handle = handle
        try handle.prepare(for: self, in: multi, freshness: freshness)
    }

    /// Frees what libcurl used. The handle has left the multi.
    func release(to pool: inout HandlePool) {
        guard let handle else { return }
        self.handle = nil
        pool.giveBack(handle)
        if let mime { curl_mime_free(mime) }
        mime = nil
        parts = []
        if !(source is StreamSource) { source = nil }
    }

    /// Whether its connection is told from others: where one may be shared.
    var countsConnection: Bool {
        origin.isSecure || exchange.request.settings.httpVersion == .http2
    }

    /// Whether it may do with a part of a connection.
    var sharesConnections: Bool {
        let version = exchange.request.settings.httpVersion
        if origin.isSecure { return version == .http2 || (version == .negotiated && !exchange.routesBody) }
        return version == .http2 && !EasyOptions.cannotReuseClearHTTP2
    }

    /// Whether it matters if the server refuses the request unseen, and can be.
    var mayBeRefused: Bool {
        !exchange.request.mayBeRepeated
            && (origin.isSecure || exchange.request.settings.httpVersion == .http2)
    }

    /// Whether it may have to hear what libcurl says.
    var mayListen: Bool { mayBeRefused || sharesConnections }

    /// One line of libcurl's log.
    func hear(_ line: UnsafeRawBufferPointer) {
        guard let last = refusal.hear(line) else { return }
        seat.connection?.lastStream = last
        ticket?.leaveConnection(of: seat)
    }

    // MARK: What libcurl reports

    /// A connection is ready and the request is about to be sent. False stops it.
    func connectionIsReady(localPort: Int) -> Bool {
        guard certificateIsTrusted(), beginsWithoutDoubt() else { return false }
        connectionsUsed += 1
        clocks.connected(turn.now)
        if connectionsUsed > 1 {
            guard maySendAgain() else { return false }
            assembler.restart()
        }
        if countsConnection { join(localPort) }
        // What the caller says himself is sent as it is, and nothing beside it.
        if let cookies = context?.cookies {
            handle?.shareCookies(cookies.sends && exchange.request.headers["cookie"] == nil)
        }
        return true
    }

    /// The story behind it: a server closes an idle connection in the moment in which a POST is written to it. libcurl sees
    /// a dead connection, takes another and sends the POST again; but the server may have acted on the first one. For
    /// a request that must not happen twice, the second connection is where we stop and say so.
    ///
    /// HTTP/2 knows one harmless case, `StreamRefusal`.
    func maySendAgain() -> Bool {
        handle?.wasSentAgain()
        let lastStream = seat.connection?.lastStream
        ticket?.lose(&seat)
        defer { refusal = StreamRefusal() }
        if exchange.request.mayBeRepeated || refusal.isCertain(after: lastStream) { return true }
        failure = APIError(
            domain: .network, code: .network,
            message: "\(origin.host):\(origin.port): the connection broke after the \(exchange.request.method) was "
                + "sent on it; the result is ambiguous: it is unknown whether the server acted on it, so it was "
                + "not sent again")
        return false
    }

    /// Nothing has been sent yet. What libcurl has not verified is compared with what the program trusts, or shown to it.
    private func certificateIsTrusted() -> Bool {
        let trust = exchange.request.settings.trust
        guard trust != .verified, origin.scheme == "https", let easy = handle?.easy else { return true }
        let chain = ShownCertificates.chain(easy)
        handshakes += 1
        var opened = 0
        ntapi_easy_get_long(easy, CURLINFO_NUM_CONNECTS, &opened)
        switch trust {
        case .verified: return true
        case .inspected:
            question = .certificates(chain)
            return stop(.tls, "the server's certificate was not accepted")
        case .pinned(let leaf):
            // Each time on a connection whose handshake the chain is of: with Digest there are two.
            if chain.first == leaf, opened == handshakes { return true }
            question = .otherCertificate
            return stop(.tls, "the server's certificate is not the one that was trusted")
        }
    }

    /// A whole answer came before, which was the server's challenge, or with a body its leave to send that: what follows is
    /// no second attempt of the same, and counts anew.
    private func beginsWithoutDoubt() -> Bool {
        guard isChallenged else { return true }
        challengesAnswered += 1
        guard challengesAnswered <= Self.maximumChallenges else {
            return stop(.network, "the server calls every nonce of its Digest challenge stale")
        }
        assembler.restart()
        connectionsUsed = 0
        return true
    }

    /// Whether the server has answered, and is to get the request once more because of that.
    var isChallenged: Bool { exchange.request.digest != nil && assembler.head != nil }

    private static let maximumChallenges = 5

    /// What the program may be asked about a transfer that libcurl gave up.
    private func question(_ code: CURLcode) -> ConnectionQuestion? {
        if let question { return question }
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: return .untrusted
        default:
            guard !wasConnected, let easy = handle?.easy, ntapi_easy_proxy_wants_basic(easy) != 0 else { return nil }
            return .proxyCredential
        }
    }

    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        bytesMoved()
        // Before libcurl comes to the fields: it has not yet looked at what follows the status line.
        if let cookies = context?.cookies, HeaderAssembler.isStatusLine(line) { handle?.shareCookies(cookies.accepts) }
        switch assembler.append(line) {
        case .more: return true
        case .complete: return assembler.head.map(receiveHead) ?? true
        case .tooLarge:
            let bound = HeaderAssembler.maximumBytes / 1024
            return stop(.network, "endless headers: the answer has more than \(bound) KB of headers")
        case .malformed: return stop(.network, "the server did not answer with HTTP: its status line is malformed")
        }
    }

    private func bytesMoved() {
        clocks.bytesMoved(turn.now)
        seat.connection?.lastActivity = turn.now
    }

    private func receiveHead(_ head: ResponseHead) -> Bool {
        if sharesConnections { ticket?.hear(httpVersion: head.httpVersion) }
        if let cookies = context?.cookies, cookies.accepts, head.headers["set-cookie"] != nil { cookies.changed() }
        var expected: Int64?
        switch head.announcedLength {
        case .unknown: break
        case .bytes(let count): if exchange.request.method != "HEAD" { expected = count }
        case .invalid: return stop(.network, "the server announces an impossible Content-Length")
        }
        // What comes with a challenge, or answers a body that was not sent yet, is not what was asked for.
        let isChallenge =
            exchange.quietStatuses.contains(head.status)
            || (exchange.request.digest != nil
                && (head.status == 401 || (challengesAnswered == 0 && exchange.request.hasBody)))
        if exchange.routesBody, !isChallenge,
            !setRoute(exchange.observer.exchangeDidReceiveHead(head, turn.deliveries))
        {
            return false
        }
        // A server may announce what it likes: no more than a megabyte is set aside on its word.
        if let expected, case .memory = route { _ = body.reserve(Int(min(expected, 1 << 20))) }
        // No more is what a redirect says in its body.
        let isFollowed = head.redirectLocation != nil && exchange.request.settings.maximumRedirects > 0
        progress.reportsReceived = !isFollowed && !isChallenge
        if exchange.reportsProgress { progress.expect(expected, exchange.observer) }
        endsWithHead = exchange.request.method == "HEAD" && exchange.request.hasBody
        return !endsWithHead
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        bytesMoved()
        guard holds.isEmpty else { return .paused }
        let count = decodedBytes + Int64(bytes.count)
        if let limit = exchange.request.settings.maximumResponseSize, count > limit {
            return stopped(.responseTooLarge, "the decoded body is larger than the allowed \(limit) bytes")
        }
        switch route {
        case .memory:
            guard body.append(bytes) else {
                return stopped(.generic, "out of memory after \(body.count) bytes of the body")
            }
        case .sink(let sink):
            switch sink.receive(bytes, turn.deliveries) {
            case .taken: break
            case .full:
                hold(.sink)
                return .paused
            case .failed(let error):
                failure = error
                return .stopped
            }
        case .undecided, .refused: return .paused
        }
        decodedBytes = count
        return .taken
    }

    /// What libcurl is told about a piece of the body.
    enum BodyAnswer {
        case taken
        /// It keeps the piece, and calls again when the transfer goes on.
        case paused
        case stopped
    }

    // MARK: Holds

    func hold(_ more: Holds) {
        holds.formUnion(more)
        clocks.hold(more, turn.now)
    }

    func release(_ less: Holds) {
        holds.subtract(less)
        clocks.release(leaving: holds, turn.now)
    }

    /// - Returns: false when the exchange is to end.
    func setRoute(_ route: BodyRoute) -> Bool {
        self.route = route
        switch route {
        case .undecided: hold(.decision)
        case .refused(let error):
            failure = error
            return false
        case .memory, .sink: if holds.contains(.decision) { release(.decision) }
        }
        return true
    }

    func progressed(sent: Int64, of sendTotal: Int64, received: Int64) {
        guard progress.update(sent: withoutFraming(sent), received: received) else { return }
        clocks.bytesMoved(turn.now)
        if exchange.reportsProgress { progress.report(sendTotal: sendTotal, decoded: decodedBytes, exchange.observer) }
    }

    private func stopped(_ code: ErrorCode, _ message: String) -> BodyAnswer {
        _ = stop(code, message)
        return .stopped
    }

    private func stop(_ code: ErrorCode, _ message: String) -> Bool {
        failure = APIError(domain: .network, code: code, message: "\(origin.host):\(origin.port): \(message)")
        return false
    }

    // MARK: Beginning and end

    func reportStart() {
        guard !hasReportedStart else { return }
        hasReportedStart = true
        if exchange.reportsProgress { progress.start(total: bodyLength, exchange.observer) }
    }

    /// libcurl counts a chunked body with the lengths of its chunks in between.
    private func withoutFraming(_ sent: Int64) -> Int64 {
        source is StreamSource && bodyLength == nil ? min(sent, bytesTaken) : sent
    }

    /// The body's length where we know it before libcurl does.
    private var bodyLength: Int64? {
        switch exchange.request.body {
        case .none, .multipart: nil
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let length): length
        case .stream(let stream): stream.length
        }
    }

    /// The result as it is now: whole when `code` is CURLE_OK and nothing else went wrong.
    func result(_ code: CURLcode, _ reason: APIError? = nil) -> ExchangeResult {
        var result = ExchangeResult(head: assembler.head, body: body, metrics: metrics)
        if let reason {
            result.error = reason
        } else if code != CURLE_OK, !endsWithHead {
            result.error = failure ?? curlFailure(code).error
            result.question = question(code)
        } else if result.head == nil {
            result.error = APIError(
                domain: .network, code: .network,
                message: "\(origin.host):\(origin.port): the server did not answer with a final response",
                isRetryable: exchange.request.mayBeRepeated)
        }
        if result.error == nil, exchange.reportsProgress { progress.finish(result.metrics, exchange.observer) }
        result.error?.httpStatus = result.head?.status
        return result
    }

    func timeoutError(_ clock: TimeoutClock) -> APIError {
        let limit = clocks.limit(of: clock).map { "\(decimal($0)) s" } ?? "its time"
        let what =
            switch clock {
            case .queue: "no connection to the host became free for \(limit)"
            case .connect: "no connection within \(limit)"
            case .idle: "no byte moved for \(limit)"
            case .attempt: "no whole answer within \(limit)"
            case .total: "the whole request took longer than \(limit)"
            }
        let isSafe = clock == .queue || clock == .connect || exchange.request.mayBeRepeated
        return APIError(
            domain: .network, code: .timeout,
            message: "\(what) (\(clock.rawValue) timeout, \(origin.host):\(origin.port))",
            transportCode: Int(CURLE_OPERATION_TIMEDOUT.rawValue), isRetryable: isSafe)
    }

    private func curlFailure(_ code: CURLcode) -> CurlFailure {
        var systemError = 0
        if let handle { ntapi_easy_get_long(handle.easy, CURLINFO_OS_ERRNO, &systemError) }
        return CurlFailure(
            code: code, text: handle?.errorMessage ?? "", systemError: Int32(truncatingIfNeeded: systemError),
            host: origin.host, port: origin.port, method: exchange.request.method, wasConnected: wasConnected,
            isIdempotent: exchange.request.mayBeRepeated)
    }

    private var metrics: ExchangeMetrics {
        var metrics = ExchangeMetrics(queued: clocks.queued(until: turn.now))
        guard let easy = handle?.easy else { return metrics }
        let reusedConnection = reusedConnection
        func number(_ info: CURLINFO) -> Int64 {
            var value: curl_off_t = 0
            ntapi_easy_get_offset(easy, info, &value)
            return Int64(value)
        }
        func seconds(_ info: CURLINFO) -> Double { Double(number(info)) / 1e6 }
        if !reusedConnection {
            metrics.nameLookup = seconds(CURLINFO_NAMELOOKUP_TIME_T)
            metrics.connect = seconds(CURLINFO_CONNECT_TIME_T)
            metrics.tls = seconds(CURLINFO_APPCONNECT_TIME_T)
        }
        metrics.firstByte = seconds(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.total = seconds(CURLINFO_TOTAL_TIME_T)
        metrics.bytesSent = withoutFraming(number(CURLINFO_SIZE_UPLOAD_T))
        metrics.bytesReceived = number(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.bytesDecoded = decodedBytes
        metrics.connectionReused = reusedConnection
        return metrics
    }

    /// Whether the transfer went over a connection that another one had opened.
    var reusedConnection: Bool {
        guard let easy = handle?.easy, wasConnected else { return false }
        var opened = 0
        ntapi_easy_get_long(easy, CURLINFO_NUM_CONNECTS, &opened)
        return opened == 0
    }
}
