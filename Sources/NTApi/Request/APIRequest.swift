/// What a request is made for, as far as that has a say in its response. User code may run, on a worker.
protocol ResponseInterpreter: AnyObject, Sendable {
    /// Looks at a whole response where it is classified.
    ///
    /// - Returns: what is wrong with it; nil when nothing is.
    func interpret(_ response: APIResponse) -> APIError?

    /// - Returns: the error that the request ends with, or another one in its place.
    func mapError(_ error: APIError, _ response: APIResponse) -> APIError
}

/// One begun, or still suspended, request: the handle for every kind of transfer.
///
/// A running request keeps its client and the library alive until its handler has returned. Safe to use from any thread
/// and from any callback.
public final class APIRequest: Sendable {
    /// What a request is doing.
    public enum State: Sendable {
        /// Created and not yet resumed, or suspended since.
        case suspended
        /// Resumed; the handler has not returned.
        case running
        case completed
        /// Cancelled by the caller; the handler gets the error `request cancelled`.
        case cancelled
    }

    /// Receives the response, exactly once, as the last of the request's callbacks.
    public typealias ResponseHandler = @Sendable (APIResponse) -> Void

    /// Receives progress: first 0 of total when the total is known, last total of total, and of what lies between the
    /// latest when the handler is slower than the network.
    public typealias ProgressHandler = @Sendable (TransferProgress) -> Void

    /// Receives a piece of the body of a successful response; the network waits while the handler is behind.
    public typealias DataHandler = @Sendable (ResponseData) -> Void

    /// What an event that was taken from a mailbox tells (the pull style).
    package enum Event: Sendable {
        case response(APIResponse)
        case progress(HandlerKinds, TransferProgress)
        /// The next piece follows when nobody refers to this one any more.
        case data(BodyPiece)
        case decision(RequestDecision)
    }

    /// Why events cannot be delivered.
    package enum EventProblem: Sendable {
        /// The request was resumed.
        case tooLate
        /// A handler runs where there is no mailbox to take events from.
        case noMailbox
    }

    package typealias EventMaker = @Sendable (Event) -> AnyObject

    /// Receives each JSON value of a body that has one in each line; the network waits while the handler is behind.
    public typealias JSONLinesHandler = @Sendable (JSON) -> Void

    /// Receives each event of a stream of server-sent events; the network waits while the handler is behind.
    public typealias ServerEventHandler = @Sendable (ServerSentEvent) -> Void

    enum BodyHandler: Sendable {
        case data(DataHandler)
        case json(JSONLinesHandler)
        case event(ServerEventHandler)
        case reader(StreamReader)

        var isReader: Bool {
            if case .reader = self { true } else { false }
        }
    }

    /// A function that generic code hands on as it is: by itself, it would wrap it up on the way in and on the way out.
    struct ResponseCallback: Sendable {
        let call: ResponseHandler
    }

    struct Handlers: Sendable {
        /// What most requests do not have, in a box of its own.
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
        /// Whether a piece without bytes tells that the head of an answer is there.
        var announcesHead = false
        var decisionKinds: RequestDecision.Kinds = []
        var eventKinds: HandlerKinds = []
        /// Whether the response holds the body though its pieces are handed over, too.
        var keepsBody = false
        /// Whether the line about the error is written here; else whoever takes the response knows a better one.
        var logsError = true
        /// What the response handler is called with, once it is.
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

        /// Makes events of what happens, in the place of calls.
        var makeEvent: EventMaker? {
            get { others?.makeEvent }
            set { change(newValue != nil) { $0.makeEvent = newValue } }
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
        var content: ResponseContent.Box?
        var waiters: [Mailbox] = []
        var description: String?
        var priority = HTTPRequest.usualPriority
        var sent = TransferProgress(bytes: 0, total: nil)
        var received = TransferProgress(bytes: 0, total: nil)
        var decoded: Int64 = 0
        /// Of the response whose body arrives, where that goes elsewhere than into the response.
        var head: ResponseHead?
        /// The body of a response so far that the client's hook looks at as it comes.
        var observed: Bytes?
        /// Bytes of a download that were there before the exchange that runs.
        var receivedBefore: Int64 = 0
        /// How the exchange ended whose body is still being read.
        @Boxed var ended: ExchangeResult?
        /// Gives it its token.
        var authenticator: Authenticator?
        /// What it waits for, beside its exchange.
        @Boxed var wait: FlowWait?
        /// Whether it was asked already where the body goes, of a response in the cache.
        var isDecided = false
        /// Answers with one of these may be followed by another exchange, so that nobody else is to see their bodies.
        var quietStatuses: Set<Int> = []
        var suspendedAt = MonotonicTime.distantFuture
        /// How often an exchange was told of a suspension or its end.
        var suspensions: UInt32 = 0
        /// Where its exchanges are made, and the one that runs.
        var transport: (any Transport)?
        var exchange: Exchange?
        /// What the exchange has shown, and is not told yet.
        @Boxed var notes: ExchangeNotes?
        /// Names the loan of the transport where that is a loop of the caller's.
        var loan = 0

        init(_ handlers: Handlers, _ priority: Double?) {
            self.handlers = handlers
            if let priority { self.priority = priority }
        }
    }

