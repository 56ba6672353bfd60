/// Credentials that expire, and the requests that wait for new ones: a pure value that decides who sends what, who waits,
/// and when one refresh is asked for.
///
/// The shell (`Authenticator`) calls it under its lock and acts after releasing it. Promises kept here: at most one refresh
/// at a time; whoever waits is told once; after a failed one nobody asks again for a moment, however many would.
struct RefreshGate<Waiter: Hashable & Sendable>: Sendable {
    /// A token, and which one it is: a server's no to an older one says nothing about it.
    struct Grant: Sendable, Equatable {
        var token: String
        var generation: UInt64
        /// Whose it is: the first of the tokens that refreshes have replaced. The program says when it is another's.
        var owner = ""

        static func == (left: Grant, right: Grant) -> Bool {
            left.token == right.token && left.generation == right.generation
        }
    }

    /// A refresh to be asked for. Its answer names it.
    struct Start: Sendable, Equatable {
        var identifier: UInt64
        /// The token that is no good any more, or not for long; nil when there is none.
        var token: String?
        /// The request that made it necessary.
        var asker: Waiter
        /// Whether the server's answer to that one is what is asked about; else there is no token, or not for long.
        var isAboutAnswer: Bool
    }

    /// What a request has been through.
    struct History: Sendable, Equatable {
        /// Whether it was sent again with a token that came while it was under way.
        var wasReplayed = false
        /// Whether its rejection was followed by a refresh.
        var wasRefreshed = false
    }

    enum Admission: Sendable, Equatable {
        case send(Grant, start: Start?)
        case wait(start: Start?)
        case fail(APIError)
    }

    enum Verdict: Sendable, Equatable {
        /// There is another token by now.
        case replay(Grant)
        case wait(start: Start?)
        /// It has had its second chance: the answer stands as it is.
        case deliver
        case fail(APIError)
    }

    enum Outcome: Sendable, Equatable {
        case send(Grant)
        /// The server's answer does not mean that the credentials have expired.
        case deliver
        case fail(APIError)
    }

    /// What follows from the end of a refresh.
    struct Release: Sendable {
        var outcomes: [(waiter: Waiter, outcome: Outcome)] = []
        var start: Start?
    }

    private struct Refresh {
        var identifier: UInt64
        /// The request whose answer it is about.
        var asker: Waiter?
        /// The token that was there when it was asked for: a late answer must not replace a newer one.
        var generation: UInt64
    }

    /// How long a failed refresh answers for the next one, in seconds.
    static var failureMemory: Double { 1 }
    /// A token is refreshed ahead of its end, in the background: by this part of its life, and at most so many seconds.
    private static var margin: (part: Double, seconds: Double) { (0.1, 60) }

    private var token: String?
    private var generation: UInt64 = 0
    private var owner: String?
    private var expiresAt = MonotonicTime.distantFuture
    private var refreshesAt = MonotonicTime.distantFuture
    /// Whether a server has refused the token.
    private var isRejected = false
    private var refresh: Refresh?
    /// Those whose time was over: an answer may still come, and be of use.
    private var late: [Refresh] = []
    private var lastIdentifier: UInt64 = 0
    private var failure: (error: APIError, until: MonotonicTime)?
    /// Those that wait, in order; true for those that a server has rejected.
    private var waiters: [(waiter: Waiter, wasRejected: Bool)] = []

    /// The token, whether it is good or not.
    var current: String? { token }

    var isRefreshing: Bool { refresh != nil }

    func isRefreshing(_ identifier: UInt64) -> Bool { refresh?.identifier == identifier }

    var waiterCount: Int { waiters.count }

    // MARK: Requests

    /// The short way, for nearly all: a token that is good for longer.
    func grant(_ now: MonotonicTime) -> Grant? { now < refreshesAt ? usable(now) : nil }

    /// A request wants to be sent.
    mutating func admit(_ waiter: Waiter, _ now: MonotonicTime) -> Admission {
        forgetFailure(now)
        if let grant = usable(now) {
            let isAhead = now >= refreshesAt && refresh == nil && failure == nil
            return .send(grant, start: isAhead ? start(for: waiter, isAboutAnswer: false) : nil)
        }
        if let failure, refresh == nil { return .fail(failure.error) }
        waiters.append((waiter, false))
        return .wait(start: refresh == nil ? start(for: waiter, isAboutAnswer: false) : nil)
    }

    /// A server has rejected a request that was sent with the token of that generation.
    mutating func rejected(
        _ waiter: Waiter, _ sent: UInt64, _ history: History, _ now: MonotonicTime
    ) -> Verdict {
        forgetFailure(now)
        if history.wasRefreshed { return .deliver }
        if sent != generation, let grant = usable(now) { return history.wasReplayed ? .deliver : .replay(grant) }
        if sent == generation { isRejected = true }
        if let failure, refresh == nil { return .fail(failure.error) }
        waiters.append((waiter, true))
        return .wait(start: refresh == nil ? start(for: waiter, isAboutAnswer: true) : nil)
    }

    /// A server has rejected a request that cannot be sent again: the next one need not try the same.
    mutating func rejectedForGood(_ sent: UInt64) {
        if sent == generation { isRejected = true }
    }

    /// The request was cancelled, or its time is over. The refresh goes on, for the others.
    mutating func leave(_ waiter: Waiter) { waiters.removeAll { $0.waiter == waiter } }

    // MARK: The refresh

