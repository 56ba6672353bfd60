/// A token with its generation. A rejection of an older token does not concern a newer one.
struct TokenGrant: Sendable, Equatable {
    var token: String
    var generation: UInt64
    /// Identifies the user: by the first token before all refreshes, or as a store says. The program sets a new token when
    /// the user changes.
    var owner = ""

    static func == (left: TokenGrant, right: TokenGrant) -> Bool {
        left.token == right.token && left.generation == right.generation
    }
}

/// What was already tried for a request.
struct TokenHistory: Sendable, Equatable {
    /// Whether it was sent again with a newer token, without a refresh.
    var wasReplayed = false
    /// Whether its rejection was followed by a refresh.
    var wasRefreshed = false
}

/// How requests send a token.
struct TokenUse: Sendable {
    /// The name of the header.
    var header: String
    /// The word before the token; "" for none.
    var scheme: String
    /// The statuses that mean that the token has expired.
    var statuses: Set<Int>

    /// The header's value.
    func value(_ token: String) -> String { scheme.isEmpty ? token : "\(scheme) \(token)" }

    /// Whether a response says that the token has expired. If a challenge gives another reason, it has not.
    func hasExpired(_ head: ResponseHead) -> Bool {
        guard statuses.contains(head.status) else { return false }
        let challenges = HTTPChallenge.parse(head.headers.all("WWW-Authenticate"))
        return !challenges.contains { challenge in
            challenge.isScheme(scheme) && ["insufficient_scope", "invalid_request"].contains(challenge["error"] ?? "")
        }
    }
}

/// Decides, for credentials that expire, which request may be sent with which token, which ones wait, and when to
/// refresh. A pure value.
///
/// `Authenticator` calls it under its lock and acts after releasing it. It guarantees that at most one refresh runs at
/// a time and that each waiter gets one result. After a failure there is a short pause before the next refresh.
struct TokenPermits<Waiter: Hashable & Sendable>: Sendable {
    typealias Grant = TokenGrant
    typealias History = TokenHistory

    /// A refresh to start. Its result carries the identifier.
    struct Start: Sendable, Equatable {
        var identifier: UInt64
        /// The token that has expired or soon expires; nil when there is none.
        var token: String?
        /// The request that caused the refresh.
        var asker: Waiter
        /// Whether a server's rejection is the reason. Otherwise there is no token, or it soon expires.
        var isAboutAnswer: Bool
        /// Whether a server has rejected the token, in an answer to whichever request.
        var isRejected = false
    }

    enum Admission: Sendable, Equatable {
        case send(Grant, start: Start?)
        case wait(start: Start?)
        case fail(APIError)
    }

    enum Verdict: Sendable, Equatable {
        /// There is a newer token.
        case replay(Grant)
        case wait(start: Start?)
        /// The request was already repeated, so the answer is delivered.
        case deliver
        case fail(APIError)
    }

    enum Outcome: Sendable, Equatable {
        case send(Grant)
        /// The server's answer does not mean that the credentials have expired, so it is delivered.
        case deliver
        case fail(APIError)
    }

    /// What to do after the end of a refresh.
    struct Release: Sendable {
        var outcomes: [(waiter: Waiter, outcome: Outcome)] = []
        var start: Start?
    }

    private struct Refresh {
        var identifier: UInt64
        /// The request whose answer caused it.
        var asker: Waiter?
        /// The generation of the token at the start. A late result must not replace a newer token.
        var generation: UInt64
    }

    /// For how many seconds a failed refresh also fails new requests.
    static var failureMemory: Double { 1 }
    /// When a token is refreshed in the background before it expires: this part of its lifetime before, but at most
    /// this many seconds before.
    private static var margin: (part: Double, seconds: Double) { (0.1, 60) }

    private var token: String?
    private var generation: UInt64 = 0
    private var owner: String?
    private var expiresAt = MonotonicTime.distantFuture
    private var refreshesAt = MonotonicTime.distantFuture
    /// Whether a server has refused the token.
    private var isRejected = false
    private var refresh: Refresh?
    /// Refreshes that timed out. Their results may still arrive and be useful.
    private var late: [Refresh] = []
    private var lastIdentifier: UInt64 = 0
    private var failure: (error: APIError, until: MonotonicTime)?
    /// The waiting requests in order. `wasRejected`: the server has rejected the request's token.
    private var waiters: [(waiter: Waiter, wasRejected: Bool)] = []

    /// The token, valid or not.
    var current: String? { token }

    var isRefreshing: Bool { refresh != nil }