    public let client: APIClient
    /// Unique in the client, from 1.
    public let identifier: UInt64
    /// The path below the base URL that the request was begun with.
    public let command: String
    /// What was built from the args; an error when they make no request.
    let built: BuildOutcome
    /// Of a background session's request.
    let background: BackgroundTransfer?
    let responseDestination: Destination
    /// Of all other callbacks; nil is where the response goes.
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
    let generation = Fork.generation
    let shared: Lock<Shared>
    // Safe to share: the registry's own, under its lock.
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
        stub = client.stub
        recorder = client.recorder
        #if !NTAPI_NO_LOGGING
            self.logFlags = logFlags
        #endif
        responseDestination = Destination(threads.response)
        otherDestinations = threads.others
        shared = Lock(ofRequest: Shared(handlers, built.request?.http.priority))
    }

    var uploadProgressDestination: Destination { otherDestinations?.uploadProgress ?? responseDestination }
    var downloadProgressDestination: Destination { otherDestinations?.downloadProgress ?? responseDestination }
    var dataDestination: Destination { otherDestinations?.data ?? responseDestination }
    var decisionDestination: Destination { otherDestinations?.decision ?? responseDestination }

    /// Listens to an exchange that is about to begin; nil when nobody wants to hear of it.
    func recording(of http: HTTPRequest) -> RecordingObserver? {
        recorder?.observe(http, built.request?.secrets ?? MarkedSecrets(), for: self)
    }

    /// The time by which it waits.
    var clock: any WaitingClock { manualClock ?? runtime.clock }

    /// Its time now.
    var now: MonotonicTime { manualClock?.now ?? .now() }

    /// The method, URL, headers and body that are sent first; nil when the args make no request.
    public var httpRequest: HTTPRequest? { built.request?.http }

    /// The options that the args set.
    public var options: APIOptions {
        built.request?.options ?? background?.found?.options ?? APIOptions()
    }

    public var state: State {
        read(.cancelled) { shared in
            if shared.flow.gate.isCancelled { return .cancelled }
            switch shared.flow.gate.phase {
            case .suspended: return .suspended
            case .running where shared.flow.gate.isSuspended: return .suspended
            case .running, .ending, .delivering: return .running
            case .done: return .completed
            }
        }
    }

    /// False in a forked child, where it is not touched: see `read`.
    package var isOfThisProcess: Bool { generation == Fork.generation }

    var isCancelled: Bool { read(true) { $0.flow.gate.isCancelled } }

    /// Whether it was resumed and its handler has not returned.
    public var isRunning: Bool {
        read(false) { $0.flow.gate.phase != .suspended && $0.flow.gate.phase != .done }
    }

    /// The response, once there is one.
    public var response: APIResponse? {
        read(nil) { $0.content }.map { APIResponse(request: self, $0) }
    }

    /// A text of yours.
    public var taskDescription: String? {
        get { read(nil) { $0.description } }
        set { write { $0.description = newValue } }
    }

    /// From 0 (last) to 1 (first), among requests that wait for a connection to the same host. Set it before `resume`.
    public var priority: Double {
        get { read(0.5) { $0.priority } }
        set { write { $0.priority = newValue.isNaN ? 0.5 : min(1, max(0, newValue)) } }
    }

    /// Body bytes sent so far, and in all.
    public var bytesSent: TransferProgress { read(TransferProgress(bytes: 0, total: nil)) { $0.sent } }

    /// Body bytes received so far as they came over the wire, and as announced.
    public var bytesReceived: TransferProgress { read(TransferProgress(bytes: 0, total: nil)) { $0.received } }

    /// Body bytes received so far, after decompression.
    public var bytesDecoded: Int64 { read(0) { $0.decoded } }

    /// The status of the response whose body is being received by the data handler or into a file; nil before.
    public var receivedStatus: Int? { read(nil) { $0.head }?.status }

    /// The headers of the response whose body is being received by the data handler or into a file; none before.
    public var receivedHeaders: HTTPHeaders { read(nil) { $0.head }?.headers ?? HTTPHeaders() }

    /// What a later request can go on from, should the download end before it is whole; nil when there is nothing to go on
    /// from yet, or the server's copy could not be told from another one.
    ///
    /// For a program that wants to be prepared for its own sudden end: save it when the request is suspended, say.
    public var resumeData: ResumeData? {
        guard let http = httpRequest, isOfThisProcess else { return nil }
        let (download, history) = shared.withLock { ($0.flow.chain?.download?.download, $0.flow.history) }
        let data = download?.resumeData(http, history)
        if data != nil { shared.withLock { $0.flow.chain?.download?.download.isTaken = true } }
        return data
    }

    /// The request as a curl command line for a shell, secrets redacted; nil when the args make no request.
    public var curlCommand: String? { built.request.map(CurlCommand.text) }

