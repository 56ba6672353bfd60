/// A token that several processes share, and whose turn it is to refresh it. A pure value: the caller passes the time.
///
/// It does what ``StoreScript/token`` does in a store; ``MemoryStore`` runs this instead. All times are whole
/// microseconds.
///
/// Each token has a *fence*, a number that is greater than those of all tokens before. A process says which token it
/// knows, and gets a newer one, or its turn to refresh that one, or hears that it has to wait. The turn ends by itself,
/// so a process that dies holds up the others for a while only. A token that comes after its turn has ended is still
/// taken, unless there is a newer one: its refresh token may be the only valid one.
///
/// Each refresh of a process has a number of its own. So what comes late, or twice, concerns no other refresh.
struct SharedToken: Sendable {
    /// What a process asks for.
    enum Ask: Equatable, Sendable {
        /// Another token than the one with this fence, which is 0 if it knows none.
        ///
        /// - isRejected: whether a server has rejected that one.
        /// - turn: for how long it has its turn, if it gets it.
        /// - refreshToken: the one that it knows, for a store that has lost it.
        case take(fence: Int64, isRejected: Bool, turn: Int64, refreshToken: String)
        /// Its refresh takes longer.
        case keep(turn: Int64)
        /// It has a new token in place of the one with this fence.
        case put(fence: Int64, Token)
        /// The program has another token, in place of any.
        case set(Token)
        /// It could not refresh the token with this fence.
        case fail(fence: Int64, Failure)
        /// It does not refresh the token.
        ///
        /// - isGood: whether no server has rejected the token, as was thought.
        case leave(isGood: Bool)
    }

    enum Reply: Equatable, Sendable {
        /// The token to use. Its lifetime is what is left.
        ///
        /// - user: the fence of the first token of this log-in. With another one, the user may be another.
        case token(fence: Int64, user: Int64, Token)
        /// The process shall refresh the token that has this fence.
        case turn(fence: Int64, refreshToken: String)
        /// Another process has its turn, at most for so long.
        case wait(Int64)
        /// It was tried a moment ago.
        case failed(Failure)
        case done
    }

    struct Token: Equatable, Sendable {
        var text: String
        /// Nil if unknown.
        var lifetime: Int64?
        /// Empty without one.
        var refreshToken: String
    }

    struct Failure: Equatable, Sendable {
        var message: String
        /// 0 without an answer of a server.
        var status: Int64
        var isRetryable: Bool
    }

    /// Texts that are encrypted, each kind for itself: one cannot take the place of another.
    enum Text: String { case token, refreshToken, failure }

    typealias Change = (String, Text) throws(StoreProblem) -> String

    /// For how long a failure is remembered.
    static let failureMemory: Int64 = 1_000_000
    fileprivate static let mostTold = 8

    private var text = ""
    private var fence: Int64 = 0
    private var user: Int64 = 0
    private var end: Int64?
    private var refreshToken = ""
    private var isRejected = false
    /// The refreshes whose token was taken, the last ones: they may be told again.
    private var told: [Int64] = []
    private var turn: (refresh: Int64, until: Int64)?
    private var failure: (known: Failure, until: Int64)?

    mutating func answer(_ ask: Ask, of refresh: Int64, _ now: Int64) -> Reply {
        switch ask {
        case .take(let known, let isRejected, let duration, let refreshToken):
            if known > fence {
                self = SharedToken()
                (fence, self.refreshToken) = (known, refreshToken)
            }
            if known != fence, let current = current(now) { return current }
            if isRejected && known == fence && known > 0 { self.isRejected = true }
            // Later is a clock that was set back.
            if let failure, failure.until > now, failure.until <= now + Self.failureMemory {
                return .failed(failure.known)
            }
            if let wait = wait(refresh, now) { return wait }
            turn = (refresh, now + duration)
            return .turn(fence: fence, refreshToken: self.refreshToken)
        case .keep(let duration):
            if turn?.refresh == refresh { turn = (refresh, now + duration) }
            return .done
        case .put(let known, let token):
            if told.contains(refresh) || (known != fence && !text.isEmpty) { return held(now) }
            if !token.refreshToken.isEmpty { refreshToken = token.refreshToken }
            return hold(token, of: refresh, isOfUser: !text.isEmpty, now)
        case .set(let token):
            if told.contains(refresh) { return held(now) }
            refreshToken = token.refreshToken
            return hold(token, of: refresh, isOfUser: false, now)
        case .fail(let known, let failure):
            if known != fence, let current = current(now) { return current }
            if let wait = wait(refresh, now) { return wait }
            (turn, self.failure) = (nil, (failure, now + Self.failureMemory))
            return .failed(failure)
        case .leave(let isGood):
            if turn?.refresh == refresh {
                turn = nil
                if isGood { isRejected = false }
            }
            return .done
        }
    }

