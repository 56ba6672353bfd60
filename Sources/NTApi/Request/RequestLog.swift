/// The log lines of a request. Each function checks its flag first, so that disabled logging costs one comparison.
enum RequestLog {
    /// How many bytes of a body are shown.
    private static let shownBody = 2048

    static func started(_ request: APIRequest) throws(Forked) {
        try request.log(.info, "#\(request.logName) \(request.summary)")
    }

    /// - Parameter head: the head as it was sent; "" when there is none.
    static func sent(_ request: APIRequest, _ http: HTTPRequest, head: String) throws(Forked) {
        guard request.logFlags.contains(.debug) else { return }
        let secrets = request.built.request?.secrets ?? MarkedSecrets()
        // Only the request knows the names that the caller marked.
        let names = secrets.names.union(http.headers.lazy.filter(\.isSecret).map(\.name))
        var lines = head.split(whereSeparator: \.isNewline).map(String.init)
        let first = lines.isEmpty ? "\(http.method) \(http.url)" : lines.removeFirst()
        // Method, target and version.
        var words = first.split(separator: " ").map(String.init)
        if words.count > 1 { words[1] = secrets.redact(url: words[1]) }
        let fields = lines.isEmpty ? Array(http.headers) : lines.map(HTTPHeaders.Field.init(line:))
        let headers = fields.map { "\n  \($0.name): \($0.shownValue(alsoNamed: names))" }.joined()
        try request.log(
            .debug, "#\(request.logName) sends \(words.joined(separator: " "))\(headers)\(body(of: http, secrets))")
    }

    static func informed(_ request: APIRequest, _ head: ResponseHead) throws(Forked) {
        try request.log(
            .debug,
            "#\(request.logName) received \(HTTPStatus.text(head.status))\(head.headers.description.indentedLines)")
    }

    /// The result of an exchange, also of one that is not the last.
    static func received(_ request: APIRequest, _ result: ExchangeResult, body: @autoclosure () -> Bytes) throws(Forked)
    {
        guard request.logFlags.contains(.debug), let head = result.head else { return }
        let isForm = RequestBuilder.isForm(head.headers)
        let names = request.built.request?.secrets.names ?? []
        let body = body().buffer
        let text = shown(body, body.count) {
            isForm ? Secrets.redactPairs($0, alsoNamed: names) : Secrets.redact($0, alsoNamed: names)
        }
        try request.log(
            .debug,
            "#\(request.logName) received \(HTTPStatus.text(head.status))\(head.headers.description.indentedLines)"
                + text)
    }

    /// A line of a stage.
    static func write(_ request: APIRequest, _ line: LogLine) throws(Forked) {
        let name = request.logName
        switch line {
        case .redirected(let status, let next):
            try request.log(
                .info, "#\(name) HTTP \(status), redirected to \(next.method) \(request.redact(url: next.url))")
        case .sentAgain: try request.log(.info, "#\(name) is sent again with new credentials")
        case .triesAgain(let result, let attempt, let attempts, let seconds):
            let pause = milliseconds(min(seconds, 1e9))
            try request.log(
                .warn, "#\(name) \(result.problem ?? "no answer"); attempt \(attempt) of \(attempts) in \(pause) ms")
        case .connectsAgain(let problem, let seconds):
            let reason = problem ?? "the server has closed the stream"
            try request.log(
                problem == nil ? .info : .warn, "#\(name) \(reason); connects again in \(milliseconds(seconds)) ms")
        }
    }

    private static func milliseconds(_ seconds: Double) -> Int { Int((seconds * 1000).rounded()) }

    static func waitsForCredentials(_ request: APIRequest, status: Int?) throws(Forked) {
        let answer = status.map { "HTTP \($0), " } ?? ""
        try request.log(.info, "#\(request.logName) \(answer)waits for new credentials")
    }

    static func completed(_ response: APIResponse) throws(Forked) {
        let request = response.request
        if request.logFlags.contains(.info) {
            let outcome = response.status > 0 ? "\(response.status)" : response.error?.code.name ?? "no answer"
            let took = "\(Int(response.elapsed * 1000)) ms\(response.source.note)"
            try request.log(.info, "#\(request.logName) \(request.summary) \(outcome) \(took)")
        }
        if let error = response.error, try request.handlers(\.logsError) {
            // The caller has cancelled, so that is no news.
            let level: LogLevel = error.domain == .cancelled ? .info : error.domain == .service ? .warn : .error
            try request.log(level, "#\(request.logName) \(error)")
        }
        if let prefix = response.prefixText {
            let text = quoted(String(Secrets.redact(String(prefix.prefix(shownBody))).prefix(200)))
            try request.log(.warn, "#\(request.logName) text before the JSON was ignored: \(text)")
        }
    }

    private static func body(of http: HTTPRequest, _ secrets: MarkedSecrets) -> String {
        switch http.body {
        case .none: ""
        case .bytes(let bytes): shown(bytes, bytes.count) { secrets.redact(body: $0) }
        case .multipart(let parts): "\n  multipart: \(parts.map { quoted($0.name) }.joined(separator: ", "))"
        case .file(let path, let length): "\n  file \(quoted(path)), \(length) bytes"
        case .stream(let stream): "\n  stream, \(stream.length.map { "\($0) bytes" } ?? "unknown length")"
        }
    }

    // Redacts more bytes than it shows: at the end of a cut text, half a secret would not be recognized.
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
    /// A short text of what was wrong; nil when nothing was.
    var problem: String? {
        if let error { return error.description }
        return head.flatMap { $0.status < 300 ? nil : "HTTP \(HTTPStatus.text($0.status))" }
    }
}

extension APIRequest {
    /// Unique in the process: the number of the client, and the request's number in that client.
    package var logName: String { "\(client.number).\(identifier)" }

    func redact(url: String) -> String { built.request?.secrets.redact(url: url) ?? Secrets.redactURL(url) }

    /// Logs a line of the program's own, with the request's name.
    package func logOwn(_ level: LogLevel, _ message: String) {
        entered { () throws(Forked) in try log(level, "#\(logName) \(message)") }
    }

    func redact(message: String) -> String {
        Secrets.redactURLs(in: message, alsoNamed: built.request?.secrets.names ?? [])
    }

    func log(_ level: LogLevel, _ message: @autoclosure () -> String) throws(Forked) {
        guard logFlags.contains(level.flag) else { return }
        // A line may quote the server, a hook or libcurl. Only debug lines have further lines, for headers and bodies.
        let line = level == .debug ? printableLines(message()) : printableLine(redact(message: message()))
        try Delivery.call { client.writeLog(level, line) }
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
