/// Gives the permits of a rate limit that several processes share. A pure value: the caller passes the time.
///
/// It does what ``script`` does in a store; ``MemoryStore`` runs this instead. All times are whole microseconds.
///
/// Each limit is a bucket as in ``RatePermits``: `arrivals` is when the next request would come if all came evenly.
/// A process that gets fewer permits than it wants stands in line until it asks again. A permit goes to those who stand
/// there longer first, one each, so a process that is near to the store or has many requests does not keep the others
/// from theirs.
struct SharedPermits: Sendable {
    /// What one process asks for.
    struct Ask: Equatable, Sendable {
        /// The limiter that asks, from 1 to ``greatest``.
        var limiter: Int64
        /// How many permits it can use now; with 0 it leaves the line.
        var wanted: Int64 = 0
        /// How many more it takes if they are free and nobody waits for them.
        var spare: Int64 = 0
        /// How many it has and cannot use.
        var returned: Int64 = 0
        /// For how long nobody shall start a request.
        var pause: Int64 = 0
        /// The microseconds between two requests, and how many may start at once, of each limit.
        var limits: [Limit]
    }

    struct Limit: Equatable, Sendable {
        var interval: Int64
        var burst: Int64
    }

    struct Reply: Equatable, Sendable {
        /// How many permits it has now.
        var granted: Int64
        /// When to ask again for the others; 0 if it has all.
        var wait: Int64
    }

    /// Lua's numbers are exact up to here.
    static let greatest: Int64 = 1 << 52
    /// How long after its moment a limiter that does not ask keeps its place in line. Its process may have ended.
    static let grace: Int64 = 500_000
    /// Who waits longer, without a pause, asks again after this time: those before it may have left the line or ended.
    static let longestWait: Int64 = 1_000_000
    /// If the clock is set back by more, what it says of the future is forgotten.
    static let largestStep: Int64 = 1_000_000

    private struct Place {
        let limiter: Int64
        let since: Int64
        let until: Int64
    }

    private var arrivals: [Int64] = []
    private var pauseEnd: Int64 = 0
    private var lastTime: Int64 = 0
    /// In no order: `since` says who is first.
    private var line: [Place] = []

    mutating func take(_ ask: Ask, _ now: Int64) -> Reply {
        if now < lastTime - Self.largestStep { (pauseEnd, line) = (0, []) }
        lastTime = now
        line.removeAll { $0.until <= now }
        let known = line.first { $0.limiter == ask.limiter }?.since
        arrivals = ask.limits.indices.map { index in
            let limit = ask.limits[index]
            let last = index < arrivals.count ? arrivals[index] : now
            // A clock that was set back must not stop everybody until it has caught up.
            let arrival = min(max(last, now), max(now, pauseEnd) + limit.burst * limit.interval)
            return max(arrival - ask.returned * limit.interval, now)
        }
        if ask.pause > 0 { pauseEnd = max(pauseEnd, now + ask.pause) }
        if pauseEnd <= now { pauseEnd = 0 }
        if pauseEnd > now {
            for (index, limit) in ask.limits.enumerated() {
                arrivals[index] = max(arrivals[index], pauseEnd + (limit.burst - 1) * limit.interval)
            }
        }
        let free =
            zip(arrivals, ask.limits).map { arrival, limit in
                (now + limit.burst * limit.interval - arrival) / limit.interval
            }.min() ?? 0
        var granted = min(ask.wanted, max(0, free - ahead(of: known ?? .max, ask.limiter)))
        if granted == ask.wanted { granted += min(ask.spare, max(0, free - granted - ahead(of: .max, ask.limiter))) }
        for (index, limit) in ask.limits.enumerated() { arrivals[index] += granted * limit.interval }
        // A limiter that got something goes to the end of the line. No two have the same place.
        let end = max(now, (line.lazy.map(\.since).max() ?? 0) + 1)
        line.removeAll { $0.limiter == ask.limiter }
        guard granted < ask.wanted else { return Reply(granted: granted, wait: 0) }
        let since = granted == 0 ? known ?? end : end
        let place = ahead(of: since, ask.limiter) + 1
        let moment =
            zip(arrivals, ask.limits).map { arrival, limit in
                arrival + (place - limit.burst) * limit.interval
            }.max() ?? 0
        let wait = min(max(moment - now, 1), max(Self.longestWait, pauseEnd - now))
        line.append(Place(limiter: ask.limiter, since: since, until: now + wait + Self.grace))
        return Reply(granted: granted, wait: wait)
    }

    /// - Returns: nil if one is no number, or the script could not count with it.
    fileprivate static func numbers(_ texts: [String]) -> [Int64]? {
        let numbers = texts.compactMap { Int64($0) }
        let isKnown = numbers.count == texts.count && numbers.allSatisfy { (0...greatest).contains($0) }
        return isKnown ? numbers : nil
    }

    /// How many others stand in line for longer.
    private func ahead(of since: Int64, _ limiter: Int64) -> Int64 {
        Int64(line.count { $0.limiter != limiter && $0.since < since })
    }
}

extension SharedPermits.Ask {
    /// Whether a store may reply so: it grants no more than it was asked for, and says when to ask for what is missing.
    func fits(_ reply: SharedPermits.Reply) -> Bool {
        reply.granted <= wanted + spare && (reply.granted >= wanted) == (reply.wait == 0)
    }

    /// The arguments of the script.
    var arguments: [String] {
        ([limiter, wanted, spare, returned, pause] + limits.flatMap { [$0.interval, $0.burst] }).map { "\($0)" }
    }

