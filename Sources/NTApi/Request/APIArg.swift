/// One element of a request's list of args: a plain value, which does nothing until the list is applied.
///
///     client.begin("find", args: [.url("q", "London"), .url("cnt", 20), .timeout(5)]) { response in … }
///
/// A nil value suppresses the arg, so that an optional parameter needs no `if`. Later single-valued args (method,
/// timeout, base URL, cache policy, option) override earlier ones.
public struct APIArg: Sendable {
    enum Kind: Sendable {
        case suppressed
        case url(name: String, value: String)
        /// A pair whose value is looked up when the arg is applied.
        case urlDefault(name: String, key: String)
        case path(name: String, value: String)
        case form(name: String, value: String)
        // Rare and large: apart, so that args are small.
        indirect case multipart(HTTPRequest.Part)
        case data([UInt8], contentType: String?)
        case json(JSON)
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
        // Rare and large, too.
        indirect case retry(RetryPolicy)
        case rateLimiter(RateLimiter)
        case interceptor(Interceptor)
        /// Nil has one made.
        case idempotencyKey(String?)
        // Rare and large, too.
        indirect case resume(ResumeData)
        /// A value that cannot be sent; the request fails with this message.
        case invalid(String)
    }

    let kind: Kind
    package private(set) var isMarkedSecret = false

    init(_ kind: Kind) { self.kind = kind }

    /// Whether a missing value made the arg disappear.
    package var isSuppressed: Bool {
        if case .suppressed = kind { true } else { false }
    }

    /// Whether it was marked, or its name says that it is a secret.
    var isSecret: Bool {
        if isMarkedSecret { return true }
        return switch kind {
        case .url(let name, _), .urlDefault(let name, _), .path(let name, _), .form(let name, _):
            Secrets.isSecretName(name)
        case .multipart(let part): Secrets.isSecretName(part.name)
        default: false
        }
    }

