/// Times and counts of a request over all its exchanges: see ``APIClient/metricsCollected(_:_:)``.
public struct RequestMetrics: Sendable {
    /// The exchanges in order, at most the last 65. The last one's answer is the response.
    public let transactions: [TransactionMetrics]
    /// Seconds since 1970-01-01 00:00 UTC.
    public let startTime: Double
    /// Seconds from start to end, on a clock that never jumps.
    public let elapsed: Double
    /// Redirects followed.
    public let redirects: Int
    /// Further attempts: by a retry policy, after a challenge, with another token, or of a stream that reconnects.
    public let retries: Int
}

extension APIResponse {
    /// The metrics of the request, with each exchange.
    public var requestMetrics: RequestMetrics {
        let content = self.content
        var transactions = content.transactions
        if content.lacksLastTransaction, let method = request.httpRequest?.method {
            var metrics = content.metrics
            metrics.redirects = 0
            metrics.retries = 0
            let before = transactions.reduce(0) { $0 + $1.metrics.queued }
            metrics.queued -= before
            transactions.append(
                TransactionMetrics(
                    method: method, url: content.url, status: content.status,
                    startTime: max(content.startTime, content.endTime - metrics.queued - metrics.total),
                    error: nil, metrics: metrics))
        }
        return RequestMetrics(
            transactions: transactions, startTime: content.startTime, elapsed: content.elapsed,
            redirects: content.metrics.redirects, retries: content.metrics.retries)
    }
}

extension RequestMetrics {
    /// For languages that have no such type; the names are those of the properties.
    package var json: JSON {
        [
            "startTime": JSON(startTime), "elapsed": JSON(elapsed), "redirects": JSON(redirects),
            "retries": JSON(retries), "transactions": JSON(transactions.map(\.json)),
        ]
    }
}

extension TransactionMetrics {
    fileprivate var json: JSON {
        [
            "method": JSON(method), "url": JSON(url), "status": JSON(status), "startTime": JSON(startTime),
            "error": error.map { JSON($0.message) } ?? .null,
            "nameLookup": JSON(metrics.nameLookup), "connect": JSON(metrics.connect), "tls": JSON(metrics.tls),
            "firstByte": JSON(metrics.firstByte), "total": JSON(metrics.total), "queued": JSON(metrics.queued),
            "bytesSent": JSON(metrics.bytesSent), "bytesReceived": JSON(metrics.bytesReceived),
            "bytesDecoded": JSON(metrics.bytesDecoded), "httpVersion": JSON(metrics.httpVersion),
            "connectionReused": JSON(metrics.connectionReused), "fromCache": JSON(metrics.fromCache),
        ]
    }
}
