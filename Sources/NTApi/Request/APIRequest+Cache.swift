// The way of a request whose client has a cache: before its exchange, which may not be needed, and after it.
extension APIRequest {
    /// As `send`, unless what is stored is the answer.
    func begin(_ http: HTTPRequest, _ use: CacheUse) -> Bool {
        let asked = CacheRequest(http)
        let (isElsewhere, waits) = shared.withLock { shared in
            (shared.handlers.takesBody || shared.download != nil, shared.transport != nil)
        }
        let mayBeAnswered = asked.mayBeAnswered && !isElsewhere
        guard mayBeAnswered || asked.mayLoad else { return answer(http, notCached) }
        guard asked.role != .none, let parts = try? URLParts(http.url) else { return send(http, nil) }
        let key = CacheKey(parts, partition: use.partition)
        guard mayBeAnswered, asked.policy != .reloadIgnoringCache else {
            return send(http, CacheExchange(asked, use, key, isElsewhere: isElsewhere))
        }
        if let stored = asked.select(use.cache.variants(key)) { return answer(asked, use, key, stored) }
        guard use.cache.isOnDisk else { return answer(asked, use, key, nil) }
        // Whoever drives the exchange waits for it anyway, and what follows a first exchange is on a worker.
        if waits { return answer(asked, use, key, use.cache.read(key, asked.select)) }
        shared.withLock { $0.journey.current = http }
        onWorker { deliveries in
            let stored = use.cache.read(key, asked.select)
            if !self.answer(asked, use, key, stored) { self.finishCancelled(deliveries) }
        }
        return true
    }

    private func answer(_ asked: CacheRequest, _ use: CacheUse, _ key: CacheKey, _ stored: CachedResponse?) -> Bool {
        let http = asked.http
        // What is larger than the request allows is left to the server to be refused.
        let fits = Int64(stored?.body.count ?? 0) <= http.settings.maximumResponseSize ?? .max
        let found = fits ? stored : nil
        switch (CacheDecision.decide(asked, found, now: use.cache.now), found) {
        case (.use, let found?): return answer(http, found.result(asked, .cache, now: use.cache.now))
        case (.useWhileRevalidating, let found?):
            revalidate(asked, use, key)
            return answer(http, found.result(asked, .cache, now: use.cache.now))
        case (.validate, let found?):
            let caching = CacheExchange(asked, use, key, stored: found, isConditional: true)
            return send(http, caching, conditional: found.condition(http))
        case (.fail, _): return answer(http, notCached)
        case (.load, _), (_, nil): return send(http, CacheExchange(asked, use, key, stored: found))
        }
    }

    private func send(_ http: HTTPRequest, _ caching: CacheExchange?, conditional: HTTPRequest? = nil) -> Bool {
        shared.withLock { $0.caching = caching }
        return send(http, conditional: conditional)
    }

    /// Without an exchange. Where no code of the user's is in the way, the response is on its way to its thread when this
    /// returns.
    private func answer(_ http: HTTPRequest, _ result: ExchangeResult) -> Bool {
        let isCancelled = shared.withLock { shared in
            shared.journey.current = http
            shared.caching = nil
            return shared.machine.isCancelled
        }
        guard !isCancelled else { return false }
        if asksForResponse(result) {
            let now = now
            shared.withLock { $0.journey.end(result, now) }
            onWorker { self.askForResponse(result, http, $0) }
        } else {
            deliver {
                self.showStored(result, $0)
                self.exchangeDidEnd(result, $0)
            }
        }
        return true
    }

    private func asksForResponse(_ result: ExchangeResult) -> Bool {
        result.error == nil && result.head.map { $0.status < 300 } ?? false && asks(for: .response)
    }

