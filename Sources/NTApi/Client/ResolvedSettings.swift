/// The built-in defaults, read and checked once for all requests until one of them changes.
final class ResolvedSettings: Sendable {
    let baseURL: BaseURL?
    /// The value of the default; nil when it is not set.
    let logFlags: LogFlags?
    /// How many seconds a request may continue when the process exits.
    let exitTimeout: Double
    let transfer: TransferSettings
    /// The headers of every request whose args do not set them.
    let headers: HTTPHeaders
    /// The same for a request that wants JSON.
    let headersForJSON: HTTPHeaders
    /// The retry policy for requests without their own.
    let retry: RetryPolicy?
    /// The rate limit of this client, which it shares with no other.
    let rateLimiter: RateLimiter?
    /// The circuit breaker of this client, which it shares with no other.
    let circuitBreaker: CircuitBreaker?
    /// An invalid default, which fails each request that needs it.
    let problem: APIError?

    /// - Parameters:
    ///   - environment: the proxies that the environment named when the client was made.
    ///   - isSession: whether the client was made with a configuration.
    ///   - cookies: the client's cookies; nil when it has none.
    ///   - cache: the client's cache; nil when it has none.
    ///   - previous: the previous settings, so that unchanged parts are reused.
    init(
        _ defaults: Defaults, environment: ProxySettings, isSession: Bool = false, cookies: CookieStorage? = nil,
        cache: HTTPCache? = nil, previous: ResolvedSettings?
    ) {
        baseURL = defaults["baseUrl"]?.string.map { text in
            if let known = previous?.baseURL, known.text.utf8.elementsEqual(text.utf8) { return known }
            return BaseURL(text)
        }
        logFlags = defaults["logFlags"]?.int.map { LogFlags(rawValue: $0) }
        let reader = SettingsReader(defaults: defaults)
        var transfer = TransferSettings.Values()
        var context: SessionContext?
        var headers = HTTPHeaders()
        var retry: RetryPolicy?
        var rateLimiter: RateLimiter?
        var circuitBreaker: CircuitBreaker?
        var exitTimeout = 2.0
        var problem: APIError?
        do throws(APIError) {
            if let mistake = defaults.mistake { throw mistake }
            _ = try reader.text("baseUrl", "a URL")
            if let seconds = try reader.seconds("exitTimeout", orNone: true) { exitTimeout = seconds }
            retry = try reader.retry()
            rateLimiter = try reader.rateLimiter(previous: previous?.rateLimiter)
            circuitBreaker = try reader.circuitBreaker(previous: previous?.circuitBreaker)
            headers = try reader.additionalHeaders()
            headers.setIfAbsent("User-Agent", try reader.userAgent() ?? "ntapi/\(ntapiVersion)")
            try reader.read(into: &transfer)
            transfer.proxy = try reader.proxy(environment)
            transfer.session = try reader.session()
            let connections = try reader.connections(
                isSession: isSession, transfer.session?.identity ?? ConnectionIdentity(),
                previous: previous?.transfer.context?.connections)
            let cookies = try reader.cookies(in: cookies)
            let cache = try reader.cache(cache).map { CacheUse($0, transfer) }
            if connections != nil || cookies != nil || cache != nil {
                context = SessionContext(connections: connections, cookies: cookies, cache: cache)
            }
        } catch {
            problem = error
        }
        self.transfer = TransferSettings(transfer, context)
        self.exitTimeout = exitTimeout
        self.retry = retry
        self.rateLimiter = rateLimiter
        self.circuitBreaker = circuitBreaker
        self.problem = problem
        self.headers = headers
        headers.setIfAbsent("Accept", BodyFormat.acceptsJSON)
        headersForJSON = headers
    }

    /// Which levels are logged.
    var effectiveLogFlags: LogFlags { (logFlags ?? APILog.flags).intersection(APILog.builtFlags) }

    static func httpVersion(_ text: String) throws(APIError) -> HTTPVersion {
        guard let version = HTTPVersion(rawValue: text) else {
            throw .invalidRequest("\(quoted(text)) is not an HTTP version: \"1.0\", \"1.1\" or \"2\"")
        }
        return version
    }
}

extension SettingsReader {
    fileprivate func userAgent() throws(APIError) -> String? {
        guard let text = try text("userAgent") else { return nil }
        try HeaderSyntax.check(name: "User-Agent", value: text)
        return text
    }