    /// - Parameter lifetime: in seconds from now; nil is unknown.
    mutating func succeeded(
        _ identifier: UInt64, _ token: String, lifetime: Double?, _ now: MonotonicTime
    ) -> Release {
        // Late is better than never, unless there is something newer.
        let isLate = late.contains { $0.identifier == identifier && $0.generation == generation }
        guard isLate || refresh?.identifier == identifier else { return Release() }
        return replace(token, lifetime: lifetime, now)
    }

    mutating func failed(_ identifier: UInt64, _ error: APIError, _ now: MonotonicTime) -> Release {
        guard let ended = refresh, ended.identifier == identifier else { return Release() }
        refresh = nil
        failure = (error, now.advanced(bySeconds: Self.failureMemory))
        return release { _ in .fail(error) }
    }

    /// It takes too long: as `failed`, but a token that comes later is taken all the same.
    mutating func timedOut(_ identifier: UInt64, _ error: APIError, _ now: MonotonicTime) -> Release {
        guard let ended = refresh, ended.identifier == identifier else { return Release() }
        keepForLater(ended)
        return failed(identifier, error, now)
    }

    /// The answer that it was asked for does not mean that the token has expired: others' may.
    ///
    /// - Parameter error: for those that have no token to go on with.
    mutating func declined(_ identifier: UInt64, _ error: APIError, _ now: MonotonicTime) -> Release {
        guard let ended = refresh, ended.identifier == identifier else { return Release() }
        guard let asker = ended.asker else {
            // Asked for without an answer of a server: whoever has one is asked about next.
            if usable(now) != nil || (token != nil && isRejected) {
                // Ahead of its end: not with each request that comes now.
                refreshesAt = max(refreshesAt, now.advanced(bySeconds: Self.failureMemory))
                return askForNext(Release(), now)
            }
            return failed(identifier, error, now)
        }
        var release = Release()
        // It may have left in the meantime.
        if let index = waiters.firstIndex(where: { $0.waiter == asker }) {
            waiters.remove(at: index)
            release.outcomes.append((asker, .deliver))
        }
        return askForNext(release, now)
    }

    /// Nobody is there to use it any more.
    ///
    /// - Returns: false when somebody still waits.
    mutating func abandon() -> Bool {
        guard let ended = refresh, waiters.isEmpty else { return false }
        keepForLater(ended)
        refresh = nil
        return true
    }

    /// The program has a token, or wants none to be used any more.
    mutating func set(_ token: String?, lifetime: Double?, _ now: MonotonicTime) -> Release {
        owner = nil
        if let token { return replace(token, lifetime: lifetime, now) }
        self.token = nil
        generation += 1
        isRejected = false
        failure = nil
        expiresAt = .distantFuture
        refreshesAt = .distantFuture
        return Release()
    }

    /// In a forked child, whose parent the refresh and the requests belong to.
    mutating func forget() -> [Waiter] {
        refresh = nil
        late = []
        defer { waiters = [] }
        return waiters.map(\.waiter)
    }

    // MARK: Within

    private func usable(_ now: MonotonicTime) -> Grant? {
        guard let token, !isRejected, now < expiresAt else { return nil }
        return Grant(token: token, generation: generation, owner: owner ?? token)
    }

    private mutating func forgetFailure(_ now: MonotonicTime) {
        if let known = failure, now >= known.until { failure = nil }
    }

    private mutating func keepForLater(_ ended: Refresh) {
        // More than a few that never answer are not worth waiting for.
        if late.count >= 8 { late.removeFirst() }
        late.append(ended)
    }

    private mutating func start(for asker: Waiter, isAboutAnswer: Bool) -> Start {
        lastIdentifier += 1
        refresh = Refresh(
            identifier: lastIdentifier, asker: isAboutAnswer ? asker : nil, generation: generation)
        return Start(identifier: lastIdentifier, token: token, asker: asker, isAboutAnswer: isAboutAnswer)
    }

    private mutating func replace(_ token: String, lifetime: Double?, _ now: MonotonicTime) -> Release {
        self.token = token
        owner = owner ?? token
        generation += 1
        isRejected = false
        failure = nil
        refresh = nil
        late = []
        expiresAt = .distantFuture
        refreshesAt = .distantFuture
        if let lifetime, lifetime.isFinite {
            expiresAt = now.advanced(bySeconds: lifetime)
            let ahead = min(lifetime * Self.margin.part, Self.margin.seconds)
            refreshesAt = now.advanced(bySeconds: lifetime - ahead)
        }
        let grant = Grant(token: token, generation: generation, owner: owner ?? token)
        return release { _ in .send(grant) }
    }

    private mutating func release(_ outcome: (Waiter) -> Outcome) -> Release {
        defer { waiters = [] }
        return Release(outcomes: waiters.map { ($0.waiter, outcome($0.waiter)) })
    }

    /// Asks about the next answer of a server; when there is none left, the token is not to blame.
    private mutating func askForNext(_ release: Release, _ now: MonotonicTime) -> Release {
        var release = release
        refresh = nil
        if let next = waiters.first(where: \.wasRejected) {
            release.start = start(for: next.waiter, isAboutAnswer: true)
            return release
        }
        isRejected = false
        if let grant = usable(now) {
            let others = self.release { _ in .send(grant) }
            release.outcomes += others.outcomes
        } else if let first = waiters.first {
            release.start = start(for: first.waiter, isAboutAnswer: false)
        }
        return release
    }
}