    // A request belongs to the process that made it. In a forked child its lock may be held by a thread that does not
    // exist there, so it is neither read nor changed.
    private func read<Value>(_ elsewhere: Value, _ body: (Shared) -> Value) -> Value {
        generation == Fork.generation ? shared.withLock { body($0) } : elsewhere
    }

    private func write(_ body: (inout Shared) -> Void) {
        if generation == Fork.generation { shared.withLock { body(&$0) } }
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

    /// Sets the handler for the progress of the upload. The hook ``APIClient/requestStarted(_:)`` may set it, too.
    ///
    /// - Returns: false once the request is sent.
    @discardableResult public func setUploadProgress(_ handler: ProgressHandler?) -> Bool {
        configure(untilSent: true) { exchange(&$0.uploadProgress, with: handler) }
    }

    /// Sets the handler for the progress of the download. The hook ``APIClient/requestStarted(_:)`` may set it, too.
    ///
    /// - Returns: false once the request is sent.
    @discardableResult public func setDownloadProgress(_ handler: ProgressHandler?) -> Bool {
        configure(untilSent: true) { exchange(&$0.downloadProgress, with: handler) }
    }

    /// Sets the handler for the body of a successful response, which then is not kept in memory: a streaming data task.
    ///
    /// Called with one piece after the other, each of 320 KB at most, decompressed. While the handler is behind, the network
    /// waits, so that memory stays bounded. The response handler follows the last piece. The body of an error is in the
    /// response, as ever. Over HTTP/1.1 unless the option `httpVersion` says otherwise, because there a connection that is
    /// not read from holds up no other request.
    ///
    /// - Returns: false once the request was resumed.
    @discardableResult public func setDataHandler(_ handler: DataHandler?) -> Bool {
        setBodyHandler(handler.map { .data($0) }, .bytes)
    }

    /// Sets the handler for the values of a body that has one in each line (JSON Lines, NDJSON, RFC 7464).
    ///
    /// It is called as the lines arrive, with one after the other; otherwise as ``setDataHandler(_:)``, in whose place it
    /// comes. A line that is no JSON ends the request with `invalid JSON`, one that is longer than `maximumResponseSize`, or
    /// 16 MiB, with `response too large`.
    ///
    /// - Returns: false once the request was resumed.
    @discardableResult public func setJSONLinesHandler(_ handler: JSONLinesHandler?) -> Bool {
        setBodyHandler(handler.map { .json($0) }, .jsonLines)
    }

    /// Sets the handler for the events of a stream of server-sent events (WHATWG HTML, 9.2).
    ///
    /// It is called as the events arrive, with one after the other; otherwise as ``setDataHandler(_:)``, in whose place it
    /// comes. When the connection ends, the request connects again, with Last-Event-ID, until the server answers with 204, an
    /// HTTP error other than 5xx or something that is no stream of events, or the request is cancelled. What a POST began is
    /// not gone on with unless the option `reconnect` says so.
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

    /// Says what the pieces of the body are that are delivered as events.
    package func setFormat(_ format: BodyFormat) -> Bool {
        configure {
            $0.format = format
            $0.announcesHead = true
        }
    }

    /// Sets the handler that is asked, in place of the client's `decide`, what the request is to do next.
    ///
    /// - Parameter kinds: what it wants to be asked for; the client is asked for the others.
    /// - Returns: false once the request was resumed.
    @discardableResult public func setDecisionHandler(
        for kinds: RequestDecision.Kinds = .all, _ handler: DecisionHandler?
    ) -> Bool {
        configure {
            $0.decisionKinds = handler == nil ? [] : kinds
            return exchange(&$0.decision, with: handler)
        }
    }

    /// Delivers events to be taken from the mailboxes of these handlers instead of calling them.
    ///
    /// - Returns: nil when done, else what was wrong.
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

    /// Says whether the response holds the body though a data handler, or who takes the events, gets it piece by piece.
    package func setKeepsBody(_ keepsBody: Bool) -> Bool { configure { $0.keepsBody = keepsBody } }

    /// Leaves the line about the request's error to whoever takes the response, and may replace the error.
    package func setLogsError(_ logsError: Bool) -> Bool { configure { $0.logsError = logsError } }

    /// Says which decisions are delivered as events.
    package func setDecisionKinds(_ kinds: RequestDecision.Kinds) -> Bool { configure { $0.decisionKinds = kinds } }

    /// - Parameters:
    ///   - untilSent: whether the hook for started requests may do it, too.
    ///   - change: returns what it has replaced: that may run the user's code as it goes, so it must outlive the lock.
    @discardableResult private func configure<Replaced>(
        untilSent: Bool = false, _ change: (inout Handlers) -> Replaced
    ) -> Bool {
        guard generation == Fork.generation else { return false }
        let replaced = shared.withLock { shared in
            let isOpen = shared.flow.gate.phase == .suspended || (untilSent && shared.flow.gate.isStarting)
            return isOpen ? Optional(change(&shared.handlers)) : nil
        }
        return replaced != nil
    }
}
