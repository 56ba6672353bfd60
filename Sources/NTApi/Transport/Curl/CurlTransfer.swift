import CCurl

/// What the transfers of a loop share during one pass of the loop.
final class LoopTurn {
    /// When the loop woke. A callback for every 16 KB uses it, and need not ask the system.
    @exclusivity(unchecked) var now = MonotonicTime.now()
    /// Jobs for other threads, which are delivered at the end of the pass.
    let deliveries = DeliveryBatch()
    /// Counts the turns of the loop.
    @exclusivity(unchecked) var number = 0
    /// Transfers that go on in the next turn.
    @exclusivity(unchecked) var unfinished: [CurlTransfer] = []
    fileprivate let workers: WorkerPool
    fileprivate let commands: CommandQueue

    init(_ workers: WorkerPool, _ commands: CommandQueue) {
        self.workers = workers
        self.commands = commands
    }
}

/// An exchange and everything that libcurl uses for it. Used only on the network thread.
///
/// libcurl does not copy header lists or bodies. They live here until the handle has left the multi.
final class CurlTransfer {
    let exchange: Exchange
    let origin: Origin
    /// The checked URL of the request, in ASCII.
    let url: String
    /// The URL of the proxy that the request goes through; nil for none.
    let proxy: String?
    let turn: LoopTurn
    /// The context of the request's settings. Kept here because each header line needs it.
    let context: SessionContext?
    let body = Bytes()
    @exclusivity(unchecked) var state: State

    struct State: ~Copyable {
        var clocks: ExchangeClocks
        var timer: IndexedHeap<MonotonicTime, CurlTransfer>.Token?
        /// Its place in the queue of its server.
        var ticket: HostQueue<CurlTransfer>.Ticket?
        /// Its place among the connections to its server.
        var seat = HostConnections.Seat()
        /// How many connections to its server may be open.
        var connectionLimit = Int.max
        /// Whether its observer was told that it waits in the queue.
        var isQueued = false
        /// Whether it was stopped because it may not open a connection now.
        var mustWait = false
        fileprivate var hasReportedStart = false
        /// Whether it starts when the queue allows it, without asking its observer.
        var mayStart: Bool
        /// Whether the queue has selected it, so that it has a place.
        var isSelected = false

        /// Nil while it waits in the queue, and after its end.
        fileprivate(set) var handle: EasyHandle?
        /// Whether the request was sent with this handle, at least in part, and whether libcurl has said that the answer
        /// is complete.
        var wasSent = false
        var isComplete = false
        /// The pool of the handle.
        fileprivate unowned(unsafe) var pool: CurlMulti?
        var mime: OpaquePointer?
        var parts: [MimePart] = []
        var source: (any UploadSource)?
        /// How many bytes of the source libcurl has read.
        var bytesTaken: Int64 = 0

