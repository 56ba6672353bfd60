#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tells the observers of one request what happens to it, one call after the other.
///
/// The events of a request follow from each other, but not all on one thread: a cancel comes from anywhere, and a reply
/// may come while the call for its wait still runs. So each event takes a turn. It also ends what an earlier one began.
final class Observation: Sendable {
    /// What the observers were told. Used by the thread that has the turn.
    private struct Told {
        /// None after the end.
        var observers: [any APIObserver]
        var isOpen = false
        /// What each observer has returned from `begun`.
        var contexts: [(any Sendable)?] = []
        var attempts = 0
        var attempt: ObservedAttempt?
        var wait: (kind: ObservedWait, begun: MonotonicTime)?
    }

    private let events: ObservedEvents
    /// The thread that has the turn.
    private let turn = Monitor<pthread_t?>(nil)
    // Safe to share: only the thread that has the turn uses it.
    nonisolated(unsafe) private var told: Told

    /// - Returns: nil when nobody observes.
    static func make(for client: APIClient) -> Observation? {
        let (first, own) = (client.isHidden ? [] : Observers.ofProcess.all, client.observers.all)
        return first.isEmpty && own.isEmpty ? nil : Observation(first + own)
    }

    private init(_ observers: [any APIObserver]) {
        told = Told(observers: observers)
        events = observers.reduce([]) { $0.union($1.events) }
    }

    // MARK: Turns

    /// Waits until no other thread tells the observers anything. Call `leave` afterwards.
    ///
    /// - Returns: whether the turn was taken; false when the calling thread has it: an observer does something with its
    ///   request that is an event itself.
    private func enter(_ request: APIRequest) -> Bool {
        let me = Optional(pthread_self())
        let holder = turn.withLock(inChild: me) { holder in
            defer { if holder == nil { holder = me } }
            return holder
        }
        guard holder != nil else { return true }
        guard holder != me else { return false }
        request.runtime.workers.whileBlocked {
            _ = turn.wait(until: .distantFuture) { holder in
                guard holder == nil else { return Void?.none }
                holder = me
                return ()
            }
        }
        return true
    }

    private func leave(_ hasTurn: Bool) {
        guard hasTurn else { return }
        turn.withLock(inChild: ()) { $0 = nil }
        turn.broadcast()
    }

    private func tell(
        _ event: ObservedEvents, _ request: APIRequest, _ call: (any APIObserver, (any Sendable)?) -> Void
    ) throws(Forked) {
        guard events.contains(event) else { return }
        for (index, observer) in told.observers.enumerated() where observer.events.contains(event) {
            let context = told.contexts[index]
            try Delivery.run(request) { call(observer, context) }
        }
    }

    // MARK: Events

    func begun(_ request: APIRequest) throws(Forked) {
        let hasTurn = enter(request)
        defer { leave(hasTurn) }
        for observer in told.observers {
            let context = observer.events.contains(.begun) ? try Delivery.run(request) { observer.begun(request) } : nil
            told.contexts.append(context)
        }
        // Only now does each observer have its context.
        told.isOpen = true
    }

    func waitBegins(_ kind: ObservedWait, _ request: APIRequest) throws(Forked) {
        guard events.contains(.waits) else { return }
        let hasTurn = enter(request)
        defer { leave(hasTurn) }
        guard told.isOpen else { return }
        try endWait(request)
        told.wait = (kind, request.now)
        try tell(.waits, request) { $0.waitBegins(kind, $1) }
    }

    /// The wait is over, if there was one.
    func waitEnds(_ request: APIRequest) throws(Forked) {
        guard events.contains(.waits) else { return }
        let hasTurn = enter(request)
        defer { leave(hasTurn) }
        try endWait(request)
    }

    private func endWait(_ request: APIRequest) throws(Forked) {
        guard let wait = told.wait.take() else { return }
        let seconds = request.now.seconds(since: wait.begun)
        try tell(.waits, request) { $0.waitEnds(wait.kind, seconds: seconds, $1) }
    }

    /// - Returns: the headers to add.
    func attemptBegins(
        _ http: HTTPRequest, _ reason: Interception.Reason, _ request: APIRequest
    ) throws(Forked) -> [HTTPHeaders] {
        let hasTurn = enter(request)
        defer { leave(hasTurn) }
        guard told.isOpen else { return [] }
        try endWait(request)
        told.attempts += 1
        let attempt = ObservedAttempt(
            number: told.attempts, reason: reason, request: http, startTime: request.clock.calendarSeconds)
        told.attempt = attempt
        var added: [HTTPHeaders] = []
        try tell(.attemptBegins, request) { added.append($0.attemptBegins(attempt, $1)) }
        return added
    }

    func attemptEnds(_ result: ExchangeResult, _ request: APIRequest) throws(Forked) {
        let hasTurn = enter(request)
        defer { leave(hasTurn) }
        try endAttempt(result, request)
    }

    private func endAttempt(_ result: ExchangeResult, _ request: APIRequest) throws(Forked) {
        try endWait(request)
        guard let attempt = told.attempt.take() else { return }
        try tell(.attemptEnds, request) { $0.attemptEnds(attempt, ObservedAnswer(result), $1) }
    }

    func cache(_ outcome: CacheOutcome, _ request: APIRequest) throws(Forked) {
        let hasTurn = enter(request)
        defer { leave(hasTurn) }
        if told.isOpen { try tell(.cache, request) { $0.cacheAnswered(outcome, $1) } }
    }

    func circuit(_ event: CircuitEvent, _ origin: String, _ request: APIRequest) throws(Forked) {
        let hasTurn = enter(request)
        defer { leave(hasTurn) }
        if told.isOpen { try tell(.circuit, request) { $0.circuitChanged(event, origin, $1) } }
    }

    /// The outcome is final. What has begun ends with it.
    func ended(_ response: APIResponse) throws(Forked) {
        let request = response.request
        let hasTurn = enter(request)
        defer { leave(hasTurn) }
        guard told.isOpen else { return }
        try endAttempt(ExchangeResult(error: .cancelled), request)
        try tell(.ended, request) { $0.ended(response, $1) }
        told.isOpen = false
        // Releasing them may run code of the program.
        try Delivery.run(request) { (told.contexts, told.observers) = ([], []) }
    }
}
