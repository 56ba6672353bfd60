/// The typed caller of a request, which may judge its response. User code may run, on a worker.
protocol ResponseInterpreter: AnyObject, Sendable {
    /// - Returns: what the `HTTP error` of this status is; nil when the client's own entry is asked.
    func error(of status: Int) -> StatusError?

    /// Checks a complete response while it is classified.
    ///
    /// - Returns: what is wrong with it; nil when nothing is.
    func interpret(_ response: APIResponse) -> APIError?

    /// - Returns: the error that the request ends with: the given one, or another.
    func mapError(_ error: APIError, _ response: APIResponse) -> APIError
}

/// A request that is suspended, running or completed: the handle for every kind of transfer.
///
/// A running request keeps its client and the library alive until its handler has returned. Safe to use from any thread
/// and from any callback.
public final class APIRequest: Sendable {
    /// What a request is doing.
    public enum State: String, Sendable {
        /// Created and not yet resumed, or suspended since.
        case suspended
        /// Resumed; the handler has not returned.
        case running
        /// The handler has returned.
        case completed
        /// Cancelled by the caller; the handler gets the error `request cancelled`.
        case cancelled
    }

    /// Receives the response, exactly once, as the last of the request's callbacks.
    public typealias ResponseHandler = @Sendable (APIResponse) -> Void

    /// Receives progress: first 0 of total if the total is known, last total of total. A slow handler gets only the
    /// latest value in between.
    public typealias ProgressHandler = @Sendable (TransferProgress) -> Void

    /// Receives a piece of the body of a successful response. While the handler is busy, the library stops receiving.
    public typealias DataHandler = @Sendable (ResponseData) -> Void

    /// An event that was taken from a mailbox (the pull style).
    package enum Event: Sendable {
        case response(APIResponse)
        case progress(HandlerKinds, TransferProgress)
        /// The next piece follows when this one is released.
        case data(BodyPiece)
        case decision(RequestDecision)
    }

    /// Why events cannot be delivered.
    package enum EventProblem: Sendable {
        /// The request was resumed.
        case tooLate
        /// A handler's thread has no mailbox to take events from.
        case noMailbox
    }

    package typealias EventMaker = @Sendable (Event) -> AnyObject

    /// Receives each JSON value of a body with one value in each line. While the handler is busy, the library stops
    /// receiving.
    public typealias JSONLinesHandler = @Sendable (JSON) -> Void

    /// Receives each event of a stream of server-sent events. While the handler is busy, the library stops receiving.
    public typealias ServerEventHandler = @Sendable (ServerSentEvent) -> Void

    enum BodyHandler: Sendable {
        case data(DataHandler)
        case json(JSONLinesHandler)
        case event(ServerEventHandler)
        case reader(StreamReader)
        /// The caller of ``APIRequest/pull(timeout:watching:afterPiece:)`` takes the pieces.
        case caller

        var isReader: Bool {
            if case .reader = self { true } else { false }
        }
    }

    /// Wraps a function. Generic code would add a thunk to a bare one each time it is stored or read.
    struct ResponseCallback: Sendable {
        let call: ResponseHandler
    }

    struct Handlers: Sendable {
        /// The handlers that most requests do not have, in one box.
        private struct Others: Sendable {
            var uploadProgress: ProgressHandler?
            var downloadProgress: ProgressHandler?
            var body: BodyHandler?
            var interpreter: (any ResponseInterpreter)?
            var decision: DecisionHandler?
            var makeEvent: EventMaker?
        }

        var response: ResponseCallback?
        @Boxed private var others: Others?
        /// What the body is read as.
        var format = BodyFormat.bytes
        /// Whether an empty first piece announces the head of an answer.
        var announcesHead = false
        var decisionKinds: RequestDecision.Kinds = []
        var eventKinds: HandlerKinds = []
        /// Whether the response also holds the body whose pieces are delivered.
        var keepsBody = false
        /// Whether the error is logged here. If not, the binding that takes the response logs it.
        var logsError = true
        /// The content for the response handler, set when it is called.
        var answer: ResponseContent.Box?

        init(
            _ response: ResponseHandler? = nil, uploadProgress: ProgressHandler? = nil,
            downloadProgress: ProgressHandler? = nil
        ) {
            if let response { self.response = ResponseCallback(call: response) }
            guard uploadProgress != nil || downloadProgress != nil else { return }
            others = Others(uploadProgress: uploadProgress, downloadProgress: downloadProgress)
        }

