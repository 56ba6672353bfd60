/// Whether a request is answered from the cache (RFC 9111, 4): a pure decision.
enum CacheDecision: Sendable, Equatable {
    /// From the cache, without asking the server.
    case use
    /// Answer from the cache, and revalidate afterwards (RFC 5861, 3).
    case useWhileRevalidating
    /// Ask the server whether the stored response is still valid.
    case validate
    case load
    /// Nothing is stored, and the server must not be asked: 504.
    case fail

    /// - Parameter stored: the stored response that was selected for the request.
    static func decide(_ request: CacheRequest, _ stored: CachedResponse?, now: Double) -> CacheDecision {
        let decision = decideByPolicy(request, stored, now: now)
        guard let condition = request.condition else { return decision }
        // The cache adds no condition of its own, because the server could not answer both.
        if decision == .use, let stored, condition.answer(from: stored) != nil { return .use }
        return request.mayLoad ? .load : .fail
    }

    private static func decideByPolicy(_ request: CacheRequest, _ stored: CachedResponse?, now: Double) -> CacheDecision
    {
        switch request.policy {
        case .reloadIgnoringCache, .noStore: return .load
        case .returnCachedElseLoad: return stored == nil ? .load : .use
        case .returnCachedDontLoad: return stored == nil ? .fail : .use
        case .reloadRevalidating: return stored?.hasValidator == true ? .validate : .load
        case .protocol: break
        }
        guard let stored else { return request.control.onlyIfCached ? .fail : .load }
        let control = CacheControl(stored.head.headers)
        let decision = decide(request.control, control, CacheFreshness(stored, control, now: now))
        switch decision {
        case .use, .useWhileRevalidating: return decision
        case _ where request.control.onlyIfCached: return .fail
        default: return stored.hasValidator ? .validate : .load
        }
    }

    private static func decide(
        _ request: CacheControl, _ response: CacheControl, _ freshness: CacheFreshness
    ) -> CacheDecision {
        guard !request.noCache, !response.noCache, freshness.age <= request.maxAge ?? .max else { return .validate }
        let left = freshness.isFresh ? freshness.lifetime - freshness.age : 0
        if freshness.isFresh, left >= request.minFresh ?? 0 { return .use }
        guard !response.mustRevalidate, request.minFresh == nil else { return .validate }
        if let maxStale = request.maxStale, freshness.staleness <= maxStale { return .use }
        // A request with max-age accepts no older response.
        guard request.maxAge == nil, let window = response.staleWhileRevalidate, freshness.staleness < window else {
            return .validate
        }
        return .useWhileRevalidating
    }

    /// Whether a stored response may replace the answer of a server that has failed (RFC 5861, 4).
    static func standsIn(_ stored: CachedResponse, for request: CacheRequest, now: Double) -> Bool {
        let control = CacheControl(stored.head.headers)
        // A request that insists on the server gets the server's answer, whatever it is.
        guard !request.control.noCache, request.policy != .reloadRevalidating, !control.mustRevalidate,
            !control.noCache,
            let window = request.control.staleIfError ?? control.staleIfError
        else { return false }
        return CacheFreshness(stored, control, now: now).staleness < window
    }
}

extension CacheControl {
    /// RFC 9111, 5.2.2.3 and 5.2.2.5.
    func allowsStoring(_ status: Int) -> Bool { mustUnderstand ? CacheStatus.isUnderstood(status) : !noStore }
}

extension CacheStorage {
    /// Where a private cache may store a response to a GET (RFC 9111, 3).
    ///
    /// A response without a lifetime and without a validator is useful only to the policies that return any stored
    /// response. It is kept in memory, and on disk if such a policy asked for it.
    static func of(_ head: ResponseHead, _ request: CacheRequest, now: Double) -> CacheStorage {
        guard request.role == .usual, !request.isHead, CacheStatus.isKept(head.status) else { return .none }
        let control = CacheControl(head.headers)
        guard control.allowsStoring(head.status) else { return .none }
        let isExplicit = CacheFreshness.isExplicit(head, control)
        guard isExplicit || control.isPublic || control.isPrivate || CacheStatus.isHeuristic(head.status) else {
            return .none
        }
        let takesAnything = [.returnCachedElseLoad, .returnCachedDontLoad].contains(request.policy)
        if takesAnything || hasValidator(head) || (control.staleIfError ?? 0) > 0 { return .disk }
        let response = CachedResponse(head: head, requestTime: now, responseTime: now)
        if !control.noCache, CacheFreshness(response, control, now: now).lifetime > 0 { return .disk }
        return isExplicit || control.noCache ? .none : .memory
    }

