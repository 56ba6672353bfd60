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
    fileprivate let last: ResponseMetrics
    fileprivate let endTime: Double
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
            redirects: content.metrics.redirects, retries: content.metrics.retries,
            last: content.metrics, endTime: content.endTime)
    }
}

// For languages that have no such types; the names are those of the properties.

extension APIRequest {
    /// The numbers of the request as they are now.
    ///
    /// - Parameter metrics: nil while there is no response.
    package func numbers(_ metrics: RequestMetrics?) -> JSON {
        let (sent, received) = (bytesSent, bytesReceived)
        let progress: JSON = [
            "bytesSent": JSON(sent.bytes), "bytesExpectedToSend": sent.total.map { JSON($0) } ?? .null,
            "bytesReceived": JSON(received.bytes), "bytesExpectedToReceive": received.total.map { JSON($0) } ?? .null,
            "bytesDecoded": JSON(bytesDecoded),
        ]
        return JSON([("progress", progress)] + (metrics?.members ?? []))
    }
}

extension RequestMetrics {
    fileprivate var members: [(String, JSON)] {
        [
            ("startTime", JSON(startTime)), ("endTime", JSON(endTime)), ("elapsed", JSON(elapsed)),
            ("redirects", JSON(redirects)), ("retries", JSON(retries)),
        ] + last.members + [("transactions", JSON(transactions.map(\.json)))]
    }
}

extension TransactionMetrics {
    fileprivate var json: JSON {
        JSON(
            [
                ("method", JSON(method)), ("url", JSON(url)), ("status", JSON(status)), ("startTime", JSON(startTime)),
                ("error", error.map { JSON($0.message) } ?? .null),
            ] + metrics.members)
    }
}

extension ResponseMetrics {
    fileprivate var members: [(String, JSON)] {
        [
            ("nameLookup", JSON(nameLookup)), ("connect", JSON(connect)), ("tls", JSON(tls)),
            ("firstByte", JSON(firstByte)), ("total", JSON(total)), ("queued", JSON(queued)),
            ("bytesSent", JSON(bytesSent)), ("bytesReceived", JSON(bytesReceived)),
            ("bytesDecoded", JSON(bytesDecoded)), ("httpVersion", JSON(httpVersion)),
            ("connectionReused", JSON(connectionReused)), ("fromCache", JSON(fromCache)),
        ]
    }
}
