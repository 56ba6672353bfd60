extension APIClient {
    /// Makes a request that starts with `resume`, so that you can set handlers first.
    ///
    /// - Parameters:
    ///   - command: the path below the base URL; may contain `{name}` for path args.
    ///   - args: applied in order, after the client's own.
    public func request(_ command: String = "", args: [APIArg] = []) -> APIRequest {
        let request = request(command, args: args, APIRequest.Handlers())
        request.willStartLater()
        return request
    }

    /// - Parameters:
    ///   - caller: what the caller does meanwhile; see `HandlerThreads`.
    ///   - configure: adjusts the built request, before the hook `buildRequest`.
    func request(
        _ command: String, args: [APIArg], for caller: HandlerThreads.Caller = .whoGoesOn,
        _ handlers: APIRequest.Handlers, configure: ((inout HTTPRequest) -> Void)? = nil
    ) -> APIRequest {
        let marks = LibraryCode.enter()
        defer { if marks { LibraryCode.leave() } }
        var (identifier, own, known) = countRequest()
        var home = Home(args: own, isLeft: isElsewhere(args, own: own))
        own = ownArgs(own, for: args, isElsewhere: home.isLeft)
        let mayMove = hookKinds.contains(.building) && !home.isLeft
        if mayMove { own.markAsOfClient() }
        // Usually one of the two is empty, and nothing is copied.
        var all = own.isEmpty ? args : args.isEmpty ? own : own + args
        buildArgs(command, &all)
        if mayMove, isElsewhere(all, own: home.args) {
            home.isLeft = true
            all.removeSecretsOfClient()
        }
        let settings = settings(since: known)
        let built: BuildOutcome
        var transfer: BackgroundTransfer?
        do throws(APIError) {
            guard mayBegin else { throw .invalidRequest("the client is closed: make another one") }
            if let background {
                let number = try background.opened().nextIdentifier()
                identifier = UInt64(clamping: number)
                let request = try build(command, all, settings, home, configure)
                built = BuildOutcome(try BackgroundSession.check(request))
                transfer = BackgroundTransfer(background, number)
            } else {
                built = BuildOutcome(try build(command, all, settings, home, configure))
            }
        } catch {
            built = BuildOutcome(failing: error)
        }
        return APIRequest(
            client: self, identifier: identifier, command: command, logFlags: settings.effectiveLogFlags,
            threads: HandlerThreads(all, for: caller), built: built, background: transfer, handlers)
    }

    /// Makes a request that has its handler from the beginning.
    package func request(
        _ command: String, args: [APIArg], handler: APIRequest.ResponseHandler?
    ) -> APIRequest {
        request(command, args: args, APIRequest.Handlers(handler))
    }

    /// A request that fails with this error, because its args are invalid.
    package func request(failing error: APIError) -> APIRequest {
        APIRequest(
            client: self, identifier: countRequest().identifier, command: "", logFlags: logFlags,
            threads: HandlerThreads([]), built: BuildOutcome(failing: error), APIRequest.Handlers())
    }

    /// Begins a request.
    ///
    /// - Parameters:
    ///   - command: the path below the base URL; may contain `{name}` for path args.
    ///   - args: applied in order, after the client's own.
    ///   - handler: receives the response, exactly once, never inside this call, on the main thread unless
    ///     `.responseThread` says otherwise.
    @discardableResult public func begin(
        _ command: String = "", args: [APIArg] = [], handler: APIRequest.ResponseHandler? = nil,
        uploadProgress: APIRequest.ProgressHandler? = nil, downloadProgress: APIRequest.ProgressHandler? = nil
    ) -> APIRequest {
        let handlers = APIRequest.Handlers(handler, uploadProgress: uploadProgress, downloadProgress: downloadProgress)
        let request = request(command, args: args, handlers)
        request.resume()
        return request
    }

    /// Performs a request and waits for its response. Meanwhile it runs the calling thread's mailbox. In `async` code,
    /// which must not block its thread, use `response`.
    ///
    /// Progress handlers run on the calling thread unless an arg says otherwise.
    @available(*, noasync, message: "perform blocks the thread: use await client.response(…)")
    public func perform(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) -> APIResponse {
        let isHeard = uploadProgress != nil || downloadProgress != nil
        let handlers = APIRequest.Handlers(uploadProgress: uploadProgress, downloadProgress: downloadProgress)
        return request(command, args: args, for: performer(isHeard), handlers).perform()
    }

    /// - Parameter isHeard: whether handlers are set. Without handlers no mailbox is needed.
    package func requestToPerform(_ command: String, args: [APIArg], isHeard: Bool = false) -> APIRequest {
        request(command, args: args, for: performer(isHeard), APIRequest.Handlers())
    }

    func performer(_ isHeard: Bool) -> HandlerThreads.Caller {
        isHeard || !hookKinds.isDisjoint(with: .ofTransfers) ? .whoPerforms : .whoGoesOn
    }

    /// Sends a request and awaits its response, also when it is an error. Cancelling the task cancels the request.
    ///
    /// Progress handlers run on a background worker unless an arg says otherwise.
    public func response(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async -> APIResponse {
        let handlers = APIRequest.Handlers(uploadProgress: uploadProgress, downloadProgress: downloadProgress)
        return await response(of: request(command, args: args, for: .whoAwaits, handlers))
    }

    /// Starts a request and awaits its response.
    func response(of request: APIRequest) async -> APIResponse {
        let response = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                // The task was already cancelled, which ended the request before it had a handler.
                guard request.setHandler({ continuation.resume(returning: $0) }) else {
                    return request.onWorker { (_) throws(Forked) in
                        _ = try request.wait(until: .distantFuture, running: Mailbox(owner: .anyone))
                        continuation.resume(returning: try request.finalResponse)
                    }
                }
                request.resume()
            }
        } onCancel: {
            request.cancel()
        }
        request.shared.showHandOver()
        return response
    }

    /// Sends a request and awaits its response. Cancelling the task cancels the request.
    ///
    /// - Throws: the response's error, if it has one.
    public func send(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async throws(APIError) -> APIResponse {
        try await response(
            command, args: args, uploadProgress: uploadProgress, downloadProgress: downloadProgress
        ).get()
    }

    private func build(
        _ command: String, _ args: [APIArg], _ settings: ResolvedSettings, _ home: Home,
        _ configure: ((inout HTTPRequest) -> Void)?
    ) throws(APIError) -> BuiltRequest {
        let asksForDefaults = args.contains(where: \.asksForDefault)
        let applied = try AppliedArgs(asksForDefaults ? args.map { $0.resolved(by: defaults) } : args)
        let builder = RequestBuilder(settings: settings)
        var http = try builder.build(command, applied)
        if home.isLeft { http.removeSecrets(of: settings.headers, setBy: applied.headers) }
        if http.settings.hasClientCertificate { http.settings.showCertificate(at: home.url(settings) ?? http.url) }
        var secrets = RequestBuilder.secrets(in: http.headers, applied)
        if configure != nil || hookKinds.contains(.building) {
            let before = http
            configure?(&http)
            buildRequest(&http, options: http.options)
            try builder.check(&http, since: before)
            secrets.isForm = secrets.isForm || RequestBuilder.isForm(http.headers)
        }
        // A hook or the configuration has set the header.
        if http.digest != nil, http.headers["Authorization"] != nil { http.digest = nil }
        let download = try RequestBuilder.download(applied, http)
        let options = http.options
        let retry = http.settings.isPlain ? RetryPolicy(attempts: 1) : applied.retry
        let pacing = try pacing(retry, settings, own: applied.rateLimiter)
        var interceptors = allInterceptors
        if !applied.interceptors.isEmpty { interceptors += applied.interceptors }
        if let replaying = recorder?.interceptor { interceptors.append(replaying) }
        return BuiltRequest(
            http: consume http, options: options, secrets: secrets, download: download, pacing: pacing,
            callInterceptors: interceptors.makers(of: .call), attemptInterceptors: interceptors.makers(of: .attempt))
    }

    func pacing(
        _ retry: RetryPolicy?, _ settings: ResolvedSettings, own: RateLimiter? = nil
    ) throws(APIError) -> Pacing? {
        let limiter = own ?? rateLimiter ?? settings.rateLimiter
        if let problem = limiter?.problem { throw problem }
        return Pacing.make(retry ?? settings.retry, limiter, settings.circuitBreaker)
    }
}

