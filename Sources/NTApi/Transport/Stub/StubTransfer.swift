import Synchronization

/// An exchange with a stub. It does what the network would do, in the same order.
///
/// Its steps run one after the other on workers, so the observer's calls are in order. Reading the body and asking the
/// stub run user code, which a network thread never does.
final class StubTransfer: @unchecked Sendable {
    // Safe to share: only jobs of the serial queue access mutable fields, until `abandon` ends them.
    /// Whether a job waits for the program's function of a stub.
    private enum Call: Int, AtomicRepresentable {
        case none
        case runs
        /// The function may never return. Its job, and all later ones, do nothing.
        case abandoned
    }

    private enum Step {
        case send, ask
        case head(StubAnswer)
        case body(StubAnswer)
        case over
    }

    private let exchange: Exchange
    private let transport: StubTransport
    private let queue: SerialJobs
    private let call = Atomic(Call.none)
    private var deliveries = DeliveryBatch()
    private let origin: Origin

    private var step = Step.send
    private var holds: Holds
    private var clocks: ExchangeClocks
    /// The job that wakes it when a clock may have run out, and its moment.
    private var limit: (job: ScheduledJob, moment: MonotonicTime)?
    /// While it sleeps.
    private var sleep: ScheduledJob?
    private var naps = 0

    private var source: (any UploadSource)?
    private var sent: [UInt8] = []
    private var head: ResponseHead?
    private var route = BodyRoute.memory
    private let received = Bytes()
    private var offset = 0
    private var isRested = false
    private var progress = ProgressReporter()
    /// The result while the body stream is still being read.
    private var held: ExchangeResult?

    init(_ exchange: Exchange, to transport: StubTransport) {
        self.exchange = exchange
        self.transport = transport
        queue = SerialJobs(on: transport.workers)
        origin = Origin(of: exchange.request)
        holds = exchange.firstHolds
        // A stub has no queue, so the exchange only waits for permission to start.
        if exchange.asksToStart { holds.formUnion(.decision) }
        let now = transport.clock.now
        clocks = ExchangeClocks(begun: now, timeouts: exchange.request.settings.timeouts, deadline: exchange.deadline)
        if !holds.isEmpty { clocks.hold(holds, now) }
    }

    private var clock: any WaitingClock { transport.clock }

    /// Runs a job in order, and then continues the exchange.
    func run(_ job: @escaping @Sendable (StubTransfer) -> Void) {
        queue.run { [self] () throws(Forked) in
            guard call.load(ordering: .acquiring) != .abandoned else { return }
            job(self)
            guard try proceed() else { return }
            watchClocks()
            deliveries.flush(to: transport.workers)
        }
    }

    // MARK: Commands

    func start() {
        do throws(APIError) {
            source = try Self.source(of: exchange.request, transport.workers) { [self] in
                run { _ in }
            } whenIdle: { [self] in
                run { $0.streamIsIdle() }
            }
        } catch {
            end(error)
        }
        if exchange.asksToStart { exchange.observer.exchangeMayStart() }
    }

    /// - Parameter now: when the caller changed it. A manual clock may have advanced since.
    func change(_ change: ExchangeChange, at now: MonotonicTime) {
        switch change {
        case .suspend(true, _): hold(.suspended, at: now)
        case .suspend(false, _): release(.suspended, at: now)
        case .release(let less): release(less)
        case .route(let route): setRoute(route)
        case .start: setRoute(.memory)
        }
    }

    private func hold(_ more: Holds, at now: MonotonicTime? = nil) {
        holds.formUnion(more)
        clocks.hold(more, now ?? clock.now)
    }

    private func release(_ less: Holds, at now: MonotonicTime? = nil) {
        holds.subtract(less)
        clocks.release(leaving: holds, now ?? clock.now)
    }

    private func setRoute(_ route: BodyRoute) {
        self.route = route
        switch route {
        case .undecided: hold(.decision)
        case .refused(let error): end(error)
        case .memory, .sink:
            if holds.contains(.decision) { release(.decision) }
        }
    }

    // MARK: Steps

    /// - Returns: false when it was abandoned.
    private func proceed() throws(Forked) -> Bool {
        while holds.isEmpty, sleep == nil {
            switch step {
            case .send: if !send() { return true }
            case .ask: if try !ask() { return false }
            case .head(let answer): receiveHead(answer)
            case .body(let answer): if !receiveBody(answer) { return true }
            case .over: return true
            }
        }
        return true
    }