    /// - Parameter isOfUser: whether it comes from the token before.
    private mutating func hold(_ token: Token, of refresh: Int64, isOfUser: Bool, _ now: Int64) -> Reply {
        text = token.text
        end = token.lifetime.map { now + $0 }
        fence = max(fence + 1, now)
        if !isOfUser { user = fence }
        told = [refresh] + told.prefix(Self.mostTold - 1)
        (isRejected, turn, failure) = (false, nil, nil)
        return held(now)
    }

    private func current(_ now: Int64) -> Reply? {
        let isUsable = !text.isEmpty && !isRejected && end.map { $0 > now } ?? true
        return isUsable ? held(now) : nil
    }

    private func held(_ now: Int64) -> Reply {
        .token(
            fence: fence, user: user,
            Token(text: text, lifetime: end.map { $0 - now }, refreshToken: refreshToken))
    }

    private func wait(_ refresh: Int64, _ now: Int64) -> Reply? {
        guard let turn, turn.until > now, turn.refresh != refresh else { return nil }
        return .wait(turn.until - now)
    }
}

// MARK: The script's arguments and reply

extension SharedToken.Token {
    fileprivate func changingTexts(_ change: SharedToken.Change) throws(StoreProblem) -> Self {
        var changed = self
        if !text.isEmpty { changed.text = try change(text, .token) }
        if !refreshToken.isEmpty { changed.refreshToken = try change(refreshToken, .refreshToken) }
        return changed
    }
}

extension SharedToken.Failure {
    fileprivate func changingTexts(_ change: SharedToken.Change) throws(StoreProblem) -> Self {
        var changed = self
        if !message.isEmpty { changed.message = try change(message, .failure) }
        return changed
    }
}

extension SharedToken.Ask {
    /// The arguments of the script.
    func arguments(_ refresh: Int64) -> [String] {
        switch self {
        case .take(let fence, let isRejected, let turn, let refreshToken):
            ["take", "\(refresh)", "\(fence)", isRejected ? "1" : "", "\(turn)", refreshToken]
        case .keep(let turn): ["keep", "\(refresh)", "", "\(turn)"]
        case .put(let fence, let token): ["put", "\(refresh)", "\(fence)"] + Self.texts(token)
        case .set(let token): ["set", "\(refresh)", ""] + Self.texts(token)
        case .fail(let fence, let failure):
            ["fail", "\(refresh)", "\(fence)", failure.message, "\(failure.status)", failure.isRetryable ? "1" : ""]
        case .leave(let isGood): ["leave", "\(refresh)", "", isGood ? "1" : ""]
        }
    }

    /// With other texts for what is a secret, or may contain one.
    func changingTexts(_ change: SharedToken.Change) throws(StoreProblem) -> Self {
        switch self {
        case .take(let fence, let isRejected, let turn, let refreshToken):
            .take(
                fence: fence, isRejected: isRejected, turn: turn,
                refreshToken: refreshToken.isEmpty ? "" : try change(refreshToken, .refreshToken))
        case .put(let fence, let token): .put(fence: fence, try token.changingTexts(change))
        case .set(let token): .set(try token.changingTexts(change))
        case .fail(let fence, let failure): .fail(fence: fence, try failure.changingTexts(change))
        case .keep, .leave: self
        }
    }

    private static func texts(_ token: SharedToken.Token) -> [String] {
        [token.text, token.lifetime.map { "\($0)" } ?? "", token.refreshToken]
    }

    /// - Returns: nil for arguments that the script does not take.
    static func read(_ arguments: [String]) -> (ask: Self, refresh: Int64)? {
        guard arguments.count > 3, let refresh = Int64(arguments[1]) else { return nil }
        let fence = Int64(arguments[2])
        let last = arguments.count > 5 ? arguments[5] : ""
        switch arguments[0] {
        case "take":
            guard arguments.count == 6, let fence, let turn = Int64(arguments[4]) else { return nil }
            return (.take(fence: fence, isRejected: arguments[3] == "1", turn: turn, refreshToken: last), refresh)
        case "keep": return Int64(arguments[3]).map { (.keep(turn: $0), refresh) }
        case "put", "set":
            guard arguments.count == 6 else { return nil }
            let token = SharedToken.Token(text: arguments[3], lifetime: Int64(arguments[4]), refreshToken: last)
            if arguments[0] == "set" { return (.set(token), refresh) }
            return fence.map { (.put(fence: $0, token), refresh) }
        case "fail":
            guard arguments.count == 6, let fence, let status = Int64(arguments[4]) else { return nil }
            let failure = SharedToken.Failure(message: arguments[3], status: status, isRetryable: last == "1")
            return (.fail(fence: fence, failure), refresh)
        case "leave": return (.leave(isGood: arguments[3] == "1"), refresh)
        default: return nil
        }
    }
}