        /// Why we made libcurl stop. It says more than libcurl's "failed writing".
        @Boxed var failure: APIError?
        /// Whether we made libcurl stop after the head. In the answer to a HEAD with a body, libcurl would wait for a
        /// body.
        var endsWithHead = false
        /// Whether the body is probably not wanted, because another request follows this answer, and whether it was cut
        /// short for that.
        fileprivate var isUnwanted = false
        var isCut = false
        /// Whether the server said that it did not process the request on its last connection.
        var refusal = StreamRefusal()
        var assembler = HeaderAssembler()
        fileprivate(set) var holds: Holds
        fileprivate var route = Route.memory
        var decodedBytes: Int64 = 0
        fileprivate var gzipEnd: GzipEnd?
        /// For a body that ends with its TLS connection.
        fileprivate(set) var tlsEnd: TLSEnd?
        /// They decode a body that goes elsewhere than into memory, in this order.
        fileprivate var inflaters: [Inflater] = []
        /// The codings of a body that nobody can decode. An empty body has nothing to decode.
        fileprivate var unknownCodings: [String] = []
        var codingProblem: APIError?
        /// For a body that libcurl refuses to decode, and to deliver.
        fileprivate var refusedBody: BodyFraming?
        /// Whether the body is decoded, and can wait for the next turn of the loop meanwhile.
        fileprivate var grows = false
        /// How many bytes were decoded in which turn of the loop.
        fileprivate var inflated = (turn: 0, bytes: 0)
        /// How many of these bytes belong to an earlier answer, which was a challenge.
        fileprivate var decodedBefore: Int64 = 0
        /// The first part of the sent head. The head is reported when it is complete.
        fileprivate var sentHead: [UInt8] = []
        var connectionsUsed = 0
        /// How many bytes of a proxy's answer to CONNECT were read, or a few more.
        fileprivate var tunnelBytes = 0
        /// How many connections libcurl opened for it.
        var connectionsOpened = 0
        /// The addresses of the connection that it was sent on.
        var ends: ConnectionEnds?
        /// Whether it must not use an open connection.
        var needsNewConnection = false
        /// Why the client forbids the last address that was tried.
        var forbidden: APIError?
        /// Why the system opened no socket for it, as an error number.
        var socketError: Int32 = 0
        /// How often it started again for want of a file descriptor.
        var shortages = 0
        /// How often a suspension has interrupted its connecting.
        var interruptions = 0
        /// How often it was sent again because the server did not process it.
        var refusals = 0
        /// For a request with credentials for Digest.
        @Boxed var digest: DigestAuthentication?
        /// Whether the request is sent again after the answer that comes in, whose body is dropped, and how many bytes
        /// of that were.
        var isChallenged = false
        var droppedBytes = 0
        /// How many handshakes were checked, if the program decides about certificates.
        var handshakes = 0
        var question: ConnectionQuestion?
        var progress = ProgressReporter()

        fileprivate init(_ clocks: ExchangeClocks, _ exchange: Exchange) {
            self.clocks = clocks
            holds = exchange.firstHolds
            mayStart = !exchange.asksToStart
        }
    }

    init(_ exchange: Exchange, to origin: Origin, url: String, turn: LoopTurn) {
        self.exchange = exchange
        self.origin = origin
        self.url = url
        proxy = exchange.request.settings.proxy.url(scheme: origin.scheme, host: origin.host)
        self.turn = turn
        context = exchange.request.settings.context
        state = State(
            ExchangeClocks(
                begun: turn.now, timeouts: exchange.request.settings.timeouts, deadline: exchange.deadline), exchange)
        if !state.holds.isEmpty { state.clocks.hold(state.holds, turn.now) }
        if exchange.request.digest != nil { state.digest = DigestAuthentication() }
    }

    /// The request as it is sent next: without its body if the server may ask for credentials first.
    var message: HTTPRequest {
        guard state.digest?.sendsBody == false else { return exchange.request }
        var message = exchange.request
        message.body = .none
        return message
    }

    var wasConnected: Bool { state.connectionsUsed > 0 }

    /// Whether it is in the queue of its server.
    var isWaiting: Bool { exchange.phase == .running && state.ticket != nil && state.handle == nil }

    /// Whether it is suspended, and has to leave its place before anything is sent. Each time, its handshake begins anew:
    /// a request that is suspended again and again would never be sent. So the fourth handshake may finish.
    var isInterrupted: Bool { state.holds.contains(.suspended) && state.interruptions < 3 }

    /// Sets up a handle for the exchange. The exchange owns the handle from now on, even when this fails.
    func prepare(_ handle: EasyHandle, _ sockets: OpenSockets, freshness: Freshness?) throws(APIError) {
        state.handle = handle
        try handle.prepare(for: self, sockets, freshness: freshness)
        if exchange.hearsHeads { handle.listen() }
    }

