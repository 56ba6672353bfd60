/// What a request has been through so far, over all its exchanges.
struct RequestHistory: Sendable {
    var startTime = 0.0
    var started = MonotonicTime.distantFuture
    var deadline = MonotonicTime.distantFuture
    var redirects = 0
    var retries = 0
    var queued = 0.0
    /// The request that was sent last.
    var current: HTTPRequest?
    /// The completed exchanges.
    private(set) var transactions: [TransactionMetrics] = []
    /// Whether the last exchange is missing there, because it can be derived from the response.
    var lacksLast = false

    mutating func begin(_ request: HTTPRequest?, _ now: MonotonicTime, calendar: Double) {
        startTime = calendar
        started = now
        current = request
        if let total = request?.settings.timeouts.total { deadline = started.advanced(bySeconds: total) }
    }

    /// How many exchanges are remembered: a stream of events may take any number of connections.
    private static let rememberedTransactions = 64

    /// An exchange has ended.
    mutating func end(_ result: ExchangeResult, _ now: MonotonicTime) {
        guard let current else { return }
        var metrics = ResponseMetrics()
        metrics.add(result.metrics)
        metrics.queued = result.metrics.queued
        metrics.httpVersion = result.head?.httpVersion ?? 0
        let took = result.metrics.queued + result.metrics.total
        if transactions.count >= Self.rememberedTransactions { transactions.removeFirst() }
        transactions.append(
            TransactionMetrics(
                method: current.method, url: current.url, status: result.head?.status ?? 0,
                startTime: startTime + max(0, now.seconds(since: started) - took), error: result.error,
                metrics: metrics))
    }

    /// The request is sent again for this reason.
    mutating func count(_ reason: Reason) {
        switch reason {
        case .redirect: redirects += 1
        case .credentials, .retry, .reconnect: retries += 1
        case .first, .trust, .inspection, .range, .reload, .interceptor: break
        }
    }
}

extension ResponseMetrics {
    mutating func add(_ exchange: ExchangeMetrics) {
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
