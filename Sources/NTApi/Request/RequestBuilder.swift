#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A request that is ready to send, with its settings that are not part of the HTTP message.
final class BuiltRequest: Sendable {
    let http: HTTPRequest
    let options: APIOptions
    let secrets: MarkedSecrets
    /// The file to write the body of the response to.
    let download: DownloadTarget?
    /// Nil without retries and rate limit.
    let pacing: Pacing?
    /// The interceptors of each scope; nil for none.
    let callInterceptors: InterceptorMakers?
    let attemptInterceptors: InterceptorMakers?
    /// What the cache itself begins it for; nil for a request of the program.
    let revalidation: CacheRevalidation?

    init(
        http: HTTPRequest, options: APIOptions, secrets: MarkedSecrets, download: DownloadTarget? = nil,
        pacing: Pacing?, callInterceptors: InterceptorMakers? = nil, attemptInterceptors: InterceptorMakers? = nil,
        revalidation: CacheRevalidation? = nil
    ) {
        self.callInterceptors = callInterceptors
        self.attemptInterceptors = attemptInterceptors
        self.revalidation = revalidation
        self.http = http
        self.pacing = pacing
        self.download = download
        self.options = options
        self.secrets = secrets
    }

    /// Whether it has functions of the program.
    var callsProgram: Bool {
        if case .stream = http.body { return true }
        return callInterceptors != nil || attemptInterceptors != nil
    }

    /// Releases the program's functions: nothing of the request is called any more. A C caller's destroy functions may
    /// run here.
    func release() {
        if case .stream(let stream) = http.body { stream.end() }
        callInterceptors?.release()
        attemptInterceptors?.release()
    }
}

/// The result of the args: a request, or their error.
///
/// Not an enum: that would mark its reference, and leak checkers see no memory behind a marked one.
struct BuildOutcome: Sendable {
    let request: BuiltRequest?
    /// Nil when there is a request.
    @Boxed private(set) var error: APIError?

    init(_ request: BuiltRequest) { self.request = request }

    init(failing error: APIError) {
        request = nil
        self.error = error
    }

    init(_ build: () throws(APIError) -> BuiltRequest) {
        do throws(APIError) { self.init(try build()) } catch { self.init(failing: error) }
    }

    func get() throws(APIError) -> BuiltRequest {
        if let request { return request }
        throw error ?? .invalidRequest("the request was not built")
    }
}

/// Builds a request from a command and args, on the thread that begins it. Mistakes are errors, never traps.
struct RequestBuilder {
    let settings: ResolvedSettings

    func build(_ command: String, _ applied: AppliedArgs) throws(APIError) -> HTTPRequest {
        if let problem = settings.problem { throw problem }
        let url = try requestURL(command, applied)
        let transfer = try transferSettings(applied)
        let wantsJSON = try applied.isDownload ? false : !applied.options.isOn(.rawData)
        var headers = applied.headers
        let body = try body(applied.body, &headers, isPlain: transfer.isPlain)
        // A decoded download could not be resumed, and its length would be unknown until the end.
        if applied.isDownload { headers.setIfAbsent("Accept-Encoding", "identity") }
        if !transfer.isPlain { headers.addMissing(from: wantsJSON ? settings.headersForJSON : settings.headers) }
        var request = HTTPRequest(
            method: applied.method ?? (applied.body == nil ? "GET" : "POST"), url: url, headers: consume headers,
            body: body, settings: transfer, hasSecretBody: applied.secrets.isInBody)
        if let directive = transfer.cachePolicy.cacheControl, ["GET", "HEAD"].contains(request.method),
            !transfer.isPlain
        {
            request.headers.setIfAbsent("Cache-Control", directive)
        }
        if let digest = applied.digest { request.digest = digest }
        if applied.secrets.areInURL { request.secrets = applied.secrets }
        if !applied.options.isEmpty { request.options = applied.options }
        if applied.makesIdempotencyKey, !request.isIdempotent {
            request.headers.set(IdempotencyKey.header, IdempotencyKey.make())
        }
        return request
    }

    /// The file to write the body to.
    static func download(_ applied: AppliedArgs, _ http: HTTPRequest) throws(APIError) -> DownloadTarget? {
        guard applied.isDownload else { return nil }
        guard applied.resumeData == nil || (http.method == "GET" && http.body.isNone) else {
            throw .invalidRequest("a \(http.method) request cannot resume a download: leave out method and body")
        }
        return try DownloadTarget(applied.download, applied.resumeData)
    }

