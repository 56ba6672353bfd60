/// Reads and checks the built-in defaults. An invalid value is an error that names the default.
struct SettingsReader {
    let defaults: Defaults

    func text(_ key: String, _ wanted: String = "a string") throws(APIError) -> String? {
        guard let value = defaults[key] else { return nil }
        guard let text = value.string, !text.utf8.contains(0) else { throw problem(key, value, wanted) }
        return text
    }

    func isOn(_ key: String) throws(APIError) -> Bool? {
        guard let value = defaults[key] else { return nil }
        guard let isOn = value.bool else { throw problem(key, value, "a boolean") }
        return isOn
    }

    /// - Parameter orNone: whether 0 is allowed.
    func seconds(_ key: String, orNone: Bool = false) throws(APIError) -> Double? {
        guard let value = defaults[key] else { return nil }
        guard let seconds = value.double, seconds > 0 || orNone && seconds == 0 else {
            throw problem(key, value, orNone ? "a number of seconds, 0 or more" : "a number of seconds above 0")
        }
        return seconds
    }

    func count(_ key: String, from least: Int64) throws(APIError) -> Int64? {
        guard let value = defaults[key] else { return nil }
        guard let count = value.int64, count >= least else {
            throw problem(key, value, "a whole number, \(least) or more")
        }
        return count
    }

    /// A list of texts, or a single one.
    func texts(_ key: String, _ wanted: String) throws(APIError) -> [String]? {
        guard let value = defaults[key] else { return nil }
        let texts = value.string.map { [$0] } ?? value.array.map { $0.compactMap(\.string) }
        guard let texts, texts.count == value.array?.count ?? 1, !texts.contains(where: { $0.utf8.contains(0) }) else {
            throw problem(key, value, wanted)
        }
        return texts
    }

    /// One of the values of an enum, by its raw value.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String, _ type: Choice.Type
    ) throws(APIError) -> Choice? {
        guard let value = defaults[key] else { return nil }
        // The text of a version given as a number: 1.2.
        guard let choice = Choice(rawValue: value.string ?? value.text) else {
            let choices = Choice.allCases.map(\.rawValue).filter { !$0.isEmpty }.map { "\"\($0)\"" }
            throw problem(key, value, "one of \(choices.joined(separator: ", "))")
        }
        return choice
    }

    func problem(_ key: String, _ value: JSON, _ wanted: String) -> APIError {
        // A password of the wrong type is still a secret.
        .invalidRequest("the default \(key) is \(Secrets.redact(setting: key, value)): it must be \(wanted)")
    }
}

// The defaults for retries, rate limits and circuit breakers.
extension SettingsReader {
    func retry() throws(APIError) -> RetryPolicy? {
        try value("retry") { (json) throws(APIError) in try RetryPolicy(json) }
    }

    /// - Parameter previous: the previous limiter with its waiters. It stays while the default is unchanged.
    func rateLimiter(previous: RateLimiter?) throws(APIError) -> RateLimiter? {
        guard let limit = try value("rateLimit", { (json) throws(APIError) in try RateLimit(json) }) else { return nil }
        return previous?.limits == [limit] ? previous : RateLimiter(limit)
    }

    /// - Parameter previous: the previous breaker with its circuits. It stays while the default is unchanged.
    func circuitBreaker(previous: CircuitBreaker?) throws(APIError) -> CircuitBreaker? {
        let policy = try value("circuitBreaker") { (json) throws(APIError) in try CircuitBreakerPolicy.read(json) }
        guard let policy = policy.flatMap(\.self) else { return nil }
        return previous?.policy == policy ? previous : CircuitBreaker(policy)
    }

    private func value<Value>(
        _ key: String, _ read: (JSON) throws(APIError) -> Value
    ) throws(APIError) -> Value? {
        guard let json = defaults[key] else { return nil }
        do throws(APIError) {
            return try read(json)
        } catch {
            throw .invalidRequest("the default \(key) is \(json.text): \(error.message)")
        }
    }
}

