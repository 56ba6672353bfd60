/// A process's side of a limit that is kept in a store: what it has asked for, and when it asks again. A pure value: the
/// caller passes the time.
///
/// One question is under way at a time, for all requests that wait. While the store fails, the process does what
/// ``StoreOptions/onFailure`` says, and asks again once a second, as long as there are requests.
struct SharedLimit: Sendable {
    /// A question that the store is asked.
    struct Ask: Sendable {
        fileprivate let number: UInt64
        let permits: SharedPermits.Ask
    }

    private struct Asked {
        let ask: Ask
        /// When the store counts as failing.
        let until: MonotonicTime
        /// The pause that the question tells of.
        let pauseEnd: MonotonicTime?
    }

    private struct Failure {
        let problem: String
        let retryAt: MonotonicTime
    }

    /// Seconds between two questions to a store that fails.
    static let retryPause = 1.0
    private static let mostAtOnce = 1000
    /// For how many seconds permits are kept for requests that come later.
    private static let holdTime = 1.0
    /// A store that blocks keeps a thread for each question.
    private static let mostUnanswered = 8

    private let limits: [SharedPermits.Limit]
    private let options: StoreOptions
    private var limiter = Int64.random(in: 1...SharedPermits.greatest)
    private var lastNumber: UInt64 = 0
    private var asked: Asked?
    private var failure: Failure?
    /// How many questions the store has not answered, whether anybody still waits for the answer or not.
    private var unanswered = 0
    private var returned: Int64 = 0
    /// Permits for requests that come later, and until when these may use them.
    private var held: (count: Int, until: MonotonicTime)?
    /// Until when nobody shall start a request, if the store does not know it yet.
    private var pauseEnd: MonotonicTime?
    /// When the next permit is expected, if the store knows that requests wait here.
    private var askAt: MonotonicTime?
    /// A line for the log, which nobody has written yet.
    var line: String?

    init(_ limits: [RateLimit], _ options: StoreOptions) {
        self.limits = limits.map { limit in
            let microseconds = (limit.interval ?? .max).addingReportingOverflow(999).partialValue / 1000
            return SharedPermits.Limit(interval: Int64(clamping: microseconds), burst: Int64(limit.burst))
        }
        self.options = options
    }

    /// Why the limit cannot be shared.
    var problem: String? {
        guard limits.allSatisfy(\.isPossible) else { return "a shared burst may take 70 years at most" }
        guard limits.allSatisfy({ $0.burst >= options.batch }) else {
            return "the store's batch is \(options.batch): it must be at most the smallest burst"
        }
        return nil
    }

    /// What is done instead while the store fails; nil when it does not.
    var substitute: StoreOptions.Substitute? { failure.map { _ in onFailure } }

    private var onFailure: StoreOptions.Substitute { options.onFailure ?? .local }

    /// Whether it is time to find out whether the store answers again.
    func isDue(_ now: MonotonicTime) -> Bool {
        guard let failure else { return false }
        return asked == nil && now >= failure.retryAt && unanswered < Self.mostUnanswered
    }

    /// The error of requests that fail with the store.
    var refusal: APIError? {
        failure.map { .storeFailed("the rate limit is kept in a store, which has failed: \($0.problem)") }
    }

    /// When to look again, and whether that is a pause of requests; nil when nothing is due.
    func nextMoment(_ waiting: Int) -> (moment: MonotonicTime, isPause: Bool)? {
        if let asked { return (asked.until, false) }
        guard waiting > 0 else { return nil }
        // With too many questions under way, an answer to one of them comes first.
        if let failure { return unanswered < Self.mostUnanswered ? (failure.retryAt, false) : nil }
        return askAt.map { ($0, true) }
    }

