// How a request finds a response that processes share, or gets the turn to load it.
extension SharedCache {
    /// A request that looks for a response.
    struct Search: Sendable {
        let digest: Digest
        /// What this process has itself.
        let known: CachedResponse?
        /// Whether it waits while another process loads the response.
        let waits: Bool
        let select: @Sendable ([CachedResponse]) -> CachedResponse?
        let judge: @Sendable (CachedResponse?) -> Verdict
        /// Whether nobody waits for it any more.
        let isOver: @Sendable () -> Bool
        let done: @Sendable (Finding) -> Void
    }

    /// What a request does with a response, or without one.
    enum Verdict: Sendable {
        case use
        /// It asks the server.
        case load
        /// It asks the server, and other processes can use the answer.
        case loadForAll
    }

    enum Finding: Sendable {
        /// - CacheTurn: the turn to load it.
        case response(CachedResponse?, CacheTurn?)
        /// Another process loads it.
        case busy
    }

    /// Looks for a response, or for the turn to load it. Does not wait.
    func find(_ search: Search, _ clock: any WaitingClock) { Look(search, begun: clock.now, clock).begin(in: self) }

    /// One search, which may look several times.
    private struct Look: Sendable {
        let search: Search
        let begun: MonotonicTime
        let clock: any WaitingClock
        /// The turn to load the response, if it has been granted.
        var turn: CacheTurn?
        var hasMissedBody = false
        /// When the newest response had arrived that was there at the first look.
        var newest: Double?

        init(_ search: Search, begun: MonotonicTime, _ clock: any WaitingClock) {
            self.search = search
            self.begun = begun
            self.clock = clock
        }

        func begin(in cache: SharedCache) {
            guard !search.isOver() else { return }
            cache.record(search.digest, clock) { variants in
                guard let variants else { return search.done(.response(search.known, turn)) }
                let found = search.select(variants)
                let time = variants.map(\.responseTime).max() ?? -.infinity
                let hasNews = newest.map { time > $0 } ?? false
                var next = self
                next.newest = newest ?? time
                guard let found, let file = found.file, found.responseTime > search.known?.responseTime ?? -.infinity
                else {
                    var known = search.known
                    if let found, known?.responseTime == found.responseTime { known?.isShared = true }
                    return next.decide(known, hasNews: hasNews, in: cache)
                }
                cache.body(file, search.digest, clock) { [next] body in
                    if let body {
                        var found = found
                        (found.body, found.isShared) = (body, true)
                        next.decide(found, hasNews: hasNews, in: cache)
                    } else if hasMissedBody {
                        next.decide(search.known, hasNews: hasNews, in: cache)
                    } else {
                        // Another process has replaced it meanwhile.
                        var again = next
                        again.hasMissedBody = true
                        again.begin(in: cache)
                    }
                }
            }
        }

        /// - Parameter hasNews: whether another process has loaded a response since the first look.
        private func decide(_ response: CachedResponse?, hasNews: Bool, in cache: SharedCache) {
            guard search.judge(response) == .loadForAll else { return search.done(.response(response, nil)) }
            // What another process has loaded is of no use to this request. Nor would the next one be.
            if turn != nil || hasNews { return search.done(.response(response, turn)) }
            cache.take(search.digest, clock) { reply, turn, isLate in
                // Too late: nobody has waited for it. The turn ends with the object.
                guard !isLate else { return }
                if reply == .done {
                    // Look again: another process may have loaded it in the meantime.
                    var next = self
                    next.turn = turn
                    return next.begin(in: cache)
                }
                let waited = clock.now.seconds(since: begun)
                // Two processes have had time to load it and have not.
                guard reply == .wait, waited < 2 * cache.access.options.lease else {
                    return search.done(.response(response, turn))
                }
                guard search.waits else { return search.done(.busy) }
                let pause = min(0.5, max(0.1, waited / 4)) * .random(in: 0.5...1.5)
                clock.schedule(.pause, at: clock.now.advanced(bySeconds: pause)) { begin(in: cache) }
            }
        }
    }
}
