/// An exchange of a request whose client has a cache: what was found there, and what to do about the answer.
final class CacheExchange: Sendable {
    /// What the answer means for the cache, and the cache for the answer.
    enum Outcome: Sendable {
        /// Nothing, neither way.
        case none
        /// It is stored in the place of what was there.
        case store(CachedResponse, CacheStorage)
        /// What is stored still holds, and is the answer.
        case confirm(CachedResponse)
        /// The server has failed: what is stored is the answer.
        case standIn(CachedResponse)
        /// What is stored is of no more use, and the answer tells nothing else: the server is asked once more.
        case loadAgain
        /// The server has told more of what is stored: in answer to a HEAD, or to a condition of the caller's.
        case update(CachedResponse)
        /// What is stored for these URLs may not hold any longer.
        case remove([CacheKey])
    }

    let request: CacheRequest
    let use: CacheUse
    let key: CacheKey
    /// What was selected for the request; nil when there is nothing.
    let stored: CachedResponse?
    /// Whether the server was asked if `stored` still holds.
    let isConditional: Bool
    /// Whether the body goes elsewhere than into the response.
    let isElsewhere: Bool
    private let requestTime: Double

    init(
        _ request: CacheRequest, _ use: CacheUse, _ key: CacheKey, stored: CachedResponse? = nil,
        isConditional: Bool = false, isElsewhere: Bool = false, requestTime: Double
    ) {
        self.request = request
        self.use = use
        self.key = key
        self.stored = stored
        self.isConditional = isConditional
        self.isElsewhere = isElsewhere
        self.requestTime = requestTime
    }

    /// Whether something may be stored that was not looked at, or was found to be too old.
    private var mayReplace: Bool { stored != nil || request.policy == .reloadIgnoringCache }

    /// Stores a response. Does not wait.
    func store(_ response: CachedResponse, _ storage: CacheStorage) {
        use.cache.store(response, key, storage, mayReplace: mayReplace)
    }

    /// Whether what was sent is what was looked up: an interceptor may have changed it on the way.
    func isMeant(by answer: Answer) -> Bool {
        let http = request.http
        guard answer.sent.method == http.method, answer.sent.url == http.url else { return false }
        guard let head = answer.result.head else { return true }
        return CacheRequest(answer.sent).selectors(for: head) == request.selectors(for: head)
    }

    func outcome(of result: ExchangeResult, now: Double) -> Outcome {
        let hasFailed = result.error.map { [.network, .noInternet, .timeout].contains($0.code) }
        if hasFailed ?? result.head.map({ CacheStatus.isServerError($0.status) }) ?? false,
            request.role == .usual, let stored, CacheDecision.standsIn(stored, for: request, now: now)
        {
            return .standIn(stored)
        }
        guard result.error == nil, !result.isCut, let head = result.head else { return .none }
        switch request.role {
        case .none: return .none
        case .invalidates: return (200..<400).contains(head.status) ? .remove(invalidated(head)) : .none
        case .conditional:
            guard head.status == 304, let stored, stored.isMeant(by: head) else { return .none }
            let updated = stored.updated(by: head, requestTime: requestTime, responseTime: now)
            return updated.map { .update($0) } ?? .none
        case .usual: break
        }
        if isConditional, let stored, head.status == 304 {
            let updated = stored.updated(by: head, requestTime: requestTime, responseTime: now)
            return updated.map { .confirm($0) } ?? .loadAgain
        }
        if request.isHead { return outcomeOfHead(head, now) }
        let storage = isElsewhere ? .none : CacheStorage.of(head, request, now: now)
        guard storage != .none, let selectors = request.selectors(for: head) else {
            // What the server has replaced by something that is not to be kept is not to be found any more either.
            return mayReplace && (200..<300).contains(head.status) ? .remove([key]) : .none
        }
        let response = CachedResponse(
            storing: head, result.body, selectors, requestTime: requestTime, responseTime: now)
        return .store(response, storage)
    }

    private func outcomeOfHead(_ head: ResponseHead, _ now: Double) -> Outcome {
        guard head.status == 200, let stored else { return .none }
        let length = head.headers["Content-Length"]
        guard length == nil || length == stored.head.headers["Content-Length"],
            let updated = stored.updated(by: head, requestTime: requestTime, responseTime: now)
        else { return .remove([key]) }
        return .update(updated)
    }

    /// The URL that was changed, and those that the answer names, on the same origin (RFC 9111, 4.4).
    private func invalidated(_ head: ResponseHead) -> [CacheKey] {
        var keys = [key]
        guard let own = try? URLParts(request.http.url) else { return keys }
        for name in ["Location", "Content-Location"] {
            guard let text = head.headers.all(name).first,
                let parts = try? URLParts(text, relativeTo: request.http.url), parts.isSameOrigin(as: own)
            else { continue }
            keys.append(CacheKey(parts, partition: use.partition))
        }
        return keys
    }
}

extension CacheExchange {
    /// Where the answer to a revalidation is stored: a response that the program wanted in memory alone stays there.
    func place(_ storage: CacheStorage) -> CacheStorage {
        storage == .disk && stored?.isOnDisk == false ? .memory : storage
    }
}

extension ExchangeResult {
    /// A stored response is the answer.
    mutating func take(
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