    /// Adds the handle to its pool in libcurl.
    func enter(_ pools: ConnectionPools) -> CURLMcode {
        guard let handle = state.handle, let ticket = state.ticket else { return CURLM_BAD_EASY_HANDLE }
        let number = ConnectionPools.number(
            isSecure: origin.isSecure, sharesConnections: sharesConnections, pool: ticket.pool)
        let pool = pools.pool(number)
        let code = pool?.add(handle.easy) ?? CURLM_OUT_OF_MEMORY
        if code == CURLM_OK { state.pool = pool }
        if state.shortages > 0, let pool { pool.closeIdle(forNew: handle.state.sockets?.count(of: pool.number) ?? 0) }
        return code
    }

    /// Removes the handle from its pool. Must not be called from a callback of libcurl.
    func leavePool() {
        guard let pool = state.pool, let handle = state.handle else { return }
        state.pool = nil
        if !state.holds.isEmpty { handle.freeHeldBack() }
        pool.remove(handle.easy)
        if state.shortages > 0 { pool.closeIdle(forNew: nil) }
    }

    /// That it has entered.
    var poolNumber: Int? { state.pool?.number }

    /// Lets libcurl continue what was paused.
    func runPool() { state.pool?.runTimer() }

    /// Frees what libcurl used. The handle has left its pool.
    func release(to handles: inout HandlePool) {
        guard let handle = state.handle else { return }
        state.handle = nil
        // A handle whose transfer ended in the middle can keep what was received: libcurl before 8.1 delivers it to the
        // handle's next transfer, even after a reset, if that transfer pauses.
        handles.giveBack(handle, isClean: !state.wasSent || state.isComplete && state.holds.isEmpty)
        if let mime = state.mime { curl_mime_free(mime) }
        state.mime = nil
        for part in state.parts { _ = part.source.close() }
        state.parts = []
        guard (state.source as? StreamSource)?.isOfProgram != true else { return }
        _ = state.source?.close()
        state.source = nil
    }

    /// Whether a worker reads a file that is to be sent next.
    var awaitsFile: Bool {
        ((state.source.map { [$0] } ?? []) + state.parts.map(\.source)).contains {
            ($0 as? StreamSource)?.awaitsFile == true
        }
    }

    /// A body, or a part of one, that workers read.
    func source(_ reader: any PieceReader) -> StreamSource {
        let (exchange, commands) = (exchange, turn.commands)
        return StreamSource(
            reader, workers: turn.workers, whenReady: { commands.report(.resumeUpload(exchange)) },
            whenIdle: { commands.report(.uploadIdle(exchange)) })
    }

    /// Whether its connection is counted: only if exchanges may share one.
    var countsConnection: Bool {
        origin.isSecure || exchange.request.settings.httpVersion == .http2
    }

    /// Whether HTTP/2 is not negotiated. libcurl buffers up to 32 MB of a paused HTTP/2 stream, so that other streams on
    /// the connection continue.
    var staysWithHTTP1: Bool {
        exchange.routesBody || EasyOptions.losesEarlyAnswers && exchange.request.mayFillWindow
    }

    /// Whether it may share a connection with others (HTTP/2).
    var sharesConnections: Bool {
        let version = exchange.request.settings.httpVersion
        if origin.isSecure { return version == .http2 || (version == .negotiated && !staysWithHTTP1) }
        return version == .http2 && !EasyOptions.cannotReuseClearHTTP2
    }

    /// Whether an HTTP/2 server may refuse the request without processing it. That matters only if the request must not
    /// be sent twice.
    var mayBeRefused: Bool {
        !exchange.request.mayBeRepeated
            && (origin.isSecure || exchange.request.settings.httpVersion == .http2)
    }

    /// Adds a part of the head, as libcurl has sent it. The head is reported when it is complete.
    func sent(head piece: UnsafeRawBufferPointer) {
        guard exchange.hearsHeads, state.sentHead.count + piece.count <= HeaderAssembler.maximumBytes else { return }
        state.sentHead += piece
        guard state.sentHead.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
        exchange.observer.exchangeDidSendHead(String(decoding: state.sentHead, as: UTF8.self))
        state.sentHead = []
    }

