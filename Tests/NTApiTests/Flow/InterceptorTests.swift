import Testing

@testable import NTApi

/// What an interceptor sees, and what it can answer.
@Suite struct InterceptorTests {
    private let intercepted = InterceptedStub()
    private var stub: Stub { intercepted.stub }
    private var clock: ManualClock { intercepted.clock }

    private func client(_ interceptors: Interceptor..., args: [APIArg] = []) -> TestClient {
        intercepted.client(interceptors, args)
    }

    private static let busy = APIError(domain: .network, code: .network, message: "busy", isRetryable: true)
    private static let closed = APIError(domain: .request, code: ErrorCode("closed"), message: "closed")

    // MARK: Order

    private final class WithItsOwn: TestClient, @unchecked Sendable {
        // Safe to share: it has no state.
        override class var interceptors: [Interceptor] { [.adding(.attempt, "class 1"), .adding(.attempt, "class 2")] }
    }

    @Test func thoseOfTheClassComeFirstAndThoseOfTheRequestLast() async {
        stub.on("GET", "way").answer(.json([:]))
        let client = WithItsOwn(at: "https://api.example")
        client.stub = stub
        client.interceptors = [.adding(.attempt, "client"), .adding(.call, "call")]
        let own: [APIArg] = [.interceptor(.adding(.attempt, "request")), .interceptor(nil)]
        #expect(await client.response("way", args: own).error == nil)
        #expect(stub.requests[0].headers["X-Way"] == "call class 1 class 2 client request")
    }