// The defaults for a connection's identity and proxy.
extension SettingsReader {
    /// The rarely used settings of a client; nil when it has none.
    func session() throws(APIError) -> SessionSettings? {
        let identity = try identity()
        let credential = try credential("user", "password")
        let certificateOrigins = try certificateOrigins(identity)
        guard identity != ConnectionIdentity() || credential != nil else { return nil }
        return SessionSettings(identity: identity, credential: credential, certificateOrigins: certificateOrigins)
    }

    /// The named origins that may see the client certificate. The client's own is added to each request.
    private func certificateOrigins(_ identity: ConnectionIdentity) throws(APIError) -> [Origin] {
        let key = "clientCertificateOrigins"
        let wanted = "the URL of an origin such as \"https://files.example.com\", or a list of these"
        guard let urls = try texts(key, wanted) else { return [] }
        guard identity.clientCertificate != nil else {
            throw .invalidRequest("the default \(key) is set, but clientCertificate is not")
        }
        var origins: [Origin] = []
        for url in urls {
            guard let origin = Origin(url: url) else { throw problem(key, JSON(Secrets.redactURL(url)), wanted) }
            origins.append(origin)
        }
        return origins
    }

    /// The connections of a client that needs its own; nil when it shares those of all clients.
    ///
    /// - Parameters:
    ///   - isSession: whether the client was made with a configuration. It then shares no connections.
    ///   - identity: the identity of the connections.
    ///   - previous: the previous ones, which are reused if they still fit.
    func connections(
        isSession: Bool, _ identity: ConnectionIdentity, previous: OwnConnections?
    ) throws(APIError) -> OwnConnections? {
        let maximum = try count("maximumConnections", from: 1).map { Int(clamping: $0) }
        if isSession || maximum != nil {
            if let previous, previous.isOfOne, previous.identity == identity, previous.maximum == maximum {
                return previous
            }
            return OwnConnections(identity, maximum: maximum)
        }
        return identity.needsOwnConnections ? .of(identity) : nil
    }

    /// How the session uses cookies; nil when it has none, or neither sends nor accepts any.
    func cookies(in storage: CookieStorage?) throws(APIError) -> CookieUse? {
        let policy = try choice("cookieAcceptPolicy", CookieAcceptPolicy.self) ?? .onlyFromMainDocument
        let sends = try isOn("sendsCookies") ?? true
        if let name = try text("applicationName"), !DataFolder.isName(name) {
            throw problem("applicationName", JSON(name), "the name of a folder, without a slash")
        }
        guard let storage, sends || policy != .never else { return nil }
        return CookieUse(storage.engine, policy: policy, sends: sends) { storage.changed() }
    }

    /// The proxies of the settings, or of the environment.
    func proxy(_ environment: ProxySettings) throws(APIError) -> ProxySettings {
        var proxy = environment
        if let url = try proxyURL() { proxy = ProxySettings(url: url) }
        if let lists = try texts("proxyExceptions", ProxyExceptions.wanted) {
            proxy.exceptions = ProxyExceptions()
            for entry in lists.flatMap(ProxyExceptions.entries) where !proxy.exceptions.add(entry) {
                throw problem("proxyExceptions", JSON(entry), ProxyExceptions.wanted)
            }
        }
        return proxy
    }

    private func proxyURL() throws(APIError) -> String? {
        guard let url = try text("proxy", "a URL, or \"\" for none") else { return nil }
        let scheme = url.utf8.prefix { $0 != UInt8(ascii: ":") }
        let hasScheme = url.utf8.dropFirst(scheme.count).starts(with: "://".utf8)
        if hasScheme, !ProxySettings.schemes.contains(String(Substring(scheme)).lowercasedASCII()) {
            throw problem("proxy", JSON(url), "a URL with \(ProxySettings.schemes.joined(separator: ", "))")
        }
        // libcurl reads `http:/x` as host x, while other programs read it as a host named http.
        let place = hasScheme ? url.utf8.dropFirst(scheme.count + 3) : url.utf8[...]
        let authority = place.prefix { $0 != UInt8(ascii: "/") }
        guard url.isEmpty || isHostAndPort(authority) && (hasScheme || place.count - authority.count < 2) else {
            throw problem(
                "proxy", JSON(shown(url)),
                "a URL such as \"http://proxy.example.com:3128\", or \"\" for no proxy; in a password, # is %23 and ? is %3F"
            )
        }
        return url
    }

