/// A store within the process, for tests and for clients that share a limit as processes would. Knows the scripts of this
/// version of the library.
public final class MemoryStore: SharedStore {
    private let clock: ManualClock?
    private let permits = InheritedLock([(key: String, permits: SharedPermits)](), sharing: .clients) { $0 = [] }

    /// - Parameter clock: what its times follow; nil is the system's clock.
    public init(clock: ManualClock? = nil) { self.clock = clock }

    public func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
        guard script.name == StoreScript.permits.name else {
            return call.fail("a MemoryStore of this version does not know the script \(script.name)")
        }
        guard let key = keys.first, let ask = SharedPermits.Ask(arguments) else {
            return call.fail("the keys or arguments are none of the script \(script.name)")
        }
        let now = Int64((clock?.now ?? .now()).nanoseconds / 1000)
        let reply = permits.withLock { known in
            let index = known.firstIndex { $0.key == key } ?? known.endIndex
            if index == known.endIndex { known.append((key, SharedPermits())) }
            return known[index].permits.take(ask, now)
        }
        call.reply(["\(reply.granted)", "\(reply.wait)"])
    }
}