    private static func hasValidator(_ head: ResponseHead) -> Bool {
        head.headers["ETag"] != nil || head.headers["Last-Modified"] != nil
    }
}

extension CachedResponse {
    var hasValidator: Bool { head.headers["ETag"] != nil || head.headers["Last-Modified"] != nil }

    /// A response from the server, without the headers that must not be stored (RFC 9111, 3.1).
    init(
        storing head: ResponseHead, _ body: Bytes, _ selectors: [Selector], requestTime: Double, responseTime: Double
    ) {
        var kept = HTTPHeaders()
        let connection = head.headers.connectionNames
        for field in head.headers where !field.isHop(connection) && !field.isNamed("set-cookie") {
            kept.add(field)
        }
        let head = ResponseHead(status: head.status, headers: kept, httpVersion: head.httpVersion)
        self.init(
            head: head, requestTime: requestTime, responseTime: responseTime, selectors: selectors, body: body)
    }

    /// The head to answer with, including its age (RFC 9111, 4).
    func answer(age: Int64) -> ResponseHead {
        var head = head
        head.headers.set("Age", String(age))
        return head
    }
}

// Validation of a stored response (RFC 9111, 4.3).
extension CachedResponse {
    func condition(_ http: HTTPRequest) -> HTTPRequest {
        var http = http
        for (validator, condition) in [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")] {
            guard let field = head.headers.first(where: { $0.isNamed(validator) }),
                HTTPHeaders.canHave(condition, field.value)
            else { continue }
            http.headers.set(condition, toReceived: field)
        }
        return http
    }

    /// This response with the new headers of a 304 or of the answer to a HEAD.
    ///
    /// - Returns: nil when the server's answer is about another response.
    func updated(by news: ResponseHead, requestTime: Double, responseTime: Double) -> CachedResponse? {
        for name in ["ETag", "Last-Modified"] {
            guard let new = news.headers[name] else { continue }
            guard let old = head.headers[name], Self.opaque(old) == Self.opaque(new) else { return nil }
            // The tag is more precise than the date.
            break
        }
        var updated = self
        let connection = news.headers.connectionNames
        var names: Set<String> = []
        for field in news.headers {
            let name = field.name.lowercasedASCII()
            guard !field.isHop(connection), !Self.ofBody.contains(name) else { continue }
            if names.insert(name).inserted {
                updated.head.headers.set(field.name, toReceived: field)
            } else {
                updated.head.headers.add(field)
            }
        }
        // The stored Age is outdated when the new headers have none.
        if news.headers["Age"] == nil { updated.head.headers.remove("Age") }
        updated.requestTime = requestTime
        updated.responseTime = responseTime
        return updated
    }

    /// Whether a 304 to the caller's condition is about this response (RFC 9111, 4.3.4).
    func isMeant(by news: ResponseHead) -> Bool {
        guard let new = news.headers["ETag"] else {
            guard let date = news.headers["Last-Modified"] else { return false }
            return date == head.headers["Last-Modified"]
        }
        guard let old = head.headers["ETag"] else { return false }
        return new == old || new.hasASCIIPrefix("W/") && Self.opaque(new) == Self.opaque(old)
    }

    /// Headers that describe the stored body, and so are not replaced (RFC 9111, 3.2).
    private static let ofBody: Set<String> = [
        "content-length", "content-encoding", "content-range", "content-type", "set-cookie",
    ]

    /// An entity tag without the mark of a weak one.
    static func opaque(_ tag: String) -> Substring { tag.hasASCIIPrefix("W/") ? tag.dropFirst(2) : tag[...] }
}

extension HTTPHeaders {
    /// The names of the headers that are for this connection only.
    fileprivate var connectionNames: Set<String> {
        var names: Set<String> = []
        for line in all("Connection") {
            names.formUnion(line.split(separator: ",").map { String($0.trimmed).lowercasedASCII() })
        }
        return names
    }
}

extension HTTPHeaders.Field {
    fileprivate func isHop(_ connection: Set<String>) -> Bool {
        let name = name.lowercasedASCII()
        return Self.hops.contains(name) || connection.contains(name)
    }

    private static let hops: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
        "proxy-authorization", "te", "transfer-encoding", "upgrade",
    ]
}