    @Test func thoseOfTheConfigurationComeBeforeThoseOfTheClient() async {
        stub.on("GET", "way").answer(.json([:]))
        var configuration = SessionConfiguration.ephemeral
        configuration.interceptors = [.adding(.attempt, "configuration")]
        let client = APIClient(baseURL: "https://api.example", configuration: configuration)
        client.logFlags = []
        client.stub = stub
        client.interceptors = [.adding(.attempt, "client")]
        #expect(await client.response("way").error == nil)
        #expect(stub.requests[0].headers["X-Way"] == "configuration client")
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func theFirstIsTheOutermost(_ scope: Interceptor.Scope) async {
        stub.on("GET", "way").answer(.json([:]))
        let log = Log<String>()
        let client = client(.noting(scope, "a", in: log), .noting(scope, "b", in: log))
        #expect(await client.response("way").error == nil)
        #expect(log.all == ["a 1 first", "b 1 first", "b 1 200", "a 1 200"])
    }

    @Test func performAndSendPassThem() async throws {
        stub.on("GET", "way").answer { _ in .json(["n": 1]) }
        let log = Log<String>()
        let client = client(.noting(.call, "call", in: log), .noting(.attempt, "attempt", in: log))
        for _ in 0..<3 {
            #expect(await onThread { client.perform("way").json?["n"]?.int } == 1)
            #expect(try await client.send("way").json?["n"]?.int == 1)
        }
        #expect(log.count == 6 * 4)
    }

    // MARK: Changes

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func changesAnything(_ scope: Interceptor.Scope) async {
        stub.on("PUT", "https://other.example/new", body: .containing("changed")).answer(.json([:]))
        let client = client(
            Interceptor(scope) { call in
                var request = call.request
                #expect(request.method == "POST" && request.url == "https://api.example/v1/old")
                guard case .bytes(let bytes) = request.body else { return HTTPResponse(status: 500) }
                #expect(String(decoding: bytes, as: UTF8.self) == #"{"a":1}"#)
                request.method = "PUT"
                request.url = "https://other.example/new"
                request.headers.set("X-Added", "1")
                request.body = .bytes(Array("changed".utf8))
                return try await call.next(request)
            })
        let response = await client.response("old", args: [.json(["a": 1])])
        #expect(response.error == nil && stub.requests[0].headers["X-Added"] == "1")
        #expect(stub.requests[0].text == "changed")
    }

    @Test func changesTheAnswer() async {
        stub.on("GET", "way").answer(.json(["n": 1], status: 500))
        let client = client(
            Interceptor(.call) { call in
                var response = try await call.next()
                #expect(response.error == nil && response.text == #"{"n":1}"#)
                response.status = 201
                response.headers.set("X-Was", "500")
                return response
            })
        let response = await client.response("way")
        #expect(response.error == nil && response.status == 201 && response.json?["n"]?.int == 1)
        #expect(response.headers["X-Was"] == "500")
    }

    /// The Content-Length is that of the new body, also over the network.
    @Test func aChangedBodyIsSentWhole() async throws {
        let client = try TestClient.of("fault")
        client.interceptors = [
            Interceptor(.attempt) { call in
                var request = call.request
                request.body = .bytes(Array("a longer one".utf8))
                return try await call.next(request)
            }
        ]
        let response = try await client.send("echo", args: [.data(Array("short".utf8), contentType: "text/plain")])
        #expect(response.json?["body"]?.string == "a longer one")
        #expect(response.json?["header"]?["content-length"]?.string == "12")
    }

    @Test func whatCannotBeSentIsRefused() async {
        stub.on("GET", "way").answer { _ in .json([:]) }
        let client = client(
            Interceptor(.call) { call in
                for spoil: @Sendable (inout HTTPRequest) -> Void in [
                    { $0.method = "G T" }, { $0.url = "nowhere" }, { $0.headers.set("X-A", "a\r\nX-B: b") },
                ] {
                    var request = call.request
                    spoil(&request)
                    await #expect(throws: APIError.self) { _ = try await call.next(request) }
                }
                return try await call.next()
            },
            Interceptor(handling: .attempt) { interception in
                var request = interception.httpRequest
                request.headers.set("X-A", "a\r\nX-B: b")
                #expect(!interception.proceed(with: request) && !interception.send(request))
                #expect(!interception.isAnswered && interception.proceed())
            })
        #expect(await client.response("way").error == nil && stub.requests.count == 1)
    }

    // MARK: Answers of its own

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func answersWithoutTheNetwork(_ scope: Interceptor.Scope) async
    {
        let log = Log<String>()
        let client = client(.noting(scope, "outer", in: log), .answering(scope, .json(#"{"n":2}"#, status: 201)))
        let response = await client.response("way")
        #expect(response.error == nil && response.status == 201 && response.json?["n"]?.int == 2)
        #expect(stub.requests.isEmpty && log.all == ["outer 1 first", "outer 1 201"])
    }

    private final class WithErrors: TestClient, @unchecked Sendable {
        // Safe to share: it has no state.
        override func mapServiceError(_ response: APIResponse) -> APIError? {
            response.json?["wrong"]?.string.map { APIError(code: ErrorCode("wrong"), message: $0) }
        }
    }

    /// The interceptor's response is handled like a server's: it is parsed, and service errors are found in it.
    @Test func itsAnswerIsJudgedLikeAServers() async {
        let client = WithErrors(at: "https://api.example")
        for (response, code) in [
            (HTTPResponse.json("{}", status: 404), ErrorCode.httpError), (.json("{"), .invalidJSON),
            (.json(#"{"wrong":"so"}"#), ErrorCode("wrong")),
        ] {
            client.interceptors = [.answering(.call, response)]
            let error = await client.response("way").error
            #expect(error?.code == code)
        }
    }

    @Test func theFirstAnswerStaysTheOneThatIsReturned() async {
        stub.on("GET", "way").answer(.json(["n": 1]), .json(["n": 2]), .json(["n": 3]))
        let client = client(
            Interceptor(.attempt) { call in
                let first = try await call.next()
                _ = try await call.next()
                return first
            })
        let response = await client.response("way")
        #expect(response.json?["n"]?.int == 1 && stub.requests.count == 2)
    }

    /// The response of another request counts as the interceptor's own.
    @Test func anAnswerMayBeKeptForOthers() async {
        stub.on("GET", "a").answer(.json(["n": 1]))
        stub.on("GET", "b").answer(.json(["n": 2]))
        let kept = Lock<HTTPResponse?>(nil)
        let client = client(
            Interceptor(.call) { call in
                let response = try await call.next()
                return kept.withLock { kept in
                    if kept == nil { kept = response }
                    return kept ?? response
                }
            })
        #expect(await client.response("a").json?["n"]?.int == 1)
        #expect(await client.response("b").json?["n"]?.int == 1)
    }

    // MARK: Failures

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func itsErrorIsTheOutcome(_ scope: Interceptor.Scope) async {
        let log = Log<String>()
        let client = client(.noting(scope, "outer", in: log), Interceptor(scope) { _ in throw Self.closed })
        let response = await client.response("way")
        #expect(response.error == Self.closed && response.status == 0 && stub.requests.isEmpty)
        #expect(log.all == ["outer 1 first", "outer 1 closed"])
    }

    @Test func anAttemptThatFailsIsRetriedAsItsErrorSays() async {
        stub.on("GET", "way").answer { _ in .json([:]) }
        for (error, attempts) in [(Self.busy, 3), (Self.closed, 1)] {
            let numbers = Log<Int>()
            let client = client(
                Interceptor(.attempt) { call in
                    numbers.append(call.number)
                    if call.number < 3 { throw error }
                    return try await call.next()
                }, args: [.retry(RetryPolicy(base: 0))])
            let response = await client.response("way")
            #expect(numbers.all == Array(1...attempts) && (response.error == nil) == (attempts == 3))
        }
    }

    @Test func aCallThatFailsIsNotRetried() async {
        let numbers = Log<Int>()
        let client = client(
            Interceptor(.call) { call in
                numbers.append(call.number)
                throw Self.busy
            }, args: [.retry(RetryPolicy(base: 0))])
        #expect(await client.response("way").error?.message == "busy" && numbers.all == [1])
    }

    @Test func anyErrorBecomesOneOfTheLibrary() async {
        struct Odd: Error {}
        let error = await client(Interceptor(.call) { _ in throw Odd() }).response("way").error
        #expect(error?.code == .generic && error?.message == "an interceptor has failed: Odd()")
    }

    @Test func aFailedExchangeIsAnAnswer() async {
        stub.on("GET", "way").fail(.noConnection)
        let client = client(
            Interceptor(.call) { call in
                let response = try await call.next()
                #expect(response.status == 0 && response.error?.code == .network && response.body.isEmpty)
                return .json(#"{"n":"from elsewhere"}"#)
            })
        let response = await client.response("way")
        #expect(response.error == nil && response.json?["n"]?.string == "from elsewhere")
    }

    // MARK: Again

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func sendsAgain(_ scope: Interceptor.Scope) async {
        stub.on("GET", "way").answer { _ in .status(503) }
        let (inner, outer) = (Log<String>(), Log<String>())
        let client = client(
            .noting(scope, "outer", in: outer),
            Interceptor(scope) { call in
                var last = HTTPResponse(status: 0)
                for number in 1...5 {
                    var request = call.request
                    request.headers.set("X-Number", "\(number)")
                    last = try await call.next(request)
                }
                return last
            }, .noting(scope, "inner", in: inner))
        #expect(await client.response("way").status == 503)
        #expect(stub.requests.map { $0.headers["X-Number"] } == (1...5).map { "\($0)" })
        #expect(outer.all == ["outer 1 first", "outer 1 503"])
        let expected = ["inner 1 first"] + (2...5).map { "inner \($0) interceptor" }
        #expect(inner.all.filter { !$0.hasSuffix("503") } == expected)
    }

    @Test func eachExchangeTakesAPermit() async throws {
        stub.on("GET", "way").answer { _ in .json([:]) }
        let client = client(
            Interceptor(.attempt) { call in
                _ = try await call.next()
                _ = try await call.next()
                return try await call.next()
            })
        client.rateLimiter = RateLimiter(requests: 1, seconds: 10)
        async let response = client.response("way")
        for count in 1...2 {
            try await clock.waitForSleepers()
            #expect(stub.requests.count == count)
            clock.advance(by: 10)
        }
        #expect(await response.error == nil && stub.requests.count == 3)
    }

    /// The rate limit would delay the repeated request too long. The interceptor gets this error as its response.
    @Test func theRateLimitMayBeTooSlowForTheNextExchange() async {
        stub.on("GET", "way").answer { _ in .json(["n": 1]) }
        let log = Log<String>()
        let client = client(
            .noting(.attempt, "outer", in: log),
            Interceptor(.attempt) { call in
                let first = try await call.next()
                let second = try await call.next()
                log.append("\(second.error?.code.name ?? "none")")
                return first
            })
        client.rateLimiter = RateLimiter(requests: 1, seconds: 100)
        let response = await client.response("way", args: [.timeout(5, .total)])
        #expect(response.error == nil && response.json?["n"]?.int == 1 && stub.requests.count == 1)
        #expect(log.all == ["outer 1 first", "timeout", "outer 1 200"])
    }

    /// `send` repeats the request that the interceptor itself has sent, without the changes of inner interceptors.
    @Test func againIsWhatItHasSentItself() async {
        stub.on("GET", "https://api.example/v1/way").answer { _ in
            .status(302, headers: ["Location": "https://other.example/there"])
        }
        stub.on("GET", "https://other.example/there").answer(.status(503), .json([:]))
        let client = client(
            Interceptor(handling: .call) { interception in
                #expect(interception.httpRequest.url.hasSuffix("/way") && interception.isOwnOrigin)
                if interception.response == nil || interception.response?.status == 503 {
                    interception.send()
                } else {
                    interception.proceed()
                }
            }, .adding(.attempt, "attempt"))
        #expect(await client.response("way").error == nil)
        #expect(intercepted.sent == ["GET way", "GET there", "GET way", "GET there"])
        #expect(stub.requests.allSatisfy { $0.headers["X-Way"] == "attempt" })
    }

    @Test func aCallOfNextWhileAnotherRunsIsOneTooMany() async {
        let (asked, goesOn) = (Signal(), Signal())
        stub.on("GET", "way").answer { _ in
            asked.set()
            goesOn.block()
            return .json([:])
        }
        let client = client(
            Interceptor(.call) { call in
                async let first = call.next()
                await asked.wait()
                let error = await #expect(throws: APIError.self) { try await call.next() }
                #expect(error?.code == .invalidRequest)
                goesOn.set()
                let status = try? await first.status
                #expect(status == 200)
                return .json("{}")
            })
        #expect(await client.response("way").error == nil)
        #expect(stub.requests.count == 1)
    }

    /// Calls from many tasks, in any order.
    @Test func callsOfNextFromManyTasks() async {
        stub.on("GET", "way").answer { _ in .json([:]) }
        let client = client(
            Interceptor(.call) { call in
                let codes = await withTaskGroup(of: String.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            do throws(APIError) {
                                return "\(try await call.next().status)"
                            } catch {
                                return error.code.name
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                // The calls may also come one after the other.
                #expect(codes.contains("200") && Set(codes).isSubset(of: ["200", "invalid request"]))
                return .json("{}")
            })
        #expect(await client.response("way").error == nil)
    }

    /// An interceptor may return while a task of its own still awaits `next`. The request does not wait for that task.
    @Test func whatIsSentAndNotAwaitedDoesNotHoldUpTheRequest() async {
        stub.on("GET", "way").answer { _ in .json(["n": 1]) }
        let client = client(
            Interceptor(.call) { call in
                _ = try await call.next()
                let begun = Signal()
                let asked = Signal()
                Task {
                    begun.set()
                    _ = try? await call.next()
                    asked.set()
                }
                await begun.wait()
                return .json(#"{"n":2}"#)
            })
        for _ in 0..<50 { #expect(await client.response("way").json?["n"]?.int == 2) }
    }

    // MARK: Interceptors with a handler

    @Test func aHandlerAnswersLaterFromAnyThread() async throws {
        stub.on("GET", "way").answer(.json([:]))
        let log = Log<Interception>()
        let client = client(Interceptor(handling: .call) { log.append($0) })
        let (request, responses) = client.beginLogged("way")
        let first = try await log.element(0)
        #expect(first.request === request && first.response == nil && stub.requests.isEmpty)
        await onThread {
            #expect(first.send() && first.isAnswered)
            #expect(!first.send() && !first.proceed() && !first.respond(HTTPResponse(status: 200)))
            #expect(!first.fail(Self.closed))
        }
        let second = try await log.element(1)
        #expect(second.response?.status == 200 && second.number == 1)
        #expect(!second.proceed(with: second.httpRequest), "a request was passed on where a response is expected")
        #expect(second.proceed())
        #expect(try await responses.element(0).error == nil && log.count == 2)
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func oneThatIsDroppedProceeds(_ scope: Interceptor.Scope) async
    {
        stub.on("GET", "way").answer(.json([:]))
        let log = Log<String>()
        let client = client(
            Interceptor(handling: scope) { log.append($0.response.map { "\($0.status)" } ?? "in") },
            Interceptor(handling: scope) { if $0.response == nil { $0.send() } })
        #expect(await client.response("way").error == nil && log.all == ["in"])
    }

    @Test func aHandlerRespondsAndFails() async {
        stub.on("GET", "way").answer { _ in .json([:]) }
        let answers = Interceptor(handling: .call) { _ = $0.respond(.json(#"{"n":3}"#)) }
        let fails = Interceptor(handling: .call) { _ = $0.fail(Self.closed) }
        #expect(await client(answers).response("way").json?["n"]?.int == 3)
        #expect(await client(fails).response("way").error == Self.closed)
        let late = Interceptor(handling: .call) { interception in
            if interception.response == nil { interception.send() } else { interception.fail(Self.closed) }
        }
        #expect(await client(late).response("way").error == Self.closed && stub.requests.count == 1)
    }

    // MARK: Bodies

    private func stream(rewinds: Bool) -> BodyStream {
        let isSent = Lock(false)
        let rewind: @Sendable () -> Bool = {
            isSent.withLock { $0 = false }
            return true
        }
        return BodyStream(length: 2, rewind: rewinds ? rewind : nil) { buffer in
            guard isSent.withLock({ isSent in exchange(&isSent, with: true) }) == false else { return 0 }
            buffer.copyBytes(from: "ab".utf8)
            return 2
        }
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func aStreamIsSentAgainFromItsStart(
        _ scope: Interceptor.Scope
    ) async {
        stub.on("POST", "way").answer { _ in .json([:]) }
        let twice = Interceptor(scope) { call in
            _ = try await call.next()
            return try await call.next()
        }
        let rewound = await client(twice).response("way", args: [.stream(stream(rewinds: true))])
        #expect(rewound.error == nil && stub.requests.map(\.text) == ["ab", "ab"])
        stub.forgetRequests()
        let spent = await client(twice).response("way", args: [.stream(stream(rewinds: false))])
        #expect(spent.error?.code == .invalidRequest && stub.requests.map(\.text) == ["ab"])
    }

    @Test func anotherStreamNeedsNoStart() async {
        stub.on("POST", "way").answer { _ in .json([:]) }
        let other = stream(rewinds: false)
        let client = client(
            Interceptor(.attempt) { call in
                _ = try await call.next()
                var request = call.request
                request.body = .stream(other)
                return try await call.next(request)
            })
        let response = await client.response("way", args: [.stream(stream(rewinds: false))])
        #expect(response.error == nil && stub.requests.map(\.text) == ["ab", "ab"])
    }

    /// The interceptor sees the status and headers. The body is in the handler or the file.
    @Test(arguments: [Interceptor.Scope.call, .attempt]) func bodiesThatGoElsewhere(
        _ scope: Interceptor.Scope
    ) async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/file"
        stub.on("GET", "way").answer { _ in .text("body", headers: ["X-A": "b"]) }
        let log = Log<String>()
        let client = client(
            Interceptor(scope) { call in
                let response = try await call.next()
                log.append("\(response.status) \(response.headers["X-A"] ?? "") \(response.text)")
                return response
            })
        let data = Log<String>()
        let request = client.request(
            "way", args: [.option(.rawData), .dataThread(.background), .responseThread(.background)])
        request.setDataHandler { data.append(String(decoding: $0, as: UTF8.self)) }
        #expect(await client.response(of: request).error == nil && data.all.joined() == "body")
        let downloaded = await client.response("way", args: [.download(to: path)])
        #expect(downloaded.error == nil && downloaded.file == path)
        #expect(try SystemFile.read(path) == Array("body".utf8))
        #expect(log.all == ["200 b ", "200 b "])
    }
}