    func isRefreshing(_ identifier: UInt64) -> Bool { refresh?.identifier == identifier }

    var waiterCount: Int { waiters.count }

    // MARK: Requests

    /// The fast path: a token that does not expire soon.
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

    /// A server has rejected a request that cannot be sent again. The next request should not try the same token.
    mutating func rejectedForGood(_ sent: UInt64) {
        if sent == generation { isRejected = true }
    }

    /// The request was cancelled or has timed out. The refresh continues for the others.
    mutating func leave(_ waiter: Waiter) { waiters.removeAll { $0.waiter == waiter } }

    // MARK: The refresh

    /// - Parameters:
    ///   - lifetime: in seconds from now; nil is unknown.
    ///   - owner: nil for the same as before.
    mutating func succeeded(
        _ identifier: UInt64, _ token: String, lifetime: Double?, owner: String? = nil, _ now: MonotonicTime
    ) -> Release {
        // A late token is used, unless there is a newer one.
        let isLate = late.contains { $0.identifier == identifier && $0.generation == generation }
        guard isLate || refresh?.identifier == identifier else { return Release() }
        if let owner { self.owner = owner }
        return replace(token, lifetime: lifetime, now)
    }

    mutating func failed(_ identifier: UInt64, _ error: APIError, _ now: MonotonicTime) -> Release {
        guard let ended = refresh, ended.identifier == identifier else { return Release() }
        refresh = nil
        failure = (error, now.advanced(bySeconds: Self.failureMemory))
        return release { _ in .fail(error) }
    }

    /// The refresh takes too long. Like `failed`, but a token that comes later is still used.
    mutating func timedOut(_ identifier: UInt64, _ error: APIError, _ now: MonotonicTime) -> Release {
        guard let ended = refresh, ended.identifier == identifier else { return Release() }
        keepForLater(ended)
        return failed(identifier, error, now)
    }

    /// The answer that caused the refresh does not mean that the token has expired. Other requests' answers may mean
    /// it.
    ///
    /// - Parameter error: the error for requests without a token.
    mutating func declined(_ identifier: UInt64, _ error: APIError, _ now: MonotonicTime) -> Release {
        guard let ended = refresh, ended.identifier == identifier else { return Release() }
        guard let asker = ended.asker else {
            // No server's answer caused the refresh. Next, ask about a request that has one.
            if usable(now) != nil || (token != nil && isRejected) {
                // The refresh came before the token expired. Do not ask again with each request.
                refreshesAt = max(refreshesAt, now.advanced(bySeconds: Self.failureMemory))
                return askForNext(Release(), now)
            }
            return failed(identifier, error, now)
        }
        var release = Release()
        // The request may have left meanwhile.
        if let index = waiters.firstIndex(where: { $0.waiter == asker }) {
            waiters.remove(at: index)
            release.outcomes.append((asker, .deliver))
        }
        return askForNext(release, now)
    }

    /// Nobody needs the credentials any more.
    ///
    /// - Returns: false when somebody still waits.
    mutating func abandon() -> Bool {
        guard let ended = refresh, waiters.isEmpty else { return false }
        keepForLater(ended)
        refresh = nil
        return true
    }

    /// The program has set or removed the token.
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

    /// The token belongs to this user.
    mutating func belong(to owner: String) { self.owner = owner }

    /// Called in a forked child: the refresh and the requests belong to the parent.
    mutating func forget() -> [Waiter] {
        refresh = nil
        late = []
        defer { waiters = [] }
        return waiters.map(\.waiter)
    }

    // MARK: Private

    private func usable(_ now: MonotonicTime) -> Grant? {
        guard let token, !isRejected, now < expiresAt else { return nil }
        return Grant(token: token, generation: generation, owner: owner ?? token)
    }

    private mutating func forgetFailure(_ now: MonotonicTime) {
        if let known = failure, now >= known.until { failure = nil }
    }

    private mutating func keepForLater(_ ended: Refresh) {
        // Remember only a few refreshes that never answered.
        if late.count >= 8 { late.removeFirst() }
        late.append(ended)
    }

    private mutating func start(for asker: Waiter, isAboutAnswer: Bool) -> Start {
        lastIdentifier += 1
        refresh = Refresh(
            identifier: lastIdentifier, asker: isAboutAnswer ? asker : nil, generation: generation)
        return Start(
            identifier: lastIdentifier, token: token, asker: asker, isAboutAnswer: isAboutAnswer, isRejected: isRejected
        )
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

    /// Asks about the next server's answer. When no answer is left, the token is not the cause.
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
