/// Which process loads a response for all. A pure value: the caller passes the time.
///
/// It does what ``StoreScript/turn`` does in a store; ``MemoryStore`` runs this instead. Times are whole milliseconds.
/// To `take`, the script also replies with the URL's last removal: see ``SharedRecord``.
struct SharedTurn: Sendable {
    enum Ask: Equatable, Sendable {
        /// The turn, for so long at most.
        case take(Int64)
        /// The turn is over: the next one may have it.
        case leave
        /// The response is of no use to others. For so long, nobody waits for a turn.
        case pass(Int64)
    }

    enum Reply: String, Sendable {
        /// The process has its turn, or the turn is over.
        case done
        /// Another process has its turn.
        case wait
        /// Load it without a turn.
        case pass
    }

    private enum Holder: Equatable {
        case process(Int64)
        case nobody
    }

    private var holder = Holder.nobody
    private(set) var end: Int64 = 0

    mutating func answer(_ ask: Ask, of number: Int64, _ now: Int64) -> Reply {
        let isFree = end <= now
        switch ask {
        case .take(let time):
            guard isFree else { return holder == .nobody ? .pass : .wait }
            (holder, end) = (.process(number), now + time)
        case .leave:
            if holder == .process(number) { end = now }
        case .pass(let time):
            if isFree || holder == .process(number) { (holder, end) = (.nobody, now + time) }
        }
        return .done
    }
}

extension SharedTurn.Ask {
    func arguments(_ number: Int64) -> [String] {
        switch self {
        case .take(let time): ["take", "\(number)", "\(time)"]
        case .leave: ["leave", "\(number)", "0"]
        case .pass(let time): ["pass", "\(number)", "\(time)"]
        }
    }

    /// - Returns: nil when they are wrong.
    static func read(_ arguments: [String]) -> (ask: SharedTurn.Ask, number: Int64)? {
        guard arguments.count == 3, let number = Int64(arguments[1]), let time = Int64(arguments[2]),
            (0...86_400_000).contains(time)
        else { return nil }
        switch arguments[0] {
        case "take": return (.take(time), number)
        case "leave": return (.leave, number)
        case "pass": return (.pass(time), number)
        default: return nil
        }
    }
}

extension StoreScript {
    /// Turns to load a response.
    static let turn = StoreScript(
        name: "ntapi.turn.1",
        lua: """
            local key, verb, number, time = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
            local holder = redis.call('GET', key)
            if verb == 'take' then
              local last = redis.call('GET', KEYS[2]) or '0'
              if holder == 'nobody' then return {'pass', last} end
              if holder then return {'wait', last} end
              redis.call('SET', key, number, 'PX', time)
              return {'done', last}
            elseif verb == 'leave' then
              if holder == number then redis.call('DEL', key) end
            elseif not holder or holder == number then
              redis.call('SET', key, 'nobody', 'PX', time)
            end
            return {'done'}
            """)
}