    /// - Returns: nil for arguments that the script does not take.
    init?(_ arguments: [String]) {
        guard let numbers = SharedPermits.numbers(arguments), numbers.count >= 7, !numbers.count.isMultiple(of: 2)
        else {
            return nil
        }
        let limits = stride(from: 5, to: numbers.count, by: 2).map { index in
            SharedPermits.Limit(interval: numbers[index], burst: numbers[index + 1])
        }
        guard limits.allSatisfy(\.isPossible) else { return nil }
        self.init(
            limiter: numbers[0], wanted: numbers[1], spare: numbers[2], returned: numbers[3], pause: numbers[4],
            limits: limits)
    }
}

extension SharedPermits.Reply {
    /// Reads the script's reply.
    static func read(_ values: [String]) -> Result<Self, StoreProblem> {
        guard let numbers = SharedPermits.numbers(values), numbers.count == 2 else {
            return .failure(StoreProblem(text: "its reply is not two numbers: [\(values.joined(separator: ", "))]"))
        }
        return .success(Self(granted: numbers[0], wait: numbers[1]))
    }
}

extension SharedPermits.Limit {
    /// Whether the sums of the script are exact.
    var isPossible: Bool {
        let (whole, overflow) = interval.multipliedReportingOverflow(by: burst)
        return interval > 0 && burst > 0 && !overflow && whole <= SharedPermits.greatest / 2
    }
}

extension StoreScript {
    /// Gives permits: see ``SharedPermits``.
    ///
    /// Keys: a hash with `pause`, `now` and the arrivals `1`, `2`, …; the line in order of arrival; the line by its ends.
    /// Arguments: the numbers of ``SharedPermits/Ask``. Replies: granted, and the wait in microseconds.
    static let permits = StoreScript(
        name: "ntapi.permits.1",
        lua: """
            local state, line, ends = KEYS[1], KEYS[2], KEYS[3]
            local limiter, wanted, spare = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
            local returned, pause = tonumber(ARGV[4]), tonumber(ARGV[5])
            local function text(number) return string.format('%.0f', number) end
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]

            local last_time = tonumber(redis.call('HGET', state, 'now') or nil)
            local is_set_back = not last_time or now < last_time - \(SharedPermits.largestStep)
            local latest = is_set_back and '+inf' or text(now)
            for _, gone in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', latest)) do
              redis.call('ZREM', line, gone)
              redis.call('ZREM', ends, gone)
            end
            local since = tonumber(redis.call('ZSCORE', line, limiter) or nil)
            local function ahead(moment)
              local others = redis.call('ZCOUNT', line, '-inf', '(' .. text(moment))
              if since and since < moment then others = others - 1 end
              return others
            end
            local last_place = redis.call('ZREVRANGE', line, 0, 0, 'WITHSCORES')
            local behind = math.max(now, (tonumber(last_place[2]) or 0) + 1)

            local pause_end = is_set_back and 0 or tonumber(redis.call('HGET', state, 'pause') or '0')
            local intervals, bursts, arrivals = {}, {}, {}
            for index = 1, (#ARGV - 5) / 2 do
              local interval, burst = tonumber(ARGV[2 * index + 4]), tonumber(ARGV[2 * index + 5])
              local arrival = tonumber(redis.call('HGET', state, index) or '0')
              -- A clock that was set back must not stop everybody until it has caught up.
              arrival = math.min(math.max(arrival, now), math.max(now, pause_end) + burst * interval)
              intervals[index], bursts[index] = interval, burst
              arrivals[index] = math.max(arrival - returned * interval, now)
            end
            if pause > 0 then pause_end = math.max(pause_end, now + pause) end
            if pause_end <= now then pause_end = 0 end
            local free = math.huge
            for index, interval in ipairs(intervals) do
              if pause_end > now then
                arrivals[index] = math.max(arrivals[index], pause_end + (bursts[index] - 1) * interval)
              end
              free = math.min(free, math.floor((now + bursts[index] * interval - arrivals[index]) / interval))
            end

            local granted = math.min(wanted, math.max(0, free - ahead(since or behind)))
            if granted == wanted then
              granted = granted + math.min(spare, math.max(0, free - granted - ahead(math.huge)))
            end
            local last = math.max(now, pause_end)
            for index, interval in ipairs(intervals) do
              arrivals[index] = arrivals[index] + granted * interval
              last = math.max(last, arrivals[index])
              redis.call('HSET', state, index, text(arrivals[index]))
            end
            redis.call('HSET', state, 'pause', text(pause_end), 'now', text(now))
            redis.call('PEXPIRE', state, text(math.ceil((last - now) / 1000) + 1000))

            if granted >= wanted then
              redis.call('ZREM', line, limiter)
              redis.call('ZREM', ends, limiter)
              return {granted, 0}
            end
            -- A limiter that got something goes to the end of the line. No two have the same place.
            local place_since = since
            if granted > 0 or not since then place_since = behind end
            local place = ahead(place_since) + 1
            local moment = now + 1
            for index, interval in ipairs(intervals) do
              moment = math.max(moment, arrivals[index] + (place - bursts[index]) * interval)
            end
            local wait = math.min(moment - now, math.max(\(SharedPermits.longestWait), pause_end - now))
            redis.call('ZADD', line, text(place_since), limiter)
            redis.call('ZADD', ends, text(now + wait + \(SharedPermits.grace)), limiter)
            for _, key in ipairs({line, ends}) do
              redis.call('PEXPIRE', key, text(math.ceil(wait / 1000) + 60000))
            end
            return {granted, wait}
            """)
}
