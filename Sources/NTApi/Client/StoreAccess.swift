/// A store, and what is kept in it under one key.
struct StoreAccess: Sendable {
    private let store: any SharedStore
    let key: String
    let options: StoreOptions
    private let keys: [String]

    /// - Parameter parts: the ends of the keys in the store.
    init(_ store: any SharedStore, key: String, parts: [String], _ options: StoreOptions) {
        self.store = store
        self.key = key
        self.options = options
        // One hash tag, so that a cluster keeps them on one node.
        keys = parts.map { "ntapi:1:{\(key)}:\($0)" }
    }

    /// Why it cannot be there.
    var problem: String? {
        if let problem = options.problem { return problem }
        let isValid =
            (1...200).contains(key.utf8.count)
            && !key.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }
        return isValid ? nil : "the key \(quoted(key)) must have 1 to 200 bytes, no braces and no control characters"
    }

    /// Asks on a worker, because the store may be the program's.
    func run(
        _ script: StoreScript, _ arguments: [String],
        _ answered: @escaping @Sendable (Result<[String], StoreProblem>) -> Void
    ) {
        let call = StoreCall(answered)
        Runtime.current.workers.run { [store, keys] () throws(Forked) in
            try Delivery.call { store.run(script, keys: keys, arguments: arguments, call) }
        }
    }
}