extension SharedToken.Reply {
    /// The values of the script's reply.
    var values: [String] {
        switch self {
        case .token(let fence, let user, let token):
            ["token", "\(fence)", token.text, token.lifetime.map { "\($0)" } ?? "", token.refreshToken, "\(user)"]
        case .turn(let fence, let refreshToken): ["turn", "\(fence)", refreshToken]
        case .wait(let time): ["wait", "\(time)"]
        case .failed(let failure):
            ["failed", failure.message, "\(failure.status)", failure.isRetryable ? "1" : ""]
        case .done: ["done"]
        }
    }

    /// With other texts for what is a secret, or may contain one.
    func changingTexts(_ change: SharedToken.Change) throws(StoreProblem) -> Self {
        switch self {
        case .token(let fence, let user, let token): .token(fence: fence, user: user, try token.changingTexts(change))
        case .turn(let fence, let refreshToken):
            .turn(fence: fence, refreshToken: refreshToken.isEmpty ? "" : try change(refreshToken, .refreshToken))
        case .failed(let failure): .failed(try failure.changingTexts(change))
        case .wait, .done: self
        }
    }

    /// Reads the script's reply. What is wrong with it does not show the token.
    static func read(_ values: [String]) -> Result<Self, StoreProblem> {
        let number = values.count > 1 ? Int64(values[1]) : nil
        switch (values.first, values.count, number) {
        case ("token", 6, let fence?) where !values[2].isEmpty:
            let token = SharedToken.Token(text: values[2], lifetime: Int64(values[3]), refreshToken: values[4])
            return .success(.token(fence: fence, user: Int64(values[5]) ?? 0, token))
        case ("turn", 3, let fence?): return .success(.turn(fence: fence, refreshToken: values[2]))
        case ("wait", 2, let time?): return .success(.wait(time))
        case ("failed", 4, _):
            let failure = SharedToken.Failure(
                message: values[1], status: Int64(values[2]) ?? 0, isRetryable: values[3] == "1")
            return .success(.failed(failure))
        case ("done", 1, _): return .success(.done)
        default: return .failure(.unknownReply(to: .token))
        }
    }
}

// MARK: In a file

extension SharedToken {
    /// Reads ``json``.
    init(_ json: JSON) throws(APIError) {
        let fields = JSONFields(json: json) { .invalidRequest("\($0): \($1)") }
        guard json.kind == .object else { throw fields.error("the token", "it is not an object") }
        text = try fields.optionalString("token") ?? ""
        fence = try fields.optionalInteger("fence") ?? 0
        user = try fields.optionalInteger("user") ?? 0
        end = try fields.optionalInteger("end")
        refreshToken = try fields.optionalString("refresh_token") ?? ""
        isRejected = try fields.optionalBool("rejected") ?? false
        told = try (fields.optionalIntegers("told") ?? []).map { Int64($0) }
        if let refresh = try fields.optionalInteger("refresh") {
            turn = (refresh, try fields.integer("turn"))
        }
        if let message = try fields.optionalString("failure") {
            let known = Failure(
                message: message, status: try fields.integer("status"), isRetryable: try fields.bool("retryable"))
            failure = (known, try fields.integer("failed"))
        }
        let numbers = [fence, user, end ?? 0, turn?.refresh ?? 0, turn?.until ?? 0, failure?.until ?? 0] + told
        guard numbers.allSatisfy({ (0...SharedPermits.greatest).contains($0) }) else {
            throw fields.error("the token", "it has a number below 0 or above \(SharedPermits.greatest)")
        }
    }

    /// The same names as in the script.
    var json: JSON {
        var members: [(String, JSON)] = [
            ("token", JSON(text)), ("fence", JSON(fence)), ("user", JSON(user)), ("refresh_token", JSON(refreshToken)),
            ("rejected", JSON(isRejected)), ("told", JSON(told.map { JSON($0) })),
        ]
        if let end { members.append(("end", JSON(end))) }
        if let turn { members += [("refresh", JSON(turn.refresh)), ("turn", JSON(turn.until))] }
        if let failure {
            members += [
                ("failure", JSON(failure.known.message)), ("status", JSON(failure.known.status)),
                ("retryable", JSON(failure.known.isRetryable)), ("failed", JSON(failure.until)),
            ]
        }
        return JSON(members)
    }
}