    /// - Returns: false when it waits for the body stream.
    private func send() -> Bool {
        if clocks.startedAt == nil {
            clocks.started(clock.now)
            clocks.connected(clock.now)
            if exchange.reportsProgress { progress.start(total: exchange.request.body.knownLength, exchange.observer) }
        }
        guard let source else {
            step = .ask
            return true
        }
        var chunk = UploadChunk.end
        let bytes = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
            chunk = source.read(into: UnsafeMutableRawBufferPointer(buffer))
            if case .bytes(let read) = chunk { count = read } else { count = 0 }
        }
        switch chunk {
        case .bytes:
            sent += bytes
            clocks.bytesMoved(clock.now)
            reportProgress()
        case .end: step = .ask
        case .wait: return false
        case .failed(let error): end(error)
        }
        return true
    }

    /// - Returns: false when it was abandoned.
    private func ask() throws(Forked) -> Bool {
        let request = StubRequest(exchange.request, body: sent)
        call.store(.runs, ordering: .releasing)
        let answer = try transport.workers.whileBlocked { () throws(Forked) in
            try Delivery.call { transport.stub.answer(request) }
        }
        guard callEnds(.none) else { return false }
        switch answer {
        case .failure(let error): end(error)
        case .success(let answer):
            step = .head(answer)
            // Silence lasts as long as the caller waits.
            sleep(answer.fault == .silence ? .infinity : answer.delay)
        }
        return true
    }

    /// The process ends: does not wait for the program's function, or the body that it reads, any more.
    func abandon() {
        guard callEnds(.abandoned) else { return run { $0.streamIsIdle() } }
        end(.cancelled)
        deliveries.flush(to: transport.workers)
    }

    /// - Returns: false when it has ended otherwise.
    private func callEnds(_ call: Call) -> Bool {
        self.call.compareExchange(expected: .runs, desired: call, ordering: .acquiringAndReleasing).exchanged
    }

    private func receiveHead(_ answer: StubAnswer) {
        if let fault = answer.fault, fault.bytesBefore == nil, let error = fault.error(exchange.request, origin) {
            return end(error)
        }
        var answer = answer
        let head = answer.head(to: exchange.request)
        guard case .success(let head) = head else {
            if case .failure(let reason) = head { end(network(reason.text)) }
            return
        }
        self.head = head
        clocks.bytesMoved(clock.now)
        step = .body(answer)
        let isQuiet = exchange.quietStatuses.contains(head.status)
        let isFollowed = head.redirectLocation != nil && exchange.request.settings.maximumRedirects > 0
        progress.reportsReceived = !isFollowed && !isQuiet
        if exchange.reportsProgress { progress.expect(answer.announced, exchange.observer) }
        if exchange.showsHead, !isQuiet { setRoute(exchange.observer.exchangeDidReceiveHead(head, deliveries)) }
    }

    /// - Returns: false when it waits for the body's sink.
    private func receiveBody(_ answer: StubAnswer) -> Bool {
        let end = min(answer.body.count, answer.fault?.bytesBefore ?? .max)
        guard offset < end else {
            finish(answer)
            return true
        }
        if answer.pieceDelay > 0, offset > 0, !isRested {
            isRested = true
            sleep(answer.pieceDelay)
            return true
        }
        let size = answer.pieceSize > 0 ? min(answer.pieceSize, 65536) : 65536
        let piece = answer.body[offset..<min(end, offset + size)]
        let isInMemory = if case .memory = route { true } else { false }
        if let limit = exchange.request.settings.maximumSize(inMemory: isInMemory), offset + piece.count > limit {
            let message = "the decoded body is larger than the allowed \(limit) bytes"
            self.end(network(message, .responseTooLarge))
            return true
        }
        guard take(piece) else { return false }
        offset += piece.count
        isRested = false
        clocks.bytesMoved(clock.now)
        reportProgress()
        return true
    }

    private func take(_ piece: ArraySlice<UInt8>) -> Bool {
        piece.withUnsafeBytes { bytes in
            guard case .sink(let sink) = route else {
                guard !received.append(bytes) else { return true }
                end(network("out of memory for the body", .generic))
                return false
            }
            switch sink.receive(bytes, deliveries) {
            case .taken: return true
            case .full:
                hold(.sink)
                return false
            case .failed(let error):
                end(error)
                return false
            }
        }
    }

    private func finish(_ answer: StubAnswer) {
        if let fault = answer.fault, fault.bytesBefore != nil { return end(fault.error(exchange.request, origin)) }
        if let announced = answer.announced, announced > offset {
            var error = network("the server closed the connection in the middle of the body")
            error.failure = .cutShort
            return end(error)
        }
        end(nil, trailers: answer.trailers)
    }

    private func reportProgress() {
        guard progress.update(sent: Int64(sent.count), received: Int64(offset)), exchange.reportsProgress else {
            return
        }
        progress.report(sendTotal: 0, decoded: Int64(offset), exchange.observer)
    }

    private func network(_ what: String, _ code: ErrorCode = .network) -> APIError {
        APIError(
            domain: .network, code: code, message: "\(origin.host):\(origin.port): \(what)",
            isRetryable: code == .network && exchange.request.mayBeRepeated)
    }

    // MARK: Time

    private func sleep(_ seconds: Double) {
        guard seconds > 0 else { return }
        naps += 1
        let nap = naps
        // A wait that can only time out is not a sleeper.
        let purpose = seconds.isFinite ? WaitPurpose.pause : .limit
        sleep = clock.schedule(purpose, at: clock.now.advanced(bySeconds: seconds)) { [weak self] in
            self?.run { if $0.naps == nap { $0.sleep = nil } }
        }
    }

    private func watchClocks() {
        if case .over = step { return }
        let moment = clocks.nextDeadline
        guard moment < limit?.moment ?? .distantFuture else { return }
        limit?.job.cancel()
        let job = clock.schedule(.limit, at: moment) { [weak self] in self?.run { $0.clockMayBeOver() } }
        limit = (job, moment)
    }

    private func clockMayBeOver() {
        limit = nil
        guard let expired = clocks.expired(clock.now) else { return }
        end(.timeout(expired, clocks.limit(of: expired), origin, isRetryable: exchange.request.mayBeRepeated))
    }

    // MARK: Its end

    /// - Parameter error: nil when the answer is complete.
    func end(_ error: APIError?, trailers: HTTPHeaders = HTTPHeaders()) {
        if case .over = step { return }
        step = .over
        sleep?.cancel()
        sleep = nil
        limit?.job.cancel()
        limit = nil
        var result = ExchangeResult(head: head, body: received, error: error, metrics: metrics)
        result.error?.httpStatus = head?.status
        if !trailers.isEmpty { result.trailers = trailers }
        if error == nil, exchange.reportsProgress { progress.finish(result.metrics, exchange.observer) }
        if source?.close() == true {
            // User code is reading the body, and the response must not come before it returns.
            held = result
        } else {
            tellEnd(result)
        }
    }

    private func streamIsIdle() {
        if let result = held.take() { tellEnd(result) }
    }

    private func tellEnd(_ result: ExchangeResult) {
        // Release it, because it has a reference to this object.
        source = nil
        transport.hasEnded(exchange)
        exchange.observer.exchangeDidEnd(result, deliveries)
    }

    private var metrics: ExchangeMetrics {
        var metrics = ExchangeMetrics()
        metrics.total = clock.now.seconds(since: clocks.startedAt ?? clock.now)
        metrics.bytesSent = Int64(sent.count)
        metrics.bytesReceived = Int64(offset)
        metrics.bytesDecoded = Int64(offset)
        return metrics
    }
}

