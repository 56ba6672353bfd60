import Testing

@testable import NTApi

/// When a stored response is used, and which responses are stored. Unit tests with real headers.
@Suite struct CacheDecisionTests {
    private func request(
        _ control: String? = nil, policy: CachePolicy = .protocol, method: String = "GET",
        _ headers: [(String, String)] = []
    ) -> CacheRequest {
        var http = HTTPRequest(method: method, url: "http://h/")
        http.settings.cachePolicy = policy
        for (name, value) in headers { http.headers.add(name, value) }
        if let control { http.headers.add("Cache-Control", control) }
        return CacheRequest(http)
    }

    private func head(_ status: Int = 200, _ headers: [(String, String)]) -> ResponseHead {
        ResponseHead(
            status: status, headers: HTTPHeaders(headers.map { (name: $0.0, value: $0.1) }), httpVersion: 1.1)
    }

    /// A response that was stored at the time 1000.
    private func stored(_ control: String, _ headers: [(String, String)] = [("ETag", "\"1\"")]) -> CachedResponse {
        CachedResponse(head: head(200, [("Cache-Control", control)] + headers), requestTime: 1000, responseTime: 1000)
    }

    private func decide(_ request: CacheRequest, _ stored: CachedResponse?, age: Double = 0) -> CacheDecision {
        CacheDecision.decide(request, stored, now: 1000 + age)
    }

    @Test func freshIsUsedAndStaleIsValidated() {
        #expect(decide(request(), stored("max-age=10"), age: 9) == .use)
        #expect(decide(request(), stored("max-age=10"), age: 10) == .validate)
        #expect(decide(request(), stored("max-age=10", []), age: 10) == .load)
        #expect(decide(request(), stored("max-age=10", [("Last-Modified", "x")]), age: 10) == .validate)
        #expect(decide(request(), stored("max-age=10, no-cache"), age: 1) == .validate)
        #expect(decide(request(), stored("no-cache=\"x\", max-age=10"), age: 1) == .validate)
        #expect(decide(request(), nil) == .load)
    }

    @Test func requestsMayWantLess() {
        #expect(decide(request("no-cache"), stored("max-age=10")) == .validate)
        #expect(decide(request("max-age=5"), stored("max-age=10"), age: 5) == .use)
        #expect(decide(request("max-age=5"), stored("max-age=10"), age: 6) == .validate)
        #expect(decide(request("max-age=0"), stored("max-age=10"), age: 1) == .validate)
        #expect(decide(request("min-fresh=5"), stored("max-age=10"), age: 5) == .use)
        #expect(decide(request("min-fresh=5"), stored("max-age=10"), age: 6) == .validate)
        #expect(decide(request("min-fresh=5, max-stale"), stored("max-age=10"), age: 6) == .validate)
    }

    @Test func requestsMayTakeMore() {
        #expect(decide(request("max-stale"), stored("max-age=10"), age: 1_000_000) == .use)
        #expect(decide(request("max-stale=5"), stored("max-age=10"), age: 15) == .use)
        #expect(decide(request("max-stale=5"), stored("max-age=10"), age: 16) == .validate)
        #expect(decide(request("max-stale"), stored("max-age=10, must-revalidate"), age: 11) == .validate)
        #expect(decide(request("max-stale"), stored("max-age=10, no-cache"), age: 11) == .validate)
        #expect(decide(request("max-stale, max-age=12"), stored("max-age=10"), age: 12) == .use)
        #expect(decide(request("max-stale, max-age=12"), stored("max-age=10"), age: 13) == .validate)
    }

    @Test func onlyIfCachedNeverLoads() {
        #expect(decide(request("only-if-cached"), nil) == .fail)
        #expect(decide(request("only-if-cached"), stored("max-age=10"), age: 5) == .use)
        #expect(decide(request("only-if-cached"), stored("max-age=10"), age: 15) == .fail)
        #expect(decide(request("only-if-cached, max-stale"), stored("max-age=10"), age: 15) == .use)
    }

