import Synchronization

/// A client of one web API: a base URL, defaults, and args for every request. Meant to be subclassed.
///
///     final class Weather: APIClient, @unchecked Sendable {
///         func find(_ city: String) async throws -> JSON? {
///             try await send("find", args: [.url("q", city)]).json
///         }
///     }
///
/// Safe to use from many threads. A request that runs keeps its client alive, so a subclass may not begin one in its
/// `deinit`: Swift ends a process that keeps an object which is being freed. Everything else works there, such as `close`.
open class APIClient: @unchecked Sendable {
    // Safe to share: all variables are in `state`, under its lock. A subclass must protect what it adds.
    private struct State {
        var lastIdentifier: UInt64 = 0
        var args: [APIArg]
        var answers: SessionAnswers?
        var interceptors: [Interceptor] = []
        var statusErrors: [Int: StatusError] = [:]
        /// The settings that were read from the defaults, with the version of the defaults. Without a version they must
        /// be read again for each request.
        var settings: KnownSettings?
        /// How often the settings were read.
        var readings: UInt64 = 0
    }

    /// The first of all, so that a fork waits until the client is whole, with all that is made once for the first one.
    private let isMarked = LibraryCode.enter()
    private static let count = Atomic<UInt64>(0)
    /// The number of this client in the process, from 1.
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    private let hooks: Box<Hooks>?
    private let ownHookKinds: Atomic<Int>
    private let ownDecisions: Atomic<Int>
    /// Whether the client has interceptors, so that a request need not take a lock to know.
    private let hasInterceptors = Atomic<Bool>(false)
    private let configuredInterceptors: [Interceptor]
    /// The defaults of a class that is not a Swift type.
    private let classInterceptors: (@Sendable () -> [Interceptor])?
    private let ownAuthenticator = Attachment<Authenticator>(sharing: .clients)
    private let ownRateLimiter = Attachment<RateLimiter>(sharing: .clients)
    private let ownClock = Attachment<ManualClock>(sharing: .clients)
    private let ownStub = Attachment<Stub>(sharing: .clients)
    private let ownRecorder = Attachment<Recorder>(sharing: .clients)
    /// The counts of the requests whose retry policy has a budget.
    let retryBudgets = RetryBudgets()
    package let observers = Observers.ofClient()
    private let hidden = Atomic<Bool>(false)
    /// How far the client's end has come.
    let life = Atomic<Life>(.open)
    @exclusivity(unchecked) nonisolated(unsafe) var expected = RequestRegistry.Expected()