    /// The headers of every request whose args do not set them.
    fileprivate func additionalHeaders() throws(APIError) -> HTTPHeaders {
        var headers = HTTPHeaders()
        guard let value = defaults["additionalHeaders"] else { return headers }
        let wanted = "an object of header names and values"
        guard let members = value.object else { throw problem("additionalHeaders", value, wanted) }
        for (name, value) in members {
            let values = value.string.map { [$0] } ?? value.array.map { $0.compactMap(\.string) }
            guard let values, values.count == value.array?.count ?? 1 else {
                throw .invalidRequest("the default additionalHeaders: the value of \(quoted(name)) is not a string")
            }
            for value in values {
                try HeaderSyntax.check(name: name, value: value)
                headers.add(name, value)
            }
        }
        return headers
    }

    fileprivate func read(into transfer: inout TransferSettings.Values) throws(APIError) {
        let clocks: [(String, TimeoutClock)] = [
            ("requestTimeout", .idle), ("connectTimeout", .connect), ("queueTimeout", .queue),
            ("attemptTimeout", .attempt), ("resourceTimeout", .total),
        ]
        for (key, clock) in clocks {
            if let seconds = try seconds(key) { transfer.timeouts[clock] = seconds }
        }
        transfer.maximumResponseSize = try count("maximumResponseSize", from: 0)
        if let count = try count("maximumRedirects", from: 0) { transfer.maximumRedirects = Int(clamping: count) }
        if let count = try count("maximumConnectionsPerHost", from: 1) {
            transfer.maximumConnectionsPerHost = Int(clamping: count)
        }
        if let version = try choice("httpVersion", HTTPVersion.self) { transfer.httpVersion = version }
        if let path = try text("caFile", "the path of a PEM file") { transfer.caFile = path }
        if let isOn = try isOn("decompression") { transfer.decompresses = isOn }
        if let policy = try choice("cachePolicy", CachePolicy.self) { transfer.cachePolicy = policy }
    }
}

// The cache that a session makes from its settings. Invalid settings fail the requests.
extension HTTPCache {
    private struct Known: Hashable {
        let folder: String
        let memoryCapacity: Int
        let diskCapacity: Int
        /// A forked child has its own.
        let generation: Int
    }

    // Caches are never released, so that clients can come and go and share the memory cache.
    private static let known = Lock<[Known: HTTPCache]>([:], survivesFork: true)

    static func memoryCapacity(_ defaults: Defaults) -> Int {
        defaults["cacheMemoryCapacity"]?.int ?? standardMemoryCapacity
    }

    /// The cache of a default session, which is the program's.
    static func onDisk(_ defaults: Defaults) -> HTTPCache {
        let memoryCapacity = max(0, memoryCapacity(defaults))
        let diskCapacity = max(0, defaults["cacheDiskCapacity"]?.int ?? standardDiskCapacity)
        guard diskCapacity > 0 else { return HTTPCache(memoryCapacity: memoryCapacity) }
        guard let folder = defaults["cacheFolder"]?.string ?? folder(defaults["applicationName"]?.string) else {
            APILog.warn("the user has no home directory: the cache is kept in memory only")
            return HTTPCache(memoryCapacity: memoryCapacity)
        }
        let name = Known(
            folder: folder, memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, generation: Fork.generation)
        if let cache = known.withLock({ $0[name] }) { return cache }
        guard let made = try? HTTPCache(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, folder: folder)
        else { return HTTPCache(memoryCapacity: memoryCapacity) }
        let first = known.withLock { known in
            let first = known[name]
            if first == nil { known[name] = made }
            return first
        }
        return first ?? made
    }

    private static func folder(_ name: String?) -> String? {
        DataFolder.path(of: name.flatMap { DataFolder.isName($0) ? $0 : nil }, .cache).map { "\($0)/responses" }
    }
}

extension SettingsReader {
    /// The cache that requests use; nil when they use none.
    func cache(_ cache: HTTPCache?) throws(APIError) -> HTTPCache? {
        _ = try count("cacheMemoryCapacity", from: 0)
        _ = try count("cacheDiskCapacity", from: 0)
        if let folder = try text("cacheFolder"), folder.utf8.first != UInt8(ascii: "/") {
            throw problem("cacheFolder", JSON(folder), "the absolute path of a folder")
        }
        return try isOn("usesCache") ?? true ? cache : nil
    }
}