    // A resumed download uses the URL in its resume data, not command, query and base URL.
    private func requestURL(_ command: String, _ applied: AppliedArgs) throws(APIError) -> String {
        if let resumeData = applied.resumeData { return resumeData.url }
        return try URLBuilder.url(
            base: settings.baseURL, replacement: applied.baseURL, command: command, path: applied.path,
            query: applied.query)
    }

    /// The secrets that the caller marked, and whether the body is a form, by its kind or by a header.
    static func secrets(in headers: HTTPHeaders, _ applied: AppliedArgs) -> MarkedSecrets {
        var secrets = applied.secrets
        if case .form = applied.body { secrets.isForm = true }
        if applied.body != nil || !applied.headers.isEmpty { secrets.isForm = secrets.isForm || isForm(headers) }
        return secrets
    }

    /// Whether a header says that the body is a form. Its secrets are hidden even if the rest of the header is malformed.
    static func isForm(_ headers: HTTPHeaders) -> Bool {
        headers["Content-Type"]?.lowercasedASCII().hasASCIIPrefix("application/x-www-form-urlencoded") ?? false
    }

    private func transferSettings(_ applied: AppliedArgs) throws(APIError) -> TransferSettings {
        let options = applied.options
        if applied.timeouts.isEmpty, applied.cachePolicy == nil, !options.concernTransfer {
            _ = try options.isOn(.ignoreHTTPErrors)
            return settings.transfer
        }
        var transfer = settings.transfer.values
        for (clock, seconds) in applied.timeouts { transfer.timeouts[clock] = seconds.isFinite ? seconds : nil }
        if let policy = applied.cachePolicy { transfer.cachePolicy = policy }
        try apply(options, to: &transfer)
        return TransferSettings(transfer, transfer.isPlain ? context?.plain : context)
    }

    private var context: SessionContext? { settings.transfer.context }

    /// Applies the options to the transfer settings. The client's settings hold where no option is set.
    private func apply(_ options: APIOptions, to transfer: inout TransferSettings.Values) throws(APIError) {
        let usual = settings.transfer.values
        transfer.allowsInvalidCertificate = try options.isOn(.allowInvalidCertificate)
        transfer.maximumResponseSize = try options.number(.maximumResponseSize) ?? usual.maximumResponseSize
        let redirects = try options.number(.maximumRedirects)
        transfer.maximumRedirects = redirects.map { Int(clamping: $0) } ?? usual.maximumRedirects
        _ = try options.isOn(.reconnect)
        _ = try options.number(.maximumFailures)
        transfer.httpVersion = try options[.httpVersion].map(ResolvedSettings.httpVersion) ?? usual.httpVersion
        _ = try options.isOn(.ignoreHTTPErrors)
        transfer.isPlain = try options.isOn(.plainExchange)
        transfer.decompresses = usual.decompresses && !transfer.isPlain
        if transfer.isPlain { transfer.maximumRedirects = 0 }
    }

    /// Checks a request that hooks have changed, as args are checked.
    func check(_ http: inout HTTPRequest, since before: HTTPRequest) throws(APIError) {
        if let refusal = http.refusal { throw refusal }
        if http.method != before.method { try HeaderSyntax.check(method: http.method) }
        if !http.headers.isUnchanged(since: before.headers) { try http.checkHeaders() }
        if http.url != before.url { http.url = try URLParts(http.url).text }
        try checkBody(of: &http, since: before.body)
        if http.timeouts != before.timeouts {
            var timeouts = http.timeouts
            if let problem = timeouts.problem() { throw .invalidRequest(problem) }
            http.timeouts = timeouts
        }
        if http.options != before.options {
            var values = http.settings.values
            try apply(http.options, to: &values)
            _ = try http.options.isOn(.rawData)
            http.settings = TransferSettings(values, values.isPlain ? context?.plain : context)
        }
        if http.cachePolicy != before.cachePolicy, ["GET", "HEAD"].contains(http.method) {
            // The header that the old policy set, and that the program has not changed.
            if let old = before.cachePolicy.cacheControl, http.headers["Cache-Control"] == old {
                http.headers.remove("Cache-Control")
            }
            if let new = http.cachePolicy.cacheControl { http.headers.setIfAbsent("Cache-Control", new) }
        }
    }

