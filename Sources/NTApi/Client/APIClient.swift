import Synchronization

/// A client of one web API: a base URL, defaults, and args that every request gets. Made to be subclassed.
///
///     final class Weather: APIClient, @unchecked Sendable {
///         func find(_ city: String) async throws -> JSON? {
///             try await send("find", args: [.url("q", city)]).json
///         }
///     }
///
/// Safe to use from many threads. A request that runs keeps its client alive.
open class APIClient: @unchecked Sendable {
    // Safe to share: what changes is in `state`, under its lock. A subclass answers for what it adds.
    private struct State {
        var lastIdentifier: UInt64 = 0
        var args: [APIArg]
        var answers: SessionAnswers?
        var interceptors: [Interceptor] = []
        /// What the defaults said when they had this version; nil when none of them can be relied on again.
        var settings: KnownSettings?
        /// How often they were read.
        var readings: UInt64 = 0
    }

    /// The hooks that a client has of its own. Where there is none, no thread is woken to call it.
    package struct HookKinds: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let building = HookKinds(rawValue: 1)
        package static let requestStarted = HookKinds(rawValue: 2)
        package static let requestCompleted = HookKinds(rawValue: 4)
        package static let parseJSON = HookKinds(rawValue: 8)
        package static let mapServiceError = HookKinds(rawValue: 16)
        package static let writeLog = HookKinds(rawValue: 32)
        package static let metricsCollected = HookKinds(rawValue: 64)
        package static let sessionInvalidated = HookKinds(rawValue: 128)
        package static let informationReceived = HookKinds(rawValue: 256)
        package static let mapError = HookKinds(rawValue: 512)
        package static let uploadProgressed = HookKinds(rawValue: 1024)
        package static let downloadProgressed = HookKinds(rawValue: 2048)
        package static let dataReceived = HookKinds(rawValue: 4096)
        static let ofTransfers: HookKinds = [.uploadProgressed, .downloadProgressed, .dataReceived]
        static let ofResponses: HookKinds = [.requestCompleted, .parseJSON, .mapServiceError, .metricsCollected]
        static let all: HookKinds = [
            .building, .requestStarted, .writeLog, .sessionInvalidated, .informationReceived, .mapError, .ofResponses,
        ]
    }

    private static let count = Atomic<UInt64>(0)
    /// Among all clients of the process, from 1.
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    private let ownHooks: Atomic<Int>
    private let ownDecisions = Atomic<Int>(0)
    /// Whether there are interceptors of the client, so that a request need not take a lock to know.
    private let hasInterceptors = Atomic<Bool>(false)
    private let configuredInterceptors: [Interceptor]
    private let ownAuthenticator = Attachment<Authenticator>(sharing: .clients)
    private let ownRateLimiter = Attachment<RateLimiter>(sharing: .clients)
    private let ownClock = Attachment<ManualClock>(sharing: .clients)
    private let ownStub = Attachment<Stub>(sharing: .clients)
    private let ownRecorder = Attachment<Recorder>(sharing: .clients)
    /// How far its end has come.
    let life = Atomic<Life>(.open)

    /// All but those of transfers, of a subclass: it does not say which methods it overrides.
    package var hookKinds: HookKinds {
        get { HookKinds(rawValue: ownHooks.load(ordering: .relaxed)) }
        set { ownHooks.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// The defaults of this client, which inherit from its configuration's and then its class's.
    public let defaults: Defaults
    /// What the client was made with; nil when it was made without.
    public let sessionKind: SessionConfiguration.Kind?
    /// The cookies of the session; nil when the client was made without a configuration.
    public let cookies: CookieStorage?
    /// The cache of the session; nil when the client was made without a configuration, or for a background session.
    public let cache: HTTPCache?
    /// Where the session finds credentials before its program is asked; nil when the client was made without a configuration,
    /// or with one that has none.
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
    ///   - configuration: makes the client a session, with settings, cookies and limits of its own; copied.
    ///   - args: the client's own args, which come before those of each request.
    public init(baseURL: String? = nil, configuration: SessionConfiguration? = nil, args: [APIArg] = []) {
        ownHooks = Atomic(type(of: self) == APIClient.self ? 0 : HookKinds.all.rawValue)
        sessionKind = configuration?.kind
        configuredInterceptors = configuration?.interceptors ?? []
        let place = ClassDefaults.of(type(of: self))
        defaults = Self.defaults(inheriting: place, configuration?.settings, baseURL)
        cookies = Self.cookies(of: configuration?.kind, defaults)
        cache = Self.cache(of: configuration?.kind, configuration?.cache, defaults)
        credentialStorage = Self.credentialStorage(configuration?.credentialStorage, defaults)
        background = Self.background(configuration?.kind, defaults)
        state = Lock(State(args: args), sharing: .clients)
    }

    /// For C, whose classes are named places for defaults, and so are its configurations.
    package init(
        inheriting place: Defaults?, baseURL: String?,
        configuration: (
            kind: SessionConfiguration.Kind, settings: Defaults, cache: HTTPCache?,
            credentialStorage: CredentialStorage?, interceptors: [Interceptor]
        )? = nil
    ) {
        ownHooks = Atomic(0)
        sessionKind = configuration?.kind
        configuredInterceptors = configuration?.interceptors ?? []
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
            // A name that no folder can have fails the request.
            return CookieStorage.onDisk(of: name.flatMap { DataFolder.isName($0) ? $0 : nil })
        }
    }

    /// The program's is that of the name which the session has given it.
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
            // What is replaced may run the user's code as it goes (a stream), so it must outlive the lock.
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

    /// Gives the client's requests credentials that expire; nil, as at first, does not. For requests begun from now on.
    public var authenticator: Authenticator? {
        get { ownAuthenticator.value }
        set {
            ownAuthenticator.set(newValue)
            if let clock { newValue?.clock = clock }
        }
    }

    /// A test's clock by which requests wait in place of the system's; nil, as at first, is that. For requests begun from now on.
    ///
    /// The client's authenticator goes by it, too.
    public var clock: ManualClock? {
        get { ownClock.value }
        set {
            ownClock.set(newValue)
            authenticator?.clock = newValue
        }
    }

    /// What answers the client's requests in place of the network, in a test; nil, as at first, is the network. For requests
    /// begun from now on.
    public var stub: Stub? {
        get { ownStub.value }
        set { ownStub.set(newValue) }
    }

    /// What records the client's exchanges; nil, as at first, is nobody. For requests begun from now on.
    public var recorder: Recorder? {
        get { ownRecorder.value }
        set { ownRecorder.set(newValue) }
    }

    /// How many requests go in how much time; nil, as at first, looks up the default `rateLimit`. Applies to requests
    /// made from now on.
    public var rateLimiter: RateLimiter? {
        get { ownRateLimiter.value }
        set { ownRateLimiter.set(newValue) }
    }

    /// What challenges were answered with for the whole session.
    var answers: SessionAnswers {
        state.withLock { state in
            if let known = state.answers { return known }
            let made = SessionAnswers()
            state.answers = made
            return made
        }
    }

    // MARK: Interceptors

    /// What looks at the requests of this class, the outermost first. A subclass overrides it.
    open class var interceptors: [Interceptor] { [] }

    /// What looks at the client's requests and answers, inside those of its class and its configuration; the outermost
    /// first. For requests begun from now on.
    public var interceptors: [Interceptor] {
        get { state.withLock { $0.interceptors } }
        set {
            let replaced = state.withLock { exchange(&$0.interceptors, with: newValue) }
            hasInterceptors.store(!newValue.isEmpty, ordering: .relaxed)
            withExtendedLifetime(replaced) {}
        }
    }

    /// Adds an interceptor inside the client's others. Two threads may do so at the same time.
    package func add(_ interceptor: Interceptor) {
        state.withLock { $0.interceptors.append(interceptor) }
        hasInterceptors.store(true, ordering: .relaxed)
    }

    var allInterceptors: [Interceptor] {
        let own = hasInterceptors.load(ordering: .relaxed) ? interceptors : []
        return type(of: self).interceptors + configuredInterceptors + own
    }

    // MARK: Hooks

    /// Adjusts the args of a request before they are applied. On the thread that begins the request.
    open func buildArgs(_ command: String, _ args: inout [APIArg]) {}

    /// Adjusts the built request. On the thread that begins the request.
    open func buildRequest(_ request: inout HTTPRequest, options: APIOptions) {}

    /// A request starts. On the thread that begins or resumes it.
    open func requestStarted(_ request: APIRequest) {}

    /// An interim answer has come, such as 103 (early hints, RFC 8297), before the answer itself. On a background worker.
    ///
    /// Not for 100 and 101. The response waits until it has returned.
    open func informationReceived(_ request: APIRequest, status: Int, headers: HTTPHeaders) {}

    /// Some of a request's body was sent, as its own upload progress handler hears of it: just before that, where that runs.
    ///
    /// Called when ``transferHooks`` says so.
    open func uploadProgressed(_ request: APIRequest, _ progress: TransferProgress) {}

    /// Some of a response's body was received, as the request's own download progress handler hears of it: just before that,
    /// where that runs.
    ///
    /// Called when ``transferHooks`` says so.
    open func downloadProgressed(_ request: APIRequest, _ progress: TransferProgress) {}

    /// A piece of the body of a successful response has come, decompressed: just before the request's own data handler gets it,
    /// where that runs. The network waits while this is behind.
    ///
    /// It looks on: unlike with a data handler of the request's own, the response holds the body all the same. A request that is
    /// sent again after its connection broke shows its body from the beginning. What is written into a file is not shown.
    /// Called when ``transferHooks`` says so; requests then go over HTTP/1.1, as with a data handler of their own.
    open func dataReceived(_ request: APIRequest, _ data: ResponseData) {}

    /// What a request took is known, exchange by exchange; ``requestCompleted(_:_:)`` follows. On a background worker; in
    /// `perform` on its thread.
    open func metricsCollected(_ request: APIRequest, _ metrics: RequestMetrics) {}

    /// A request has its response; its handler follows. On a background worker; in `perform` on its thread.
    open func requestCompleted(_ request: APIRequest, _ response: APIResponse) {}

    /// Parses a body as JSON. On a background worker; in `perform` on its thread.
    ///
    /// - Returns: nil when there is none, as in an empty body.
    /// - Throws: any error, which becomes `invalid JSON`, or an `APIError`, which becomes the response's.
    open func parseJSON(_ data: ResponseData) throws -> ParsedJSON? { try ParsedJSON(body: data) }

    /// Turns the service's own error fields into an error. On a background worker, in `perform` on its thread, for every
    /// response that has JSON.
    ///
    /// - Returns: nil when the service reports no error.
    open func mapServiceError(_ response: APIResponse) -> APIError? { nil }

    /// Sees every error that a request ends with, of any domain, a cancelled request's too, and may replace it.
    ///
    /// Called once for each request that ends with an error: after retries and redirects, after the service's `makeResponse`, and
    /// before the log, ``requestCompleted(_:_:)`` and the handlers, which see what this returns. Where ``mapServiceError(_:)``
    /// is called. An HTTP status and a Retry-After that the new error lacks are taken from the old one.
    ///
    /// - Parameters:
    ///   - error: what the request ends with; the response's own.
    ///   - response: what there is of it; `decode` reads the JSON of an error, too.
    /// - Returns: the error itself, as it does unless overridden, or another one.
    open func mapError(_ error: APIError, _ response: APIResponse) -> APIError { error }

    /// Receives the client's log lines, secrets already redacted. On any thread but the network thread.
    open func writeLog(_ level: LogLevel, _ message: String) { APILog.write(level, message) }

    /// The client was closed or invalidated, and the last of its handlers has returned. Called once, on a background worker.
    open func sessionInvalidated() {}

    /// The hooks that are called again and again while bodies are sent and received.
    public struct TransferHooks: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        /// ``APIClient/uploadProgressed(_:_:)`` is called.
        public static let uploadProgressed = TransferHooks(rawValue: HookKinds.uploadProgressed.rawValue)
        /// ``APIClient/downloadProgressed(_:_:)`` is called.
        public static let downloadProgressed = TransferHooks(rawValue: HookKinds.downloadProgressed.rawValue)
        /// ``APIClient/dataReceived(_:_:)`` is called.
        public static let dataReceived = TransferHooks(rawValue: HookKinds.dataReceived.rawValue)
    }

    /// Which of ``uploadProgressed(_:_:)``, ``downloadProgressed(_:_:)`` and ``dataReceived(_:_:)`` are called; none unless set.
    ///
    /// Set it in the initializer of a subclass that overrides one of them: Swift cannot tell which methods a subclass overrides,
    /// and each hook costs time. It holds for requests sent from now on.
    public var transferHooks: TransferHooks {
        get { TransferHooks(rawValue: hookKinds.intersection(.ofTransfers).rawValue) }
        set {
            let wanted = HookKinds(rawValue: newValue.rawValue).intersection(.ofTransfers)
            hookKinds = hookKinds.subtracting(.ofTransfers).union(wanted)
        }
    }

    /// Which decisions the client wants to be asked for; none unless set. A request waits for each answer.
    public var decisionKinds: RequestDecision.Kinds {
        get { RequestDecision.Kinds(rawValue: ownDecisions.load(ordering: .relaxed)) }
        set { ownDecisions.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Decides what a request does next, now or later: keep the decision until you answer it. On a background worker.
    ///
    /// The handler of a request's own comes first, see ``APIRequest/setDecisionHandler(for:_:)``.
    open func decide(_ decision: RequestDecision) {}

    // MARK: For the other files of the client

    /// One more request: its identifier, the client's args, and the settings as they were read last.
    func countRequest() -> (identifier: UInt64, args: [APIArg], known: KnownSettings?) {
        state.withLock { state in
            state.lastIdentifier &+= 1
            return (state.lastIdentifier, state.args, state.settings)
        }
    }

    /// Settings, and the version of all defaults that they were read from; nil when they may not be used again.
    typealias KnownSettings = (version: Int?, value: ResolvedSettings)

    /// The connections that nobody else uses, if there are any yet.
    var ownConnections: OwnConnections? {
        state.withLock { $0.settings?.value.transfer.context?.connections }.flatMap { $0.isOfOne ? $0 : nil }
    }

    /// The defaults that have a meaning, read again only when any default has changed.
    var settings: ResolvedSettings { settings(since: state.withLock { $0.settings }) }

    /// - Parameter known: what they were a moment ago.
    func settings(since known: KnownSettings?) -> ResolvedSettings {
        if let known, let version = Defaults.version, known.version == version { return known.value }
        while true {
            let version = Defaults.version
            let (known, readings) = state.withLock { ($0.settings, $0.readings) }
            if let known, let version, known.version == version { return known.value }
            let value = ResolvedSettings(
                defaults, environment: environment, isSession: sessionKind != nil, cookies: cookies, cache: cache,
                previous: known?.value)
            // Of two threads that read at once, one makes the connections and the limit that are the client's.
            let (isFirst, replaced) = state.withLock { state -> (Bool, ResolvedSettings?) in
                guard state.readings == readings else { return (false, nil) }
                state.readings += 1
                defer { state.settings = (version, value) }
                return (true, state.settings?.value)
            }
            // What is replaced may close connections as it goes, so it must outlive the lock.
            withExtendedLifetime((known, replaced)) {}
            if isFirst { return value }
        }
    }
}
