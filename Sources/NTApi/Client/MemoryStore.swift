/// A store within the process, for tests and for clients that share limits, tokens and responses as processes would. Knows
/// the scripts of this version of the library.
public final class MemoryStore: SharedStore {
    private let clock: ManualClock?
    private let state = InheritedLock(State(), sharing: .clients) { $0 = State() }

    private struct State {
        var permits: [(key: String, value: SharedPermits)] = []
        var tokens: [(key: String, value: SharedToken)] = []
        var turns: [(key: String, value: SharedTurn)] = []
        var values: [String: (bytes: [UInt8], end: Int64)] = [:]

        /// At times, because it looks at each value.
        mutating func forgetExpired(_ now: Int64) {
            if values.count.nonzeroBitCount == 1 { values = values.filter { now < $0.value.end } }
        }

        /// The number of the last removal of a record; 0 if there was none.
        func removal(_ key: String, _ now: Int64) -> Int64 {
            guard let value = values[key], now < value.end else { return 0 }
            return Int64(String(decoding: value.bytes, as: UTF8.self)) ?? 0
        }
    }

    /// - Parameter clock: what its times follow; nil is the system's clock.
    public init(clock: ManualClock? = nil) { self.clock = clock }

    public func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
        let now = now
        let values: [String]?
        switch script.name {
        case StoreScript.permits.name: values = take(keys, arguments, now)
        case StoreScript.token.name: values = answer(keys, arguments, now)
        case StoreScript.turn.name: values = turn(keys, arguments, now)
        case StoreScript.record.name: values = record(keys, arguments, now)
        default: return call.fail("a MemoryStore of this version does not know the script \(script.name)")
        }
        guard let values else { return call.fail(StoreProblem.unknownArguments(of: script).text) }
        call.reply(values)
    }

    private func take(_ keys: [String], _ arguments: [String], _ now: Int64) -> [String]? {
        guard let key = keys.first, let ask = SharedPermits.Ask(arguments) else { return nil }
        let reply = state.withLock { Self.value(of: key, in: &$0.permits, SharedPermits()) { $0.take(ask, now) } }
        return ["\(reply.granted)", "\(reply.wait)"]
    }

    private func answer(_ keys: [String], _ arguments: [String], _ now: Int64) -> [String]? {
        guard let key = keys.first, let (ask, refresh) = SharedToken.Ask.read(arguments) else { return nil }
        return state.withLock { state in
            Self.value(of: key, in: &state.tokens, SharedToken()) { $0.answer(ask, of: refresh, now).values }
        }
    }

    private func turn(_ keys: [String], _ arguments: [String], _ now: Int64) -> [String]? {
        guard keys.count == 2, let (ask, number) = SharedTurn.Ask.read(arguments) else { return nil }
        let milliseconds = now / 1000
        return state.withLock { state in
            if state.turns.count.nonzeroBitCount == 1 { state.turns.removeAll { $0.value.end <= milliseconds } }
            let reply = Self.value(of: keys[0], in: &state.turns, SharedTurn()) {
                $0.answer(ask, of: number, milliseconds)
            }
            return [reply.rawValue, "\(state.removal(keys[1], now))"]
        }
    }

    private func record(_ keys: [String], _ arguments: [String], _ now: Int64) -> [String]? {
        guard keys.count >= 2, let ask = SharedRecord.Ask(arguments) else { return nil }
        let calendar = Int64(max(0, min(clock?.calendarSeconds ?? wallClockSeconds(), 9e12)) * 1e6)
        return state.withLock { state in
            state.forgetExpired(now)
            let last = state.removal(keys[1], now)
            switch ask {
            case .remove:
                let number = Array("\(SharedRecord.removal(after: last, calendar))".utf8)
                state.values[keys[1]] = (number, now + SharedRecord.memory * 1000)
                state.values[keys[0]] = nil
            case .store(let lastRemoval, let time):
                guard keys.count == 3 else { return nil }
                let record = state.values.removeValue(forKey: keys[2])
                guard let record, now < record.end, !SharedRecord.isLate(lastRemoval, last) else {
                    return [SharedRecord.Reply.late.rawValue]
                }
                state.values[keys[0]] = (record.bytes, now + time * 1000)
            }
            return [SharedRecord.Reply.done.rawValue]
        }
    }

    /// In microseconds.
    private var now: Int64 { Int64((clock?.now ?? .now()).nanoseconds / 1000) }

    public func get(_ key: String, _ call: StoreCall) {
        let now = now
        call.reply(value: state.withLock { $0.values[key].flatMap { now < $0.end ? $0.bytes : nil } })
    }

    public func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall) {
        let (now, end) = (now, now + (seconds > 0 ? Int64(min(seconds, 1e9) * 1e6) : 0))
        state.withLock { state in
            state.forgetExpired(now)
            state.values[key] = (value, end)
        }
        call.reply(value: nil)
    }

    public func remove(_ key: String, _ call: StoreCall) {
        state.withLock { $0.values[key] = nil }
        call.reply(value: nil)
    }

    private static func value<Value, Result>(
        of key: String, in known: inout [(key: String, value: Value)], _ initial: Value,
        _ body: (inout Value) -> Result
    ) -> Result {
        let index = known.firstIndex { $0.key == key } ?? known.endIndex
        if index == known.endIndex { known.append((key, initial)) }
        return body(&known[index].value)
    }
}
