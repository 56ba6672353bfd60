/// A token that several processes share, and whose turn it is to refresh it. A pure value: the caller passes the time.
///
/// It does what ``StoreScript/token`` does in a store; ``MemoryStore`` runs this instead. All times are whole
/// microseconds.
///
/// Each token has a *fence*, a number that is greater than those of all tokens before. A process says which token it
/// knows, and gets a newer one, or its turn to refresh that one, or hears that it has to wait. The turn ends by itself,
/// so a process that dies holds up the others for a while only. A token that comes after its turn has ended is still
/// taken, unless there is a newer one: its refresh token may be the only valid one.
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
        ///
        /// - number: of this call. It is told again if there was no reply, and must not replace what came after it.
        case set(number: Int64, Token)
        /// It could not refresh the token with this fence.
        case fail(fence: Int64, Failure)
        /// It does not refresh the token.
        ///
        /// - isGood: whether no server has rejected the token, as was thought.
        case leave(isGood: Bool)
    }

    enum Reply: Equatable, Sendable {
        /// The token to use. Its lifetime is what is left.
        case token(fence: Int64, Token)
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

    /// For how long a failure is remembered.
    static let failureMemory: Int64 = 1_000_000

    private var text = ""
    private var fence: Int64 = 0
    private var end: Int64?
    private var refreshToken = ""
    private var isRejected = false
    private var lastSet: Int64?
    private var turn: (process: Int64, until: Int64)?
    private var failure: (known: Failure, until: Int64)?

    mutating func answer(_ ask: Ask, of process: Int64, _ now: Int64) -> Reply {
        switch ask {
        case .take(let known, let isRejected, let duration, let refreshToken):
            if known > fence {
                self = SharedToken()
                (fence, self.refreshToken) = (known, refreshToken)
            }
            if known != fence, let current = current(now) { return current }
            if isRejected && known == fence && known > 0 { self.isRejected = true }
            if let failure, failure.until > now { return .failed(failure.known) }
            if let wait = wait(process, now) { return wait }
            turn = (process, now + duration)
            return .turn(fence: fence, refreshToken: self.refreshToken)
        case .keep(let duration):
            if turn?.process == process { turn = (process, now + duration) }
            return .done
        case .put(let known, let token):
            if known != fence, let current = current(now) { return current }
            if !token.refreshToken.isEmpty { refreshToken = token.refreshToken }
            return hold(token, now)
        case .set(let number, let token):
            if number == lastSet { return .token(fence: fence, held(now)) }
            (lastSet, refreshToken) = (number, token.refreshToken)
            return hold(token, now)
        case .fail(let known, let failure):
            if known != fence, let current = current(now) { return current }
            if let wait = wait(process, now) { return wait }
            (turn, self.failure) = (nil, (failure, now + Self.failureMemory))
            return .failed(failure)
        case .leave(let isGood):
            if turn?.process == process {
                turn = nil
                if isGood { isRejected = false }
            }
            return .done
        }
    }

    private mutating func hold(_ token: Token, _ now: Int64) -> Reply {
        text = token.text
        end = token.lifetime.map { now + $0 }
        fence = max(fence + 1, now)
        (isRejected, turn, failure) = (false, nil, nil)
        return .token(fence: fence, held(now))
    }

    private func current(_ now: Int64) -> Reply? {
        let isUsable = !text.isEmpty && !isRejected && end.map { $0 > now } ?? true
        return isUsable ? .token(fence: fence, held(now)) : nil
    }

    private func held(_ now: Int64) -> Token {
        Token(text: text, lifetime: end.map { $0 - now }, refreshToken: refreshToken)
    }

    private func wait(_ process: Int64, _ now: Int64) -> Reply? {
        guard let turn, turn.until > now, turn.process != process else { return nil }
        return .wait(turn.until - now)
    }
}

// MARK: The script's arguments and reply

extension SharedToken.Ask {
    /// The arguments of the script.
    func arguments(_ process: Int64) -> [String] {
        switch self {
        case .take(let fence, let isRejected, let turn, let refreshToken):
            ["take", "\(process)", "\(fence)", isRejected ? "1" : "", "\(turn)", refreshToken]
        case .keep(let turn): ["keep", "\(process)", "", "\(turn)"]
        case .put(let fence, let token): ["put", "\(process)", "\(fence)"] + Self.texts(token)
        case .set(let number, let token): ["set", "\(process)", "\(number)"] + Self.texts(token)
        case .fail(let fence, let failure):
            ["fail", "\(process)", "\(fence)", failure.message, "\(failure.status)", failure.isRetryable ? "1" : ""]
        case .leave(let isGood): ["leave", "\(process)", "", isGood ? "1" : ""]
        }
    }

    private static func texts(_ token: SharedToken.Token) -> [String] {
        [token.text, token.lifetime.map { "\($0)" } ?? "", token.refreshToken]
    }

