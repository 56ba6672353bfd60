import Testing

@testable import NTApi

/// What the cache does with a response. Unit tests with made-up responses.
@Suite struct CacheExchangeTests {
    private let time = TestTime(784_111_777)

    private func http(_ method: String = "GET", _ headers: [(String, String)] = []) -> HTTPRequest {
        HTTPRequest(
            method: method, url: "http://h/a/b?c", headers: HTTPHeaders(headers.map { (name: $0.0, value: $0.1) }))
    }

    private func head(_ status: Int = 200, _ headers: [(String, String)]) -> ResponseHead {
        ResponseHead(
            status: status, headers: HTTPHeaders(headers.map { (name: $0.0, value: $0.1) }), httpVersion: 1.1)
    }

    private func exchange(
        _ http: HTTPRequest, stored: CachedResponse? = nil, isConditional: Bool = false, isElsewhere: Bool = false
    ) throws -> CacheExchange {
        let use = CacheUse(time.cache(), http.settings.values)
        return CacheExchange(
            CacheRequest(http), use, CacheKey(try URLParts(http.url), partition: ""), stored: stored,
            isConditional: isConditional, isElsewhere: isElsewhere, requestTime: use.cache.now)
    }

    private func stored(
        _ headers: [(String, String)], of http: HTTPRequest? = nil, status: Int = 200
    ) throws -> CachedResponse {
        let head = head(status, headers)
        let selectors = try #require(CacheRequest(http ?? self.http()).selectors(for: head))
        return CachedResponse(storing: head, .empty, selectors, requestTime: time.now, responseTime: time.now)
    }

    // MARK: Vary

