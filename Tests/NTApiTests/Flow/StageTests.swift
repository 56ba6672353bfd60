import Testing

@testable import NTApi

/// Each stage alone: what it adds to a request, and what it does with a response.
@Suite struct StageTests {
    private let client = APIClient(baseURL: "https://api.example", configuration: .ephemeral)

    private func http(_ command: String = "things", _ args: [APIArg] = []) throws -> HTTPRequest {
        try #require(client.request(command, args: args).httpRequest)
    }

    private func trip(_ request: HTTPRequest, asks: DecisionKinds = [], secondsLeft: Double = .infinity) -> Trip {
        let now = MonotonicTime(nanoseconds: 1)
        let deadline = secondsLeft == .infinity ? .distantFuture : now.advanced(bySeconds: secondsLeft)
        return Trip(
            request: request,
            facts: Facts(
                now: now, calendar: 0, cacheCalendar: 0, deadline: deadline, asks: asks, fraction: 0.5,
                isElsewhere: false, keepsCredentials: false))
    }

    private func answer(_ status: Int, _ headers: [(name: String, value: String)] = [], to sent: HTTPRequest) -> Answer
    {
        var result = ExchangeResult()
        result.head = ResponseHead(status: status, headers: HTTPHeaders(headers), httpVersion: 1.1)
        return Answer(result, to: sent)
    }

    // MARK: Redirects

    @Test func aRedirectIsSentAgainFromTheRequestThatCameIn() throws {
        var trip = trip(try http())
        var stage = RedirectStage(trip.request)
        #expect(stage.send(&trip).word == "on")
        // An inner stage has added a secret: the next request must come without it.
        var sent = trip.request
        sent.headers.set("Authorization", "inner", isSecret: true)
        var moved = answer(302, [("Location", "/next")], to: sent)
        #expect(stage.receive(&moved, &trip).word == "again redirect")
        #expect(trip.request.url == "https://api.example/next")
        #expect(trip.request.headers["Authorization"] == nil)
        var done = answer(200, to: trip.request)
        #expect(stage.receive(&done, &trip).word == "on")
    }

    @Test func aRedirectIsAskedAboutCountedAndRefused() throws {
        var trip = trip(try http("things", [.option(.maximumRedirects, 1)]), asks: .redirect)
        var stage = RedirectStage(trip.request)
        _ = stage.send(&trip)
        var moved = answer(302, [("Location", "/next")], to: trip.request)
        #expect(stage.receive(&moved, &trip).word == "wait ask")
        #expect(stage.resume(decision: .refuse, &moved, &trip).word == "accept")
        #expect(stage.receive(&moved, &trip).word == "wait ask")
        #expect(stage.resume(decision: .proceed, &moved, &trip).word == "again redirect")
        trip.reason = .redirect
        _ = stage.send(&trip)
        var again = answer(302, [("Location", "/third")], to: trip.request)
        #expect(stage.receive(&again, &trip).word == "accept" && again.refusal?.code == .tooManyRedirects)
    }

    @Test func aRedirectWithASpentBodySaysSo() throws {
        var trip = trip(try http())
        var stage = RedirectStage(trip.request)
        var moved = answer(307, [("Location", "/next")], to: trip.request)
        #expect(stage.cannotSendAgain("it is spent", &moved, &trip).word == "accept")
        #expect(moved.refusal?.message.containsSubstring("redirect not followed: it is spent") == true)
    }

    // MARK: Retries

    @Test func aFailedAttemptIsRepeatedAsOftenAsThePolicySays() throws {
        var trip = trip(try http())
        var stage = RetryStage(RetryPolicy(attempts: 2, base: 2), leavesConnections: false)
        #expect(stage.quietStatuses.isEmpty)
        _ = stage.send(&trip)
        #expect(stage.quietStatuses.contains(503))
        let given = trip.request
        trip.request.headers.set("X-Inner", "1")
        var busy = answer(503, to: trip.request)
        #expect(stage.receive(&busy, &trip).word == "again retry after 1.0")
        #expect(trip.request.headers["X-Inner"] == nil && trip.request.url == given.url)
        trip.reason = .retry
        _ = stage.send(&trip)
        #expect(stage.quietStatuses.isEmpty)
        #expect(stage.receive(&busy, &trip).word == "accept" && busy.note == "sent 2 times")
    }

    @Test func aRetryNeedsTimeAndARepeatableRequest() throws {
        let policy = RetryPolicy(attempts: 3, base: 20)
        var late = trip(try http(), secondsLeft: 5)
        var stage = RetryStage(policy, leavesConnections: false)
        _ = stage.send(&late)
        var busy = answer(503, to: late.request)
        #expect(stage.receive(&busy, &late).word == "accept" && busy.note != nil)
        var post = trip(try http("things", [.data([1])]))
        var other = RetryStage(policy, leavesConnections: false)
        _ = other.send(&post)
        var unsafe = answer(503, to: post.request)
        #expect(!other.receive(&unsafe, &post).word.hasPrefix("again"))
    }

