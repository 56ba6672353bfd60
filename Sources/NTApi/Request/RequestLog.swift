/// The log lines of a request. Each asks for its flag first: what is off costs one comparison.
enum RequestLog {
    /// How much of a body is shown, in bytes.
    private static let shownBody = 2048
    private static let formType = "application/x-www-form-urlencoded"

    static func started(_ request: APIRequest) {
        request.log(.info, "#\(request.identifier) \(request.summary)")
        guard request.logFlags.contains(.debug), case .success(let built) = request.built else { return }
        let headers = built.http.headers.description.indentedLines
        request.log(.debug, "#\(request.identifier) sends \(headers)\(body(of: built))")
    }

    static func redirected(_ request: APIRequest, _ status: Int, to next: HTTPRequest) {
        request.log(
            .info, "#\(request.identifier) HTTP \(status), goes on to \(next.method) \(request.redact(url: next.url))")
    }

    static func waitsForCredentials(_ request: APIRequest, status: Int?) {
        let answer = status.map { "HTTP \($0), " } ?? ""
        request.log(.info, "#\(request.identifier) \(answer)waits for new credentials")
    }

    static func sentAgain(_ request: APIRequest) {
        request.log(.info, "#\(request.identifier) is sent again with new credentials")
    }

    static func triesAgain(
        _ request: APIRequest, _ result: ExchangeResult, _ attempt: Int, of attempts: Int, inSeconds seconds: Double
    ) {
        request.log(
            .warn,
            "#\(request.identifier) \(result.problem ?? "no answer"); attempt \(attempt) of \(attempts) in "
                + "\(Int((min(seconds, 1e9) * 1000).rounded())) ms")
    }

    static func waitsForTurn(_ request: APIRequest) {
        request.log(.info, "#\(request.identifier) waits for the rate limit")
    }

    static func completed(_ response: APIResponse) {
        let request = response.request
        if request.logFlags.contains(.info) {
            let outcome = response.status > 0 ? "\(response.status)" : response.error?.code.name ?? "no answer"
            let took = "\(Int(response.elapsed * 1000)) ms\(response.source.note)"
            request.log(.info, "#\(request.identifier) \(request.summary) \(outcome) \(took)")
        }
        if let error = response.error {
            // To cancel is the caller's own wish, and no news to it.
            let level: LogLevel = error.domain == .cancelled ? .info : error.domain == .service ? .warn : .error
            request.log(level, "#\(request.identifier) \(error)")
        }
        if let prefix = response.prefixText {
            let text = quoted(String(Secrets.redact(String(prefix.prefix(shownBody))).prefix(200)))
            request.log(.warn, "#\(request.identifier) text before the JSON was left out: \(text)")
        }
        guard request.logFlags.contains(.debug), response.status > 0 else { return }
        let isForm = response.headers["Content-Type"]?.lowercasedASCII().hasASCIIPrefix(formType) ?? false
        let names = request.built.request?.secrets.names ?? []
        let body = shown(response.data, response.data.count) {
            isForm ? Secrets.redactPairs($0, alsoNamed: names) : Secrets.redact($0, alsoNamed: names)
        }
        request.log(.debug, "#\(request.identifier) received \(response.headers.description.indentedLines)\(body)")
    }

    private static func body(of built: BuiltRequest) -> String {
        switch built.http.body {
        case .none: ""
        case .bytes(let bytes): shown(bytes, bytes.count) { built.secrets.redact(body: $0) }
        case .multipart(let parts): "\n  multipart: \(parts.map { quoted($0.name) }.joined(separator: ", "))"
        case .file(let path, let length): "\n  file \(quoted(path)), \(length) bytes"
        case .stream(let stream): "\n  stream, \(stream.length.map { "\($0) bytes" } ?? "unknown length")"
        }
    }

    // More is redacted than shown: at the end of a text that is cut off, half a secret is not known as one.
    private static func shown(_ bytes: some Collection<UInt8>, _ count: Int, _ redact: (String) -> String) -> String {
        guard count > 0 else { return "" }
        let beginning = bytes.prefix(8 * shownBody)
        guard !beginning.prefix(shownBody).contains(0) else { return "\n  \(count) bytes" }
        let text = redact(String(decoding: beginning, as: UTF8.self))
        let isCut = count > beginning.count || text.utf8.count > shownBody
        return "\n  \(isCut ? "\(text.prefix(shownBody))… (\(count) bytes)" : text)"
    }
}

extension ExchangeResult {
    /// What was wrong with it, in a few words; nil when nothing was.
    var problem: String? {
        if let error { return error.description }
        return head.flatMap { $0.status < 300 ? nil : "HTTP \(HTTPStatus.text($0.status))" }
    }
}

extension APIRequest {
    func redact(url: String) -> String { built.request?.secrets.redact(url: url) ?? Secrets.redactURL(url) }

    /// Logs a line of the program's own, marked as this request's.
    package func logOwn(_ level: LogLevel, _ message: String) { log(level, "#\(identifier) \(message)") }

    private func redact(message: String) -> String {
        Secrets.redactURLs(in: message, alsoNamed: built.request?.secrets.names ?? [])
    }

    func log(_ level: LogLevel, _ message: @autoclosure () -> String) {
        guard logFlags.contains(level.flag) else { return }
        // What a server, a hook or libcurl said is quoted in some lines.
        let message = level == .debug ? message() : redact(message: message())
        Delivery.call { client.writeLog(level, message) }
    }
}

extension ResponseSource {
    fileprivate var note: String {
        switch self {
        case .network: ""
        case .cache: ", from the cache"
        case .validatedCache: ", from the cache, confirmed"
        }
    }
}

extension String {
    fileprivate var indentedLines: String {
        split(separator: "\n").map { "\n  \($0)" }.joined()
    }
}