    /// The next question; nil when none is needed now.
    ///
    /// - Parameter waiting: how many requests could start.
    mutating func next(_ waiting: Int, _ now: MonotonicTime) -> Ask? {
        guard asked == nil else { return nil }
        var wanted = Int64(min(waiting, Self.mostAtOnce))
        if failure != nil {
            guard isDue(now) else { return nil }
            // This only finds out whether the store answers. The requests do not wait for it.
            wanted = 0
        } else {
            let isDue = waiting > 0 ? askAt.map { $0 <= now } ?? true : askAt != nil
            guard isDue || returned > 0 || pauseEnd != nil else { return nil }
        }
        lastNumber += 1
        unanswered += 1
        let pause = Int64((pauseEnd?.seconds(since: now) ?? 0) * 1e6)
        let ask = Ask(
            number: lastNumber,
            permits: SharedPermits.Ask(
                limiter: limiter, wanted: wanted, spare: wanted > 0 ? max(0, Int64(options.batch) - wanted) : 0,
                returned: returned, pause: pause, limits: limits))
        asked = Asked(ask: ask, until: now.advanced(bySeconds: options.timeout), pauseEnd: pauseEnd)
        returned = 0
        return ask
    }

    /// The store has answered a question, or has failed.
    ///
    /// - Returns: how many requests may start.
    mutating func answered(
        _ ask: Ask, _ result: Result<SharedPermits.Reply, StoreProblem>, _ now: MonotonicTime
    ) -> Int {
        unanswered -= 1
        guard let current = asked, current.ask.number == ask.number else {
            // Too late: nobody has waited for it.
            if case .success(let reply) = result, ask.permits.fits(reply) { giveBack(Int(reply.granted)) }
            return 0
        }
        switch result {
        case .success(let reply) where !ask.permits.fits(reply):
            failed("its reply does not fit the question: [\(reply.granted), \(reply.wait)]", now)
            return 0
        case .success(let reply):
            asked = nil
            if current.pauseEnd == pauseEnd { pauseEnd = nil }
            if failure.take() != nil { line = "the store answers again" }
            askAt = reply.wait > 0 ? now.advanced(bySeconds: Double(reply.wait) / 1e6) : nil
            return Int(reply.granted)
        case .failure(let problem):
            failed(problem.text, now)
            return 0
        }
    }

    /// Notices that the store has not answered in time.
    mutating func look(_ now: MonotonicTime) {
        if let asked, asked.until <= now { failed("it has not replied in \(decimal(options.timeout)) s", now) }
    }

    private mutating func failed(_ problem: String, _ now: MonotonicTime) {
        // Whether the store has taken back what was returned is not known: so it is not returned again.
        (asked, askAt) = (nil, nil)
        if failure == nil { line = "the store has failed, so \(onFailure.words): \(problem)" }
        failure = Failure(problem: problem, retryAt: now.advanced(bySeconds: Self.retryPause))
    }

    /// Permits that no request has used: some are kept for later ones, if the program wants that.
    mutating func keep(_ count: Int, _ now: MonotonicTime) {
        let kept = min(count, options.batch - 1)
        if kept > 0 { held = (kept, now.advanced(bySeconds: Self.holdTime)) }
        giveBack(count - kept)
    }

    /// Takes kept permits.
    ///
    /// - Returns: how many there are, `most` at most.
    mutating func takeKept(_ most: Int, _ now: MonotonicTime) -> Int {
        guard let known = held else { return 0 }
        guard now < known.until else {
            held = nil
            giveBack(known.count)
            return 0
        }
        let count = min(most, known.count)
        held = count < known.count ? (known.count - count, known.until) : nil
        return count
    }

    /// Permits that nobody uses.
    mutating func giveBack(_ count: Int) { returned = min(returned + Int64(count), SharedPermits.greatest) }

    /// Nobody shall start a request for this many seconds.
    mutating func pause(_ seconds: Double, _ now: MonotonicTime) {
        guard seconds > 0 else { return }
        if let unused = held.take() { giveBack(unused.count) }
        let end = now.advanced(bySeconds: min(seconds, 86_400))
        pauseEnd = pauseEnd.map { max($0, end) } ?? end
    }

    /// In a forked child: it is another limiter, and has asked nothing.
    mutating func forget() {
        limiter = .random(in: 1...SharedPermits.greatest)
        (asked, askAt, failure, line, held) = (nil, nil, nil, nil, nil)
        (unanswered, returned, pauseEnd) = (0, 0, nil)
    }
}