    @Test func staleWhileRevalidate() {
        let response = stored("max-age=10, stale-while-revalidate=5")
        #expect(decide(request(), response, age: 9) == .use)
        #expect(decide(request(), response, age: 14) == .useWhileRevalidating)
        #expect(decide(request(), response, age: 15) == .validate)
        #expect(decide(request("max-age=100"), response, age: 12) == .validate)
        #expect(decide(request("no-cache"), response, age: 12) == .validate)
        let strict = stored("max-age=10, stale-while-revalidate=5, must-revalidate")
        #expect(decide(request(), strict, age: 12) == .validate)
    }

    @Test func policies() {
        let old = stored("max-age=10, must-revalidate")
        for (policy, without, with) in [
            (CachePolicy.reloadIgnoringCache, CacheDecision.load, CacheDecision.load),
            (.returnCachedElseLoad, .load, .use), (.returnCachedDontLoad, .fail, .use),
            (.reloadRevalidating, .load, .validate),
        ] {
            #expect(decide(request(policy: policy), nil) == without)
            #expect(decide(request(policy: policy), old, age: 1000) == with)
        }
        #expect(decide(request(policy: .reloadRevalidating), stored("max-age=10", [])) == .load)
    }

    @Test func standsInForAServerThatFails() {
        func standsIn(_ control: String, _ request: CacheRequest, age: Double) -> Bool {
            CacheDecision.standsIn(stored(control), for: request, now: 1000 + age)
        }
        #expect(standsIn("max-age=10, stale-if-error=5", request(), age: 14))
        #expect(!standsIn("max-age=10, stale-if-error=5", request(), age: 15))
        #expect(!standsIn("max-age=10", request(), age: 11))
        #expect(standsIn("max-age=10", request("stale-if-error=5"), age: 11))
        #expect(!standsIn("max-age=10, must-revalidate, stale-if-error=5", request(), age: 11))
        #expect(!standsIn("max-age=10, stale-if-error=5", request("no-cache"), age: 11))
        #expect(!standsIn("max-age=10, stale-if-error=5", request(policy: .reloadRevalidating), age: 11))
    }

    @Test func conditionsOfTheCallersAreJudgedWhereFresh() {
        func request(_ control: String? = nil, policy: CachePolicy = .protocol, _ tag: String = "\"1\"") -> CacheRequest
        {
            self.request(control, policy: policy, [("If-None-Match", tag)])
        }
        let fresh = stored("max-age=10")
        #expect(decide(request(), fresh, age: 9) == .use && decide(request(nil, "\"2\""), fresh, age: 9) == .use)
        #expect(decide(request(), nil) == .load)
        // The cache cannot add its own condition beside the caller's.
        #expect(decide(request(), fresh, age: 10) == .load)
        #expect(decide(request(), stored("max-age=10, stale-while-revalidate=5"), age: 12) == .load)
        #expect(decide(request("no-cache"), fresh) == .load && decide(request(), stored("no-cache")) == .load)
        #expect(decide(request(policy: .reloadIgnoringCache), fresh) == .load)
        #expect(decide(request(policy: .reloadRevalidating), fresh) == .load)
        #expect(decide(request(policy: .returnCachedElseLoad), fresh, age: 20) == .use)
        #expect(decide(request(policy: .returnCachedDontLoad), fresh, age: 20) == .use)
        #expect(decide(request("only-if-cached"), fresh, age: 9) == .use)
        #expect(decide(request("only-if-cached"), fresh, age: 10) == .fail)
        #expect(decide(request("max-stale"), fresh, age: 20) == .use)
        // Only the server can answer a range of an encoded response.
        let encoded = stored("max-age=10", [("Content-Encoding", "gzip")])
        let range = [("Range", "bytes=0-1")]
        #expect(decide(self.request(range), encoded) == .load)
        #expect(decide(self.request(policy: .returnCachedDontLoad, range), encoded) == .fail)
    }

