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