    @Test func aRetryNeedsABudget() throws {
        var trip = trip(try http())
        let budget = try #require(RetryBudget(RetryPolicy(budget: 0.2)))
        let use = RetryBudgets().begin(try #require(Origin(url: trip.request.url)), budget)
        var stage = RetryStage(RetryPolicy(base: 2), leavesConnections: false, budget: use)
        _ = stage.send(&trip)
        var busy = answer(503, to: trip.request)
        #expect(stage.receive(&busy, &trip).word == "wait retry")
        #expect(stage.resume(retry: true, &busy, &trip).word == "again retry after 1.0")
        trip.reason = .retry
        _ = stage.send(&trip)
        #expect(stage.receive(&busy, &trip).word == "wait retry")
        #expect(stage.resume(retry: false, &busy, &trip).word == "accept")
        #expect(busy.note?.containsSubstring("budget") == true)
        // A response that is not retried needs no budget.
        var missing = answer(404, to: trip.request)
        #expect(stage.receive(&missing, &trip).word == "on")
    }

    @Test func theServerLearnsTheAttempt() throws {
        var trip = trip(try http("things", [.header("x-attempt", "own")]))
        var stage = RetryStage(RetryPolicy(attemptHeader: "X-Attempt"), leavesConnections: false)
        _ = stage.send(&trip)
        #expect(trip.request.headers["X-Attempt"] == "1")
        var busy = answer(503, to: trip.request)
        _ = stage.receive(&busy, &trip)
        trip.reason = .retry
        _ = stage.send(&trip)
        #expect(trip.request.headers.all("X-Attempt") == ["2"])
        // The same attempt is sent again with another token.
        trip.reason = .credentials
        _ = stage.send(&trip)
        #expect(trip.request.headers["X-Attempt"] == "2")
    }

    // MARK: Tokens

    @Test func aTokenIsAddedAndReplacedOnce() throws {
        var stage = TokenStage(TokenUse(header: "Authorization", scheme: "Bearer", statuses: [401]))
        var trip = trip(try http())
        #expect(stage.send(&trip).word == "wait token")
        var nothing: Answer?
        let old = TokenGrant(token: "old", generation: 1)
        #expect(stage.resume(token: .granted(old, isNew: false), &nothing, &trip).word == "on")
        #expect(trip.request.headers["Authorization"] == "Bearer old" && stage.quietStatuses == [401])
        var expired = answer(401, to: trip.request)
        #expect(stage.receive(&expired, &trip).word == "wait content")
        #expect(
            stage.resume(content: ResponseContent(neverSent: .cancelled, .now()), &expired, &trip).word
                == "wait otherToken")
        var known: Answer? = expired
        let new = TokenGrant(token: "new", generation: 2)
        #expect(stage.resume(token: .granted(new, isNew: true), &known, &trip).word == "again credentials")
        #expect(trip.request.headers["Authorization"] == nil)
        trip.reason = .credentials
        #expect(stage.send(&trip).word == "on" && trip.request.headers["Authorization"] == "Bearer new")
        #expect(stage.receive(&expired, &trip).word == "on")
    }

    @Test func aTokenStaysAwayFromARequestWithItsOwn() throws {
        var stage = TokenStage(TokenUse(header: "Authorization", scheme: "Bearer", statuses: [401]))
        var own = trip(try http("things", [.bearer("own")]))
        #expect(stage.send(&own).word == "on" && own.request.headers["Authorization"] == "Bearer own")
        var trip = trip(try http())
        _ = stage.send(&trip)
        var nothing: Answer?
        #expect(stage.resume(token: .failed(.cancelled), &nothing, &trip).word == "answer request cancelled")
    }

    // MARK: Circuits

    @Test func aCircuitIsAskedForEachExchangeAndToldItsOutcome() throws {
        var trip = trip(try http())
        let breaker = CircuitBreaker(CircuitBreakerPolicy(minimumCalls: 1))
        let origin = try #require(Origin(url: trip.request.url))
        var stage = CircuitStage(breaker.policy)
        for outcome in [Circuit.Outcome.success, .failure] {
            #expect(stage.send(&trip).word == "wait circuit")
            #expect(stage.resume(circuit: breaker.admit(origin, trip.facts.now), &trip).word == "on")
            var answered = answer(outcome == .success ? 404 : 503, to: trip.request)
            #expect(stage.receive(&answered, &trip).word == "on")
            guard case .tell(let pass, outcome) = trip.effects.removeLast() else {
                Issue.record("no outcome")
                return
            }
            pass.ended(outcome, trip.facts.now)
            // After that, a response that did not come from the server has no outcome to report.
            #expect(stage.receive(&answered, &trip).word == "on" && trip.effects.isEmpty)
        }
        #expect(stage.send(&trip).word == "wait circuit")
        #expect(stage.resume(circuit: breaker.admit(origin, trip.facts.now), &trip).word == "answer circuit open")
    }