    /// libcurl has sent a part of the body.
    func sentBody() { if exchange.hearsHeads { exchange.observer.exchangeDidSendBody() } }

    /// Reads one line of libcurl's log.
    func hear(_ line: UnsafeRawBufferPointer) {
        guard let last = state.refusal.hear(line) else { return }
        state.seat.connection?.state.lastStream = last
        state.ticket?.leaveConnection(of: state.seat)
    }

    // MARK: What libcurl reports

    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        bytesMoved()
        // This is the status line. libcurl has not processed the following fields yet.
        if context?.cookies?.accepts == true, HeaderAssembler.isStatusLine(line) { state.handle?.acceptCookies() }
        switch state.assembler.append(line) {
        case .more: return true
        case .complete: return state.assembler.head.map(receiveHead) ?? true
        case .information:
            if let head = state.assembler.information { exchange.observer.exchangeDidReceiveInformation(head) }
            return true
        case .tooLarge:
            let bound = HeaderAssembler.maximumBytes / 1024
            return stop(.network, "endless headers: the answer has more than \(bound) KB of headers")
        case .malformed: return stop(.network, "the server did not answer with HTTP: its status line is malformed")
        case .continuesNothing: return stopAtBlankLine()
        case .foldedFraming:
            return stop(
                .network, "the server did not answer with valid HTTP: its Content-Length or Transfer-Encoding is folded"
            )
        case .switched:
            let name = state.assembler.information?.headers["Upgrade"].map { ", Upgrade: \(printableLine($0))" } ?? ""
            return stop(.network, "the server has switched to another protocol (101\(name)), and does not answer")
        }
    }

    /// Sees a header line before libcurl processes it. Only if `EasyOptions.readsFreedHeader`.
    func previewHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        state.assembler.accepts(line) || stopAtBlankLine()
    }

    private func stopAtBlankLine() -> Bool {
        stop(.network, "the server did not answer with valid HTTP: its first header line begins with a blank")
    }

    private func bytesMoved() {
        state.clocks.bytesMoved(turn.now)
        state.seat.connection?.state.lastActivity = turn.now
    }

    /// Receives a piece of the body as it came over the wire. libcurl receives no other piece of a body that it refuses.
    func received(raw piece: UnsafeRawBufferPointer) {
        state.gzipEnd?.append(piece)
        guard var framing = state.refusedBody, isBesideStatus, !state.isChallenged else { return }
        framing.read(piece) { _ = receiveDecoded(UnsafeRawBufferPointer(rebasing: $0)) }
        state.refusedBody = framing
    }

    /// Whether the body was decoded, but a part of the encoded body is missing.
    var isCutShort: Bool {
        if state.inflaters.contains(where: \.isIncomplete) { return true }
        return state.gzipEnd?.isCutShort(decoded: state.decodedBytes - state.decodedBefore) ?? false
    }

    var acceptedEncodings: AcceptedEncodings {
        guard exchange.request.settings.decompresses else { return .none }
        return exchange.routesBody ? .own : .curl
    }

    /// Prepares for the codings of a body, as far as libcurl does not decode them.
    ///
    /// - Returns: false when there is no memory.
    private func setCodings(_ head: ResponseHead) -> Bool {
        state.inflaters = []
        state.unknownCodings = []
        state.codingProblem = nil
        state.grows = false
        guard acceptedEncodings != .none, exchange.request.method != "HEAD" else { return true }
        // Nobody means more by "none", which is not registered, than by identity.
        let codings = head.headers.all("Content-Encoding").flatMap { $0.split(separator: ",") }
            .map { String(decoding: $0.utf8.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).lowercasedASCII() }
            .filter { !["", "identity", "none"].contains($0) }
        if codings.count > 5 || !acceptedEncodings.unknown(of: codings).isEmpty { state.unknownCodings = codings }
        let isKnown = state.unknownCodings.isEmpty
        let isOurs = acceptedEncodings == .own || EasyOptions.decidesLate && codings.allSatisfy(Inflater.knows)
        if acceptedEncodings == .curl { state.handle?.leaveEncoded(!codings.isEmpty && (isOurs || !isKnown)) }
        guard !codings.isEmpty, isKnown else { return true }
        state.grows = isOurs || !EasyOptions.decodesWhilePaused
        guard isOurs else { return true }
        // libcurl decodes no second member, so into memory nobody does.
        let hasMembers = acceptedEncodings == .own
        state.inflaters = codings.reversed().compactMap { Inflater(isGzip: $0 != "deflate", hasMembers: hasMembers) }
        return state.inflaters.count == codings.count || stop(.generic, "out of memory")
    }

    /// Why the body cannot be decoded; nil when the codings are known.
    var unknownCoding: APIError? {
        guard !state.unknownCodings.isEmpty else { return nil }
        var error = APIError(
            domain: .network, code: .network,
            message: "\(origin.host):\(origin.port): the body is encoded as "
                + "'\(printableLine(state.unknownCodings.joined(separator: ", ")))', and cannot be decoded: to get it as it is, "
                + "set decompression to false")
        error.failure = .decoding
        return error
    }

    /// Whether the body is for the caller of the request, beside a status that says what is wrong.
    var isBesideStatus: Bool {
        guard case .memory = state.route, let head = state.assembler.head else { return false }
        return head.status >= 300
    }

    private func receiveHead(_ head: ResponseHead) -> Bool {
        guard setCodings(head), readChallenge(head) else { return false }
        state.gzipEnd = nil
        state.refusedBody = nil
        state.decodedBefore = state.decodedBytes
        let isRefused = !state.unknownCodings.isEmpty && acceptedEncodings == .curl && !EasyOptions.decidesLate
        if isRefused || GzipEnd.judges(head), exchange.request.settings.decompresses, exchange.request.method != "HEAD",
            let handle = state.handle, handle.decodes, state.inflaters.isEmpty, let framing = BodyFraming(head)
        {
            if isRefused { state.refusedBody = framing } else { state.gzipEnd = GzipEnd(framing) }
            handle.hearBody()
        }
        if sharesConnections { state.ticket?.hear(httpVersion: head.httpVersion) }
        // libcurl would send the next request on the connection by HTTP/1.0, too.
        if head.httpVersion < 1.1 { state.handle?.closeConnection() }
        state.handle?.state.sockets?.didAnswer(state.ends, isMultiplexed: head.httpVersion >= 2)
        if let cookies = context?.cookies, cookies.accepts, head.headers["set-cookie"] != nil {
            cookies.received(head.headers.all("set-cookie"))
        }
        var expected: Int64?
        switch head.announcedLength {
        case .unknown: break
        case .bytes(let count): if exchange.request.method != "HEAD" { expected = count }
        case .invalid: return stop(.network, "the server announces an impossible Content-Length")
        }
        state.tlsEnd = watchesTLSEnd(of: head) ? state.handle.flatMap { TLSEnd($0.easy) } : nil
        // The body of a challenge is not the requested one.
        let isChallenge = state.isChallenged || exchange.quietStatuses.contains(head.status)
        if exchange.showsHead, !isChallenge,
            !setRoute(exchange.observer.exchangeDidReceiveHead(head, turn.deliveries))
        {
            return false
        }
        // A server may announce any length. Reserve at most a megabyte for it.
        if let expected, case .memory = state.route { _ = body.reserve(Int(min(expected, 1 << 20))) }
        // Neither is the body of a redirect.
        let isFollowed = head.redirectLocation != nil && exchange.request.settings.maximumRedirects > 0
        state.isUnwanted = isFollowed || isChallenge
        state.progress.reportsReceived = !state.isUnwanted
        if exchange.reportsProgress { state.progress.expect(expected, exchange.observer) }
        state.endsWithHead = message.method == "HEAD" && message.hasBody
        return !state.endsWithHead
    }

    /// Decides whether the request is sent again with the answer to a Digest challenge.
    private func readChallenge(_ head: ResponseHead) -> Bool {
        guard var digest = state.digest else { return true }
        let verdict = digest.received(head, to: exchange.request, at: URLParts.target(of: url))
        switch verdict {
        case .final: return true
        case .sendAgain:
            state.digest = digest
            state.isChallenged = true
            return true
        case .refuse(let reason):
            state.failure = APIError(
                domain: .http, code: .authentication, message: "\(origin.host):\(origin.port): \(reason)")
            return false
        }
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        bytesMoved()
        guard state.holds.isEmpty else { return .paused }
        guard !state.isChallenged else {
            state.droppedBytes += bytes.count
            return state.droppedBytes > ExchangeResult.maximumUnwantedBody ? .stopped : .taken
        }
        if !bytes.isEmpty, let problem = unknownCoding {
            switch state.route {
            case .nowhere: return .paused
            case .memory where isBesideStatus: state.codingProblem = problem
            case .memory, .sink:
                state.failure = problem
                return .stopped
            }
        }
        return decode(bytes, with: state.inflaters[...])
    }

    private func decode(_ bytes: UnsafeRawBufferPointer, with inflaters: ArraySlice<Inflater>) -> BodyAnswer {
        guard let inflater = inflaters.first else {
            if state.grows, !mayInflate(bytes.count) { return .paused }
            return receiveDecoded(bytes)
        }
        let inner = inflaters.dropFirst()
        let answer = inflater.receive(bytes) { piece in
            // What is decoded again counts, too: it may become nothing.
            if state.grows, !inner.isEmpty, !mayInflate(piece.count) { return .paused }
            return decode(piece, with: inner)
        }
        if let problem = inflater.problem, state.failure == nil {
            _ = stop(.network, "the body cannot be decompressed: \(problem)")
            state.failure?.failure = .decoding
        }
        return answer
    }

    /// The most bytes that one transfer decompresses in a turn of the loop. A few kilobytes from the network may become
    /// a thousand times as many, and other transfers must not wait for all of them.
    private static let mostInflated = 1 << 20

    /// - Returns: false when the transfer is to go on in the next turn.
    private func mayInflate(_ count: Int) -> Bool {
        if state.inflated.turn != turn.number { state.inflated = (turn.number, 0) }
        state.inflated.bytes += count
        guard state.inflated.bytes > Self.mostInflated else { return true }
        hold(.turn)
        turn.unfinished.append(self)
        return false
    }

    private func receiveDecoded(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        let count = state.decodedBytes + Int64(bytes.count)
        if let limit = exchange.request.settings.maximumSize(inMemory: state.route.isMemory), count > limit {
            return stopped(.responseTooLarge, "the decoded body is larger than the allowed \(limit) bytes")
        }
        if state.isUnwanted, count > ExchangeResult.maximumUnwantedBody {
            state.isCut = true
            return .stopped
        }
        switch state.route {
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
                state.failure = error
                return .stopped
            }
        case .nowhere: return .paused
        }
        state.decodedBytes = count
        return .taken
    }

    /// What libcurl is told about a piece of the body.
    enum BodyAnswer {
        case taken
        /// libcurl keeps the piece, and calls again when the transfer continues.
        case paused
        case stopped
    }

    // MARK: Holds

    func hold(_ more: Holds) {
        state.holds.formUnion(more)
        state.clocks.hold(more, turn.now)
    }

    func release(_ less: Holds) {
        state.holds.subtract(less)
        state.clocks.release(leaving: state.holds, turn.now)
    }

    /// What libcurl should pause. If receiving is paused before the head of an HTTP/2 answer, the transfer ends without
    /// an answer. So only sending is paused then, and the first piece of the body waits.
    var pauseMask: Int32 {
        if state.holds.isEmpty { return CURLPAUSE_CONT }
        guard state.holds.contains(.suspended) else { return CURLPAUSE_RECV }
        return state.assembler.head == nil && mayBeHTTP2 ? CURLPAUSE_SEND : CURLPAUSE_ALL
    }

    private var mayBeHTTP2: Bool {
        let version = exchange.request.settings.httpVersion
        return version == .http2 || (version == .negotiated && origin.isSecure && !staysWithHTTP1)
    }

    /// - Returns: false when the exchange must end.
    func setRoute(_ route: BodyRoute) -> Bool {
        switch route {
        case .undecided:
            state.route = .nowhere
            hold(.decision)
            return true
        case .refused(let error):
            state.route = .nowhere
            state.failure = error
            return false
        case .memory: state.route = .memory
        case .sink(let sink): state.route = .sink(sink)
        }
        if state.holds.contains(.decision) { release(.decision) }
        return true
    }

    /// The route of the body, once it is decided.
    fileprivate enum Route {
        case memory
        case sink(any BodySink)
        case nowhere

        var isMemory: Bool { if case .memory = self { true } else { false } }
    }

    /// - Returns: false to stop.
    func progressed(sent: Int64, of sendTotal: Int64, received: Int64) -> Bool {
        guard wasConnected || !tunnels else { return tunnelProgressed() }
        reportProgress(sent: sent, of: sendTotal, received: received)
        return true
    }

    /// libcurl reads a proxy's answer to CONNECT byte by byte, without a limit, and calls this for each byte. As long as
    /// bytes come, it does nothing else: no other transfer, timer or command.
    private func tunnelProgressed() -> Bool {
        state.tunnelBytes += 1
        let bound = HeaderAssembler.maximumBytes
        guard state.tunnelBytes > bound else { return true }
        _ = stop(.network, "the proxy's answer to CONNECT is longer than \(bound / 1024) KB")
        state.failure?.failure = .proxy
        return false
    }

    /// Whether the body of this answer ends with a TLS connection. For one inside the TLS connection of a proxy, libcurl
    /// does not say whose the connection is.
    private func watchesTLSEnd(of head: ResponseHead) -> Bool {
        origin.isSecure && head.endsWithConnection && exchange.request.method != "HEAD"
            && proxy?.hasPrefix("https:") != true
    }

    /// Whether its connection is a tunnel through a proxy.
    var tunnels: Bool { origin.isSecure && proxy != nil }

    private func reportProgress(sent: Int64, of sendTotal: Int64, received: Int64) {
        // libcurl counts a piece that nobody has taken yet, for which there may be no file yet.
        guard !state.holds.contains(.decision) else { return }
        guard state.progress.update(sent: withoutFraming(sent), received: received) else { return }
        state.clocks.bytesMoved(turn.now)
        if exchange.reportsProgress {
            state.progress.report(sendTotal: sendTotal, decoded: state.decodedBytes, exchange.observer)
        }
    }

    private func stopped(_ code: ErrorCode, _ message: String) -> BodyAnswer {
        _ = stop(code, message)
        return .stopped
    }

    func stop(_ code: ErrorCode, _ message: String) -> Bool {
        state.failure = APIError(domain: .network, code: code, message: "\(origin.host):\(origin.port): \(message)")
        state.failure?.failure = code == .tls ? .tls : code == .network ? .notHTTP : nil
        return false
    }

    // MARK: Beginning and end

    func reportStart() {
        guard !state.hasReportedStart else { return }
        state.hasReportedStart = true
        if exchange.reportsProgress { state.progress.start(total: bodyLength, exchange.observer) }
    }

    /// libcurl also counts the framing of a chunked body.
    func withoutFraming(_ sent: Int64) -> Int64 {
        state.source is StreamSource && bodyLength == nil ? min(sent, state.bytesTaken) : sent
    }

    private var bodyLength: Int64? { exchange.request.body.knownLength }
}