    /// The head is there, as with any other response, and so is the body, which nobody has seen.
    private func askForResponse(_ result: ExchangeResult, _ http: HTTPRequest, _ deliveries: DeliveryBatch) {
        leaveTransport()
        ask(.response, result.head, deliveries) { answer, deliveries in
            self.decisionIsOver()
            guard case .download(let place) = answer else {
                self.showStored(result, deliveries)
                return self.proceed(result, deliveries)
            }
            // A file is written as it comes over the network.
            do throws(APIError) {
                let target = try DownloadTarget(place)
                self.shared.withLock { shared in
                    shared.download = Download(target)
                    shared.isDecided = true
                }
                if !self.send(http, nil) { self.finishCancelled(deliveries) }
            } catch {
                self.fail(result, error, deliveries)
            }
        }
    }

    /// There is nothing in the cache, and the server may not be asked (RFC 9111, 5.2.1.7).
    private var notCached: ExchangeResult {
        var result = ExchangeResult(head: ResponseHead(status: 504, headers: HTTPHeaders(), httpVersion: 1.1))
        result.metrics.source = .cache
        let reason = "the cache has nothing to answer \(summary) with, and the server may not be asked"
        result.error = APIError(domain: .http, code: .notCached, message: reason)
        return result
    }

    // MARK: Afterwards. On a worker, or on the thread of a caller that waits

    func settle(_ caching: CacheExchange, _ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        let (cache, key) = (caching.use.cache, caching.key)
        var result = result
        switch caching.outcome(of: result) {
        case .none: break
        case .remove(let keys): for key in keys { cache.remove(key) }
        case .update(let response): cache.update(response, key)
        case .store(let response, let storage):
            guard asks(for: .cache) else {
                caching.store(response, isRevalidation ? caching.place(storage) : storage)
                break
            }
            return askWhereToStore(response, storage, caching, result, deliveries)
        case .confirm(let response):
            cache.update(response, key)
            result.take(response, caching.request, .validatedCache, now: cache.now)
            if asksForResponse(result) { return askForResponse(result, caching.request.http, deliveries) }
            showStored(result, deliveries)
        case .standIn(let response):
            result.take(response, caching.request, .cache, now: cache.now)
            showStored(result, deliveries)
        case .loadAgain:
            cache.remove(key)
            let http = caching.request.http
            if !send(http, CacheExchange(caching.request, caching.use, key)) { finishCancelled(deliveries) }
            return
        }
        proceed(result, deliveries)
    }

    private func askWhereToStore(
        _ response: CachedResponse, _ storage: CacheStorage, _ caching: CacheExchange, _ result: ExchangeResult,
        _ deliveries: DeliveryBatch
    ) {
        let proposed = caching.use.cache.isOnDisk ? storage : .memory
        leaveTransport()
        ask(.cache, result.head, proposedStorage: proposed, deliveries) { answer, deliveries in
            self.decisionIsOver()
            var storage = proposed
            if case .store(let other) = answer { storage = other }
            if !self.isCancelled { caching.store(response, storage) }
            self.proceed(result, deliveries)
        }
    }
}

extension CachedResponse {
    fileprivate func result(_ request: CacheRequest, _ source: ResponseSource, now: Double) -> ExchangeResult {
        var result = ExchangeResult()
        result.take(self, request, source, now: now)
        return result
    }
}

extension ExchangeResult {
    /// A stored response is the answer.
    fileprivate mutating func take(
        _ response: CachedResponse, _ request: CacheRequest, _ source: ResponseSource, now: Double
    ) {
        let age = CacheFreshness(response, CacheControl(response.head.headers), now: now).age
        let answer = request.condition?.answer(from: response) ?? .whole
        head = answer.head(from: response.answer(age: age), of: response.body.count)
        error = nil
        question = nil
        switch answer {
        case .whole: body = request.isHead ? .empty : response.body
        case .part(let part): takePart(part, of: response.body)
        case .notModified, .unsatisfied: body = .empty
        }
        metrics.source = source
        metrics.bytesDecoded = Int64(body.count)
    }

    private mutating func takePart(_ part: Range<Int>, of whole: Bytes) {
        guard part.count < whole.count else {
            body = whole
            return
        }
        body = Bytes()
        let source = UnsafeRawBufferPointer(rebasing: whole.buffer[part])
        guard body.reserve(part.count), body.append(source) else {
            error = EasyOptions.outOfMemory
            return
        }
    }
}