    // MARK: Challenges

    @Test func aChallengeIsAnsweredAndTheAnswerIsAddedAgain() throws {
        var trip = trip(try http(), asks: .challenge)
        var stage = ChallengeStage(trip.request)
        var asked = answer(401, [("WWW-Authenticate", "Basic realm=\"club\"")], to: trip.request)
        #expect(stage.receive(&asked, &trip).word == "wait recall")
        #expect(stage.resume(recalled: .credential(nil, isOwn: true), &asked, &trip).word == "wait ask")
        let user = Credential(user: "ada", password: "secret")
        #expect(stage.resume(decision: .credential(user, .none), &asked, &trip).word == "again credentials")
        trip.reason = .credentials
        #expect(stage.send(&trip).word == "on")
        let value = trip.request.headers["Authorization"]
        #expect(value?.hasPrefix("Basic ") == true)
        // On another origin it is not added.
        var other = self.trip(try http())
        other.request.url = "https://other.example/things"
        #expect(stage.send(&other).word == "on" && other.request.headers["Authorization"] == nil)
    }

    /// After a redirect to https the environment may name another proxy.
    @Test func aProxysCredentialIsForThatProxy() throws {
        var request = try http()
        request.url = "http://api.example/things"
        request.settings.proxy = ProxySettings(url: "http://one.example:1")
        request.settings.proxy.https = "http://two.example:2"
        var trip = trip(request, asks: .challenge)
        var stage = ChallengeStage(trip.request)
        var asked = answer(407, [("Proxy-Authenticate", "Basic realm=\"p\"")], to: trip.request)
        #expect(stage.receive(&asked, &trip).word == "wait recall")
        #expect(stage.resume(recalled: .credential(nil, isOwn: true), &asked, &trip).word == "wait ask")
        let user = Credential(user: "ada", password: "secret")
        #expect(stage.resume(decision: .credential(user, .none), &asked, &trip).word == "again credentials")
        trip.reason = .credentials
        #expect(stage.send(&trip).word == "wait proxy")
        trip.reason = .redirect
        trip.request.url = "https://api.example/things"
        #expect(stage.send(&trip).word == "on")
    }

    @Test func aChallengeWithASpentBodySaysSo() throws {
        var trip = trip(try http())
        var stage = ChallengeStage(trip.request)
        var asked = answer(401, to: trip.request)
        #expect(stage.cannotSendAgain("it is spent", &asked, &trip).word == "accept")
        #expect(asked.failure?.code == .authentication)
    }

    // MARK: Downloads

    @Test func aFileIsBegunAndContinued() throws {
        let target = try DownloadTarget(.file("/tmp/never-written"))
        var trip = trip(try http())
        var stage = DownloadStage(Download(target))
        #expect(stage.send(&trip).word == "on")
        // When the request is sent again, by a retry for example, the state of the file decides.
        #expect(stage.send(&trip).word == "wait file")
        var nothing: Answer?
        var part = trip.request
        part.headers.set("Range", "bytes=5-")
        #expect(stage.resume(download: stage.download, part, &nothing, &trip).word == "on")
        #expect(trip.request.headers["Range"] == "bytes=5-")
        var known: Answer? = answer(206, to: part)
        #expect(stage.resume(download: stage.download, part, &known, &trip).word == "again range")
        #expect(stage.resume(download: stage.download, nil, &known, &trip).word == "on")
    }

    // MARK: The cache

    @Test func theCacheIsLookedUpAndStoresTheAnswer() throws {
        var trip = trip(try http())
        var stage = CacheStage(nil, MarkedSecrets())
        #expect(stage.send(&trip).word == "wait lookUp")
        #expect(stage.resume(stored: nil, nil, &trip).word == "on")
        var fresh = answer(
            200, [("Cache-Control", "max-age=60"), ("Date", "Thu, 01 Jan 1970 00:00:00 GMT")], to: trip.request)
        #expect(stage.receive(&fresh, &trip).word == "on")
        #expect(trip.effects.contains { if case .cache(.store) = $0 { true } else { false } })
    }

