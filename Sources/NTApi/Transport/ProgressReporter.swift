/// Reports progress to an observer. Counts never decrease, even when libcurl sends a request again.
struct ProgressReporter {
    private var sent: Int64 = 0
    private var received: Int64 = 0
    private var expected: Int64?
    private var sendTotal: Int64?
    private var toldSent: Int64 = -1
    private var toldReceived: Int64 = -1
    var reportsReceived = true

    mutating func start(total: Int64?, _ observer: any ExchangeObserver) {
        sendTotal = total
        guard let total else { return }
        toldSent = 0
        observer.exchangeDidSend(0, of: total)
    }

    mutating func expect(_ total: Int64?, _ observer: any ExchangeObserver) {
        expected = total
        guard reportsReceived, let total, toldReceived < 0 else { return }
        toldReceived = 0
        observer.exchangeDidReceive(0, decoded: 0, of: total)
    }

    /// - Returns: whether anything moved.
    mutating func update(sent: Int64, received: Int64) -> Bool {
        guard sent != self.sent || received != self.received else { return false }
        self.sent = sent
        self.received = received
        return true
    }

    mutating func report(sendTotal: Int64, decoded: Int64, _ observer: any ExchangeObserver) {
        if sent > toldSent, sent > 0 {
            toldSent = sent
            if sendTotal > 0 { self.sendTotal = sendTotal }
            observer.exchangeDidSend(sent, of: self.sendTotal)
        }
        if reportsReceived, received > toldReceived, received > 0 {
            toldReceived = received
            observer.exchangeDidReceive(received, decoded: decoded, of: expected)
        }
    }

    /// The response is complete, so the totals are known now.
    mutating func finish(_ metrics: ExchangeMetrics, _ observer: any ExchangeObserver) {
        let (sent, received) = (metrics.bytesSent, metrics.bytesReceived)
        // A server may answer before it has the whole body. Then the last report is not the total.
        let isNews = sendTotal == nil ? sent > 0 : sent == sendTotal && sent > toldSent
        if isNews { observer.exchangeDidSend(sent, of: sent) }
        if reportsReceived, expected == nil || received > toldReceived {
            observer.exchangeDidReceive(received, decoded: metrics.bytesDecoded, of: received)
        }
    }
}
