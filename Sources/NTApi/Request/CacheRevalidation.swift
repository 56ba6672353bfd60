// Brings a stored response up to date after it was the answer to a request (RFC 5861, 3).
extension APIRequest {
    /// Begins a request of the cache's own, unless one for this URL is on its way already. Nobody waits for it.
    ///
    /// It goes through the whole chain, as any request: the rate limit, the authenticator, the stub, the recorder. Hooks and
    /// decisions of the program are not called, as the program has not begun it: a redirect is not followed.
    func revalidate(_ asked: CacheRequest, _ use: CacheUse, _ key: CacheKey) {
        guard !client.isClosed, use.cache.beginRevalidation(key) else { return }
        var http = asked.http
        http.settings.cachePolicy = .reloadRevalidating
        http.settings.maximumRedirects = 0
        // It gets a token of its own: this one may have expired when its turn has come.
        if let token = http.token { http.headers.remove(token.header) }
        var options = options
        options.set(APIOption.rawData.name, "")
        let built = BuiltRequest(
            http: http, options: options, secrets: built.request?.secrets ?? MarkedSecrets(), pacing: pacing,
            interceptors: built.request?.interceptors.filter { $0.scope == .attempt } ?? [], isRevalidation: true)
        let request = APIRequest(
            client: client, identifier: client.countRequest().identifier, command: command, logFlags: logFlags,
            threads: HandlerThreads([.handlers(.all, on: .background)]), built: .success(built),
            APIRequest.Handlers({ _ in use.cache.endRevalidation(key) }))
        request.priority = 0
        request.resume()
    }

    /// Whether the cache has begun it, to bring a stored response up to date.
    var isRevalidation: Bool { built.request?.isRevalidation == true }

    /// The hooks of the client that concern this request.
    var hookKinds: APIClient.HookKinds {
        let kinds = client.hookKinds
        return kinds.isEmpty || !isRevalidation ? kinds : []
    }

    /// What the client wants to decide about this request.
    var clientDecisionKinds: RequestDecision.Kinds {
        let kinds = client.decisionKinds
        return kinds.isEmpty || !isRevalidation ? kinds : []
    }
}
