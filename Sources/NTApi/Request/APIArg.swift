/// One element of a request's list of args: a plain value, without effect until the list is applied.
///
///     client.begin("find", args: [.url("q", "London"), .url("cnt", 20), .timeout(5)]) { response in … }
///
/// A nil value suppresses the arg, so that an optional parameter needs no `if`. A later arg with a single value
/// (method, timeout, base URL, cache policy, option) overrides an earlier one.
public struct APIArg: Sendable {
    enum Kind: Sendable {
        case suppressed
        case url(name: String, value: String)
        /// A pair whose value is looked up when the arg is applied.
        case urlDefault(name: String, key: String)
        case path(name: String, value: String)
        case form(name: String, value: String)
        // Indirect, because it is rare and large: so other args stay small.
        indirect case multipart(HTTPRequest.Part)
        case data([UInt8], contentType: String?)
        case json(JSON)
        /// A member of the JSON object that is the body.
        case member(name: String, value: JSON)
        case file(path: String, contentType: String?)
        case stream(BodyStream, contentType: String?)
        case baseURL(String)
        case header(name: String, value: String, isAdded: Bool)
        case basicAuth(user: String, password: String)
        case digestAuth(user: String, password: String)
        case bearer(String)
        case timeout(TimeoutClock, seconds: Double)
        case method(String)
        case cachePolicy(CachePolicy)
        case option(name: String, value: String)
        case thread(HandlerKinds, CallbackThread)
        /// Nil is a temporary file.
        case download(path: String?)
        // Rare and large too.
        indirect case retry(RetryPolicy)
        case rateLimiter(RateLimiter)
        case interceptor(Interceptor)
        /// Nil makes a key.
        case idempotencyKey(String?)
        // Rare and large too.
        indirect case resume(ResumeData)
        /// A value that cannot be sent. The request fails with this message.
        case invalid(String)
    }

    let kind: Kind
    package private(set) var isMarkedSecret = false
    /// Whether a client has it for all its requests. Marked for the hook `buildArgs` only.
    var isOfClient = false

    init(_ kind: Kind) { self.kind = kind }

    /// Whether a missing value suppressed the arg.
    package var isSuppressed: Bool {
        if case .suppressed = kind { true } else { false }
    }

    /// Whether it was marked as secret, or its name is a secret's.
    var isSecret: Bool {
        if isMarkedSecret { return true }
        return switch kind {
        case .url(let name, _), .urlDefault(let name, _), .path(let name, _), .form(let name, _), .member(let name, _):
            Secrets.isSecretName(name)
        case .multipart(let part): Secrets.isSecretName(part.name)
        default: false
        }
    }

    /// The arg with the value of its default, if it names one.
    func resolved(by defaults: Defaults) -> APIArg {
        guard case .urlDefault(let name, let key) = kind else { return self }
        var arg = APIArg(.suppressed)
        let value = defaults[key]
        switch value?.kind {
        case nil, .null: break
        case .string, .int, .double, .bool: arg = .url(name, value?.string ?? value?.text)
        case .array, .object:
            return APIArg(
                .invalid("the default \(quoted(key)) cannot be a query value: it must be a string, number or boolean")
            )
        }
        arg.isMarkedSecret = isMarkedSecret
        return arg
    }

    var asksForDefault: Bool {
        if case .urlDefault = kind { true } else { false }
    }

    package var optionName: String? {
        if case .option(let name, _) = kind { name } else { nil }
    }

    package var optionValue: String? {
        if case .option(_, let value) = kind { value } else { nil }
    }

    /// The same arg, printed as `<redacted>`. A secret header is never sent to another origin.
    ///
    /// Authorization, Cookie and names such as password, token or api_key are secret without it.
    public var secret: APIArg {
        var copy = self
        copy.isMarkedSecret = true
        return copy
    }
}

/// A set of the handlers of a request.
public struct HandlerKinds: OptionSet, Sendable {
    /// The bits, one for each handler.
    public let rawValue: Int

    /// A set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The response handler.
    public static let response = HandlerKinds(rawValue: 1)
    /// The upload progress handler.
    public static let uploadProgress = HandlerKinds(rawValue: 2)
    /// The download progress handler.
    public static let downloadProgress = HandlerKinds(rawValue: 4)
    /// The handler for data, lines or events.
    public static let data = HandlerKinds(rawValue: 8)
    /// The decision handler.
    public static let decision = HandlerKinds(rawValue: 16)
    /// All handlers.
    public static let all: HandlerKinds = [.response, .uploadProgress, .downloadProgress, .data, .decision]
}

