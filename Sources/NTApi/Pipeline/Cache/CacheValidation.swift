extension CachedResponse {
    var hasValidator: Bool { head.headers["ETag"] != nil || head.headers["Last-Modified"] != nil }

    /// A response that has just come, without what is not to be kept of it (RFC 9111, 3.1).
    init(
        storing head: ResponseHead, _ body: Bytes, _ selectors: [Selector], requestTime: Double, responseTime: Double
    ) {
        var kept = HTTPHeaders()
        let connection = head.headers.connectionNames
        for field in head.headers where !field.isHop(connection) && !field.isNamed("set-cookie") {
            kept.add(field.name, field.value)
        }
        let head = ResponseHead(status: head.status, headers: kept, httpVersion: head.httpVersion)
        self.init(
            head: head, requestTime: requestTime, responseTime: responseTime, selectors: selectors, body: body)
    }

    /// As it is answered with: with its age (RFC 9111, 4).
    func answer(age: Int64) -> ResponseHead {
        var head = head
        head.headers.set("Age", String(age))
        return head
    }
}

// Asking whether a stored response still holds (RFC 9111, 4.3).
extension CachedResponse {
    func condition(_ http: HTTPRequest) -> HTTPRequest {
        var http = http
        for (validator, condition) in [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")] {
            guard let value = head.headers[validator], HTTPHeaders.canHave(condition, value) else { continue }
            http.headers.set(condition, value)
        }
        return http
    }

    /// This response, of which the server has just said something new: with a 304, or in answer to a HEAD.
    ///
    /// - Returns: nil when it has spoken of another one.
    func updated(by news: ResponseHead, requestTime: Double, responseTime: Double) -> CachedResponse? {
        for name in ["ETag", "Last-Modified"] {
            guard let new = news.headers[name] else { continue }
            guard let old = head.headers[name], Self.opaque(old) == Self.opaque(new) else { return nil }
            // The tag says more than the date.
            break
        }
        var updated = self
        let connection = news.headers.connectionNames
        var names: Set<String> = []
        for field in news.headers {
            let name = field.name.lowercasedASCII()
            guard !field.isHop(connection), !Self.ofBody.contains(name) else { continue }
            if names.insert(name).inserted {
                updated.head.headers.set(field.name, field.value)
            } else {
                updated.head.headers.add(field.name, field.value)
            }
        }
        // An age that is not confirmed is that of the old response.
        if news.headers["Age"] == nil { updated.head.headers.remove("Age") }
        updated.requestTime = requestTime
        updated.responseTime = responseTime
        return updated
    }

    /// Whether a 304 to a condition that is not the cache's own is about this response (RFC 9111, 4.3.4).
    func isMeant(by news: ResponseHead) -> Bool {
        guard let new = news.headers["ETag"] else {
            guard let date = news.headers["Last-Modified"] else { return false }
            return date == head.headers["Last-Modified"]
        }
        guard let old = head.headers["ETag"] else { return false }
        return new == old || new.hasASCIIPrefix("W/") && Self.opaque(new) == Self.opaque(old)
    }

    /// What tells of the stored body, and so is not changed (RFC 9111, 3.2).
    private static let ofBody: Set<String> = [
        "content-length", "content-encoding", "content-range", "content-type", "set-cookie",
    ]

    /// An entity tag without the sign of weakness.
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
