/// Answers a client's requests in memory instead of the network, for tests.
///
///     let stub = Stub()
///     stub.on("GET", "find?q=London").answer(.json(["list": [["name": "London"]]]))
///     stub.on("POST", "notes", body: .json(["title": "x"])).answer(.status(503), .status(201))
///     client.stub = stub
///
/// Everything else works as with a server: hooks, redirects, errors, retries, downloads, streams and progress. No byte
/// leaves the process. It cannot do what libcurl does: cookies, Digest, proxies, TLS, decompression, HTTP/2. If several
/// expectations match, the one that was added last answers. A request without a match fails with the code `no stub`, and the
/// message names the nearest expectations. Several clients may share a stub. Safe to use from any thread.
public final class Stub: Sendable, RedactedMirror {
    private struct State {
        var rules: [StubRule] = []
        var requests: [StubRequest] = []
        /// Those in `waitForRequests`.
        var watchers = CountWatchers()
    }

    private let state = Lock(State(), sharing: .clients)
    /// What to do about a request without a match.
    private let advice: String?

    /// A stub without expectations.
    public convenience init() { self.init(advice: nil) }

    init(advice: String?) { self.advice = advice }

    /// Always gives this answer.
    convenience init(playing answer: StubAnswer) {
        self.init()
        on(nil).answer(answer)
    }

    /// Adds an expectation. Without an answer it answers 200 without a body.
    ///
    /// - Parameters:
    ///   - method: nil for any.
    ///   - url: `/notes/*` is the whole path on any server; `notes/*` is the end of the path; with `https://…` the
    ///     server must match, too. * matches any characters within a segment, ** at the end matches the rest. After a ?
    ///     come pairs that the query must have.
    ///   - body: the expected body.
    ///   - predicate: called on a background worker when everything else matches.
    @discardableResult public func on(
        _ method: String?, _ url: String = "**", body: StubBody = .any, where predicate: StubRule.Predicate? = nil
    ) -> StubRule {
        add(StubRule(method, StubURL(url), body, predicate))
    }

    func add(_ rule: StubRule) -> StubRule {
        state.withLock { $0.rules.append(rule) }
        return rule
    }

    /// The received requests in order, including unmatched ones.
    public var requests: [StubRequest] { state.withLock { $0.requests } }

    /// Waits until this many requests have come, unmatched ones included.
    ///
    /// - Parameter timeout: seconds of the system's time; nil waits for ever.
    /// - Returns: the requests that have come.
    /// - Throws: an error that names them, when the timeout has passed before.
    @discardableResult public func waitForRequests(
        _ count: Int = 1, timeout: Double? = 30
    ) throws(APIError) -> [StubRequest] {
        let watcher = state.withLock { $0.requests.count >= count ? nil : $0.watchers.add(count) }
        defer { if let watcher { state.withLock { $0.watchers.remove(watcher) } } }
        if watcher?.wait(timeout: timeout) ?? true { return requests }
        let requests = requests
        let list = requests.isEmpty ? "" : ": " + requests.map(\.description).joined(separator: ", ")
        throw APIError(
            domain: .request, code: .noStub,
            message: "\(requests.count) of \(count) requests have come within \(timeout ?? 0) s\(list)")
    }