extension HTTPRequest {
    func checkHeaders() throws(APIError) {
        for field in headers { try HeaderSyntax.check(name: field.name, value: field.value) }
    }

    /// Whether method, headers, URL, names of parts and timeouts are valid.
    ///
    /// - Parameter known: a URL that is valid.
    package func isValid(knowing known: String? = nil) -> Bool {
        do throws(APIError) {
            try HeaderSyntax.check(method: method)
            try checkHeaders()
            if url != known { _ = try URLParts(url) }
            if case .multipart(let parts) = body { for part in parts { try HeaderSyntax.check(part) } }
            var timeouts = timeouts
            return timeouts.problem() == nil
        } catch {
            return false
        }
    }
}

extension APIClient {
    /// Sends a request and decodes its JSON as a type of the program. Cancelling the task cancels the request.
    ///
    /// ```swift
    /// struct City: Decodable { let name: String }
    /// let city = try await client.send("cities/5", as: City.self)
    /// ```
    ///
    /// - Parameters:
    ///   - path: where the value is in the JSON; the whole JSON by default.
    ///   - options: how the JSON writes keys, dates and numbers.
    /// - Throws: the response's error, if it has one; `unexpected JSON` when the JSON does not fit the type.
    public func send<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, at path: String = "",
        options: DecodingOptions = DecodingOptions()
    ) async throws(APIError) -> Value {
        try await response(command, args: args).decode(type, at: path, options: options)
    }
}