    @Test func theCacheAloneMustHaveTheAnswer() throws {
        var trip = trip(try http("things", [.cachePolicy(.returnCachedDontLoad)]))
        var stage = CacheStage(nil, MarkedSecrets())
        #expect(stage.send(&trip).word == "wait lookUp")
        #expect(stage.resume(stored: nil, nil, &trip).word.hasPrefix("answer"))
        // The stage never looks up a request that changes something.
        var post = self.trip(try http("things", [.data([1])]))
        #expect(stage.send(&post).word == "on")
    }

    // MARK: The rate limit

    @Test func eachExchangeNeedsAPermit() throws {
        var trip = trip(try http())
        var stage = RateLimitStage()
        for _ in 0..<2 { #expect(stage.send(&trip).word == "wait permit") }
        #expect(stage.resume(permit: nil, &trip).word == "on")
        #expect(stage.resume(permit: .cancelled, &trip).word == "answer request cancelled")
        var busy = answer(429, [("Retry-After", "7")], to: trip.request)
        #expect(stage.receive(&busy, &trip).word == "on")
        #expect(trip.effects.contains { if case .holdUpOthers(7) = $0 { true } else { false } })
    }

    // MARK: Reconnection

    @Test func aStreamConnectsAgainAtItsOwnURL() throws {
        var trip = trip(try http(), secondsLeft: 5)
        let given = trip.request
        var stage = ReconnectionStage(RequestStream(.serverEvents, given, APIOptions()))
        #expect(stage.send(&trip).word == "wait stream")
        trip.request.url = "https://elsewhere.example/moved"
        var ended: Answer? = answer(200, to: trip.request)
        #expect(stage.resume(stream: .connectAgain(afterSeconds: 3), &ended, &trip).word == "again reconnect after 3.0")
        #expect(trip.request.url == given.url)
        #expect(stage.resume(stream: .connectAgain(afterSeconds: 6), &ended, &trip).word == "accept")
        #expect(ended?.result.error?.clock == .total)
    }

    // MARK: Interceptors

    private final class Run: InterceptorRun {
        func intercept(_ interception: Interception) {}

        func end() {}
    }

    @Test func interceptorsPassInOrderAndTheAnswerReturnsToThoseThatWait() throws {
        let makers = try #require(InterceptorMakers([{ Run() }, { Run() }]))
        var trip = trip(try http())
        var stage = InterceptorStage(makers)
        #expect(stage.send(&trip).word == "wait intercept")
        var nothing: Answer?
        #expect(stage.resume(interceptor: .send(trip.request), &nothing, &trip).word == "wait intercept")
        // The inner one does not want the response.
        #expect(stage.resume(interceptor: .proceed(nil), &nothing, &trip).word == "on")
        var isWaiting = stage.isWaiting
        #expect(isWaiting)
        var known: Answer? = answer(200, to: trip.request)
        var came = try #require(known)
        #expect(stage.receive(&came, &trip).word == "wait intercept")
        #expect(stage.resume(interceptor: .send(trip.request), &known, &trip).word == "again interceptor")
        #expect(stage.cannotSendAgain("it is spent", &came, &trip).word == "wait intercept")
        #expect(came.result.error?.message.containsSubstring("it is spent") == true)
        #expect(stage.resume(interceptor: .proceed(nil), &known, &trip).word == "on")
        isWaiting = stage.isWaiting
        #expect(!isWaiting && trip.effects.count { $0.isOfInterceptors } == 2)
    }

    @Test func anInterceptorsAnswerPassesOnlyThoseOutside() throws {
        let makers = try #require(InterceptorMakers([{ Run() }, { Run() }]))
        var trip = trip(try http())
        var stage = InterceptorStage(makers)
        var nothing: Answer?
        _ = stage.send(&trip)
        #expect(stage.resume(interceptor: .respond(HTTPResponse(status: 204)), &nothing, &trip).word == "answer 204")
        let isWaiting = stage.isWaiting
        #expect(!isWaiting)
    }
}

extension Step {
    /// The next step, in words.
    fileprivate var word: String {
        switch self {
        case .on: "on"
        case .accept: "accept"
        case .wait(let need): "wait \(need.word)"
        case .again(let again): "again \(again.reason)" + (again.pause.map { " after \($0)" } ?? "")
        case .play(let response): "play \(response.status)"
        case .answer(let answer):
            "answer \(answer.failure?.code.name ?? answer.result.head.map { "\($0.status)" } ?? "")"
        }
    }
}

extension Need {
    fileprivate var word: String {
        switch self {
        case .pause: "pause"
        case .rewind: "rewind"
        case .permit: "permit"
        case .circuit: "circuit"
        case .token: "token"
        case .otherToken: "otherToken"
        case .lookUp: "lookUp"
        case .ask: "ask"
        case .file: "file"
        case .content: "content"
        case .retry: "retry"
        case .recall: "recall"
        case .proxy: "proxy"
        case .stream: "stream"
        case .intercept: "intercept"
        }
    }
}