    /// The hooks that the client has: those it was made with, and those that its class overrides.
    package var hookKinds: HookKinds {
        get { HookKinds(rawValue: ownHookKinds.load(ordering: .relaxed)) }
        set { ownHookKinds.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// The defaults of this client. They inherit from its configuration's and then its class's defaults.
    public let defaults: Defaults
    /// The kind of the configuration that the client was made with; nil without one.
    public let sessionKind: SessionConfiguration.Kind?
    /// The cookies of the session; nil when the client was made without a configuration.
    public let cookies: CookieStorage?
    /// The cache of the session; nil when the client was made without a configuration, or for a background session.
    public let cache: HTTPCache?
    /// Where the session looks for credentials before it asks the program. Nil when the client was made without a
    /// configuration, or when its configuration has none.
    public let credentialStorage: CredentialStorage?
    /// The transfers of a background session.
    let background: BackgroundSession?
    private let state: Lock<State>
    // Read once: the host program may change its environment while requests run.
    private let environment = ProxySettings.fromEnvironment()

    /// The defaults of this class: `Weather.defaults["appid"] = "…"`. Subclasses inherit them.
    public class var defaults: Defaults { ClassDefaults.of(self) }

    /// - Parameters:
    ///   - baseURL: what commands are appended to; nil looks up the default `baseUrl` at each request.
    ///   - configuration: makes the client a session, with its own settings, cookies and limits; copied.
    ///   - args: the client's own args, which come before those of each request.
    ///   - hooks: functions that the client calls for each of its requests.
    public init(
        baseURL: String? = nil, configuration: SessionConfiguration? = nil, args: [APIArg] = [], hooks: Hooks = Hooks()
    ) {
        defer { if isMarked { LibraryCode.leave() } }
        let kinds = hooks.kinds
        self.hooks = kinds.isEmpty && hooks.decide == nil ? nil : Box(hooks)
        ownHookKinds = Atomic(kinds.union(OverriddenHooks.of(type(of: self))).rawValue)
        ownDecisions = Atomic(hooks.decide == nil ? 0 : hooks.decisions.rawValue)
        sessionKind = configuration?.kind
        configuredInterceptors = configuration?.interceptors ?? []
        classInterceptors = nil
        let place = ClassDefaults.of(type(of: self))
        defaults = Self.defaults(inheriting: place, configuration?.settings, baseURL)
        cookies = Self.cookies(of: configuration?.kind, defaults)
        cache = Self.cache(of: configuration?.kind, configuration?.cache, defaults)
        credentialStorage = Self.credentialStorage(configuration?.credentialStorage, defaults)
        background = Self.background(configuration?.kind, defaults)
        state = Lock(State(args: args), sharing: .clients)
    }

    /// For C, whose classes and configurations are named levels of defaults.
    package init(
        inheriting place: Defaults?, _ classInterceptors: (@Sendable () -> [Interceptor])? = nil, baseURL: String?,
        configuration: (
            kind: SessionConfiguration.Kind, settings: Defaults, cache: HTTPCache?,
            credentialStorage: CredentialStorage?, interceptors: [Interceptor]
        )? = nil
    ) {
        defer { if isMarked { LibraryCode.leave() } }
        hooks = nil
        ownHookKinds = Atomic(0)
        ownDecisions = Atomic(0)
        sessionKind = configuration?.kind
        configuredInterceptors = configuration?.interceptors ?? []
        self.classInterceptors = classInterceptors
        defaults = Self.defaults(
            inheriting: place ?? ClassDefaults.of(APIClient.self), configuration?.settings, baseURL)
        cookies = Self.cookies(of: configuration?.kind, defaults)
        cache = Self.cache(of: configuration?.kind, configuration?.cache, defaults)
        credentialStorage = Self.credentialStorage(configuration?.credentialStorage, defaults)
        background = Self.background(configuration?.kind, defaults)
        state = Lock(State(args: []), sharing: .clients)
    }

    private static func defaults(
        inheriting place: Defaults, _ configuration: Defaults?, _ baseURL: String?
    ) -> Defaults {
        let parent = configuration.map { Defaults(copying: $0, parent: place) } ?? place
        let defaults = Defaults(name: "client", parent: parent)
        if let baseURL { defaults["baseUrl"] = JSON(baseURL) }
        return defaults
    }

    private static func cookies(of kind: SessionConfiguration.Kind?, _ defaults: Defaults) -> CookieStorage? {
        switch kind {
        case nil: return nil
        case .ephemeral: return CookieStorage()
        case .default, .background:
            let name = defaults["applicationName"]?.string
            // A name that cannot be a folder's makes the requests fail.
            return CookieStorage.onDisk(of: name.flatMap { DataFolder.isName($0) ? $0 : nil })
        }
    }

    /// The program's storage depends on the application name, which the session's settings may set.
    private static func credentialStorage(_ given: CredentialStorage?, _ defaults: Defaults) -> CredentialStorage? {
        guard let given, given.isOfProgram else { return given }
        return .ofProgram(defaults["applicationName"]?.string)
    }

    private static func cache(
        of kind: SessionConfiguration.Kind?, _ given: HTTPCache?, _ defaults: Defaults
    ) -> HTTPCache? {
        switch kind {
        case nil, .background: nil
        case .default: given ?? HTTPCache.onDisk(defaults)
        case .ephemeral: given ?? HTTPCache(memoryCapacity: HTTPCache.memoryCapacity(defaults))
        }
    }

    /// The client's own args, which come before those of each request.
    public var args: [APIArg] {
        get { state.withLock { $0.args } }
        set {
            // Releasing the old args may run user code (a stream), so they must outlive the lock.
            let replaced = state.withLock { state in
                defer { state.args = newValue }
                return state.args
            }
            withExtendedLifetime(replaced) {}
        }
    }

    /// Which levels are logged; ``APILog/flags`` unless the default `logFlags` or a set value says otherwise.
    public var logFlags: LogFlags {
        get { settings.effectiveLogFlags }
        set { defaults["logFlags"] = JSON(newValue.rawValue) }
    }

    /// Adds a token to the client's requests and refreshes it when it expires; nil, the initial value, adds none.
    /// Applies to requests begun from now on.
    public var authenticator: Authenticator? {
        get { ownAuthenticator.value }
        set {
            ownAuthenticator.set(newValue)
            if let clock { newValue?.clock = clock }
        }
    }

    /// A test's clock for the client's waits; nil, the initial value, is the system's. Applies to requests begun from
    /// now on.
    ///
    /// The client's authenticator uses the clock, too.
    public var clock: ManualClock? {
        get { ownClock.value }
        set {
            ownClock.set(newValue)
            authenticator?.clock = newValue
        }
    }

    /// Answers the client's requests in a test; nil, the initial value, uses the network. Applies to requests begun
    /// from now on.
    public var stub: Stub? {
        get { ownStub.value }
        set { ownStub.set(newValue) }
    }

    /// Records the client's exchanges; nil, the initial value, records nothing. Applies to requests begun from now on.
    public var recorder: Recorder? {
        get { ownRecorder.value }
        set { ownRecorder.set(newValue) }
    }

    /// Whether recorders and observers of all clients do not see its requests.
    var isHidden: Bool { hidden.load(ordering: .relaxed) }

    package func hide() { hidden.store(true, ordering: .relaxed) }

    /// Limits how many requests start in a period of time; nil, the initial value, uses the default `rateLimit`.
    /// Applies to requests made from now on.
    public var rateLimiter: RateLimiter? {
        get { ownRateLimiter.value }
        set { ownRateLimiter.set(newValue) }
    }

    /// What the `HTTP error` of a status is to the program: `[404: .code(.noSuchCity)]`. Empty at first. Applies to answers
    /// that come from now on.
    ///
    /// The entries of a service (``APIService/statusErrors``) come before these. The hooks that map errors run afterwards, and
    /// get the new error. It keeps the status, `retryAfter` and the problem details unless a function sets others. Errors
    /// of other codes stay, such as `too many redirects`.
    public var statusErrors: [Int: StatusError] {
        get { state.withLock { $0.statusErrors } }
        set {
            // Functions may release objects of the program, so the old ones must outlive the lock.
            let replaced = state.withLock { exchange(&$0.statusErrors, with: newValue) }
            withExtendedLifetime(replaced) {}
        }
    }

    /// Sets an entry of ``statusErrors``; nil removes it. Several threads may call it at the same time.
    package func setError(_ error: StatusError?, status: Int) {
        let replaced = state.withLock { exchange(&$0.statusErrors[status], with: error) }
        withExtendedLifetime(replaced) {}
    }

    /// The answers to challenges that hold for the whole session.
    var answers: SessionAnswers {
        state.withLock { state in
            if let known = state.answers { return known }
            let made = SessionAnswers()
            state.answers = made
            return made
        }
    }

    // MARK: Interceptors

    /// The interceptors of this class, the outermost first. Override it in a subclass.
    open class var interceptors: [Interceptor] { [] }

    /// The client's own interceptors, the outermost first. They run inside those of its class and its configuration.
    /// Applies to requests begun from now on.
    public var interceptors: [Interceptor] {
        get { state.withLock { $0.interceptors } }
        set {
            let replaced = state.withLock { exchange(&$0.interceptors, with: newValue) }
            hasInterceptors.store(!newValue.isEmpty, ordering: .relaxed)
            withExtendedLifetime(replaced) {}
        }
    }

    /// Adds an interceptor inside the client's others. Several threads may call it at the same time.
    package func add(_ interceptor: Interceptor) {
        state.withLock { $0.interceptors.append(interceptor) }
        hasInterceptors.store(true, ordering: .relaxed)
    }

    /// Removes the one of the client's own that was added last of the same.
    ///
    /// - Returns: false when it is not there.
    package func remove(_ interceptor: Interceptor) -> Bool {
        let removed = state.withLock { state in
            let removed = state.interceptors.removeLast(interceptor)
            hasInterceptors.store(!state.interceptors.isEmpty, ordering: .relaxed)
            return removed
        }
        return removed != nil
    }

    var allInterceptors: [Interceptor] {
        // Usually there are none, and even joining empty arrays would cost something.
        var all = type(of: self).interceptors
        if let classInterceptors { all += classInterceptors() }
        if !configuredInterceptors.isEmpty { all += configuredInterceptors }
        if hasInterceptors.load(ordering: .relaxed) { all += interceptors }
        return all
    }

    // MARK: Hooks. Each calls the function of ``Hooks``; a hook that is neither set nor overridden costs nothing.

    /// Adjusts the args of a request before they are applied. Runs on the thread that begins the request.
    open func buildArgs(_ command: String, _ args: inout [APIArg]) { hooks?.value.buildArgs?(command, &args) }

    /// Adjusts the built request. Runs on the thread that begins the request.
    open func buildRequest(_ request: inout HTTPRequest, options: APIOptions) {
        hooks?.value.buildRequest?(&request, options)
    }

    /// Called when a request starts, on the thread that begins or resumes it.
    open func requestStarted(_ request: APIRequest) { hooks?.value.started?(request) }

    /// Called for an interim answer before the response, such as 103 (early hints, RFC 8297). Runs on a background
    /// worker.
    ///
    /// Not called for 100 and 101. The response waits until this has returned.
    open func informationReceived(_ request: APIRequest, status: Int, headers: HTTPHeaders) {
        hooks?.value.information?(request, status, headers)
    }

    /// Called when part of a request's body was sent, just before the request's upload progress handler and on the
    /// same thread.
    open func uploadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
        hooks?.value.uploadProgressed?(request, progress)
    }

    /// Called when part of a response's body was received, just before the request's download progress handler and on
    /// the same thread.
    open func downloadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
        hooks?.value.downloadProgressed?(request, progress)
    }