        var uploadProgress: ProgressHandler? {
            get { others?.uploadProgress }
            set { change(newValue != nil) { $0.uploadProgress = newValue } }
        }

        var downloadProgress: ProgressHandler? {
            get { others?.downloadProgress }
            set { change(newValue != nil) { $0.downloadProgress = newValue } }
        }

        var body: BodyHandler? {
            get { others?.body }
            set { change(newValue != nil) { $0.body = newValue } }
        }

        var interpreter: (any ResponseInterpreter)? {
            get { others?.interpreter }
            set { change(newValue != nil) { $0.interpreter = newValue } }
        }

        var decision: DecisionHandler? {
            get { others?.decision }
            set { change(newValue != nil) { $0.decision = newValue } }
        }

        /// Makes the events that are delivered instead of calls.
        var makeEvent: EventMaker? {
            get { others?.makeEvent }
            set { change(newValue != nil) { $0.makeEvent = newValue } }
        }

        /// Whether handlers of the program are left besides the response handler.
        var hasOthers: Bool {
            guard let others else { return false }
            return others.uploadProgress != nil || others.downloadProgress != nil || others.body != nil
                || others.decision != nil
        }

        /// Releases the handlers that are not called any more when the response is delivered.
        mutating func releaseOthers() {
            guard let all = others else { return }
            others = Others(interpreter: all.interpreter, makeEvent: all.makeEvent)
        }

        private mutating func change(_ isSet: Bool, _ body: (inout Others) -> Void) {
            guard isSet || others != nil else { return }
            var changed = others ?? Others()
            body(&changed)
            others = changed
        }

        mutating func setBody(_ handler: BodyHandler?, _ format: BodyFormat) {
            self.format = handler == nil ? .bytes : format
            announcesHead = handler?.isReader == true
            body = handler
        }
    }

    struct Shared {
        var flow = RequestFlow()
        var handlers: Handlers
        /// What the program may set at any time.
        var labels = Labels()
        var link = Link()
        /// Supplies the request's token.
        var authenticator: Authenticator?
        var waits = Waits()
        /// The outcome.
        var content: ResponseContent.Box?
        /// Woken when the request is done.
        var waiters: [Mailbox] = []

        init(_ handlers: Handlers, _ priority: Double?) {
            self.handlers = handlers
            if let priority { labels.priority = priority }
        }
    }

    struct Labels {
        var description: String?
        var priority = HTTPRequest.usualPriority
    }

    /// What it waits for, besides its exchange.
    struct Waits {
        @Boxed var current: FlowWait?
        private(set) var watch: WaitWatch?

        /// Whether the deadline of the wait needs no watch, or has one.
        var isWatched: Bool {
            guard let deadline = current?.deadline, deadline < .distantFuture else { return true }
            return watch.map { $0.moment <= deadline } ?? false
        }

        /// - Returns: the watch that is not needed.
        mutating func watch(_ new: WaitWatch) -> WaitWatch? {
            guard current != nil, watch.map({ new.moment < $0.moment }) ?? true else { return new }
            defer { watch = new }
            return watch
        }

        mutating func watchEnded(_ now: MonotonicTime) {
            if let moment = watch?.moment, moment <= now { watch = nil }
        }

        /// The request is over.
        mutating func takeWatch() -> WaitWatch? { watch.take() }
    }

    /// The way to the server.
    struct Link {
        /// Makes the exchanges.
        var transport: (any Transport)?
        var exchange: Exchange?
        /// Reports of the exchange that are not delivered yet.
        @Boxed var notes: ExchangeNotes?
        /// Runs what touches the file of a download, one after the other, and after it the end of the exchange.
        var fileJobs: SerialJobs?
        /// Identifies the use of a caller's loop, if `transport` is one.
        var loan = 0

        var running: (transport: any Transport, exchange: Exchange)? {
            if let transport, let exchange { (transport, exchange) } else { nil }
        }
    }

    /// The client that made the request.
    public let client: APIClient
    /// Unique in the client, from 1.
    public let identifier: UInt64
    /// The path below the base URL that the request was made with.
    public let command: String
    /// The request that was built from the args, or the error in them.
    let built: BuildOutcome
    /// For a request of a background session.
    let background: BackgroundTransfer?
    let responseDestination: Destination
    /// The destinations of the other callbacks; nil when all go with the response.
    private let otherDestinations: OtherDestinations?
    #if NTAPI_NO_LOGGING
        var logFlags: LogFlags { [] }
    #else
        let logFlags: LogFlags
    #endif
    let runtime: Runtime
    let manualClock: ManualClock?
    let stub: Stub?
    private let recorder: Recorder?
    /// Tells the observers; nil when there are none.
    let observation: Observation?
    let shared: ProcessLock<Shared>
    // Safe to share: belongs to the registry, under its lock.
    @exclusivity(unchecked) nonisolated(unsafe) var links = RequestRegistry.Links()

