/// Makes exchanges: one request to one server and its response. Either the network or a stub.
protocol Transport: AnyObject, Sendable {
    /// Begins an exchange. Its observer gets the end exactly once, also after `cancel`.
    func begin(_ exchange: Exchange)

    /// Ends an exchange with `cancelled` unless it has ended. Does not wait.
    func cancel(_ exchange: Exchange)

    /// Holds or releases an exchange, or sets the route of its body. Does not wait, and does nothing when it has ended.
    func change(_ exchange: Exchange, _ change: ExchangeChange)
}

/// One request to one server, without redirects.
final class Exchange: Sendable {
    let request: HTTPRequest
    /// The priority from 0 to 1 among exchanges that wait for a connection to the same host. The highest is first.
    let priority: Double
    /// The deadline of the whole request.
    let deadline: MonotonicTime
    let reportsProgress: Bool
    /// Whether the observer decides where the body goes. Otherwise it goes into the result.
    let routesBody: Bool
    /// Whether the observer sees the head when it arrives.
    let showsHead: Bool
    /// Whether the observer wants to see what is sent, and on which connection: for the log and for recordings.
    let hearsHeads: Bool
    /// Whether the observer wants to know of a wait for a connection, and which connection it was.
    let isObserved: Bool
    /// Statuses whose body is not the requested one. The body is kept, but not reported.
    let quietStatuses: Set<Int>
    /// Whether the exchange, when it could start, tells the observer and waits for the change `start`.
    let asksToStart: Bool
    let observer: any ExchangeObserver
    // Safe to share: only the transport's own thread accesses these four.
    /// The transport's own object for it while it runs.
    nonisolated(unsafe) var transfer: AnyObject?
    nonisolated(unsafe) var phase = Phase.new
    /// The holds from the start.
    nonisolated(unsafe) var firstHolds: Holds
    /// The number of the last applied suspension.
    nonisolated(unsafe) private var suspension: UInt32 = 0

    enum Phase {
        case new
        /// The cancel command overtook the begin command.
        case cancelledEarly
        case running
        case ended
    }

    init(
        request: HTTPRequest, priority: Double, deadline: MonotonicTime, reportsProgress: Bool,
        routesBody: Bool = false, showsHead: Bool = false, hearsHeads: Bool = false, quietStatuses: Set<Int> = [],
        isObserved: Bool = false, asksToStart: Bool = false, holds: Holds = [],
        observer: any ExchangeObserver
    ) {
        self.request = request
        self.priority = priority
        self.deadline = deadline
        self.reportsProgress = reportsProgress
        self.routesBody = routesBody
        self.showsHead = showsHead || routesBody
        self.hearsHeads = hearsHeads
        self.quietStatuses = quietStatuses
        self.isObserved = isObserved
        self.asksToStart = asksToStart
        firstHolds = holds
        self.observer = observer
    }

    /// Whether a change is the newest of its kind.
    func obeys(_ change: ExchangeChange) -> Bool {
        guard case .suspend(_, let number) = change else { return true }
        guard number > suspension else { return false }
        suspension = number
        return true
    }

    /// Applies a change that overtook the begin command.
    func changeEarly(_ change: ExchangeChange) {
        switch change {
        case .suspend(true, _): firstHolds.insert(.suspended)
        case .suspend(false, _): firstHolds.remove(.suspended)
        case .release(let holds): firstHolds.subtract(holds)
        case .route, .start: break
        }
    }
}

/// Observes an exchange on the transport's own thread. Must not block or run user code.
protocol ExchangeObserver: AnyObject, Sendable {
    /// The exchange can start, and waits for the change `start`. Only with `asksToStart`. May be called twice.
    func exchangeMayStart()

    /// The exchange waits for a connection, or no longer waits for one. Only with `isObserved`.
    func exchangeIsQueued(_ isQueued: Bool)

    /// Body bytes sent so far. The total is nil while unknown. Only with `reportsProgress`.
    func exchangeDidSend(_ bytes: Int64, of total: Int64?)

    /// Body bytes received so far, on the wire and decompressed. The total, on the wire, is nil while unknown. Only
    /// with `reportsProgress`.
    func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?)

    /// The head of a final response has arrived. Returns where the body goes: into memory without `routesBody`. Only with
    /// `showsHead`.
    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute

    /// The head of a request, as it was sent. Only with `hearsHeads`. libcurl may send several.
    func exchangeDidSendHead(_ head: String)

    /// A part of the request's body was sent. Only with `hearsHeads`.
    func exchangeDidSendBody()

    /// An interim answer other than 100 and 101 has arrived.
    func exchangeDidReceiveInformation(_ head: ResponseHead)

    /// The exchange is over. Called once, as the last call.
    ///
    /// - Parameter deliveries: collects jobs for other threads, which are delivered together.
    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch)
}

extension ExchangeObserver {
    func exchangeMayStart() {}

