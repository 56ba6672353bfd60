/// Makes exchanges: one request to one server and its response. The network, or a stand-in for it.
protocol Transport: AnyObject, Sendable {
    /// Begins an exchange. Its observer hears of its end exactly once, also after `cancel`.
    func begin(_ exchange: Exchange)

    /// Ends an exchange with `cancelled` unless it has ended. Does not wait.
    func cancel(_ exchange: Exchange)

    /// Holds an exchange, lets it go on, or routes its body. Does not wait, and does nothing when it has ended.
    func change(_ exchange: Exchange, _ change: ExchangeChange)
}

/// One request to one server, without redirects.
final class Exchange: Sendable {
    let request: HTTPRequest
    /// From 0 to 1; among exchanges that wait for a connection to the same host, the higher goes first.
    let priority: Double
    /// When the whole request is over, whatever the exchange's own clocks say.
    let deadline: MonotonicTime
    let reportsProgress: Bool
    /// Whether the observer says where the body goes; into the result otherwise.
    let routesBody: Bool
    /// Whether the observer wants to see the heads of requests as they go out.
    let hearsHeads: Bool
    /// Of a response with one of these the body is not what was asked for: it is kept, but not reported.
    let quietStatuses: Set<Int>
    /// Whether the observer is told when its turn has come, and the exchange waits then for the change `start`.
    let asksToStart: Bool
    let observer: any ExchangeObserver
    // Safe to share: all four are touched on the transport's own thread alone.
    /// What the transport keeps of it while it runs.
    nonisolated(unsafe) var transfer: AnyObject?
    nonisolated(unsafe) var phase = Phase.new
    /// What it is held by from the start.
    nonisolated(unsafe) var firstHolds: Holds
    /// The number of the last suspension that was obeyed.
    nonisolated(unsafe) private var suspension: UInt32 = 0

    enum Phase {
        case new
        /// The command to cancel it overtook the one to begin it.
        case cancelledEarly
        case running
        case ended
    }

    init(
        request: HTTPRequest, priority: Double, deadline: MonotonicTime, reportsProgress: Bool,
        routesBody: Bool = false, hearsHeads: Bool = false, quietStatuses: Set<Int> = [], asksToStart: Bool = false,
        holds: Holds = [],
        observer: any ExchangeObserver
    ) {
        self.request = request
        self.priority = priority
        self.deadline = deadline
        self.reportsProgress = reportsProgress
        self.routesBody = routesBody
        self.hearsHeads = hearsHeads
        self.quietStatuses = quietStatuses
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

    /// A change that overtook the command to begin.
    func changeEarly(_ change: ExchangeChange) {
        switch change {
        case .suspend(true, _): firstHolds.insert(.suspended)
        case .suspend(false, _): firstHolds.remove(.suspended)
        case .release(let holds): firstHolds.subtract(holds)
        case .route, .start: break
        }
    }
}

/// Hears of an exchange, on the transport's own thread: must not block, and runs no code of the user.
protocol ExchangeObserver: AnyObject, Sendable {
    /// The turn of the exchange has come: it starts with the change `start`. Only with `asksToStart`, and perhaps twice.
    func exchangeHasTurn()

    /// Body bytes sent so far; total nil while unknown. Only with `reportsProgress`.
    func exchangeDidSend(_ bytes: Int64, of total: Int64?)

    /// Body bytes received so far, as they came over the wire and decompressed; total, on the wire, nil while unknown. Only
    /// with `reportsProgress`.
    func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?)

    /// The head of a final response is there: where does its body go? Only with `routesBody`.
    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute

    /// The head of a request has gone out, as it is on the wire. Only with `hearsHeads`; libcurl may send several.
    func exchangeDidSendHead(_ head: String)

    /// An interim answer has come, other than 100 and 101.
    func exchangeDidReceiveInformation(_ head: ResponseHead)