    /// The arg with the value of a default in it, if it asks for one.
    func resolved(by defaults: Defaults) -> APIArg {
        guard case .urlDefault(let name, let key) = kind else { return self }
        var arg = APIArg(.suppressed)
        let value = defaults[key]
        switch value?.kind {
        case nil, .null: break
        case .string, .int, .double, .bool: arg = .url(name, value?.string ?? value?.text)
        case .array, .object:
            return APIArg(
                .invalid("the default \(quoted(key)) is no value for a query: it has to be a string, number or boolean")
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

    /// The same arg, printed as `<redacted>`, and as a header never sent to another origin.
    ///
    /// Authorization, Cookie and names such as password, token or api_key are secret by themselves.
    public var secret: APIArg {
        var copy = self
        copy.isMarkedSecret = true
        return copy
    }
}

/// Which of a request's handlers is meant.
public struct HandlerKinds: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let response = HandlerKinds(rawValue: 1)
    public static let uploadProgress = HandlerKinds(rawValue: 2)
    public static let downloadProgress = HandlerKinds(rawValue: 4)
    public static let data = HandlerKinds(rawValue: 8)
    public static let decision = HandlerKinds(rawValue: 16)
    public static let all: HandlerKinds = [.response, .uploadProgress, .downloadProgress, .data, .decision]
}

extension APIArg {
    /// A query pair; name and value are percent-encoded (RFC 3986, a space is %20).
    public static func url(_ name: String, _ value: (any APIArgValue)?) -> APIArg {
        text(value, of: name) { .url(name: name, value: $0) }
    }

    /// A query pair whose value is a default of the client, looked up when the request is made; none without one.
    ///
    /// - Parameter key: the default's name; the same as the pair's, unless given.
    public static func urlDefault(_ name: String, _ key: String? = nil) -> APIArg {
        APIArg(.urlDefault(name: name, key: key ?? name))
    }

    /// Fills `{name}` in the command, percent-encoded: a value never adds a segment or a query.
    ///
    /// A value that makes a segment `.` or `..` is an error: servers read these as steps, however they are encoded.
    ///
    /// Fills `{name*}` with a path of many segments, `docs/a.md`, too: its slashes stay.
    public static func path(_ name: String, _ value: (any APIArgValue)?) -> APIArg {
        text(value, of: name) { .path(name: name, value: $0) }
    }

    /// An application/x-www-form-urlencoded pair (a space is +); the default method becomes POST.
    public static func form(_ name: String, _ value: (any APIArgValue)?) -> APIArg {
        text(value, of: name) { .form(name: name, value: $0) }
    }

    /// A multipart/form-data text part; the default method becomes POST.
    public static func multipart(_ name: String, _ value: String?) -> APIArg {
        guard let value else { return APIArg(.suppressed) }
        return APIArg(.multipart(.init(name: name, content: .bytes(Array(value.utf8)))))
    }

    /// Bytes as a multipart file part, sent as filename `name.extension`.
    public static func multipart(_ name: String, data: [UInt8]?, fileExtension: String? = nil) -> APIArg {
        multipart(name, data: data, filename: "\(name).\(fileExtension ?? "bin")", contentType: nil)
    }

    /// Bytes as a multipart part with a file name and content type of its own.
    ///
    /// - Parameters:
    ///   - filename: nil and "" send none, so that servers read a field and no file.
    ///   - contentType: nil lets libcurl derive it from the file name; without either there is none.
    public static func multipart(_ name: String, data: [UInt8]?, filename: String?, contentType: String?) -> APIArg {
        guard let data else { return APIArg(.suppressed) }
        let sent = filename.flatMap { $0.isEmpty ? nil : $0 }
        return APIArg(.multipart(.init(name: name, content: .bytes(data), filename: sent, contentType: contentType)))
    }

    /// A file as a multipart part, streamed from disk.
    ///
    /// - Parameters:
    ///   - file: the path of a readable regular file.
    ///   - filename: the name to send; nil is the path's last component.
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

    /// Bytes as the body, untouched; at most once; the default method becomes POST.
    ///
    /// - Parameter contentType: nil is application/octet-stream.
    public static func data(_ bytes: [UInt8]?, contentType: String? = nil) -> APIArg {
        bytes.map { APIArg(.data($0, contentType: contentType)) } ?? APIArg(.suppressed)
    }

    /// A JSON value as the body, application/json; the default method becomes POST. JSON null is `JSON.null`, not nil.
    public static func json(_ value: JSON?) -> APIArg {
        value.map { APIArg(.json($0)) } ?? APIArg(.suppressed)
    }

    /// A value of a type of the program's own as the body, application/json; the default method becomes POST.
    ///
    /// What cannot be written is an error of the request; see ``JSON/init(encoding:options:)``.
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

    /// A file as the body, streamed with constant memory; the default method becomes POST.
    ///
    /// - Parameters:
    ///   - path: the path of a readable regular file.
    ///   - contentType: nil is application/octet-stream.
    public static func file(_ path: String?, contentType: String? = nil) -> APIArg {
        path.map { APIArg(.file(path: $0, contentType: contentType)) } ?? APIArg(.suppressed)
    }

    /// A pulled stream as the body, sent with constant memory; the default method becomes POST.
    ///
    /// - Parameter contentType: nil is application/octet-stream.
    public static func stream(_ stream: BodyStream?, contentType: String? = nil) -> APIArg {
        stream.map { APIArg(.stream($0, contentType: contentType)) } ?? APIArg(.suppressed)
    }

    /// Writes the body of a successful response to a file, with constant memory, instead of keeping it in memory.
    ///
    /// The file appears under its name when it is whole, in the place of one that was there; until then the data is in a
    /// temporary file beside it. The body of an error stays in the response.
    ///
    /// - Parameter path: the file to make, in a folder that exists and can be written to.
    public static func download(to path: String?) -> APIArg {
        path.map { APIArg(.download(path: $0)) } ?? APIArg(.suppressed)
    }

    /// The same with a temporary file, for nobody but the user to read: ``APIResponse/temporaryFile``.
    ///
    /// It is removed with the response, unless the program has moved it elsewhere.
    public static func download() -> APIArg { APIArg(.download(path: nil)) }

    /// Goes on with a download that was cancelled or failed, in this process or another; see ``APIResponse/resumeData``.
    ///
    /// The URL and the file are those of the first time; headers and credentials are to be given again. The server's copy is
    /// asked for by its validator: if it has changed, the download starts over.
    public static func resume(_ data: ResumeData?) -> APIArg { data.map { APIArg(.resume($0)) } ?? APIArg(.suppressed) }

    /// The same with the text of resume data. What is none fails the request with an error that says why.
    public static func resume(text: String?) -> APIArg {
        guard let text else { return APIArg(.suppressed) }
        do throws(APIError) {
            return .resume(try ResumeData(text))
        } catch {
            return APIArg(.invalid(error.message))
        }
    }

    /// Replaces the whole URL before the query, command included, for this request.
    public static func baseURL(_ url: String?) -> APIArg { url.map { APIArg(.baseURL($0)) } ?? APIArg(.suppressed) }

    /// Sets a header; the last one of a name wins. CR, LF or NUL anywhere fails the request.
    public static func header(_ name: String, _ value: String?) -> APIArg {
        value.map { APIArg(.header(name: name, value: $0, isAdded: false)) } ?? APIArg(.suppressed)
    }

    /// One more header of a name, beside those already there.
    public static func addHeader(_ name: String, _ value: String?) -> APIArg {
        value.map { APIArg(.header(name: name, value: $0, isAdded: true)) } ?? APIArg(.suppressed)
    }

    /// The Authorization header with HTTP Basic credentials (RFC 7617, UTF-8); both may be empty.
    public static func basicAuth(_ user: String?, _ password: String?) -> APIArg {
        guard let user, let password else { return APIArg(.suppressed) }
        return APIArg(.basicAuth(user: user, password: password))
    }

    /// Answers the server's Digest challenge (RFC 7616, UTF-8); both may be empty. The password itself is never sent.
    ///
    /// Each request is sent twice: without credentials and without its body, to be given a nonce, and then with both. In
    /// the place of an Authorization header, whichever comes last.
    public static func digestAuth(_ user: String?, _ password: String?) -> APIArg {
        guard let user, let password else { return APIArg(.suppressed) }
        return APIArg(.digestAuth(user: user, password: password))
    }

    /// The Authorization header with a bearer token (RFC 6750).
    public static func bearer(_ token: String?) -> APIArg { token.map { APIArg(.bearer($0)) } ?? APIArg(.suppressed) }

    /// One of the five timeouts, in seconds above 0; infinity switches the clock off.
    ///
    /// - Parameter clock: `idle`, unless given, is the request timeout: no byte has moved for so long.
    public static func timeout(_ seconds: Double?, _ clock: TimeoutClock = .idle) -> APIArg {
        seconds.map { APIArg(.timeout(clock, seconds: $0)) } ?? APIArg(.suppressed)
    }

    /// Sends the request again by itself when an attempt fails that another one may mend; `.never` for one attempt.
    ///
    /// In the place of the client's default `retry`. What may not be sent twice is not, see ``RetryPolicy``.
    public static func retry(_ policy: RetryPolicy?) -> APIArg {
        policy.map { APIArg(.retry($0)) } ?? APIArg(.suppressed)
    }

    /// Lets the request go in its turn of this limiter, in the place of the client's: for a method that has a limit of its own.
    ///
    /// The same limiter for all requests that share the limit.
    public static func rateLimiter(_ limiter: RateLimiter?) -> APIArg {
        limiter.map { APIArg(.rateLimiter($0)) } ?? APIArg(.suppressed)
    }

    /// Lets an interceptor look at this request, inside those of the client.
    public static func interceptor(_ interceptor: Interceptor?) -> APIArg {
        interceptor.map { APIArg(.interceptor($0)) } ?? APIArg(.suppressed)
    }

    /// Names the request with a random UUID in the header Idempotency-Key, so that the server can tell that it got it twice.
    ///
    /// The same for all attempts; a new one for each request. Only where the method is not idempotent by itself: may be
    /// among the client's args.
    public static func idempotencyKey() -> APIArg { APIArg(.idempotencyKey(nil)) }

    /// The same with a name of your own: for a request that may have been sent before, in another process, say.
    public static func idempotencyKey(_ key: String?) -> APIArg {
        key.map { APIArg(.idempotencyKey($0)) } ?? APIArg(.suppressed)
    }

    /// Overrides the detected method: any token of RFC 9110, sent as given.
    public static func method(_ method: String?) -> APIArg { method.map { APIArg(.method($0)) } ?? APIArg(.suppressed) }

    /// Sets the cache policy (RFC 9111).
    public static func cachePolicy(_ policy: CachePolicy?) -> APIArg {
        policy.map { APIArg(.cachePolicy($0)) } ?? APIArg(.suppressed)
    }

    /// Switches an option on; any name of your own is allowed, and hooks can read it.
    public static func option(_ option: APIOption) -> APIArg { APIArg(.option(name: option.name, value: "")) }

    /// Sets an option to a value.
    public static func option(_ option: APIOption, _ value: (any APIArgValue)?) -> APIArg {
        text(value, of: option.name) { .option(name: option.name, value: $0) }
    }

    /// Says where the response handler runs.
    public static func responseThread(_ thread: CallbackThread?) -> APIArg { handlers(.response, on: thread) }

    /// Says where the upload progress handler runs.
    public static func uploadProgressThread(_ thread: CallbackThread?) -> APIArg {
        handlers(.uploadProgress, on: thread)
    }

    /// Says where the download progress handler runs.
    public static func downloadProgressThread(_ thread: CallbackThread?) -> APIArg {
        handlers(.downloadProgress, on: thread)
    }

    /// Says where the data handler runs; where the response handler does, unless said.
    public static func dataThread(_ thread: CallbackThread?) -> APIArg { handlers(.data, on: thread) }

    /// Says where the decision handler runs; where the response handler does, unless said.
    public static func decisionThread(_ thread: CallbackThread?) -> APIArg { handlers(.decision, on: thread) }

    /// Says where several handlers run.
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