extension APIArg {
    /// A query pair. Name and value are percent-encoded (RFC 3986, a space is %20).
    public static func url(_ name: String, _ value: (any APIArgValue)?) -> APIArg {
        text(value, of: name) { .url(name: name, value: $0) }
    }

    /// Another name of `url`.
    public static func query(_ name: String, _ value: (any APIArgValue)?) -> APIArg { url(name, value) }

    /// A query pair whose value is a default of the client, looked up when the request is made. Suppressed if there is
    /// none.
    ///
    /// - Parameter key: the default's name; nil is the pair's name.
    public static func urlDefault(_ name: String, _ key: String? = nil) -> APIArg {
        APIArg(.urlDefault(name: name, key: key ?? name))
    }

    /// Fills `{name}` in the command, percent-encoded: a value never adds a segment or a query.
    ///
    /// A value that makes a segment `.` or `..` is an error: servers treat these as steps, even if they are encoded.
    ///
    /// Also fills `{name*}` with a path of many segments, such as `docs/a.md`: its slashes stay.
    public static func path(_ name: String, _ value: (any APIArgValue)?) -> APIArg {
        text(value, of: name) { .path(name: name, value: $0) }
    }

    /// An application/x-www-form-urlencoded pair (a space is +). The default method becomes POST.
    public static func form(_ name: String, _ value: (any APIArgValue)?) -> APIArg {
        text(value, of: name) { .form(name: name, value: $0) }
    }

    /// A multipart/form-data text part. The default method becomes POST.
    public static func multipart(_ name: String, _ value: String?) -> APIArg {
        guard let value else { return APIArg(.suppressed) }
        return APIArg(.multipart(.init(name: name, content: .bytes(Array(value.utf8)))))
    }

    /// Bytes as a multipart file part, sent as filename `name.extension`.
    public static func multipart(_ name: String, data: [UInt8]?, fileExtension: String? = nil) -> APIArg {
        multipart(name, data: data, filename: "\(name).\(fileExtension ?? "bin")", contentType: nil)
    }

    /// Bytes as a multipart part with a file name and content type of your choice.
    ///
    /// - Parameters:
    ///   - filename: nil and "" send none, so that servers see a field, not a file.
    ///   - contentType: nil lets libcurl derive it from the file name, if there is one.
    public static func multipart(_ name: String, data: [UInt8]?, filename: String?, contentType: String?) -> APIArg {
        guard let data else { return APIArg(.suppressed) }
        let sent = filename.flatMap { $0.isEmpty ? nil : $0 }
        return APIArg(.multipart(.init(name: name, content: .bytes(data), filename: sent, contentType: contentType)))
    }