    init(
        client: APIClient, identifier: UInt64, command: String, logFlags: LogFlags, threads: HandlerThreads,
        built: BuildOutcome, background: BackgroundTransfer? = nil, _ handlers: Handlers
    ) {
        self.client = client
        self.background = background
        self.identifier = identifier
        self.command = command
        self.built = built
        runtime = .current
        manualClock = client.clock
        let recorder = client.recorder
        let replayed = recorder?.onlyReplayed
        stub = replayed ?? client.stub
        self.recorder = replayed == nil ? recorder : nil
        observation = built.request?.revalidation != nil ? nil : Observation.make(for: client)
        #if !NTAPI_NO_LOGGING
            self.logFlags = logFlags
        #endif
        responseDestination = Destination(threads.response)
        otherDestinations = threads.others
        shared = ProcessLock(Lock(ofRequest: Shared(handlers, built.request?.http.priority)))
    }

    deinit {
        if links.isExpected, runtime.requests.forgetExpected(of: client) { client.lastRequestIsOver() }
    }

    var uploadProgressDestination: Destination { otherDestinations?.uploadProgress ?? responseDestination }
    var downloadProgressDestination: Destination { otherDestinations?.downloadProgress ?? responseDestination }
    var dataDestination: Destination { otherDestinations?.data ?? responseDestination }
    var decisionDestination: Destination { otherDestinations?.decision ?? responseDestination }

    /// The observer that records an exchange; nil when nothing records.
    func recording(of http: HTTPRequest) -> RecordingObserver? {
        guard recorder != nil || Recorder.anyRecordsAll && !client.isHidden else { return nil }
        let origin = RecordingObserver.Origin(
            secrets: built.request?.secrets ?? MarkedSecrets(), startTime: clock.calendarSeconds,
            hearsHeads: hearsHeads)
        return RecordingObserver(http, origin, for: self, by: Recorder.all(with: recorder))
    }

    /// The clock for its timeouts and pauses.
    var clock: any WaitingClock { manualClock ?? runtime.clock }

    /// The time on its clock.
    var now: MonotonicTime { manualClock?.now ?? .now() }

    /// The method, URL, headers and body to send first; nil when the args are invalid.
    public var httpRequest: HTTPRequest? { built.request?.http }

    /// The options that the args set.
    public var options: APIOptions {
        built.request?.options ?? background?.found?.options ?? APIOptions()
    }

    /// What the request is doing now.
    public var state: State {
        read(.cancelled) { shared in
            if shared.flow.isCancelled { return .cancelled }
            switch shared.flow.phase {
            case .suspended: return .suspended
            case .running where shared.flow.isSuspended: return .suspended
            case .running, .ending, .delivering: return .running
            case .done: return .completed
            }
        }
    }

    /// False in a child, which must not touch the request.
    package var isOfThisProcess: Bool { shared.isOfThisProcess }

    var isCancelled: Bool { read(true) { $0.flow.isCancelled } }

    /// Whether it was resumed and its handler has not returned.
    public var isRunning: Bool {
        read(false) { $0.flow.phase != .suspended && $0.flow.phase != .done }
    }

    /// The response, once its outcome is final.
    public var response: APIResponse? {
        read(nil) { $0.content }.map { APIResponse(request: self, $0) }
    }

    /// A text of your own.
    public var taskDescription: String? {
        get { read(nil) { $0.labels.description } }
        set { write { $0.labels.description = newValue } }
    }

    /// From 0 (last) to 1 (first), among requests that wait for a connection to the same host. Set it before `resume`.
    public var priority: Double {
        get { read(0.5) { $0.labels.priority } }
        set { write { $0.labels.priority = newValue.isNaN ? 0.5 : min(1, max(0, newValue)) } }
    }

    /// Body bytes sent so far, and the total.
    public var bytesSent: TransferProgress { read(TransferProgress(bytes: 0, total: nil)) { $0.flow.counts.sent } }

    /// Body bytes received so far, before decompression, and the total if it was announced.
    public var bytesReceived: TransferProgress {
        read(TransferProgress(bytes: 0, total: nil)) { $0.flow.counts.received }
    }