    /// The exchange is over. Called once, and nothing after it.
    ///
    /// - Parameter deliveries: what follows from it on other threads goes in here, to be handed over with the rest of the
    ///   turn.
    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch)
}

extension ExchangeObserver {
    func exchangeHasTurn() {}

    func exchangeDidSendHead(_ head: String) {}

    func exchangeDidReceiveInformation(_ head: ResponseHead) {}
}

/// How an exchange ended.
struct ExchangeResult: Sendable {
    /// Nil when no whole head of a final response was received.
    var head: ResponseHead?
    var body = Bytes.empty
    /// Nil when the response is whole.
    @Boxed var error: APIError?
    /// What there is to ask the program about; nil, as a rule, is nothing.
    @Boxed var question: ConnectionQuestion?
    var metrics = ExchangeMetrics()
    /// Whether there was a connection, so that the server may have got something of the request.
    var wasConnected = false
    /// Whether the body is only its beginning: it was not what was asked for, and more of it than anybody would look at.
    var isCut = false

    /// In bytes: of the body of a redirect, or of an answer that is likely to be followed by another, no more is received.
    static let maximumUnwantedBody = 1 << 20
}

/// Why a connection did not come about, where somebody could say how it might.
enum ConnectionQuestion: Sendable {
    /// The certificate is not trusted.
    case untrusted
    /// The chain of certificates that the server has shown, in PEM, its own first.
    case certificates([String])
    /// The one that the program trusts is not what the server shows now.
    case otherCertificate
    /// The proxy wants to know who asks for a tunnel.
    case proxyCredential
}

/// Status line and headers of a final (not 1xx) response.
struct ResponseHead: Sendable {
    var status: Int
    var headers: HTTPHeaders
    /// 1.0, 1.1, 2 or 3.
    var httpVersion: Double

    /// Where a redirect points (RFC 9110, 15.4); nil when the response is none. May be empty, which is no place to go to.
    var redirectLocation: String? {
        guard [301, 302, 303, 307, 308].contains(status) else { return nil }
        return headers.all("Location").first
    }
}

/// What an exchange took. Times in seconds from its start on the network, bytes of bodies.
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
}

/// Where a response came from.
public enum ResponseSource: String, Sendable, CaseIterable {
    /// From the server, all of it.
    case network
    /// From the cache, without asking the server.
    case cache
    /// From the cache, after the server has said that it still holds (304).
    case validatedCache = "validated_cache"
}

/// Where the body of a response goes: decided when its head is there, by who made the exchange.
enum BodyRoute: Sendable {
    /// Into the result.
    case memory
    case sink(any BodySink)
    /// Somebody is asked first: no byte moves until `ExchangeChange.route` says it.
    case undecided
    /// Nowhere: the exchange ends with this error.
    case refused(APIError)
}

/// Takes a body piece by piece, on the transport's own thread: must not wait for anybody.
protocol BodySink: AnyObject, Sendable {
    /// - Parameter deliveries: what follows from it on other threads goes in here.
    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer
}

/// What became of a piece of a body.
enum SinkAnswer {
    case taken
    /// There is no room: the piece comes again once `.release(.sink)` was told, and nothing before.
    case full
    case failed(APIError)
}

/// Reasons why an exchange stands still.
struct Holds: OptionSet, Sendable {
    let rawValue: UInt8

    /// The caller suspended the request: nothing is sent either, and no clock runs.
    static let suspended = Holds(rawValue: 1)
    /// The body's sink is full.
    static let sink = Holds(rawValue: 2)
    /// It is not yet decided where the body goes.
    static let decision = Holds(rawValue: 4)
}

/// What is asked of an exchange that runs.
enum ExchangeChange: Sendable {
    case release(Holds)
    /// Whether the caller wants it to stand still. Two threads that suspend and resume may come here in another order than they
    /// decided: the highest number is the last word.
    case suspend(Bool, number: UInt32)
    /// Says where the body goes, and lets it.
    case route(BodyRoute)
    /// Its turn has come, and what had to be done before it starts is done.
    case start
}