    /// A file as a multipart part, streamed from disk.
    ///
    /// - Parameters:
    ///   - file: the path of a readable regular file.
    ///   - filename: the name to send; nil is the last component of the path.
    ///   - contentType: nil lets libcurl derive it from the file name.
    public static func multipart(
        _ name: String, file: String?, filename: String? = nil, contentType: String? = nil
    ) -> APIArg {
        guard let file else { return APIArg(.suppressed) }
        let last = file.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(file[file.index(after: $0)...]) } ?? file
        return APIArg(
            .multipart(
                .init(name: name, content: .file(path: file), filename: filename ?? last, contentType: contentType)))
    }

    /// Bytes as the body, unchanged; at most once. The default method becomes POST.
    ///
    /// - Parameter contentType: nil is application/octet-stream.
    public static func data(_ bytes: [UInt8]?, contentType: String? = nil) -> APIArg {
        bytes.map { APIArg(.data($0, contentType: contentType)) } ?? APIArg(.suppressed)
    }

    /// A JSON value as the body, application/json. The default method becomes POST. JSON null is `JSON.null`, not nil.
    public static func json(_ value: JSON?) -> APIArg {
        value.map { APIArg(.json($0)) } ?? APIArg(.suppressed)
    }

    /// A value of your own type as the body, application/json. The default method becomes POST.
    ///
    /// If the value cannot be encoded, the request fails; see ``JSON/init(encoding:options:)``.
    ///
    /// - Parameter options: how the service writes keys and dates, such as the `decoding` of a typed service.
    public static func json(
        encoding value: (some Encodable)?, options: DecodingOptions = DecodingOptions()
    ) -> APIArg {
        guard let value else { return APIArg(.suppressed) }
        do throws(APIError) {
            return APIArg(.json(try JSON(encoding: value, options: options)))
        } catch {
            return APIArg(.invalid("the json arg: \(error.message)"))
        }
    }

    /// A member of the JSON object that is the body, for languages without object literals. The last of a name wins.
    package static func member(_ name: String, _ value: JSON?) -> APIArg {
        value.map { APIArg(.member(name: name, value: $0)) } ?? APIArg(.suppressed)
    }

    /// A file as the body, streamed with constant memory. The default method becomes POST.
    ///
    /// - Parameters:
    ///   - path: the path of a readable regular file.
    ///   - contentType: nil is application/octet-stream.
    public static func file(_ path: String?, contentType: String? = nil) -> APIArg {
        path.map { APIArg(.file(path: $0, contentType: contentType)) } ?? APIArg(.suppressed)
    }

    /// Fails the request with this message.
    package static func mistake(_ message: String) -> APIArg { APIArg(.invalid(message)) }

    /// A stream as the body, pulled with constant memory. The default method becomes POST.
    ///
    /// - Parameter contentType: nil is application/octet-stream.
    public static func stream(_ stream: BodyStream?, contentType: String? = nil) -> APIArg {
        stream.map { APIArg(.stream($0, contentType: contentType)) } ?? APIArg(.suppressed)
    }

    /// Writes the body of a successful response to a file, with constant memory, instead of keeping it in memory.
    ///
    /// The complete file replaces an existing one. Until then the data is in a temporary file beside it. The body
    /// of an error stays in the response.
    ///
    /// - Parameter path: the file to make, in a writable folder that exists.
    public static func download(to path: String?) -> APIArg {
        path.map { APIArg(.download(path: $0)) } ?? APIArg(.suppressed)
    }

    /// The same with a temporary file that only the user can read: ``APIResponse/temporaryFile``.
    ///
    /// It is removed with the response, unless the program has moved it.
    public static func download() -> APIArg { APIArg(.download(path: nil)) }

    /// Resumes a download that was cancelled or failed, in this process or another; see ``APIResponse/resumeData``.
    ///
    /// URL and file are those of the first request. Headers and credentials must be given again. If the server's copy
    /// has changed, the download starts over. See ``ResumeData`` for what must be trusted.
    public static func resume(_ data: ResumeData?) -> APIArg { data.map { APIArg(.resume($0)) } ?? APIArg(.suppressed) }

    /// The same with the text of resume data. Invalid text fails the request with an error that says why.
    public static func resume(text: String?) -> APIArg {
        guard let text else { return APIArg(.suppressed) }
        do throws(APIError) {
            return .resume(try ResumeData(text))
        } catch {
            return APIArg(.invalid(error.message))
        }
    }

    /// Replaces the whole URL before the query, command included, for this request: with a ``APIResponse/link(_:)``,
    /// for example.
    ///
    /// On another origin than the client's base URL, the client's own secrets are not sent: its secret args and secret
    /// `additionalHeaders`. Query pairs of the client that the URL has already are not added again.
    public static func baseURL(_ url: String?) -> APIArg { url.map { APIArg(.baseURL($0)) } ?? APIArg(.suppressed) }

    /// Sets a header. The last one of a name wins. CR, LF or NUL anywhere fails the request.
    public static func header(_ name: String, _ value: String?) -> APIArg {
        value.map { APIArg(.header(name: name, value: $0, isAdded: false)) } ?? APIArg(.suppressed)
    }

    /// Adds a header, and keeps others of the same name.
    public static func addHeader(_ name: String, _ value: String?) -> APIArg {
        value.map { APIArg(.header(name: name, value: $0, isAdded: true)) } ?? APIArg(.suppressed)
    }

    /// Sets the Authorization header with HTTP Basic credentials (RFC 7617, UTF-8). Both may be empty.
    public static func basicAuth(_ user: String?, _ password: String?) -> APIArg {
        guard let user, let password else { return APIArg(.suppressed) }
        return APIArg(.basicAuth(user: user, password: password))
    }

    /// Answers the server's Digest challenge (RFC 7616, UTF-8). Both may be empty. The password itself is never sent.
    ///
    /// Each request is sent twice: without credentials and body to get a nonce, and then with both. It replaces an
    /// Authorization header, or is replaced by one: the last arg wins.
    public static func digestAuth(_ user: String?, _ password: String?) -> APIArg {
        guard let user, let password else { return APIArg(.suppressed) }
        return APIArg(.digestAuth(user: user, password: password))
    }

    /// Sets the Authorization header with a bearer token (RFC 6750).
    public static func bearer(_ token: String?) -> APIArg { token.map { APIArg(.bearer($0)) } ?? APIArg(.suppressed) }

    /// Sets one of the five timeouts, in seconds above 0. Infinity disables it.
    ///
    /// - Parameter clock: `idle`, the default, is the request timeout: no byte has moved for so long.
    public static func timeout(_ seconds: Double?, _ clock: TimeoutClock = .idle) -> APIArg {
        seconds.map { APIArg(.timeout(clock, seconds: $0)) } ?? APIArg(.suppressed)
    }

    /// Repeats the request after failures that another attempt may fix. `.never` makes one attempt.
    ///
    /// Replaces the client's `retry`. A request that must not be sent twice is not repeated: see ``RetryPolicy``.
    public static func retry(_ policy: RetryPolicy?) -> APIArg {
        policy.map { APIArg(.retry($0)) } ?? APIArg(.suppressed)
    }

    /// Uses this rate limiter instead of the client's, for a command that has its own limit.
    ///
    /// Use the same limiter for all requests that share the limit.
    public static func rateLimiter(_ limiter: RateLimiter?) -> APIArg {
        limiter.map { APIArg(.rateLimiter($0)) } ?? APIArg(.suppressed)
    }

    /// Adds an interceptor for this request, inside those of the client.
    public static func interceptor(_ interceptor: Interceptor?) -> APIArg {
        interceptor.map { APIArg(.interceptor($0)) } ?? APIArg(.suppressed)
    }

    /// Sends a random UUID in the header Idempotency-Key, so that the server can recognize a repeated request.
    ///
    /// All attempts of a request have the same key; each request has a new one. Sent only if the method is not
    /// idempotent by itself, so it may be among the client's args.
    public static func idempotencyKey() -> APIArg { APIArg(.idempotencyKey(nil)) }

    /// The same with your own key: for a request that may have been sent before, by another process for example.
    public static func idempotencyKey(_ key: String?) -> APIArg {
        key.map { APIArg(.idempotencyKey($0)) } ?? APIArg(.suppressed)
    }

    /// Sets the method: any token of RFC 9110, sent unchanged. Without it, the body decides.
    public static func method(_ method: String?) -> APIArg { method.map { APIArg(.method($0)) } ?? APIArg(.suppressed) }

    /// Sets the cache policy (RFC 9111).
    public static func cachePolicy(_ policy: CachePolicy?) -> APIArg {
        policy.map { APIArg(.cachePolicy($0)) } ?? APIArg(.suppressed)
    }

    /// Switches an option on. Hooks can read options, also those with a name of your own.
    public static func option(_ option: APIOption) -> APIArg { APIArg(.option(name: option.name, value: "")) }

    /// Sets an option to a value.
    public static func option(_ option: APIOption, _ value: (any APIArgValue)?) -> APIArg {
        text(value, of: option.name) { .option(name: option.name, value: $0) }
    }

    /// Sets where the response handler runs.
    public static func responseThread(_ thread: CallbackThread?) -> APIArg { handlers(.response, on: thread) }

    /// Sets where the upload progress handler runs.
    public static func uploadProgressThread(_ thread: CallbackThread?) -> APIArg {
        handlers(.uploadProgress, on: thread)
    }

    /// Sets where the download progress handler runs.
    public static func downloadProgressThread(_ thread: CallbackThread?) -> APIArg {
        handlers(.downloadProgress, on: thread)
    }

    /// Sets where the data handler runs. The default is the response handler's thread.
    public static func dataThread(_ thread: CallbackThread?) -> APIArg { handlers(.data, on: thread) }

    /// Sets where the decision handler runs. The default is the response handler's thread.
    public static func decisionThread(_ thread: CallbackThread?) -> APIArg { handlers(.decision, on: thread) }

    /// Sets where several handlers run.
    public static func handlers(_ kinds: HandlerKinds, on thread: CallbackThread?) -> APIArg {
        thread.map { APIArg(.thread(kinds, $0)) } ?? APIArg(.suppressed)
    }

    private static func text(_ value: (any APIArgValue)?, of name: String, _ kind: (String) -> Kind) -> APIArg {
        guard let value else { return APIArg(.suppressed) }
        guard let text = value.argText else {
            return APIArg(.invalid("the value of \"\(name)\" is not a finite number"))
        }
        return APIArg(kind(text))
    }
}