extension APIClient {
    /// Sends a request and awaits the head of its response. The body follows piece by piece.
    ///
    /// ```swift
    /// let stream = try await client.stream("export", args: [.timeout(30)])
    /// print(stream.status, stream.headers["Content-Type"] ?? "")
    /// for try await chunk in stream { total += chunk.count }
    /// ```
    ///
    /// The library receives no more than the program asks for, so it needs little memory. The request is cancelled when
    /// the loop is left, the stream is dropped or the task is cancelled. The body of an HTTP error is not streamed,
    /// unless the option `ignoreHTTPErrors` is set.
    ///
    /// - Throws: the response's error, if it occurs before the body.
    public func stream(_ command: String = "", args: [APIArg] = []) async throws(APIError) -> ResponseStream {
        let source = StreamSequenceSource(client: self, command: command, args: args, format: .bytes)
        let reading = source.begin()
        let response = await withTaskCancellationHandler {
            await reading.reader.head()
        } onCancel: {
            reading.request.cancel()
        }
        // Without a body the iteration is over at once.
        try response?.get()
        return ResponseStream(reading)
    }

    /// The values of a response with one JSON value per line (JSON Lines, NDJSON, RFC 7464), as they arrive.
    ///
    /// ```swift
    /// for try await value in client.lines("changes") { print(value["id"]?.int ?? 0) }
    /// ```
    ///
    /// Each iteration is a separate request. The library receives no more than the program asks for. The request is
    /// cancelled when the loop is left or the task is cancelled. A line that is not JSON ends the iteration with
    /// `invalid JSON`. A line longer than `maximumResponseSize` (or 16 MiB) ends it with `response too large`.
    public func lines(_ command: String = "", args: [APIArg] = []) -> JSONLines {
        JSONLines(source: StreamSequenceSource(client: self, command: command, args: args, format: .jsonLines))
    }

    /// The events of a stream of server-sent events (WHATWG HTML, 9.2). It reconnects as needed.
    ///
    /// ```swift
    /// for try await event in client.events("updates") { print(event.type, event.data) }
    /// ```
    ///
    /// When a connection ends, the library connects again with Last-Event-ID. It waits as long as the server asks, and
    /// longer after each failure. The iteration ends when the server answers with 204. It fails on an HTTP error other
    /// than 5xx, on an answer that is not a stream of events, and after `maximumFailures` failures in a row. A POST
    /// does not reconnect unless the option `reconnect` says so. To continue from an earlier event, send the header
    /// Last-Event-ID.
    ///
    /// Each iteration is a separate request. The library receives no more than the program asks for. The request is
    /// cancelled when the loop is left or the task is cancelled.
    public func events(_ command: String = "", args: [APIArg] = []) -> ServerSentEvents {
        ServerSentEvents(
            source: StreamSequenceSource(client: self, command: command, args: args, format: .serverEvents))
    }
}