    /// Body bytes received so far, after decompression.
    public var bytesDecoded: Int64 { read(0) { $0.flow.counts.decoded } }

    /// The status of the response whose body the data handler or a file receives; nil before its head has arrived.
    public var receivedStatus: Int? { read(nil) { $0.flow.receivedHead }?.status }

    /// The version of HTTP of that response: 1.0, 1.1, 2 or 3.
    public var receivedHTTPVersion: Double? { read(nil) { $0.flow.receivedHead }?.httpVersion }

    /// The headers of the response whose body the data handler or a file receives; none before its head has arrived.
    public var receivedHeaders: HTTPHeaders { read(nil) { $0.flow.receivedHead }?.headers ?? HTTPHeaders() }

    /// What a later request needs to resume an unfinished download; nil when there is nothing to resume yet, or the
    /// server's copy cannot be identified.
    ///
    /// For a program that may be killed: save it when the request is suspended, for example.
    public var resumeData: ResumeData? {
        guard let http = httpRequest else { return nil }
        let soFar = read(nil) { $0.flow.downloadSoFar }
        let data = soFar.flatMap { $0.download.resumeData(http, $0.history) }
        if data != nil { write { $0.flow.resumeDataIsTaken() } }
        return data
    }

    /// The request as a curl command line for a shell, secrets redacted; nil when the args are invalid.
    public var curlCommand: String? { built.request.map(CurlCommand.text) }

    // MARK: Its process

    /// Enters the request from outside: the program, a timer or a network thread calls it.
    ///
    /// - Parameter elsewhere: the result in a child, which a callback may have forked meanwhile. The request belongs to
    ///   its parent.
    @inline(__always)
    func entered<Result>(inChild elsewhere: @autoclosure () -> Result, _ body: () throws(Forked) -> Result) -> Result {
        do throws(Forked) {
            guard isOfThisProcess else { return elsewhere() }
            return try LibraryCode.inside(body)
        } catch {
            return elsewhere()
        }
    }

    @inline(__always) func entered(_ body: () throws(Forked) -> Void) { entered(inChild: (), body) }

    private func read<Value>(_ elsewhere: Value, _ body: (Shared) -> Value) -> Value {
        shared.withLock(inChild: elsewhere) { body($0) }
    }

    private func write(_ body: (inout Shared) -> Void) { shared.withLock(inChild: (), body) }

    /// Tells the flow of an event, and returns what to do.
    @inline(__always) func flow<Action>(_ event: (inout RequestFlow) -> Action) throws(Forked) -> Action {
        try shared.withLock { event(&$0.flow) }
    }

    /// Reads what the handlers want.
    @inline(__always) func handlers<Value>(_ read: (Handlers) -> Value) throws(Forked) -> Value {
        try shared.withLock { read($0.handlers) }
    }

    // MARK: Before resume

    /// Sets the response handler.
    ///
    /// - Returns: false once the request was resumed.
    @discardableResult public func setHandler(_ handler: ResponseHandler?) -> Bool {
        var callback: ResponseCallback?
        if let handler { callback = ResponseCallback(call: handler) }
        return configure { exchange(&$0.response, with: callback) }
    }

    /// Sets the handler for the progress of the upload. The hook ``APIClient/requestStarted(_:)`` may set it too.
    ///
    /// - Returns: false once the request is sent.
    @discardableResult public func setUploadProgress(_ handler: ProgressHandler?) -> Bool {
        configure(untilSent: true) { exchange(&$0.uploadProgress, with: handler) }
    }

    /// Sets the handler for the progress of the download. The hook ``APIClient/requestStarted(_:)`` may set it too.
    ///
    /// - Returns: false once the request is sent.
    @discardableResult public func setDownloadProgress(_ handler: ProgressHandler?) -> Bool {
        configure(untilSent: true) { exchange(&$0.downloadProgress, with: handler) }
    }

    /// Sets the handler for the body of a successful response, which then is not kept in memory.
    ///
    /// It is called for one piece after the other, each of at most 320 KB, decompressed. While the handler is behind,
    /// the network waits, so that memory stays bounded. The response handler follows the last piece. The body of an
    /// error is in the response as usual. HTTP/1.1 is used unless the option `httpVersion` says otherwise: there, a
    /// connection that is not read blocks no other request.
    ///
    /// - Returns: false once the request was resumed.
    @discardableResult public func setDataHandler(_ handler: DataHandler?) -> Bool {
        setBodyHandler(handler.map { .data($0) }, .bytes)
    }

