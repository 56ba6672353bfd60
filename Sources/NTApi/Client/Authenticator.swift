/// Manages tokens that expire: gives requests their token, and refreshes it once for all waiting requests.
///
///     client.authenticator = Authenticator(token: .init(saved)) { refresh in
///         let json = try await refresh.client.send("token", args: [.form("refresh_token", secret)]).json
///         return Authenticator.Token(json?["access_token"]?.string ?? "", lifetime: json?["expires_in"]?.double)
///     }
///
/// A request that is rejected because its token has expired waits for the refresh and is sent once more; that answer is
/// delivered. A failed refresh fails all waiting requests with the same error, and new ones for a second. The token
/// goes to the origin of the client's base URL and to the origins named here. A request with its own Authorization
/// header or digest auth goes without it. Several clients may share it. Safe to use from any thread.
public final class Authenticator: Sendable, RedactedMirror {
    /// A token for the server.
    public struct Token: Sendable, Equatable, RedactedMirror {
        /// The text after `Bearer` in the Authorization header.
        public var text: String
        /// How many seconds it is valid from now; nil is unknown. It is refreshed before it expires.
        public var lifetime: Double?
        /// What the next refresh uses, if the server gave a new one: ``TokenRefresh/refreshToken``.
        public var refreshToken: String?

        /// A token, how many seconds it is valid from now, and the refresh token that came with it, as far as known.
        public init(_ text: String, lifetime: Double? = nil, refreshToken: String? = nil) {
            self.text = text
            self.lifetime = lifetime
            self.refreshToken = refreshToken
        }

        /// Whether it can be sent in this header, and stored.
        package func check(header: String = "Authorization") throws(APIError) {
            try HeaderSyntax.check(name: header, value: text)
            guard !text.isEmpty else { throw .invalidRequest("the new token is empty") }
            guard refreshToken?.utf8.contains(0) != true else {
                throw .invalidRequest("the refresh token has a zero byte")
            }
        }

        public var description: String { "Token(\(Secrets.redacted)\(lifetime.map { ", lifetime: \($0)" } ?? ""))" }
    }

    typealias Permits = TokenPermits<LineWait>
    typealias Grant = Permits.Grant

    /// The settings as the program gives them.
    package struct Options: Sendable {
        package var header = "Authorization"
        package var scheme = "Bearer"
        package var statuses: Set<Int> = [401]
        package var origins: [String] = []
        package var timeout = 30.0
        package var thread = CallbackThread.background

        package init() {}
    }

    /// The checked settings.
    final class Settings: Sendable {
        let options: Options
        let origins: [Origin]
        let destination: Destination

        init(_ options: Options) {
            self.options = options
            origins = options.origins.compactMap { url in
                let origin = Origin(url: url)
                if origin == nil {
                    APILog.warn("\(quoted(Secrets.redactURL(url))) is not the URL of an origin: it gets no token")
                }
                return origin
            }
            destination = Destination(options.thread)
        }

        var header: String { options.header }
        var use: TokenUse { TokenUse(header: options.header, scheme: options.scheme, statuses: options.statuses) }
    }

    /// What makes new tokens.
    package enum Refresher: Sendable {
        case answering(@Sendable (TokenRefresh) -> Void)
        case async(@Sendable (TokenRefresh) async throws -> Token?)
    }

    struct State {
        var permits = Permits()
        var settings: Settings
        var origins = OriginCache()
        /// The base URL of the last client, and its origin.
        var home: (url: String, origin: Origin?) = ("", nil)
        var clock: ManualClock?
        var running = Running()
        var refreshToken: String?
        /// Nil for a token of this process alone.
        var sharing: TokenSharing?
        /// Why it is not shared as the program has asked: requests that need the token fail.
        var refusal: APIError?
        /// Whose the last token was, as the store says.
        var user: Int64?
        /// Whose it was when the program removed the token: the next one may be another user's.
        var formerUser: Int64?
    }

    /// The refresh that runs, and what ends it.
    struct Running {
        /// The client whose request began it.
        weak var client: APIClient?
        var task: Task<Void, Never>?
        var timer: ScheduledJob?
        /// The turn that the store has given.
        var turn: TokenSharing.Turn?
        /// When the store hears that the refresh goes on.
        var keeping: ScheduledJob?
        /// When the store is asked again.
        var asking: ScheduledJob?
    }

    /// The authenticator whose refresh runs in this task or thread. Requests begun there do not use it.
    @TaskLocal static var refreshing: Authenticator?

