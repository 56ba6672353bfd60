/// Brings a stored response up to date after it was the answer to a request (RFC 5861, 3). Nobody waits for it.
final class CacheRevalidation: ExchangeObserver {
    private let caching: CacheExchange

    private init(_ caching: CacheExchange) { self.caching = caching }

    /// Unless it is on its way already.
    static func begin(_ caching: CacheExchange) {
        let http = caching.request.http
        guard let stored = caching.stored, caching.use.cache.beginRevalidation(caching.key) else { return }
        let total = http.settings.timeouts.total.map { MonotonicTime.now().advanced(bySeconds: $0) }
        let exchange = Exchange(
            request: caching.isConditional ? stored.condition(http) : http, priority: 0,
            deadline: total ?? .distantFuture, reportsProgress: false, observer: CacheRevalidation(caching))
        Runtime.current.engine.transport(for: http.settings).begin(exchange)
    }

    func exchangeDidSend(_ bytes: Int64, of total: Int64?) {}

    func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?) {}

    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute { .memory }

    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        let (cache, key) = (caching.use.cache, caching.key)
        switch caching.outcome(of: result) {
        case .none, .standIn: break
        case .store(let response, let storage): caching.store(response, storage)
        case .confirm(let response), .update(let response): cache.update(response, key)
        case .remove(let keys): for key in keys { cache.remove(key) }
        case .loadAgain: cache.remove(key)
        }
        cache.endRevalidation(key)
    }
}
