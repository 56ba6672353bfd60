/// One expectation of a ``Stub``, with its answers.
///
/// Answers come in the order in which they were added. The last one repeats, unless ``usedUp()`` is set. Without
/// answers it answers 200 without a body. Safe to use from any thread.
public final class StubRule: Sendable, RedactedMirror {
    /// Whether a request matches. Called on a background worker; may block.
    public typealias Predicate = @Sendable (StubRequest) -> Bool

    /// Makes the answer to a request. Called on a background worker; may block.
    public typealias Responder = @Sendable (StubRequest) -> StubAnswer

    enum Source: Sendable {
        case answer(StubAnswer)
        case responder(Responder)
    }

    private struct State {
        var body = StubBody.any
        var predicates: [Predicate] = []
        var sources: [Source] = []
        var repeatsLast = true
        var requests: [StubRequest] = []

        var isUsedUp: Bool { !repeatsLast && requests.count >= max(1, sources.count) }
    }

    let method: String?
    let url: StubURL
    private let state: Lock<State>

    init(_ method: String?, _ url: StubURL, _ body: StubBody, _ predicate: Predicate?) {
        self.method = method
        self.url = url
        var state = State(body: body)
        if let predicate { state.predicates.append(predicate) }
        self.state = Lock(state, sharing: .clients)
    }

    // MARK: Expectations

    /// Sets the expected body.
    @discardableResult public func body(_ body: StubBody) -> StubRule {
        change { $0.body = body }
    }

    /// Adds a function that must also accept the request.
    @discardableResult public func matching(_ predicate: @escaping Predicate) -> StubRule {
        change { $0.predicates.append(predicate) }
    }

    // MARK: Answers

    /// Adds answers, each for one request.
    @discardableResult public func answer(_ answers: StubAnswer...) -> StubRule {
        change { $0.sources += answers.map { .answer($0) } }
    }

    /// Adds an answer that is made on demand.
    @discardableResult public func answer(_ responder: @escaping Responder) -> StubRule {
        change { $0.sources.append(.responder(responder)) }
    }

    /// Adds a failure as an answer.
    @discardableResult public func fail(_ fault: StubFault, delay: Double = 0) -> StubRule {
        answer(.fault(fault, delay: delay))
    }

    /// Limits the matches to the number of answers.
    @discardableResult public func usedUp() -> StubRule {
        change { $0.repeatsLast = false }
    }

    // Releasing the old value may run user code, so it must outlive the lock.
    private func change(_ change: (inout State) -> Void) -> StubRule {
        let replaced = state.withLock { state in
            let old = state
            change(&state)
            return old
        }
        withExtendedLifetime(replaced) {}
        return self
    }

    // MARK: Received requests

    /// The number of matched requests.
    public var callCount: Int { state.withLock { $0.requests.count } }

    /// The matched requests, in order.
    public var requests: [StubRequest] { state.withLock { $0.requests } }

    /// The expectation, for messages.
    public var description: String { "\(method ?? "any method") \(Secrets.redactURL(url.description))" }

    /// What is missing; nil when every answer was used.
    var shortfall: String? {
        let (given, wanted) = state.withLock { ($0.requests.count, $0.repeatsLast ? 1 : max(1, $0.sources.count)) }
        guard given < wanted else { return nil }
        return wanted == 1
            ? "\(description) was never requested" : "\(description) was requested \(given) of \(wanted) times"
    }

    // MARK: For the stub

    /// How a request differs; nil when it matches. Runs user code.
    func mismatch(_ request: StubRequest) -> (reason: String, closeness: Int)? {
        var closeness = 0
        if let reason = url.mismatch(request.url, request.secrets, closeness: &closeness) {
            return (reason, closeness + (isMethod(of: request) ? 2 : 0))
        }
        guard isMethod(of: request) else { return ("the method is \(request.method)", closeness) }
        closeness += 2
        let (body, predicates) = state.withLock { ($0.body, $0.predicates) }
        if let reason = body.mismatch(request) { return (reason, closeness) }
        guard predicates.allSatisfy({ $0(request) }) else { return ("its function returned false", closeness + 1) }
        return state.withLock { $0.isUsedUp } ? ("all its answers are used up", closeness + 2) : nil
    }

    private func isMethod(of request: StubRequest) -> Bool { method.map { $0 == request.method } ?? true }

    /// The answer for a matching request; nil when another request has just taken the last one.
    func take(_ request: StubRequest) -> Source? {
        state.withLock { state in
            guard !state.isUsedUp else { return nil }
            let index = state.requests.count
            state.requests.append(request)
            guard let last = state.sources.last else { return .answer(StubAnswer()) }
            return state.sources.indices.contains(index) ? state.sources[index] : last
        }
    }

    func forget() { state.withLock { $0.requests = [] } }
}
