/// The record of a URL in a store: it is removed when the resource is changed, and what was requested before that is not
/// stored any more.
///
/// Removals have numbers that grow: the store's time in microseconds. A number is kept for as long as a response may be on
/// its way.
enum SharedRecord {
    enum Ask: Equatable, Sendable {
        /// The resource has changed.
        case remove
        /// The new record becomes the record.
        ///
        /// - Parameters:
        ///   - lastRemoval: the last removal when the response was requested.
        ///   - time: milliseconds after which the record expires.
        case store(lastRemoval: Int64, time: Int64)
    }

    enum Reply: String, Sendable {
        case done
        /// The resource has changed since the response was requested.
        case late
    }

    /// For how many milliseconds a removal is known. What was requested longer ago than that is stored.
    static let memory: Int64 = 60_000

    /// The number of a removal.
    static func removal(after last: Int64, _ now: Int64) -> Int64 { max(now, last + 1) }

    static func isLate(_ known: Int64, _ last: Int64) -> Bool { last > known }
}

extension SharedRecord.Ask {
    var arguments: [String] {
        switch self {
        case .remove: ["remove", "0", "\(SharedRecord.memory)"]
        case .store(let lastRemoval, let time): ["store", "\(lastRemoval)", "\(time)"]
        }
    }

    /// - Returns: nil when they are wrong.
    init?(_ arguments: [String]) {
        guard arguments.count == 3, let number = Int64(arguments[1]), let time = Int64(arguments[2]),
            (1...100_000_000_000).contains(time)
        else { return nil }
        switch arguments[0] {
        case "remove": self = .remove
        case "store": self = .store(lastRemoval: number, time: time)
        default: return nil
        }
    }
}

extension StoreScript {
    /// The record of a URL, its last removal, and the record that is to become the next one.
    static let record = StoreScript(
        name: "ntapi.record.1",
        lua: """
            local verb, number, time = ARGV[1], ARGV[2], ARGV[3]
            local last = tonumber(redis.call('GET', KEYS[2]) or '0')
            if verb == 'remove' then
              local now = redis.call('TIME')
              local removal = math.max(now[1] * 1000000 + now[2], last + 1)
              -- First, because a server without memory refuses a script that begins with SET.
              redis.call('DEL', KEYS[1])
              redis.call('SET', KEYS[2], string.format('%.0f', removal), 'PX', time)
              return {'done'}
            end
            local record = redis.call('GET', KEYS[3])
            redis.call('DEL', KEYS[3])
            if last > tonumber(number) or not record then return {'late'} end
            redis.call('SET', KEYS[1], record, 'PX', time)
            return {'done'}
            """)
}
