/// The defaults with a meaning, read and checked: once for all requests that are made until one of them changes.
final class ResolvedSettings: Sendable {
    let baseURL: BaseURL?
    let logFlags: LogFlags
    let transfer: TransferSettings
    /// What every request sends unless its args say otherwise.
    let headers: HTTPHeaders
    /// The same for a request that wants JSON.
    let headersForJSON: HTTPHeaders
    /// A default that cannot be used; it fails each request that would need it.
    let problem: APIError?

    /// - Parameters:
    ///   - environment: the proxies that the environment named when the client was made.
    ///   - previous: what they were before, so that a base URL that is still the same is not looked at again.
    init(_ defaults: Defaults, environment: ProxySettings, previous: ResolvedSettings?) {
        baseURL = defaults["baseUrl"]?.string.map { text in
            if let known = previous?.baseURL, known.text.utf8.elementsEqual(text.utf8) { return known }
            return BaseURL(text)
        }
        logFlags = defaults["logFlags"]?.int.map { LogFlags(rawValue: $0) } ?? [.warn, .error]
        var transfer = TransferSettings.Values()
        transfer.proxy = environment
        var userAgent = "ntapi/\(ntapiVersion)"
        var problem: APIError?
        do throws(APIError) {
            userAgent = try Self.userAgent(defaults) ?? userAgent
            try Self.read(defaults, into: &transfer)
        } catch {
            problem = error
        }
        self.transfer = TransferSettings(transfer)
        self.problem = problem
        headers = HTTPHeaders([("User-Agent", userAgent)])
        headersForJSON = HTTPHeaders([("User-Agent", userAgent), ("Accept", "application/json, */*;q=0.5")])
    }

    private static func userAgent(_ defaults: Defaults) throws(APIError) -> String? {
        guard let value = defaults["userAgent"] else { return nil }
        guard let text = value.string else { throw problem("userAgent", value, "a string") }
        try HeaderSyntax.check(name: "User-Agent", value: text)
        return text
    }

    private static func read(
        _ defaults: Defaults, into transfer: inout TransferSettings.Values
    ) throws(APIError) {
        let clocks: [(String, TimeoutClock)] = [
            ("requestTimeout", .idle), ("connectTimeout", .connect), ("queueTimeout", .queue),
            ("attemptTimeout", .attempt), ("resourceTimeout", .total),
        ]
        for (key, clock) in clocks {
            guard let value = defaults[key] else { continue }
            guard let seconds = value.double, seconds > 0 else {
                throw problem(key, value, "a number of seconds above 0")
            }
            transfer.timeouts[clock] = seconds
        }
        transfer.maximumResponseSize = try count(defaults, "maximumResponseSize", from: 0)
        transfer.maximumRedirects = Int(
            clamping: try count(defaults, "maximumRedirects", from: 0) ?? Int64(transfer.maximumRedirects))
        transfer.maximumConnectionsPerHost = Int(
            clamping: try count(defaults, "maximumConnectionsPerHost", from: 1)
                ?? Int64(transfer.maximumConnectionsPerHost))
        if let value = defaults["httpVersion"] {
            transfer.httpVersion = try httpVersion(value.string ?? value.text)
        }
        if let value = defaults["proxy"] {
            guard let url = value.string else { throw problem("proxy", value, "a URL, or \"\" for none") }
            transfer.proxy = ProxySettings(url: url)
        }
        if let value = defaults["caFile"] {
            guard let path = value.string else { throw problem("caFile", value, "the path of a PEM file") }
            transfer.caFile = path
        }
        if let value = defaults["decompression"] {
            guard let isOn = value.bool else { throw problem("decompression", value, "a boolean") }
            transfer.decompresses = isOn
        }
    }

    static func httpVersion(_ text: String) throws(APIError) -> TransferSettings.HTTPVersion {
        guard let version = TransferSettings.HTTPVersion(rawValue: text) else {
            throw .invalidRequest("\(quoted(text)) is not an HTTP version: \"1.0\", \"1.1\" or \"2\"")
        }
        return version
    }

    private static func count(_ defaults: Defaults, _ key: String, from least: Int64) throws(APIError) -> Int64? {
        guard let value = defaults[key] else { return nil }
        guard let count = value.int64, count >= least else { throw problem(key, value, "a whole number from \(least)") }
        return count
    }

    private static func problem(_ key: String, _ value: JSON, _ wanted: String) -> APIError {
        .invalidRequest("the default \(key) is \(value.text): \(wanted) is needed")
    }
}