    let state: InheritedLock<State>
    private let refresher: Refresher

    /// - Parameters:
    ///   - token: the initial token; without one the first request starts a refresh.
    ///   - header: the header for the token.
    ///   - scheme: the word before the token; "" for none.
    ///   - statuses: the statuses that mean that the token has expired, unless the challenge gives another reason (RFC
    ///     6750, 3.1: `insufficient_scope`, `invalid_request`).
    ///   - origins: URLs of other servers that may get the token. Their paths do not matter.
    ///   - timeout: how many seconds a refresh may take.
    ///   - refresh: makes a new token; nil when the response does not mean that the token has expired.
    public convenience init(
        token: Token? = nil, header: String = "Authorization", scheme: String = "Bearer", statuses: Set<Int> = [401],
        origins: [String] = [], timeout: Double = 30,
        refresh: @escaping @Sendable (TokenRefresh) async throws -> Token?
    ) {
        var options = Options()
        options.header = header
        options.scheme = scheme
        options.statuses = statuses
        options.origins = origins
        options.timeout = timeout
        self.init(options, .async(refresh))
        if let token { setToken(token) }
    }

    /// The same for code without `async`: the refresh is answered through its methods, at once or later.
    ///
    /// - Parameters:
    ///   - thread: where `answering` is called.
    ///   - answering: may block, and may make requests and wait for them.
    public convenience init(
        token: Token? = nil, header: String = "Authorization", scheme: String = "Bearer", statuses: Set<Int> = [401],
        origins: [String] = [], timeout: Double = 30, on thread: CallbackThread = .background,
        answering: @escaping @Sendable (TokenRefresh) -> Void
    ) {
        var options = Options()
        options.header = header
        options.scheme = scheme
        options.statuses = statuses
        options.origins = origins
        options.timeout = timeout
        options.thread = thread
        self.init(options, .answering(answering))
        if let token { setToken(token) }
    }

    package init(_ options: Options, _ refresher: Refresher) {
        state = InheritedLock(State(settings: Settings(options)), sharing: .clients) { state in
            Fork.leak((state.permits.forget(), exchange(&state.running, with: Running())))
        }
        self.refresher = refresher
    }

    package static func isOrigin(_ url: String) -> Bool { Origin(url: url) != nil }

    /// The current token, valid or not; nil when there is none.
    public var token: String? { state.withLock { $0.permits.current } }

    /// Replaces the token, also for waiting requests; nil makes the next request start a refresh.
    ///
    /// A token replaces the refresh token, too. One that is shared is replaced for all processes.
    public func setToken(_ token: Token?) {
        act { state, now in
            if let token { state.refreshToken = token.refreshToken } else { state.formerUser = state.user }
            return state.permits.set(token?.text, lifetime: token?.lifetime, now)
        }
        guard let token, (try? check(token)) != nil, let sharing = state.withLock({ $0.sharing }) else { return }
        sharing.put(token, nil, time) { [self] current, user in
            guard current.text == token.text, user != nil else { return }
            state.withLock { state in
                guard state.permits.current == token.text, let owner = state.owner(of: token, user) else { return }
                state.permits.belong(to: owner)
            }
        }
    }

    /// Shares the token with other processes, by a store. Call it before the authenticator is used.
    ///
    ///     try authenticator.share(by: store, key: "partner")
    ///
    /// All authenticators with the same key of the same store have one token, in any language. When it expires, one
    /// process refreshes it; the others wait, and use the new one. ``TokenRefresh/refreshToken`` is the newest, even if
    /// another process got it. A failed refresh fails the requests of all processes for a second.
    ///
    /// - Parameters:
    ///   - key: what the token is called in the store: 1 to 200 bytes, no braces and no control characters.
    ///   - options: what to do when the store fails; by default, requests that need a new token fail. `local` lets each
    ///     process refresh it alone; do not use that if the server gives a new refresh token with each.
    /// - Throws: why the key or the options are wrong.
    public func share(
        by store: any SharedStore, key: String, _ options: StoreOptions = StoreOptions()
    ) throws(APIError) {
        let access = StoreAccess(store, key: key, parts: ["token"], isSecret: true, options)
        if let problem = access.problem { throw .invalidRequest("the shared token: \(problem)") }
        guard options.onFailure != .open else {
            throw .invalidRequest("the shared token: while the store fails, it is local or closed, not open")
        }
        let replaced = state.withLock { state in
            (exchange(&state.sharing, with: TokenSharing(access)), exchange(&state.refusal, with: nil))
        }
        withExtendedLifetime(replaced) {}
    }

