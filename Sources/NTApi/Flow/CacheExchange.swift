/// One exchange of a request whose client has a cache: what the cache held, and what to do with the answer.
final class CacheExchange: Sendable {
    /// What to do with the answer and with the cache.
    enum Outcome: Sendable {
        /// Neither changes.
        case none
        /// Store the answer, replacing the stored response.
        case store(CachedResponse, CacheStorage)
        /// The stored response is still valid, and is the answer.
        case confirm(CachedResponse)
        /// The server failed: the stored response is the answer.
        case standIn(CachedResponse)
        /// The stored response cannot be used, and the server's answer has no content: ask the server again.
        case loadAgain
        /// The answer updates the stored response. It answers a HEAD, or a condition of the caller's own.
        case update(CachedResponse)
        /// Stored responses of these URLs may be out of date: remove them.
        case remove([CacheKey])

        /// What an observer hears of it.
        var observed: CacheOutcome {
            switch self {
            case .confirm: .validated
            case .standIn: .stale
            case .none, .store, .loadAgain, .update, .remove: .miss
            }
        }
    }

    let request: CacheRequest
    let use: CacheUse
    let key: CacheKey
    /// The stored response that was selected for the request; nil when there is none.
    let stored: CachedResponse?
    /// Whether the request asked the server to validate `stored`.
    let isConditional: Bool
    /// Whether the body goes to a handler or file, not into the response.
    let isElsewhere: Bool
    /// The turn to load the response for all processes.
    let turn: CacheTurn?
    private let requestTime: Double
    /// Whether the request was shareable when it was sent. Its cookies may be gone when the answer comes.
    private let wasShareable: Bool

    init(
        _ request: CacheRequest, _ use: CacheUse, _ key: CacheKey, stored: CachedResponse? = nil,
        isConditional: Bool = false, isElsewhere: Bool = false, turn: CacheTurn? = nil, requestTime: Double
    ) {
        self.request = request
        self.use = use
        self.key = key
        self.stored = stored
        self.isConditional = isConditional
        self.isElsewhere = isElsewhere
        self.turn = turn
        self.requestTime = requestTime
        wasShareable = use.cache.isShared && request.isShareable
    }

    /// Whether the cache may hold a response that was skipped or found stale, so that the answer may replace it.
    private var mayReplace: Bool { stored != nil || request.policy == .reloadIgnoringCache }

    /// Stores a response. Returns at once.
    func store(_ response: CachedResponse, _ storage: CacheStorage, _ clock: any WaitingClock) {
        var response = response
        if storage != .disk { response.isShared = false }
        use.cache.store(response, key, storage, mayReplace: mayReplace)
        share(response, clock)
    }

    /// Replaces the head of the stored response. Returns at once.
    func update(_ response: CachedResponse, _ clock: any WaitingClock) {
        use.cache.update(response, key)
        // The answer to a HEAD may confirm a body that another process has changed since.
        if !request.isHead { share(response, clock) }
    }

    private func share(_ response: CachedResponse, _ clock: any WaitingClock) {
        guard let shared = use.cache.shared else { return }
        guard response.isShared else {
            if stored?.isShared == true { shared.remove(key.digest, clock) }
            turn?.pass(SharedCache.usualPass)
            return
        }
        let isFresh = response.isFresh(clock.calendarSeconds)
        shared.put(response, key.digest, lastRemoval: turn?.lastRemoval, clock) { [turn] isStored in
            if !isStored {
                // The others do not load it one after the other.
                turn?.pass(SharedCache.briefPass)
            } else if isFresh {
                turn?.leave()
            } else {
                turn?.pass(SharedCache.usualPass)
            }
        }
    }

    /// The head of the server's answer has arrived. If the others cannot use this response, they do not wait for its end.
    func headArrived(_ head: ResponseHead) {
        guard let turn, !(isConditional && head.status == 304) else { return }
        let isLarge = head.headers["Content-Length"].flatMap { Int($0) }.map { $0 > SharedCache.largest } ?? false
        guard isLarge || response(head, .empty, requestTime)?.0.isShared != true else { return }
        turn.pass(head.status >= 500 ? SharedCache.briefPass : SharedCache.usualPass)
    }

    /// The server's answer is stored for nobody.
    func pass(hasFailed: Bool) { turn?.pass(hasFailed ? SharedCache.briefPass : SharedCache.usualPass) }

    /// Whether the request that was sent is the one that was looked up: an interceptor may have changed it.
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
            return updated(stored, head, now).map { .update($0) } ?? .remove([key])
        case .usual: break
        }
        if isConditional, let stored, head.status == 304 {
            return updated(stored, head, now).map { .confirm($0) } ?? .loadAgain
        }
        if request.isHead { return outcomeOfHead(head, now) }
        guard let (response, storage) = response(head, result.body, now) else {
            // The server has replaced the stored response by one that cannot be stored: remove the old one.
            return mayReplace && (200..<300).contains(head.status) ? .remove([key]) : .none
        }
        return .store(response, storage)
    }

    /// The server's answer as a response to store, and where; nil when it is not stored.
    private func response(_ head: ResponseHead, _ body: Bytes, _ now: Double) -> (CachedResponse, CacheStorage)? {
        let storage = isElsewhere ? .none : CacheStorage.of(head, request, now: now)
        guard storage != .none, let selectors = request.selectors(for: head) else { return nil }
        var response = CachedResponse(storing: head, body, selectors, requestTime: requestTime, responseTime: now)
        response.isShared = wasShareable && response.mayBeShared(head, request, now: now)
        return (response, storage)
    }

    /// The stored response with new headers.
    ///
    /// - Returns: nil when they are about another response, when they say that it is not stored any more, or when it
    ///   varies by more headers now. With fewer it stays as it is: many servers leave them out of a 304.
    private func updated(_ stored: CachedResponse, _ head: ResponseHead, _ now: Double) -> CachedResponse? {
        guard var updated = stored.updated(by: head, requestTime: requestTime, responseTime: now),
            CacheControl(updated.head.headers).allowsStoring(updated.head.status),
            let selectors = request.selectors(for: updated.head),
            selectors.allSatisfy({ selector in stored.selectors.contains { $0.name == selector.name } })
        else { return nil }
        let mayBeShared = updated.mayBeShared(head, request, now: now)
        updated.isShared = wasShareable && stored.isShared && mayBeShared
        return updated
    }

    private func outcomeOfHead(_ head: ResponseHead, _ now: Double) -> Outcome {
        guard head.status == 200, let stored else { return .none }
        let length = head.headers["Content-Length"]
        guard length == nil || length == stored.head.headers["Content-Length"],
            let updated = updated(stored, head, now)
        else { return .remove([key]) }
        return .update(updated)
    }

    /// The URL that was changed, and those that the answer names on the same origin (RFC 9111, 4.4).
    private func invalidated(_ head: ResponseHead) -> [CacheKey] {
        var keys = [key]
        guard let own = try? URLParts(request.http.url) else { return keys }
        for name in ["Location", "Content-Location"] {
            guard let text = head.headers.references(name).first,
                let parts = try? URLParts(text, relativeTo: request.http.url), parts.isSameOrigin(as: own)
            else { continue }
            keys.append(CacheKey(parts, partition: use.partition))
        }
        return keys
    }
}

extension CacheExchange {
    /// Where to store the answer to a revalidation. A response that the program wanted in memory only stays there.
    func place(_ storage: CacheStorage) -> CacheStorage {
        guard storage == .disk, let stored, !stored.isOnDisk, !stored.isShared else { return storage }
        return .memory
    }
}

extension ExchangeResult {
    /// Makes a stored response the answer.
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