    @Test func rolesOfRequests() {
        #expect(request().role == .usual && request(method: "HEAD").role == .usual)
        #expect(request("no-store").role == .none)
        for method in ["OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH"] {
            #expect(request(method: method).role == .none)
        }
        for method in ["POST", "PUT", "DELETE", "PATCH", "PURGE", "PROPPATCH", "query"] {
            #expect(request(method: method).role == .invalidates)
        }
        for name in [
            "Range", "if-none-match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Host",
        ] {
            #expect(request([(name, "x")]).role == .none)
        }
        let tag = ("If-None-Match", "\"1\"")
        for headers in [[tag], [("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], [("range", "bytes=0-1")]] {
            #expect(request(headers).condition != nil && request(headers).mayBeAnswered)
        }
        for headers in [[tag, ("If-Match", "*")], [tag, ("Host", "h")], [tag, ("Range", "x")]] {
            #expect(request(headers).role == .none)
        }
        #expect(request(nil, method: "POST", [tag]).role == .invalidates && request("no-store", [tag]).role == .none)
        var http = HTTPRequest(method: "GET", url: "https://h/")
        http.settings.allowsInvalidCertificate = true
        #expect(CacheRequest(http).role == .none)
    }

    private func request(_ headers: [(String, String)]) -> CacheRequest { request(nil, method: "GET", headers) }

    private func request(_ control: String, _ headers: [(String, String)]) -> CacheRequest {
        request(control, method: "GET", headers)
    }

    private func storage(
        _ headers: [(String, String)], status: Int = 200, _ request: CacheRequest? = nil
    ) -> CacheStorage {
        CacheStorage.of(head(status, headers), request ?? self.request(), now: 784_111_777)
    }

    @Test func whatIsStored() {
        #expect(storage([("Cache-Control", "max-age=1")]) == .disk)
        #expect(storage([("Expires", "Sun, 06 Nov 1994 08:50:37 GMT")]) == .disk)
        #expect(storage([("ETag", "\"1\"")]) == .disk && storage([("Last-Modified", "x")]) == .disk)
        #expect(storage([("Cache-Control", "private, max-age=1")]) == .disk)
        // Without any directive, a stored response is rarely useful.
        #expect(storage([]) == .memory && storage([("Cache-Control", "private")]) == .memory)
        #expect(storage([], request(policy: .returnCachedElseLoad)) == .disk)
        #expect(storage([("Cache-Control", "max-age=0")]) == .none)
        #expect(storage([("Cache-Control", "no-cache")]) == .none && storage([("Expires", "0")]) == .none)
        #expect(storage([("Cache-Control", "max-age=0"), ("ETag", "\"1\"")]) == .disk)
        #expect(storage([("Cache-Control", "max-age=1, no-store")]) == .none)
        #expect(storage([("Cache-Control", "max-age=1"), ("ETag", "\"1\"")], request("no-store")) == .none)
        #expect(storage([("Cache-Control", "max-age=1")], request(method: "HEAD")) == .none)
        #expect(storage([("Cache-Control", "max-age=1")], request(method: "POST")) == .none)
        #expect(storage([("Cache-Control", "max-age=1")], request([("Authorization", "Basic x")])) == .disk)
    }

    @Test(arguments: [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
    func keptWithoutBeingTold(_ status: Int) {
        #expect(storage([], status: status) == .memory && storage([("ETag", "\"1\"")], status: status) == .disk)
    }

    @Test(arguments: [201, 202, 302, 303, 307, 400, 403, 500, 503])
    func keptWhenTold(_ status: Int) {
        #expect(storage([("ETag", "\"1\"")], status: status) == .none)
        #expect(storage([("Cache-Control", "max-age=1")], status: status) == .disk)
    }

    @Test(arguments: [206, 304, 401, 407, 412, 416])
    func neverKept(_ status: Int) {
        #expect(storage([("Cache-Control", "max-age=1, public"), ("ETag", "\"1\"")], status: status) == .none)
    }

    @Test func mustUnderstandOutdoesNoStore() {
        let control = [("Cache-Control", "must-understand, no-store, max-age=1")]
        #expect(storage(control) == .disk)
        #expect(storage(control, status: 499) == .none)
        #expect(storage([("Cache-Control", "must-understand, max-age=1")], status: 499) == .none)
    }
}