    /// From now on requests that need the token fail, until it is shared: for a caller that may not look at an error.
    package func refuse(because problem: APIError) {
        let replaced = state.withLock { exchange(&$0.refusal, with: problem) }
        withExtendedLifetime(replaced) {}
    }

    package var options: Options {
        get { settings.options }
        set {
            let settings = Settings(newValue)
            // Releasing the old value may run user code, so it must outlive the lock.
            let replaced = state.withLock { exchange(&$0.settings, with: settings) }
            withExtendedLifetime(replaced) {}
        }
    }

    var settings: Settings { state.withLock { $0.settings } }

    /// A test's clock for lifetimes and timeouts: that of the last client that got this authenticator.
    var clock: ManualClock? {
        get { state.withLock { $0.clock } }
        set {
            let replaced = state.withLock { exchange(&$0.clock, with: newValue) }
            withExtendedLifetime(replaced) {}
        }
    }

    var time: any WaitingClock { clock ?? Runtime.current.clock }

    // MARK: Requests

    /// Whether a request goes to an origin that may see the token.
    func isMeant(for http: HTTPRequest, _ baseURL: String?) -> Bool {
        state.withLock { state in
            guard let origin = try? state.origins.origin(of: http.url).key else { return false }
            if state.settings.origins.contains(origin) { return true }
            guard let baseURL else { return false }
            if state.home.url != baseURL { state.home = (baseURL, Origin(url: baseURL)) }
            return origin == state.home.origin
        }
    }

    func grant(_ now: MonotonicTime) -> Grant? {
        state.withLock { $0.refusal == nil ? $0.permits.grant(now) : nil }
    }

    func admit(_ wait: LineWait, _ now: MonotonicTime) -> Permits.Admission {
        let admission = state.withLock { state in
            state.refusal.map(Permits.Admission.fail) ?? state.permits.admit(wait, now)
        }
        switch admission {
        case .send(_, let start), .wait(let start): if let start { begin(start) }
        case .fail: break
        }
        return admission
    }

    func rejected(
        _ wait: LineWait, _ generation: UInt64, _ history: Permits.History, _ now: MonotonicTime
    ) -> Permits.Verdict {
        let verdict = state.withLock { state in
            state.refusal.map(Permits.Verdict.fail) ?? state.permits.rejected(wait, generation, history, now)
        }
        if case .wait(let start?) = verdict { begin(start) }
        return verdict
    }

    func rejectedForGood(_ generation: UInt64) { state.withLock { $0.permits.rejectedForGood(generation) } }

    func leave(_ wait: LineWait) { state.withLock { $0.permits.leave(wait) } }

    /// Called when a client is closed. If nobody waits for the refresh, it is no longer needed, unless it is for all
    /// processes: then it ends by itself.
    func clientIsClosed(_ client: APIClient) {
        let running = state.withLock { state in
            // A server may take a refresh token once: the refresh of another client that is still open goes on.
            let isOfAnother = state.running.client.map { $0 !== client && !$0.isClosed } ?? false
            return !isOfAnother && state.running.turn == nil && state.permits.abandon()
                ? exchange(&state.running, with: Running()) : Running()
        }
        end(running, cancels: true)
    }

    // MARK: The refresh

    private func begin(_ start: Permits.Start) {
        let time = time
        let deadline = time.now.advanced(bySeconds: settings.options.timeout)
        let timer = time.schedule(.limit, at: deadline) { [weak self] in self?.timeOut(start.identifier) }
        let sharing = state.withLock { state in
            state.running.timer = timer
            state.running.client = start.asker.request.client
            return state.sharing
        }
        if let sharing { ask(start, sharing.nextNumber(), sharing) } else { refresh(start, nil) }
    }