    @Test func variantsAreToldByWhatVaryNames() throws {
        let english = http("GET", [("Accept-Language", "en"), ("Accept", "x/y")])
        let german = http("GET", [("accept-language", "de"), ("Accept", "x/z")])
        let variants = [
            try stored([("Vary", "Accept-Language")], of: english),
            try stored([("Vary", "accept-language")], of: german),
        ]
        #expect(CacheRequest(english).select(variants)?.selectors == variants[0].selectors)
        #expect(CacheRequest(german).select(variants)?.selectors == variants[1].selectors)
        #expect(CacheRequest(http()).select(variants) == nil)
        // White space does not matter, but the order does.
        let spaced = http("GET", [("Accept-Language", "en,  de")])
        let other = http("GET", [("Accept-Language", "en, de")])
        #expect(CacheRequest(other).select([try stored([("Vary", "Accept-Language")], of: spaced)]) != nil)
        #expect(
            CacheRequest(http("GET", [("Accept-Language", "de, en")])).select(
                [try stored([("Vary", "Accept-Language")], of: spaced)]) == nil)
        // A header that was absent must be absent again.
        #expect(CacheRequest(english).select([try stored([("Vary", "Accept-Language")])]) == nil)
        #expect(CacheRequest(http()).select([try stored([("Vary", "Accept-Language, X")])]) != nil)
    }

    @Test func starMatchesNothing() throws {
        for vary in ["*", "Accept, *"] {
            #expect(CacheRequest(http()).selectors(for: head(200, [("Vary", vary)])) == nil)
        }
        let outcome = try exchange(http()).outcome(
            of: ExchangeResult(head: head(200, [("Vary", "*"), ("Cache-Control", "max-age=9")])))
        guard case .none = outcome else { return #expect(Bool(false), "\(outcome)") }
    }

    @Test func oneUsersAnswerIsNoOthers() throws {
        let alice = http("GET", [("Authorization", "Basic YTph")])
        let bob = http("GET", [("Authorization", "Basic Yjpi")])
        let answer = try stored([("Cache-Control", "public, max-age=9")], of: alice)
        #expect(CacheRequest(alice).select([answer]) != nil)
        #expect(CacheRequest(bob).select([answer]) == nil && CacheRequest(http()).select([answer]) == nil)
        let everyones = try stored([("Cache-Control", "max-age=9")])
        #expect(CacheRequest(http()).select([everyones]) != nil && CacheRequest(bob).select([everyones]) == nil)
        let key = http("GET", [("X-Api-Key", "1")])
        #expect(CacheRequest(key).select([everyones]) == nil)
        #expect(CacheRequest(http("GET", [("X-Api-Key", "2")])).select([try stored([], of: key)]) == nil)
        var digest = http()
        digest.digest = Credential(user: "a", password: "b")
        #expect(CacheRequest(digest).select([everyones]) == nil)
        // The secret itself is not stored anywhere.
        #expect(!"\(answer)".contains("YTph"))
    }

    @Test func newVariantsTakeThePlaceOfOldOnes() throws {
        var variants: [CachedResponse] = []
        for language in 0..<12 {
            variants.put(
                try stored([("Vary", "Accept-Language")], of: http("GET", [("Accept-Language", "\(language)")])))
        }
        #expect(variants.count == [CachedResponse].maximumVariants)
        let newest = http("GET", [("Accept-Language", "11")])
        variants.put(try stored([("Vary", "Accept-Language"), ("X", "new")], of: newest))
        #expect(variants.count == [CachedResponse].maximumVariants && variants[0].head.headers["X"] == "new")
        #expect(CacheRequest(newest).select(variants)?.head.headers["X"] == "new")
    }

    // MARK: Storing

    @Test func whatIsNotToBeKeptIsLeftOut() throws {
        let answer = head(
            200,
            [
                ("Cache-Control", "max-age=9"), ("Set-Cookie", "a=b"), ("Connection", "keep-alive, X-Hop"),
                ("X-Hop", "1"),
                ("Keep-Alive", "timeout=5"), ("Transfer-Encoding", "chunked"), ("X-Kept", "1"), ("Set-Cookie", "c=d"),
                ("Proxy-Authenticate", "Basic"), ("Upgrade", "h2c"),
            ])
        guard case .store(let response, .disk) = try exchange(http()).outcome(of: ExchangeResult(head: answer)) else {
            return #expect(Bool(false))
        }
        #expect(response.head.headers.map(\.name) == ["Cache-Control", "X-Kept"])
        #expect(response.requestTime == time.now && response.responseTime == time.now)
    }

    @Test func whatIsNotWholeIsNotStored() throws {
        let fresh = head(200, [("Cache-Control", "max-age=9")])
        var broken = ExchangeResult(head: fresh)
        broken.error = APIError(domain: .network, code: .network)
        for outcome in [
            try exchange(http()).outcome(of: broken), try exchange(http()).outcome(of: ExchangeResult()),
            try exchange(http(), isElsewhere: true).outcome(of: ExchangeResult(head: fresh)),
            try exchange(http("GET", [("Range", "bytes=0-1")])).outcome(of: ExchangeResult(head: fresh)),
        ] {
            guard case .none = outcome else { return #expect(Bool(false), "\(outcome)") }
        }
    }

    @Test func whatIsReplacedByWhatIsNotKeptGoes() throws {
        let old = try stored([("Cache-Control", "max-age=9")])
        let outcome = try exchange(http(), stored: old).outcome(
            of: ExchangeResult(head: head(200, [("Cache-Control", "no-store")])))
        guard case .remove(let keys) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(keys.map(\.url) == ["http://h:80/a/b?c"])
        guard
            case .none = try exchange(http(), stored: old).outcome(of: ExchangeResult(head: head(500, [])))
        else { return #expect(Bool(false)) }
    }

    // MARK: Validation

    @Test func conditionsNameWhatIsStored() throws {
        let answer = try stored([("ETag", "W/\"1\""), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")])
        let asked = answer.condition(http("GET", [("X", "1")]))
        #expect(asked.headers["If-None-Match"] == "W/\"1\"")
        #expect(asked.headers["If-Modified-Since"] == "Sun, 06 Nov 1994 08:49:37 GMT" && asked.headers["X"] == "1")
    }

    @Test func aConfirmedResponseHasTheNewHeaders() throws {
        let old = try stored([
            ("ETag", "\"1\""), ("Cache-Control", "max-age=1"), ("X-Old", "1"), ("Content-Length", "7"), ("Age", "100"),
            ("Content-Type", "a/b"), ("X-Many", "1"),
        ])
        time.advance(10)
        let exchange = try exchange(http(), stored: old, isConditional: true)
        time.advance(2)
        let news = head(
            304,
            [
                ("ETag", "\"1\""), ("Cache-Control", "max-age=100"), ("X-Many", "2"), ("x-many", "3"),
                ("Content-Length", "0"),
                ("Connection", "x-hop"), ("X-Hop", "1"), ("Set-Cookie", "a=b"), ("Content-Type", "c/d"),
            ])
        guard case .confirm(let new) = exchange.outcome(of: ExchangeResult(head: news)) else {
            return #expect(Bool(false))
        }
        #expect(new.head.status == 200 && new.head.headers["Cache-Control"] == "max-age=100")
        #expect(new.head.headers["X-Old"] == "1" && new.head.headers.all("X-Many") == ["2", "3"])
        #expect(new.head.headers["Content-Length"] == "7" && new.head.headers["Content-Type"] == "a/b")
        #expect(new.head.headers["Age"] == nil && new.head.headers["X-Hop"] == nil)
        #expect(new.head.headers["Set-Cookie"] == nil)
        #expect(new.requestTime == time.now - 2 && new.responseTime == time.now && new.selectors == old.selectors)
    }

    @Test func whatConfirmsAnotherResponseConfirmsNone() throws {
        let old = try stored([("ETag", "\"1\""), ("Cache-Control", "max-age=1")])
        func outcome(_ headers: [(String, String)]) throws -> CacheExchange.Outcome {
            try exchange(http(), stored: old, isConditional: true).outcome(of: ExchangeResult(head: head(304, headers)))
        }
        guard case .loadAgain = try outcome([("ETag", "\"2\"")]) else { return #expect(Bool(false)) }
        for headers in [[("ETag", "W/\"1\"")], []] {
            guard case .confirm = try outcome(headers) else { return #expect(Bool(false)) }
        }
    }

    /// The headers of a 304 may forbid the cache to keep the response, or make it vary by other headers.
    @Test(arguments: [
        [("Cache-Control", "no-store")], [("Cache-Control", "max-age=9, no-store")], [("Vary", "Accept-Language")],
        [("Vary", "*")],
    ])
    func newHeadersMayForbidWhatIsStored(_ headers: [(String, String)]) throws {
        let tag = ("ETag", "\"1\"")
        let old = try stored([tag, ("Cache-Control", "max-age=1")])
        func outcome(
            _ http: HTTPRequest, isConditional: Bool = false, status: Int = 304
        ) throws -> CacheExchange.Outcome {
            try exchange(http, stored: old, isConditional: isConditional)
                .outcome(of: ExchangeResult(head: head(status, [tag] + headers)))
        }
        let english = ("Accept-Language", "en")
        guard case .loadAgain = try outcome(http("GET", [english]), isConditional: true) else {
            return #expect(Bool(false))
        }
        guard case .remove = try outcome(http("HEAD", [english]), status: 200),
            case .remove = try outcome(http("GET", [english, ("If-None-Match", "\"1\"")]))
        else { return #expect(Bool(false)) }
    }

    /// The Vary of a 304 may lack some headers, such as Accept-Encoding, because a 304 has no body.
    @Test(arguments: [[("Vary", "Accept")], [("Vary", "accept-encoding, accept")], []])
    func newHeadersMayNameLess(_ headers: [(String, String)]) throws {
        let http = http("GET", [("Accept", "a/b")])
        let tag = ("ETag", "\"1\"")
        let old = try stored([tag, ("Cache-Control", "max-age=1"), ("Vary", "Accept, Accept-Encoding")], of: http)
        let outcome = try exchange(http, stored: old, isConditional: true)
            .outcome(of: ExchangeResult(head: head(304, [tag] + headers)))
        guard case .confirm(let new) = outcome else { return #expect(Bool(false)) }
        #expect(new.selectors == old.selectors)
    }

    @Test func headTellsOfWhatIsStored() throws {
        let old = try stored([("ETag", "\"1\""), ("Content-Length", "7"), ("Cache-Control", "max-age=1")])
        func outcome(_ headers: [(String, String)], status: Int = 200) throws -> CacheExchange.Outcome {
            try exchange(http("HEAD"), stored: old).outcome(of: ExchangeResult(head: head(status, headers)))
        }
        guard case .update(let new) = try outcome([("ETag", "\"1\""), ("Cache-Control", "max-age=50")]) else {
            return #expect(Bool(false))
        }
        #expect(new.head.headers["Cache-Control"] == "max-age=50")
        for headers in [[("ETag", "\"2\"")], [("ETag", "\"1\""), ("Content-Length", "8")]] {
            guard case .remove = try outcome(headers) else { return #expect(Bool(false)) }
        }
        guard case .none = try outcome([], status: 500) else { return #expect(Bool(false)) }
    }

    @Test func theCallersConditionMayFreshenWhatIsStored() throws {
        func outcome(
            _ stored: [(String, String)], _ answer: [(String, String)], status: Int = 304
        ) throws -> CacheExchange.Outcome {
            let caching = try exchange(http("GET", [("If-None-Match", "\"1\"")]), stored: self.stored(stored))
            return caching.outcome(of: ExchangeResult(head: head(status, [("X", "new")] + answer)))
        }
        let changed = [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]
        for (stored, answer) in [
            ([("ETag", "\"1\"")], [("ETag", "\"1\"")]), ([("ETag", "\"1\"")], [("ETag", "W/\"1\"")]),
            ([("ETag", "W/\"1\"")], [("ETag", "W/\"1\"")]), (changed, changed),
        ] {
            guard case .update(let response) = try outcome(stored, answer) else {
                Issue.record("\(stored) \(answer)")
                continue
            }
            #expect(response.head.headers["X"] == "new" && response.head.status == 200)
        }
        for (stored, answer) in [
            ([("ETag", "\"1\"")], [("ETag", "\"2\"")]), ([("ETag", "W/\"1\"")], [("ETag", "\"1\"")]),
            (changed, [("Last-Modified", "Sun, 06 Nov 1994 08:49:38 GMT")]), ([("ETag", "\"1\"")], []), ([], []),
            (changed, [("ETag", "\"1\"")]), ([("ETag", "\"1\"")], changed),
        ] {
            guard case .none = try outcome(stored, answer) else {
                Issue.record("\(stored) \(answer)")
                continue
            }
        }
        // Other responses are not stored, and the stored response does not replace them.
        let lasting = [("ETag", "\"1\""), ("Cache-Control", "max-age=10, stale-if-error=10")]
        for status in [200, 206, 412, 416, 500, 503] {
            guard case .none = try outcome(lasting, lasting, status: status) else {
                Issue.record("\(status)")
                continue
            }
        }
    }

    @Test func staleStandsInWhenItMay() throws {
        let old = try stored([("Cache-Control", "max-age=10, stale-if-error=100")])
        time.advance(50)
        let exchange = try exchange(http(), stored: old)
        for status in [500, 502, 503, 504] {
            guard case .standIn = exchange.outcome(of: ExchangeResult(head: head(status, []))) else {
                return #expect(Bool(false))
            }
        }
        var failed = ExchangeResult()
        for code in [ErrorCode.network, .noInternet, .timeout] {
            failed.error = APIError(domain: .network, code: code)
            guard case .standIn = exchange.outcome(of: failed) else { return #expect(Bool(false)) }
        }
        for code in [ErrorCode.tls, .cancelled, .responseTooLarge] {
            failed.error = APIError(domain: .network, code: code)
            guard case .none = exchange.outcome(of: failed) else { return #expect(Bool(false)) }
        }
        guard case .remove = exchange.outcome(of: ExchangeResult(head: head(200, [("Cache-Control", "no-store")])))
        else {
            return #expect(Bool(false))
        }
    }

    // MARK: Invalidation

    @Test func unsafeMethodsInvalidateTheirOwnOrigin() throws {
        func urls(_ method: String, _ status: Int, _ headers: [(String, String)]) throws -> [String] {
            let outcome = try exchange(http(method)).outcome(of: ExchangeResult(head: head(status, headers)))
            guard case .remove(let keys) = outcome else { return [] }
            return keys.map(\.url)
        }
        let own = "http://h:80/a/b?c"
        #expect(try [urls("POST", 200, []), urls("DELETE", 204, []), urls("X", 302, [])] == [[own], [own], [own]])
        #expect(
            try urls("POST", 201, [("Location", "/a/1"), ("Content-Location", "2")]) == [
                own, "http://h:80/a/1", "http://h:80/a/2",
            ])
        #expect(try urls("PUT", 200, [("Location", "http://other/x"), ("Content-Location", "https://h/x")]) == [own])
        #expect(try [urls("POST", 400, []), urls("POST", 500, []), urls("OPTIONS", 200, [])] == [[], [], []])
    }
}

extension CacheExchange {
    fileprivate func outcome(of result: ExchangeResult) -> Outcome { outcome(of: result, now: use.cache.now) }
}