    private func checkBody(of http: inout HTTPRequest, since before: HTTPRequest.Body) throws(APIError) {
        switch http.body {
        case .none, .bytes: break
        case .multipart(let parts):
            for part in parts { try HeaderSyntax.check(part) }
            http.body = .multipart(try Self.measured(parts))
        case .file(let path, _): http.body = .file(path: path, length: try Self.length(ofFile: path))
        case .stream(let stream):
            if case .stream(let known) = before, known === stream { return }
            try Self.claim(stream)
        }
    }

    private static func claim(_ stream: BodyStream) throws(APIError) {
        guard stream.claim() else {
            throw .invalidRequest("the body stream belongs to another request: make a stream for each request")
        }
    }

    private func body(
        _ body: AppliedArgs.Body?, _ headers: inout HTTPHeaders, isPlain: Bool
    ) throws(APIError) -> HTTPRequest.Body {
        switch body {
        case nil: return .none
        case .form(let pairs):
            let text = pairs.map {
                "\(PercentEncoding.formComponent($0.name))=\(PercentEncoding.formComponent($0.value))"
            }.joined(separator: "&")
            headers.setIfAbsent("Content-Type", "application/x-www-form-urlencoded")
            return .bytes(Array(text.utf8))
        case .multipart(let parts):
            return .multipart(try Self.measured(parts))
        case .data(let bytes, let type):
            try setContentType(&headers, type, isPlain)
            return .bytes(bytes)
        case .json(let value):
            headers.setIfAbsent("Content-Type", "application/json")
            return .bytes(try Self.bytes(of: value))
        case .members(let members):
            return try self.body(.json(JSON(members)), &headers, isPlain: isPlain)
        case .file(let path, let type):
            let length = try Self.length(ofFile: path)
            try setContentType(&headers, type, isPlain)
            return .file(path: path, length: length)
        case .stream(let stream, let type):
            try Self.claim(stream)
            try setContentType(&headers, type, isPlain)
            return .stream(stream)
        }
    }

    private static func bytes(of json: JSON) throws(APIError) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(json)
        if let (number, path) = writer.unwritable {
            let place = path.steps.isEmpty ? "" : "\(path): "
            throw .invalidRequest("the JSON body: \(place)\(number) is not a JSON number")
        }
        return writer.bytes
    }

    private func setContentType(_ headers: inout HTTPHeaders, _ type: String?, _ isPlain: Bool) throws(APIError) {
        guard type != nil || !isPlain else { return }
        let type = type ?? "application/octet-stream"
        try HeaderSyntax.check(contentType: type)
        headers.setIfAbsent("Content-Type", type)
    }

    private static func measured(_ parts: [HTTPRequest.Part]) throws(APIError) -> [HTTPRequest.Part] {
        var parts = parts
        for index in parts.indices {
            guard case .file(let path, _) = parts[index].content else { continue }
            parts[index].content = .file(path: path, length: try length(ofFile: path))
        }
        return parts
    }

    // Refuses pipes and directories: reading one may never end.
    private static func length(ofFile path: String) throws(APIError) -> Int64 {
        guard !path.utf8.contains(0) else { throw .invalidRequest("the file path \(quoted(path)) has a NUL") }
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw .invalidRequest("the file \(quoted(path)) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .invalidRequest("\(quoted(path)) is not a regular file: read it yourself and pass a stream")
        }
        return try UploadFile.length(of: path)
    }
}

/// What may delay, refuse or repeat the exchanges of a request: its retry policy, a rate limiter and a circuit breaker.
///
/// At least one of them is set. A request without any has no `Pacing`.
final class Pacing: Sendable {
    /// Nil makes one attempt.
    let retry: RetryPolicy?
    let limiter: RateLimiter?
    let breaker: CircuitBreaker?

    private init(_ retry: RetryPolicy?, _ limiter: RateLimiter?, _ breaker: CircuitBreaker?) {
        self.retry = retry
        self.limiter = limiter
        self.breaker = breaker
    }

    static func make(_ retry: RetryPolicy?, _ limiter: RateLimiter?, _ breaker: CircuitBreaker?) -> Pacing? {
        let retry = retry.flatMap { $0.attempts > 1 ? $0 : nil }
        return retry == nil && limiter == nil && breaker == nil ? nil : Pacing(retry, limiter, breaker)
    }
}

extension APIRequest {
    var pacing: Pacing? { built.request?.pacing }
}