    /// The same for code that must not block its thread.
    @discardableResult public func waitForRequests(
        _ count: Int = 1, timeout: Double? = 30
    ) async throws(APIError) -> [StubRequest] {
        // Checked, because ThreadSanitizer does not see how the runtime orders what comes before a resumption.
        let result: Result<[StubRequest], APIError> = await withCheckedContinuation { continuation in
            DeliveryRuntime.current.workers.run {
                do throws(APIError) {
                    let requests: [StubRequest] = try self.waitForRequests(count, timeout: timeout)
                    continuation.resume(returning: .success(requests))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// The unmet expectations (never used, or with unused answers), and the unmatched requests.
    public var problems: [String] {
        let (rules, requests) = state.withLock { ($0.rules, $0.requests) }
        return rules.compactMap(\.shortfall) + requests.filter { !$0.isMatched }.map { "no stub has matched \($0)" }
    }

    /// Checks that every expectation was met, and every request was expected.
    ///
    /// - Throws: an error that names the problems.
    public func verify() throws(APIError) {
        let problems = problems
        guard !problems.isEmpty else { return }
        throw APIError(domain: .request, code: .noStub, message: problems.joined(separator: "; "))
    }

    /// The problems, each with what was nearest: the requests to an unmet expectation, the expectations to an unmatched
    /// request. Runs user code.
    package var explainedProblems: [String] {
        let (rules, requests) = state.withLock { ($0.rules, $0.requests.filter { !$0.isMatched }) }
        let unmet = rules.compactMap { rule in
            rule.shortfall.map { shortfall in
                let nearest = requests.compactMap { request in rule.mismatch(request).map { (request, $0) } }
                    .max { $0.1.closeness < $1.1.closeness }
                guard let (request, mismatch) = nearest else { return shortfall }
                return "\(shortfall); the nearest request: \(request) (\(mismatch.reason))"
            }
        }
        return unmet + requests.compactMap(\.mismatch)
    }

    /// Forgets the received requests, and restarts every expectation.
    public func forgetRequests() {
        let rules = state.withLock { state in
            state.requests = []
            return state.rules
        }
        for rule in rules { rule.forget() }
    }

    /// Removes all expectations and received requests.
    public func reset() {
        let old = state.withLock { (exchange(&$0.rules, with: []), exchange(&$0.requests, with: [])) }
        withExtendedLifetime(old) {}
    }

    // MARK: For the transport

    /// The answer to a request. Runs user code.
    func answer(_ request: StubRequest) -> Result<StubAnswer, APIError> {
        var request = request
        request.isMatched = true
        let rules = state.withLock { $0.rules }
        var near: [(rule: StubRule, reason: String, closeness: Int)] = []
        for rule in rules.reversed() {
            if let mismatch = rule.mismatch(request) {
                near.append((rule, mismatch.reason, mismatch.closeness))
            } else if let source = rule.take(request) {
                keep(request)
                return answer(request, source)
            }
        }
        // The standard library's sort is stable.
        let nearest = near.sorted { $0.closeness > $1.closeness }.prefix(3)
        let list = nearest.map { "\($0.rule.description) (\($0.reason))" }.joined(separator: ", ")
        let hint = rules.isEmpty ? "the stub has no expectations" : "the nearest: \(list)"
        let message = "no stub matches \(request); \(hint)\(advice.map { "; \($0)" } ?? "")"
        request.isMatched = false
        request.mismatch = message
        keep(request)
        return .failure(APIError(domain: .request, code: .noStub, message: message))
    }

    private func keep(_ request: StubRequest) {
        let found = state.withLock { state in
            state.requests.append(request)
            return state.watchers.reached(state.requests.count)
        }
        for watcher in found { watcher.tell() }
    }

    private func answer(_ request: StubRequest, _ source: StubRule.Source) -> Result<StubAnswer, APIError> {
        let answer: StubAnswer
        switch source {
        case .answer(let given): answer = given
        case .responder(let make): answer = make(request)
        }
        guard let problem = answer.problem else { return .success(answer) }
        return .failure(.invalidRequest("the stub cannot answer \(request): \(problem)"))
    }
}

/// A request as a stub has received it.
public struct StubRequest: Sendable, RedactedMirror {
    /// The method.
    public let method: String
    /// The URL.
    public let url: String
    /// The headers to send, without those that libcurl adds: Host, Content-Length, cookies and answers to Digest
    /// challenges.
    public let headers: HTTPHeaders
    /// The body, also of a file or stream.
    public let body: [UInt8]
    /// Whether a stub has matched it.
    public internal(set) var isMatched = false
    /// What was nearest, for a request that no stub has matched.
    var mismatch: String?

    /// The parts of a multipart body.
    let parts: [RecordedBody.Part]
    /// What texts must not show.
    let secrets: MarkedSecrets
    /// The URL, secrets redacted.
    package var shownURL: String { secrets.redact(url: url) }

    /// The body as JSON; nil when it is not JSON.
    public var json: JSON? { body.isEmpty ? nil : try? JSON(parsing: body) }

    /// The body as text; bytes that are not UTF-8 are replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Method and URL, secrets redacted.
    public var description: String { printable("\(method) \(shownURL)") }

    init(_ http: HTTPRequest, body: [UInt8]) {
        let parts: [HTTPRequest.Part]?
        if case .multipart(let all) = http.body {
            parts = all
        } else {
            parts = http.headers["Content-Type"].flatMap { MultipartText.parts(body, type: $0) }
        }
        self.parts = parts?.compactMap { try? RecordedBody.Part($0) } ?? []
        method = http.method
        url = http.url
        secrets = http.secrets
        self.body = body
        var headers = http.headers
        if case .multipart = http.body {
            let type = HeaderSyntax.withoutBoundary(headers["Content-Type"] ?? "multipart/form-data")
            headers.set("Content-Type", "\(type); boundary=\(MultipartText.boundary)")
        }
        self.headers = headers
    }
}

/// Makes exchanges with a stub, in memory.
final class StubTransport: Transport {
    let stub: Stub
    let clock: any WaitingClock
    let workers: WorkerPool
    /// Guards the transport's fields in its exchanges, because there is no network thread here.
    private let lock = Lock(())

    init(_ stub: Stub, clock: any WaitingClock, workers: WorkerPool) {
        self.stub = stub
        self.clock = clock
        self.workers = workers
    }

    func begin(_ exchange: Exchange) {
        let (transfer, isCancelled) = lock.withLock { _ in
            let transfer = StubTransfer(exchange, to: self)
            let isCancelled = exchange.phase == .cancelledEarly
            exchange.phase = .running
            exchange.transfer = transfer
            return (transfer, isCancelled)
        }
        transfer.run { isCancelled ? $0.end(.cancelled) : $0.start() }
    }

    func cancel(_ exchange: Exchange) {
        let transfer = lock.withLock { _ in
            if exchange.phase == .new { exchange.phase = .cancelledEarly }
            return exchange.transfer as? StubTransfer
        }
        transfer?.run { $0.end(.cancelled) }
    }

    /// The process ends: the exchange does not wait for code of the program any more.
    func abandon(_ exchange: Exchange) { (lock.withLock { _ in exchange.transfer as? StubTransfer })?.abandon() }

    func change(_ exchange: Exchange, _ change: ExchangeChange) {
        let transfer = lock.withLock { _ -> StubTransfer? in
            if exchange.phase == .new, exchange.obeys(change) { exchange.changeEarly(change) }
            return exchange.transfer as? StubTransfer
        }
        let now = clock.now
        transfer?.run { if exchange.obeys(change) { $0.change(change, at: now) } }
    }

    func hasEnded(_ exchange: Exchange) {
        lock.withLock { _ in
            exchange.phase = .ended
            exchange.transfer = nil
        }
    }
}