    /// Called with each decompressed piece of the body of a successful response, just before the request's data handler
    /// and on the same thread. While it runs, no more is received.
    ///
    /// The response still has the whole body, unless the request has a data handler. When a request is
    /// sent again after its connection broke, the pieces start again from the beginning. Pieces that go into a file are
    /// not shown. The requests of a client with this hook use HTTP/1.1, as they do with a data handler.
    open func dataReceived(_ request: APIRequest, _ data: ResponseData) { hooks?.value.dataReceived?(request, data) }

    /// Called with the metrics of all exchanges of a request, before ``requestCompleted(_:_:)``. Runs on a background
    /// worker; for `perform` on the calling thread.
    open func metricsCollected(_ request: APIRequest, _ metrics: RequestMetrics) {
        hooks?.value.metricsCollected?(request, metrics)
    }

    /// Called when a request has its response, before its handler. Runs on a background worker; for `perform` on the
    /// calling thread.
    open func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
        hooks?.value.completed?(request, response)
    }

    /// Parses a body as JSON. Runs on a background worker; for `perform` on the calling thread.
    ///
    /// - Returns: nil when there is no JSON, as in an empty body.
    /// - Throws: any error, which becomes `invalid JSON`; an `APIError` becomes the response's error unchanged.
    open func parseJSON(_ data: ResponseData) throws -> ParsedJSON? {
        guard let parse = hooks?.value.parseJSON else { return try ParsedJSON(body: data) }
        return try parse(data)
    }

    /// Turns the service's own error fields into an error. Called for every response that has JSON. Runs on a
    /// background worker; for `perform` on the calling thread.
    ///
    /// - Returns: nil when the service reports no error.
    open func mapServiceError(_ response: APIResponse) -> APIError? { hooks?.value.mapServiceError?(response) }

    /// Sees every error that ends a request, including a cancel, and may replace it.
    ///
    /// Called once for each request that ends with an error, after retries, redirects and the service's `makeResponse`.
    /// The log, ``requestCompleted(_:_:)`` and the handlers see what this returns. Runs on the thread of
    /// ``mapServiceError(_:)``. If the new error has no HTTP status or Retry-After, it gets those of the old one.
    ///
    /// - Parameters:
    ///   - error: the response's error.
    ///   - response: the response as far as it arrived. Its `decode` also reads the JSON of an error.
    /// - Returns: the same error, which is the default, or another one.
    open func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
        hooks?.value.mapError?(error, response) ?? error
    }

    /// Receives the client's log lines, with secrets redacted. Runs on any thread except the network thread.
    open func writeLog(_ level: LogLevel, _ message: String) {
        guard let write = hooks?.value.writeLog else { return APILog.write(level, message) }
        write(level, message)
    }

    /// Called once when the client was closed or invalidated and the last of its handlers has returned. Runs on a
    /// background worker. Not called for a client that a subclass closes in its `deinit`.
    open func sessionInvalidated() { hooks?.value.sessionInvalidated?() }

    /// Which decisions the client makes in ``decide(_:)``; initially none. A request waits for each answer.
    public var decisionKinds: RequestDecision.Kinds {
        get { RequestDecision.Kinds(rawValue: ownDecisions.load(ordering: .relaxed)) }
        set { ownDecisions.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Decides what a request does next, now or later: keep the decision until you answer it. Runs on a background
    /// worker.
    ///
    /// A handler set on the request is asked first, see ``APIRequest/setDecisionHandler(for:_:)``.
    open func decide(_ decision: RequestDecision) { hooks?.value.decide?(decision) }

    // MARK: For the other files of the client

    /// Counts a new request. Returns its identifier, the client's args, and the settings that were read last.
    func countRequest() -> (identifier: UInt64, args: [APIArg], known: KnownSettings?) {
        state.withLock { state in
            state.lastIdentifier &+= 1
            return (state.lastIdentifier, state.args, state.settings)
        }
    }

    /// Settings, and the version of all defaults that they were read from; nil when they may not be used again.
    typealias KnownSettings = (version: Int?, value: ResolvedSettings)

    /// The connections of this client alone, if it has any yet.
    var ownConnections: OwnConnections? {
        state.withLock { $0.settings?.value.transfer.context?.connections }.flatMap { $0.isOfOne ? $0 : nil }
    }

    /// The built-in defaults. They are read again only when a default has changed.
    var settings: ResolvedSettings { settings(since: state.withLock { $0.settings }) }

    /// - Parameter known: the settings that were read last.
    func settings(since known: KnownSettings?) -> ResolvedSettings {
        if let known, let version = Defaults.version, known.version == version { return known.value }
        while true {
            let version = Defaults.version
            let (known, readings) = state.withLock { ($0.settings, $0.readings) }
            if let known, let version, known.version == version { return known.value }
            let value = ResolvedSettings(
                defaults, environment: environment, isSession: sessionKind != nil, cookies: cookies, cache: cache,
                previous: known?.value)
            // Two threads may read at the same time. Only one of them stores the client's connections and rate limit.
            let (isFirst, replaced) = state.withLock { state -> (Bool, ResolvedSettings?) in
                guard state.readings == readings else { return (false, nil) }
                state.readings += 1
                defer { state.settings = (version, value) }
                return (true, state.settings?.value)
            }
            // Releasing the old settings may close connections, so they must outlive the lock.
            withExtendedLifetime((known, replaced)) {}
            if isFirst { return value }
        }
    }
}