    func exchangeIsQueued(_ isQueued: Bool) {}

    func exchangeDidSendHead(_ head: String) {}

    func exchangeDidSendBody() {}

    func exchangeDidReceiveInformation(_ head: ResponseHead) {}
}

/// How an exchange ended.
struct ExchangeResult: Sendable {
    /// Nil when no complete head of a final response was received.
    var head: ResponseHead?
    var body = Bytes.empty
    /// The fields behind the body; nil for none.
    @Boxed var trailers: HTTPHeaders?
    /// Nil when the response is complete.
    @Boxed var error: APIError?
    /// Why the body of an answer from 300 on cannot be decoded: the status says more. The body is as it came, or ends
    /// before the problem.
    @Boxed var codingProblem: APIError?
    /// A question for the program; usually nil.
    @Boxed var question: ConnectionQuestion?
    var metrics = ExchangeMetrics()
    /// Only with `hearsHeads` or `isObserved`; nil when there was no network.
    @Boxed var connection: ConnectionFacts?
    /// Whether there was a connection, so that the server may have received a part of the request.
    var wasConnected = false
    /// Whether the body was cut off: it was not the requested one, and too long to be of interest.
    var isCut = false

    /// The most bytes to receive of a body that is not the requested one, as of a redirect.
    static let maximumUnwantedBody = 1 << 20
}

/// Why a connection failed, if the program could help.
enum ConnectionQuestion: Sendable {
    /// The certificate is not trusted.
    case untrusted
    /// The server's certificate chain, in PEM, its own certificate first.
    case certificates([String])
    /// The server has another certificate than the one that the program trusts.
    case otherCertificate
    /// The proxy asks for credentials for a tunnel.
    case proxyCredential
}

/// Status line and headers of a final (not 1xx) response.
struct ResponseHead: Sendable {
    var status: Int
    var headers: HTTPHeaders
    /// 1.0, 1.1, 2 or 3.
    var httpVersion: Double

    /// Where a redirect points (RFC 9110, 15.4); nil when it is not a redirect. It may be empty, which is no valid
    /// target.
    var redirectLocation: String? {
        guard [301, 302, 303, 307, 308].contains(status) else { return nil }
        return headers.references("Location").first
    }
}

/// The metrics of an exchange: times in seconds from its start on the network, and body bytes.
struct ExchangeMetrics: Sendable {
    var queued = 0.0
    var nameLookup = 0.0
    var connect = 0.0
    var tls = 0.0
    var firstByte = 0.0
    var total = 0.0
    var bytesSent: Int64 = 0
    var bytesReceived: Int64 = 0
    /// After decompression.
    var bytesDecoded: Int64 = 0
    var connectionReused = false
    var source = ResponseSource.network

    /// The received bytes that a request counts. A response from the cache has none on the wire, so its body counts.
    var countedBytes: Int64 { source == .cache ? bytesDecoded : bytesReceived }
}

/// The connection of an exchange.
struct ConnectionFacts: Sendable {
    /// The address that was connected to, in numbers: the server's or the proxy's. "" when it is not known.
    var address = ""
    var port = 0
    /// The port on this side, which identifies the connection; 0 when there was none.
    var localPort = 0
}

/// Where the body of a response goes. The observer decides when the head has arrived.
enum BodyRoute: Sendable {
    /// Into the result.
    case memory
    case sink(any BodySink)
    /// Not decided yet. No byte moves until `ExchangeChange.route`.
    case undecided
    /// Nowhere: the exchange ends with this error.
    case refused(APIError)
}

/// Takes a body piece by piece on the transport's own thread. Must not wait.
protocol BodySink: AnyObject, Sendable {
    /// - Parameter deliveries: collects jobs for other threads.
    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer
}

/// What a sink did with a piece of a body.
enum SinkAnswer {
    case taken
    /// There is no room. The same piece comes again after `.release(.sink)`, and nothing before it.
    case full
    case failed(APIError)
}

/// Reasons why an exchange pauses.
struct Holds: OptionSet, Sendable {
    let rawValue: UInt8

    /// The caller suspended the request. Nothing is sent either, and no clock runs.
    static let suspended = Holds(rawValue: 1)
    /// The body's sink is full.
    static let sink = Holds(rawValue: 2)
    /// It is not decided yet where the body goes.
    static let decision = Holds(rawValue: 4)
    /// It has decompressed much in this turn of the loop, and goes on in the next.
    static let turn = Holds(rawValue: 8)
}

/// A change to a running exchange.
enum ExchangeChange: Sendable {
    case release(Holds)
    /// Suspends or resumes it. The commands of two threads may arrive in another order than they were decided, so the
    /// highest number wins.
    case suspend(Bool, number: UInt32)
    /// Sets where the body goes, and releases it.
    case route(BodyRoute)
    /// Everything before the start is done, so it may start.
    case start
}