    /// - Returns: nil for arguments that the script does not take.
    static func read(_ arguments: [String]) -> (ask: Self, process: Int64)? {
        guard arguments.count > 3, let process = Int64(arguments[1]) else { return nil }
        let fence = Int64(arguments[2])
        let last = arguments.count > 5 ? arguments[5] : ""
        switch arguments[0] {
        case "take":
            guard arguments.count == 6, let fence, let turn = Int64(arguments[4]) else { return nil }
            return (.take(fence: fence, isRejected: arguments[3] == "1", turn: turn, refreshToken: last), process)
        case "keep": return Int64(arguments[3]).map { (.keep(turn: $0), process) }
        case "put", "set":
            guard arguments.count == 6, let fence else { return nil }
            let token = SharedToken.Token(text: arguments[3], lifetime: Int64(arguments[4]), refreshToken: last)
            return (arguments[0] == "put" ? .put(fence: fence, token) : .set(number: fence, token), process)
        case "fail":
            guard arguments.count == 6, let fence, let status = Int64(arguments[4]) else { return nil }
            let failure = SharedToken.Failure(message: arguments[3], status: status, isRetryable: last == "1")
            return (.fail(fence: fence, failure), process)
        case "leave": return (.leave(isGood: arguments[3] == "1"), process)
        default: return nil
        }
    }
}

extension SharedToken.Reply {
    /// The values of the script's reply.
    var values: [String] {
        switch self {
        case .token(let fence, let token):
            ["token", "\(fence)", token.text, token.lifetime.map { "\($0)" } ?? "", token.refreshToken]
        case .turn(let fence, let refreshToken): ["turn", "\(fence)", refreshToken]
        case .wait(let time): ["wait", "\(time)"]
        case .failed(let failure):
            ["failed", failure.message, "\(failure.status)", failure.isRetryable ? "1" : ""]
        case .done: ["done"]
        }
    }

    /// Reads the script's reply. What is wrong with it does not show the token.
    static func read(_ values: [String]) -> Result<Self, StoreProblem> {
        let number = values.count > 1 ? Int64(values[1]) : nil
        switch (values.first, values.count, number) {
        case ("token", 5, let fence?) where !values[2].isEmpty:
            let token = SharedToken.Token(text: values[2], lifetime: Int64(values[3]), refreshToken: values[4])
            return .success(.token(fence: fence, token))
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

extension StoreScript {
    /// Shares a token: see ``SharedToken``.
    ///
    /// Key: a hash. Arguments and reply: those of ``SharedToken/Ask`` and ``SharedToken/Reply``.
    static let token = StoreScript(
        name: "ntapi.token.1",
        lua: """
            local key, verb, process, known = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
            local function text(number) return string.format('%.0f', number) end
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]

            local names = {
              'token', 'fence', 'end', 'refresh_token', 'rejected', 'set', 'process', 'turn',
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
              return {'token', held.fence, held.token, left, held.refresh_token}
            end
            local function is_usable()
              return held.token ~= '' and held.rejected == '' and (held['end'] == '' or number('end') > now)
            end
            local function is_of_another() return number('turn') > now and held.process ~= process end

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
              if number('failed') > now then
                reply = {'failed', held.failure, held.status, held.retryable}
              elseif is_of_another() then
                reply = {'wait', text(number('turn') - now)}
              else
                held.process, held.turn = process, text(now + ARGV[5])
                reply = {'turn', text(fence), held.refresh_token}
              end
              save()
              return reply
            elseif verb == 'put' or verb == 'set' then
              if verb == 'put' then
                if known ~= number('fence') and is_usable() then return current() end
                if ARGV[6] ~= '' then held.refresh_token = ARGV[6] end
              else
                if held.set == ARGV[3] then return current() end
                held.set, held.refresh_token = ARGV[3], ARGV[6]
              end
              held.token, held['end'] = ARGV[4], ''
              if ARGV[5] ~= '' then held['end'] = text(now + ARGV[5]) end
              held.fence = text(math.max(number('fence') + 1, now))
              forget('rejected', 'process', 'turn', 'failure', 'status', 'retryable', 'failed')
              save()
              return current()
            elseif verb == 'fail' then
              if known ~= number('fence') and is_usable() then return current() end
              if is_of_another() then return {'wait', text(number('turn') - now)} end
              forget('process', 'turn')
              held.failure, held.status, held.retryable = ARGV[4], ARGV[5], ARGV[6]
              held.failed = text(now + \(SharedToken.failureMemory))
              save()
              return {'failed', ARGV[4], ARGV[5], ARGV[6]}
            elseif held.process == process then
              if verb == 'keep' then
                held.turn = text(now + ARGV[4])
              else
                forget('process', 'turn')
                if ARGV[4] == '1' then held.rejected = '' end
              end
              save()
            end
            return {'done'}
            """)
}