extension Origin {
    /// The server of a request, for messages.
    convenience init(of request: HTTPRequest) {
        let parts = try? URLParts(request.url)
        self.init(scheme: parts?.scheme ?? "http", host: parts?.host ?? request.url, port: parts?.port ?? 0)
    }
}

extension StubTransfer {
    /// Where the body of a request comes from; nil when it has none.
    fileprivate static func source(
        of http: HTTPRequest, _ workers: WorkerPool, whenReady: @escaping @Sendable () -> Void,
        whenIdle: @escaping @Sendable () -> Void
    ) throws(APIError) -> (any UploadSource)? {
        switch http.body {
        case .none: nil
        case .bytes(let bytes): BytesSource(bytes)
        case .multipart(let parts): BytesSource(try MultipartText.bytes(parts))
        case .file(let path, let length):
            StreamSource(
                UploadFile(path, length: length), workers: workers, whenReady: whenReady, whenIdle: whenIdle)
        case .stream(let stream):
            StreamSource(stream, workers: workers, whenReady: whenReady, whenIdle: whenIdle)
        }
    }
}

extension StubAnswer {
    /// The Content-Length.
    fileprivate var announced: Int64? {
        let head = ResponseHead(status: status, headers: headers, httpVersion: httpVersion)
        if case .bytes(let count) = head.announcedLength { return count }
        return nil
    }

    /// The head that a server would send. Shortens the body to what a server would send with it.
    fileprivate mutating func head(to http: HTTPRequest) -> Result<ResponseHead, NetworkReason> {
        let hasBody = http.method != "HEAD" && status != 204 && status != 304
        let isLengthKnown = headers["Content-Length"] != nil || headers["Transfer-Encoding"] != nil
        // Over HTTP/1.1, a body before trailers is chunked.
        if hasBody ? trailers.isEmpty : !body.isEmpty, !isLengthKnown { headers.set("Content-Length", "\(body.count)") }
        let head = ResponseHead(status: status, headers: headers, httpVersion: httpVersion)
        if case .invalid = head.announcedLength {
            return .failure("the server announces an impossible Content-Length")
        }
        if !hasBody {
            body = []
            trailers = HTTPHeaders()
            headers.remove("Content-Length")
        }
        if let announced, announced < body.count { body = Array(body.prefix(Int(announced))) }
        return .success(head)
    }
}

extension HTTPRequest.Body {
    /// The length in bytes, if it is known in advance.
    var knownLength: Int64? {
        switch self {
        case .none, .multipart: nil
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let length): length
        case .stream(let stream): stream.length
        }
    }
}

/// Why an answer is invalid.
private struct NetworkReason: Error, ExpressibleByStringLiteral {
    let text: String

    init(stringLiteral value: String) { text = value }
}