    /// - Parameter turn: nil for a token of this process alone.
    func refresh(_ start: Permits.Start, _ turn: TokenSharing.Turn?) {
        let runtime = Runtime.current
        let refreshToken = turn == nil ? state.withLock { $0.refreshToken } : turn?.refreshToken
        let refresh = TokenRefresh(
            start.token, refreshToken: refreshToken, start.isAboutAnswer ? start.asker.response : nil,
            start.asker.request.client
        ) { answer in
            if let turn { self.answered(start, turn, answer) } else { self.answered(start.identifier, answer) }
        }
        switch refresher {
        case .answering(let answering):
            let job = Job { () throws(Forked) in
                try runtime.workers.whileBlocked { () throws(Forked) in
                    try Delivery.call { Self.$refreshing.withValue(self) { answering(refresh) } }
                }
            }
            let deliveries = DeliveryBatch()
            do throws(Forked) { try settings.destination.send(job, deliveries) } catch { return }
            deliveries.flush(to: runtime.workers)
        case .async(let make):
            // Detached: it is for all requests that wait, not for the task of the first one.
            let task = Task.detached {
                await Self.$refreshing.withValue(self) {
                    do {
                        if let token = try await make(refresh) { refresh.succeed(token) } else { refresh.decline() }
                    } catch {
                        refresh.fail(error)
                    }
                }
            }
            let isOver = state.withLock { state in
                guard state.permits.isRefreshing(start.identifier) else { return true }
                state.running.task = task
                return false
            }
            // It was given up before its task was known.
            if isOver, turn == nil { task.cancel() }
        }
    }

    private func answered(_ identifier: UInt64, _ answer: TokenRefresh.Answer) {
        switch answer {
        case .token(let token):
            do throws(APIError) {
                try check(token)
                use(token, identifier)
            } catch {
                fail(identifier, Self.failure(error))
            }
        case .failed(let error): fail(identifier, Self.failure(error))
        case .none: decline(identifier)
        }
    }

    func check(_ token: Token) throws(APIError) { try token.check(header: settings.header) }

    /// - Parameters:
    ///   - user: whose it is, as the store says; nil for the same as before.
    ///   - isNew: false for a token of another process: a server may have rejected it already.
    func use(_ token: Token, _ identifier: UInt64, of user: Int64? = nil, isNew: Bool = true) {
        act(isNew: isNew) { state, now in
            let owner = state.owner(of: token, user)
            let release = state.permits.succeeded(identifier, token.text, lifetime: token.lifetime, owner: owner, now)
            if state.permits.current == token.text, token.refreshToken != nil || state.sharing != nil {
                state.refreshToken = token.refreshToken
            }
            return release
        }
    }

    func fail(_ identifier: UInt64, _ error: APIError) { act { $0.permits.failed(identifier, error, $1) } }

    func decline(_ identifier: UInt64) {
        let error = APIError(
            domain: .request, code: .authentication, message: "the refresh of the credentials returned no token")
        act { $0.permits.declined(identifier, error, $1) }
    }

    private func timeOut(_ identifier: UInt64) {
        let error = APIError(
            domain: .network, code: .authentication,
            message: "the token was not refreshed within \(settings.options.timeout) s", isRetryable: true)
        // What a server takes once must not be cut off: it may be on its way. The turn ends when its lease is over.
        let isShared = state.withLock { $0.running.turn != nil }
        act(cancels: !isShared) { $0.permits.timedOut(identifier, error, $1) }
    }

    static func failure(_ error: APIError) -> APIError {
        var failure = APIError(
            domain: error.domain, code: .authentication,
            message: "the token could not be refreshed: \(error.message)", httpStatus: error.httpStatus,
            transportCode: error.transportCode, isRetryable: error.isRetryable)
        failure.clock = error.clock
        failure.failure = error.failure
        return failure
    }

    /// Moves the permits, and resumes the waiting requests.
    private func act(
        cancels: Bool = false, isNew: Bool = true, _ move: (inout State, MonotonicTime) -> Permits.Release
    ) {
        let now = clock?.now ?? .now()
        let (release, running) = state.withLock { state in
            let release = move(&state, now)
            let isOver = !state.permits.isRefreshing || release.start != nil
            return (release, isOver ? exchange(&state.running, with: Running()) : Running())
        }
        end(running, cancels: cancels)
        carryOut(release, isNew)
    }

    // Not a part of `act`, of which the compiler makes a copy for each closure.
    private func carryOut(_ release: Permits.Release, _ isNew: Bool) {
        for (wait, outcome) in release.outcomes {
            switch outcome {
            case .send(let grant): wait.reply(.token(.granted(grant, isNew: isNew)))
            case .deliver: wait.reply(.token(.none))
            case .fail(let error): wait.reply(.token(.failed(error)))
            }
        }
        if let start = release.start { begin(start) }
    }

    private func end(_ running: Running, cancels: Bool) {
        if cancels { running.task?.cancel() }
        running.timer?.cancel()
        running.keeping?.cancel()
        running.asking?.cancel()
    }
}