    /// Sets the handler for the values of a body with one in each line (JSON Lines, NDJSON, RFC 7464).
    ///
    /// It is called for one value after the other, as the lines arrive, and replaces ``setDataHandler(_:)``, whose
    /// rules hold here too. A line that is not JSON ends the request with `invalid JSON`. A line that is longer than
    /// `maximumResponseSize`, or 16 MiB, ends it with `response too large`.
    ///
    /// - Returns: false once the request was resumed.
    @discardableResult public func setJSONLinesHandler(_ handler: JSONLinesHandler?) -> Bool {
        setBodyHandler(handler.map { .json($0) }, .jsonLines)
    }

    /// Sets the handler for the events of a stream of server-sent events (WHATWG HTML, 9.2).
    ///
    /// It is called for one event after the other, as they arrive, and replaces ``setDataHandler(_:)``, whose rules
    /// hold here too. When the connection ends, the request connects again, with Last-Event-ID. It stops when the
    /// server answers 204, an HTTP error other than 5xx or something that is not a stream of events, or when the
    /// request is cancelled. A POST does not connect again unless the option `reconnect` is set.
    ///
    /// - Returns: false once the request was resumed.
    @discardableResult public func setServerEventHandler(_ handler: ServerEventHandler?) -> Bool {
        setBodyHandler(handler.map { .event($0) }, .serverEvents)
    }

    @discardableResult private func setBodyHandler(_ handler: BodyHandler?, _ format: BodyFormat) -> Bool {
        configure {
            let replaced = $0.body
            $0.setBody(handler, format)
            return replaced
        }
    }

    /// Lets the caller of ``pull(timeout:watching:afterPiece:)`` take the body.
    package func setPulled() -> Bool {
        configure {
            $0.setBody(.caller, .bytes)
            $0.announcesHead = true
        }
    }

    /// Sets how the body is read whose pieces are delivered as events.
    package func setFormat(_ format: BodyFormat) -> Bool {
        configure {
            $0.format = format
            $0.announcesHead = true
        }
    }

    /// Sets the handler that decides what the request does next, instead of the client's `decide`.
    ///
    /// - Parameter kinds: the decisions that it makes; the client makes the others.
    /// - Returns: false once the request was resumed.
    @discardableResult public func setDecisionHandler(
        for kinds: RequestDecision.Kinds = .all, _ handler: DecisionHandler?
    ) -> Bool {
        configure {
            $0.decisionKinds = handler == nil ? [] : kinds
            return exchange(&$0.decision, with: handler)
        }
    }

    /// Delivers events to the mailboxes of these handlers instead of calling them.
    ///
    /// - Returns: nil on success, otherwise the problem.
    package func setEvents(_ kinds: HandlerKinds, _ makeEvent: @escaping EventMaker) -> EventProblem? {
        let destinations: [(HandlerKinds, Destination)] = [
            (.response, responseDestination), (.uploadProgress, uploadProgressDestination),
            (.downloadProgress, downloadProgressDestination), (.data, dataDestination),
            (.decision, decisionDestination),
        ]
        guard destinations.allSatisfy({ !kinds.contains($0.0) || $0.1.isMailbox }) else { return .noMailbox }
        let done = configure {
            $0.eventKinds = kinds
            if kinds.contains(.decision) { $0.decisionKinds = .all }
            return exchange(&$0.makeEvent, with: makeEvent)
        }
        return done ? nil : .tooLate
    }

    /// Sets whether the response also holds the body that is delivered piece by piece.
    package func setKeepsBody(_ keepsBody: Bool) -> Bool { configure { $0.keepsBody = keepsBody } }

    /// Sets whether the request logs its error. If not, the binding that takes the response does, and may replace it.
    package func setLogsError(_ logsError: Bool) -> Bool { configure { $0.logsError = logsError } }

    /// Sets which decisions are delivered as events.
    package func setDecisionKinds(_ kinds: RequestDecision.Kinds) -> Bool { configure { $0.decisionKinds = kinds } }

    /// - Parameters:
    ///   - untilSent: whether the hook for started requests may make this change.
    ///   - change: returns what it has replaced. Releasing that may run user code, so it must outlive the lock.
    @discardableResult private func configure<Replaced>(
        untilSent: Bool = false, _ change: (inout Handlers) -> Replaced
    ) -> Bool {
        let replaced = shared.withLock(inChild: nil) { shared in
            let isOpen = shared.flow.phase == .suspended || (untilSent && shared.flow.isStarting)
            return isOpen ? Optional(change(&shared.handlers)) : nil
        }
        return replaced != nil
    }
}
