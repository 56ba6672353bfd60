// Looks into the cache, and updates what it has.
extension APIRequest {
    /// Looks for a stored response: in memory, then on disk, then in the store that processes share.
    ///
    /// - Returns: nil when the reply comes later.
    func lookUp(
        _ asked: CacheRequest, _ use: CacheUse, _ key: CacheKey, _ ticket: UInt32, onCaller: Bool
    ) throws(Forked) -> Reply? {
        if let stored = asked.select(use.cache.variants(key)) {
            return try lookFurther(asked, use, key, ticket, known: stored)
        }
        guard use.cache.isOnDisk else { return try lookFurther(asked, use, key, ticket, known: nil) }
        // A caller that drives the exchange waits for the disk anyway.
        let read = { @Sendable in self.runtime.workers.whileBlocked { use.cache.read(key, asked.select) } }
        guard onCaller, try shared.withLock({ $0.link.transport }) == nil else {
            return try lookFurther(asked, use, key, ticket, known: read())
        }
        onWorker { (deliveries) throws(Forked) in
            guard let reply = try self.lookFurther(asked, use, key, ticket, known: read()) else { return }
            try self.replied(ticket, reply, deliveries)
        }
        return nil
    }

    /// Looks into the store, if there is one and the process itself has nothing that it may use.
    private func lookFurther(
        _ asked: CacheRequest, _ use: CacheUse, _ key: CacheKey, _ ticket: UInt32, known: CachedResponse?
    ) throws(Forked) -> Reply? {
        guard let shared = use.cache.shared, asked.isShareable, asked.verdict(known, calendar(of: use)) != .use else {
            return .stored(known, nil)
        }
        guard let begun = try begin(.cache(known), ticket) else { return nil }
        if !begun.isWatched { try watchWait() }
        let search = SharedCache.Search(
            digest: key.digest, known: known, waits: true, select: asked.select,
            judge: { asked.verdict($0, self.calendar(of: use)) }, isOver: { !self.waits(ticket) },
            done: { finding in
                guard case .response(let response, let turn) = finding else { return }
                if let response, response.responseTime != known?.responseTime { use.cache.keep(response, key) }
                self.reply(ticket, .stored(response, turn))
            })
        shared.find(search, clock)
        return nil
    }

    /// Seconds since 1970.
    private func calendar(of use: CacheUse) -> Double { manualClock?.calendarSeconds ?? use.cache.now }

    // MARK: Revalidation (RFC 5861, 3)

    /// Updates a stored response after it was used as an answer, unless a request for this URL does so already. Returns at
    /// once.
    func beginRevalidation(_ asked: CacheRequest, _ use: CacheUse, _ key: CacheKey) {
        guard !client.isClosed, use.cache.beginRevalidation(key) else { return }
        guard let shared = use.cache.shared, asked.isShareable else { return revalidate(asked, use, key, nil) }
        let search = SharedCache.Search(
            digest: key.digest, known: asked.select(use.cache.variants(key)), waits: false, select: asked.select,
            judge: { $0?.isFresh(self.calendar(of: use)) == true ? .use : asked.isForAll($0) ? .loadForAll : .load },
            isOver: { false },
            done: { finding in
                guard case .response(let response, let turn) = finding else { return use.cache.endRevalidation(key) }
                guard let response, response.isFresh(self.calendar(of: use)) else {
                    return self.revalidate(asked, use, key, turn)
                }
                // Another process has done it.
                use.cache.keep(response, key)
                use.cache.endRevalidation(key)
            })
        shared.find(search, clock)
    }

    /// Begins a request of the cache's own.
    ///
    /// It passes all stages as any request does: rate limit, authenticator, stub, recorder. The program did not begin
    /// it, so no hook or decision is called, and no redirect is followed.
    private func revalidate(_ asked: CacheRequest, _ use: CacheUse, _ key: CacheKey, _ turn: CacheTurn?) {
        var http = asked.http
        http.settings.cachePolicy = .reloadRevalidating
        http.settings.maximumRedirects = 0
        // It gets a new token: this one may have expired when the request is sent.
        if let token = http.token { http.headers.remove(token.header) }
        var options = options
        options.set(APIOption.rawData.name, "")
        let built = BuiltRequest(
            http: http, options: options, secrets: built.request?.secrets ?? MarkedSecrets(), pacing: pacing,
            attemptInterceptors: built.request?.attemptInterceptors?.copy(), revalidation: CacheRevalidation(turn: turn)
        )
        let request = APIRequest(
            client: client, identifier: client.countRequest().identifier, command: command, logFlags: logFlags,
            threads: HandlerThreads([.handlers(.all, on: .background)]), built: BuildOutcome(built),
            APIRequest.Handlers({ _ in use.cache.endRevalidation(key) }))
        request.priority = 0
        request.resume()
    }

    /// Whether the cache itself began the request, to update a stored response.
    var isRevalidation: Bool { built.request?.revalidation != nil }
}