extension StoreScript {
    /// Shares a token: see ``SharedToken``.
    ///
    /// Key: a hash. Arguments and reply: those of ``SharedToken/Ask`` and ``SharedToken/Reply``.
    static let token = StoreScript(
        name: "ntapi.token.1",
        lua: """
            local key, verb, refresh, known = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
            local function text(number) return string.format('%.0f', number) end
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]

            local names = {
              'token', 'fence', 'user', 'end', 'refresh_token', 'rejected', 'told', 'refresh', 'turn',
              'failure', 'status', 'retryable', 'failed'
            }
            local held = {}
            for index, value in ipairs(redis.call('HMGET', key, unpack(names))) do
              held[names[index]] = value or ''
            end
            local function number(name) return tonumber(held[name]) or 0 end
            local function forget(...)
              for _, name in ipairs({...}) do held[name] = '' end
            end
            local function save()
              local words = {}
              for _, name in ipairs(names) do
                table.insert(words, name)
                table.insert(words, held[name])
              end
              redis.call('HSET', key, unpack(words))
              if held.refresh_token ~= '' or (held.token ~= '' and held['end'] == '') then
                redis.call('PERSIST', key)
              else
                local last = math.max(now, number('end'), number('turn'), number('failed'))
                redis.call('PEXPIRE', key, text(math.ceil((last - now) / 1000) + 60000))
              end
            end
            local function current()
              local left = ''
              if held['end'] ~= '' then left = text(number('end') - now) end
              return {'token', held.fence, held.token, left, held.refresh_token, held.user}
            end
            local function is_usable()
              return held.token ~= '' and held.rejected == '' and (held['end'] == '' or number('end') > now)
            end
            local function is_of_another() return number('turn') > now and held.refresh ~= refresh end

            if verb == 'take' then
              if known > number('fence') then
                -- The store has lost what this process knows.
                forget(unpack(names))
                held.fence, held.refresh_token = ARGV[3], ARGV[6]
              end
              local fence = number('fence')
              if known ~= fence and is_usable() then return current() end
              if ARGV[4] == '1' and known == fence and known > 0 then held.rejected = '1' end
              local reply
              -- Later is a clock that was set back.
              if number('failed') > now and number('failed') <= now + \(SharedToken.failureMemory) then
                reply = {'failed', held.failure, held.status, held.retryable}
              elseif is_of_another() then
                reply = {'wait', text(number('turn') - now)}
              else
                held.refresh, held.turn = refresh, text(now + ARGV[5])
                reply = {'turn', text(fence), held.refresh_token}
              end
              save()
              return reply
            elseif verb == 'put' or verb == 'set' then
              local told = {refresh}
              for other in string.gmatch(held.told, '%d+') do
                if other == refresh then return current() end
                if #told < \(SharedToken.mostTold) then table.insert(told, other) end
              end
              if verb == 'put' and known ~= number('fence') and held.token ~= '' then return current() end
              if verb == 'set' or ARGV[6] ~= '' then held.refresh_token = ARGV[6] end
              held.told = table.concat(told, ' ')
              local is_of_user = verb == 'put' and held.token ~= ''
              held.token, held['end'] = ARGV[4], ''
              if ARGV[5] ~= '' then held['end'] = text(now + ARGV[5]) end
              held.fence = text(math.max(number('fence') + 1, now))
              if not is_of_user then held.user = held.fence end
              forget('rejected', 'refresh', 'turn', 'failure', 'status', 'retryable', 'failed')
              save()
              return current()
            elseif verb == 'fail' then
              if known ~= number('fence') and is_usable() then return current() end
              if is_of_another() then return {'wait', text(number('turn') - now)} end
              forget('refresh', 'turn')
              held.failure, held.status, held.retryable = ARGV[4], ARGV[5], ARGV[6]
              held.failed = text(now + \(SharedToken.failureMemory))
              save()
              return {'failed', ARGV[4], ARGV[5], ARGV[6]}
            elseif held.refresh == refresh then
              if verb == 'keep' then
                held.turn = text(now + ARGV[4])
              else
                forget('refresh', 'turn')
                if ARGV[4] == '1' then held.rejected = '' end
              end
              save()
            end
            return {'done'}
            """)
}
