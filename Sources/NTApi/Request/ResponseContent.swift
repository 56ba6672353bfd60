/// What a response holds, without the request it answers (which holds it).
struct ResponseContent: Sendable {
    var status = 0
    var headers = HTTPHeaders()
    var body = Bytes.empty
    var json: JSON?
    var prefixText: String?
    /// The file that the body was written to.
    var file: String?
    var resumeData: ResumeData?
    var error: APIError?
    /// Whether a handler may have seen it, in a process that ended meanwhile.
    var wasDeliveredBefore = false
    var url = ""
    var startTime: Double
    var endTime: Double
    var elapsed: Double
    var metrics = ResponseMetrics()

    /// Shares what stands and does not change any more.
    final class Box: Sendable {
        let content: ResponseContent

        init(_ content: ResponseContent) { self.content = content }
    }

    /// A request that never got an answer.
    init(journey: RequestJourney, error: APIError) {
        self.init(journey: journey)
        self.error = error
    }

    init(journey: RequestJourney, result: ExchangeResult) {
        self.init(journey: journey)
        if let head = result.head {
            status = head.status
            headers = head.headers
            metrics.httpVersion = head.httpVersion
        }
        body = result.body
        metrics.add(result.metrics)
    }

    private init(journey: RequestJourney) {
        startTime = journey.startTime
        elapsed = MonotonicTime.now().seconds(since: journey.started)
        endTime = startTime + elapsed
        url = journey.current?.url ?? ""
        metrics.queued = journey.queued
        metrics.redirects = journey.redirects
        metrics.retries = journey.retries
    }
}

/// What a request took. Times in seconds, of the last exchange; sizes in bytes, of bodies.
public struct ResponseMetrics: Sendable {
    /// Until the name was resolved.
    public internal(set) var nameLookup = 0.0
    /// Until the connection was there.
    public internal(set) var connect = 0.0
    /// Until the TLS handshake was done; 0 without TLS.
    public internal(set) var tls = 0.0
    /// Until the first byte of the response.
    public internal(set) var firstByte = 0.0
    /// The whole exchange, without the time it was queued.
    public internal(set) var total = 0.0
    /// Waiting for a free connection, over all exchanges.
    public internal(set) var queued = 0.0
    /// Redirects followed.
    public internal(set) var redirects = 0
    /// Attempts beyond the first.
    public internal(set) var retries = 0
    public internal(set) var bytesSent: Int64 = 0
    /// As they came over the wire, before decompression.
    public internal(set) var bytesReceived: Int64 = 0
    /// After decompression.
    public internal(set) var bytesDecoded: Int64 = 0
    /// 1.0, 1.1, 2 or 3; 0 when there was no answer.
    public internal(set) var httpVersion = 0.0
    public internal(set) var connectionReused = false
    /// Where the response came from.
    public internal(set) var source = ResponseSource.network
    /// Whether the body came from the cache.
    public var fromCache: Bool { source != .network }

    fileprivate mutating func add(_ exchange: ExchangeMetrics) {
        nameLookup = exchange.nameLookup
        connect = exchange.connect
        tls = exchange.tls
        firstByte = exchange.firstByte
        total = exchange.total
        bytesSent = exchange.bytesSent
        bytesReceived = exchange.bytesReceived
        bytesDecoded = exchange.bytesDecoded
        connectionReused = exchange.connectionReused
        source = exchange.source
    }
}
