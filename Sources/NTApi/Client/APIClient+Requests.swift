extension APIClient {
    /// Makes a request that waits for `resume`, so that handlers can be set first.
    ///
    /// - Parameters:
    ///   - command: the path below the base URL; may contain `{name}` for path args.
    ///   - args: applied in order, after the client's own.
    public func request(_ command: String = "", args: [APIArg] = []) -> APIRequest {
        request(command, args: args, for: .whoGoesOn)
    }

    /// - Parameters:
    ///   - caller: what it does meanwhile; see `HandlerThreads`.
    ///   - configure: adjusts the built request, before the hook `buildRequest`.
    func request(
        _ command: String, args: [APIArg], for caller: HandlerThreads.Caller,
        configure: ((inout HTTPRequest) -> Void)? = nil
    ) -> APIRequest {
        // Most often one of the two is empty, and nothing need be copied.
        var all = self.args.isEmpty ? args : args.isEmpty ? self.args : self.args + args
        buildArgs(command, &all)
        var identifier = countRequest()
        let built: BuildOutcome
        var transfer: BackgroundTransfer?
        do throws(APIError) {
            guard mayBegin else { throw .invalidRequest("the client is closed: make another one") }
            if let background {
                let number = try background.opened().nextIdentifier()
                identifier = UInt64(clamping: number)
                built = .success(try BackgroundSession.check(build(command, all, configure)))
                transfer = BackgroundTransfer(background, number)
            } else {
                built = .success(try build(command, all, configure))
            }
        } catch {
            built = .failure(error)
        }
        return APIRequest(
            client: self, identifier: identifier, command: command, threads: HandlerThreads(all, for: caller),
            built: built, background: transfer)
    }

    /// A request that ends with an error, whatever it would have been: what it was to be made of makes no sense.
    package func request(failing error: APIError) -> APIRequest {
        APIRequest(
            client: self, identifier: countRequest(), command: "", threads: HandlerThreads([]),
            built: .failure(error))
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
        let request = request(command, args: args)
        request.setUploadProgress(uploadProgress)
        request.setDownloadProgress(downloadProgress)
        request.setHandler(handler)
        request.resume()
        return request
    }

    /// Performs a request and waits for its response; runs the calling thread's mailbox meanwhile. Not for `async` code.
    ///
    /// Progress handlers run on the calling thread unless an arg says otherwise.
    public func perform(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) -> APIResponse {
        let isHeard = uploadProgress != nil || downloadProgress != nil
        let request = requestToPerform(command, args: args, isHeard: isHeard)
        if isHeard {
            request.setUploadProgress(uploadProgress)
            request.setDownloadProgress(downloadProgress)
        }
        return request.perform()
    }

    /// - Parameter isHeard: whether handlers are set; where nobody hears anything, no mailbox is needed.
    package func requestToPerform(_ command: String, args: [APIArg], isHeard: Bool = false) -> APIRequest {
        request(command, args: args, for: performer(isHeard))
    }

    func performer(_ isHeard: Bool) -> HandlerThreads.Caller {
        isHeard || !hookKinds.isDisjoint(with: .ofTransfers) ? .whoPerforms : .whoGoesOn
    }

    /// Sends a request and awaits its response, whatever it is. Cancelling the task cancels the request.
    ///
    /// Progress handlers run on a background worker unless an arg says otherwise.
    public func response(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async -> APIResponse {
        let request = request(command, args: args, for: .whoAwaits)
        request.setUploadProgress(uploadProgress)
        request.setDownloadProgress(downloadProgress)
        return await response(of: request)
    }

    /// Starts a request that nobody has started, and awaits its response.
    func response(of request: APIRequest) async -> APIResponse {
        let response = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                // A task that is cancelled already has ended the request before it had a handler to call.
                guard request.setHandler({ continuation.resume(returning: $0) }) else {
                    return request.onWorker { _ in
                        request.wait(until: .distantFuture, running: Mailbox(owner: .anyone))
                        continuation.resume(returning: request.response ?? request.cancelledResponse)
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
        _ command: String, _ args: [APIArg], _ configure: ((inout HTTPRequest) -> Void)?
    ) throws(APIError) -> BuiltRequest {
        let asksForDefaults = args.contains(where: \.asksForDefault)
        let applied = try AppliedArgs(asksForDefaults ? args.map { $0.resolved(by: defaults) } : args)
        let settings = settings
        let builder = RequestBuilder(settings: settings)
        var http = try builder.build(command, applied)
        var secrets = RequestBuilder.secrets(in: http.headers, applied)
        if configure != nil || hookKinds.contains(.building) {
            let before = http
            configure?(&http)
            buildRequest(&http, options: http.options)
            try builder.check(&http, since: before)
            secrets.isForm = secrets.isForm || RequestBuilder.isForm(http.headers)
        }
        // Of a hook's, or of the configuration's headers.
        if http.digest != nil, http.headers["Authorization"] != nil { http.digest = nil }
        let download = try RequestBuilder.download(applied, http)
        let pacing = try pacing(applied.retry, settings, own: applied.rateLimiter)
        let options = http.options
        return BuiltRequest(
            http: consume http, options: options, secrets: secrets, download: download, pacing: pacing)
    }

    func pacing(
        _ retry: RetryPolicy?, _ settings: ResolvedSettings, own: RateLimiter? = nil
    ) throws(APIError) -> Pacing? {
        let limiter = own ?? rateLimiter ?? settings.rateLimiter
        if let problem = limiter?.problem { throw problem }
        return Pacing.make(retry ?? settings.retry, limiter)
    }
}

extension HTTPRequest {
    func checkHeaders() throws(APIError) {
        for field in headers { try HeaderSyntax.check(name: field.name, value: field.value) }
    }

    /// Whether method, headers, URL, the names of parts and the timeouts may be used.
    package var isValid: Bool {
        do throws(APIError) {
            try HeaderSyntax.check(method: method)
            try checkHeaders()
            _ = try URLParts(url)
            if case .multipart(let parts) = body { for part in parts { try HeaderSyntax.check(part) } }
            var timeouts = timeouts
            return timeouts.problem() == nil
        } catch {
            return false
        }
    }
}