    private func shown(_ url: String) -> String {
        url.lastIndex(of: "@").map { Secrets.redacted + url[$0...] } ?? url
    }

    /// Whether it is `host`, `host:port` or `[address]:port`, with an optional user.
    private func isHostAndPort(_ authority: Substring.UTF8View) -> Bool {
        // libcurl takes each of these for the end of the host.
        guard !authority.contains(where: { "#?\\".utf8.contains($0) }) else { return false }
        let start = authority.lastIndex(of: UInt8(ascii: "@")).map(authority.index(after:)) ?? authority.startIndex
        let place = authority[start...]
        let colon = UInt8(ascii: ":")
        let end: Substring.Index
        if place.first == UInt8(ascii: "[") {
            guard let bracket = place.firstIndex(of: UInt8(ascii: "]")) else { return false }
            end = place.index(after: bracket)
        } else {
            end = place.firstIndex(of: colon) ?? place.endIndex
        }
        guard end > place.startIndex, place.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
        guard end < place.endIndex else { return true }
        let port = Substring(place[place.index(after: end)...])
        return place[end] == colon && port.utf8.allSatisfy(\.isASCIIDigit) && (1...65535).contains(Int(port) ?? 0)
    }

    private func identity() throws(APIError) -> ConnectionIdentity {
        var identity = ConnectionIdentity()
        identity.tlsMinimum = try choice("tlsMinimumVersion", TLSVersion.self) ?? .tls12
        identity.clientCertificate = try path("clientCertificate")
        identity.clientKey = try path("clientKey")
        identity.clientKeyPassword = try text("clientKeyPassword")
        if identity.clientCertificate == nil, identity.clientKey != nil || identity.clientKeyPassword != nil {
            throw .invalidRequest("the default clientKey or clientKeyPassword is set, but clientCertificate is not")
        }
        identity.pinnedKeys = try pins()
        identity.networkInterface = try text("networkInterface").flatMap { $0.isEmpty ? nil : $0 }
        identity.allowsCellularAccess = try isOn("allowsCellularAccess") ?? true
        identity.route = try route()
        if let policy = defaults["connectionPolicy"] { identity.rules = try ConnectionRules(ConnectionPolicy(policy)) }
        identity.proxy = try credential("proxyUser", "proxyPassword")
        // The environment's proxy is the same for all clients.
        if let url = try proxyURL(), identity.proxy != nil || url.utf8.contains(UInt8(ascii: "@")) {
            identity.proxyURL = url
        }
        return identity
    }

    /// The path of a readable file; "" for none.
    private func path(_ key: String) throws(APIError) -> String? {
        guard let path = try text(key, "the path of a PEM file"), !path.isEmpty else { return nil }
        guard let reason = SystemFile.reasonUnreadable(path) else { return path }
        throw .invalidRequest("the default \(key): the file \(quoted(path)) cannot be read: \(reason)")
    }

    private func credential(_ userKey: String, _ passwordKey: String) throws(APIError) -> Credential? {
        let user = try text(userKey)
        let password = try text(passwordKey)
        guard user != nil || password != nil else { return nil }
        guard let user else { throw .invalidRequest("the default \(passwordKey) is set, but \(userKey) is not") }
        return Credential(user: user, password: password ?? "")
    }

    private func pins() throws(APIError) -> String? {
        let wanted = "\"sha256//\" and the base64 of a SHA-256 sum, or a list of these"
        guard let pins = try texts("pinnedPublicKeys", wanted) else { return nil }
        for pin in pins where !Self.isPin(pin) { throw problem("pinnedPublicKeys", JSON(pin), wanted) }
        return pins.isEmpty ? nil : pins.joined(separator: ";")
    }

    private static func isPin(_ text: String) -> Bool {
        text.hasASCIIPrefix("sha256//") && text.utf8.count == 52
            && Base64.decode(String(text.dropFirst(8)))?.count == 32
    }
}
