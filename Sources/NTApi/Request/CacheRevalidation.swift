// Updates a stored response after it was used as an answer (RFC 5861, 3).
extension APIRequest {
    /// Begins a request of the cache's own, unless one for this URL runs already. Returns at once.
    ///
    /// It passes all stages as any request does: rate limit, authenticator, stub, recorder. The program did not begin
    /// it, so no hook or decision is called, and no redirect is followed.
    func revalidate(_ asked: CacheRequest, _ use: CacheUse, _ key: CacheKey) {
        guard !client.isClosed, use.cache.beginRevalidation(key) else { return }
        var http = asked.http
        http.settings.cachePolicy = .reloadRevalidating
        http.settings.maximumRedirects = 0
        // It gets a new token: this one may have expired when the request is sent.
        if let token = http.token { http.headers.remove(token.header) }
        var options = options
        options.set(APIOption.rawData.name, "")
        let built = BuiltRequest(
            http: http, options: options, secrets: built.request?.secrets ?? MarkedSecrets(), pacing: pacing,
            attemptInterceptors: built.request?.attemptInterceptors?.copy(), isRevalidation: true)
        let request = APIRequest(
            client: client, identifier: client.countRequest().identifier, command: command, logFlags: logFlags,
            threads: HandlerThreads([.handlers(.all, on: .background)]), built: BuildOutcome(built),
            APIRequest.Handlers({ _ in use.cache.endRevalidation(key) }))
        request.priority = 0
        request.resume()
    }

    /// Whether the cache itself began the request, to update a stored response.
    var isRevalidation: Bool { built.request?.isRevalidation == true }
}
