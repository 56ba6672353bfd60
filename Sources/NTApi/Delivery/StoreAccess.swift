import Synchronization

/// A store, and what is kept in it under one key.
struct StoreAccess: Sendable {
    /// When an answer has come.
    enum Moment: Sendable {
        case inTime
        /// The time is over. The reply may still come, and then there is another answer.
        case timeout
        case late
    }

    private let store: any SharedStore
    private let cipher: (any StoreCipher)?
    let key: String
    let options: StoreOptions
    private let keys: [String]

    /// - Parameters:
    ///   - parts: the ends of the keys in the store.
    ///   - isSecret: whether it has values that a cipher encrypts.
    init(
        _ store: any SharedStore, key: String, parts: [String] = [], isSecret: Bool = false, _ options: StoreOptions
    ) {
        self.store = store
        cipher = store.cipher
        self.key = key
        self.options = options
        let suffix = isSecret && cipher != nil ? Self.encrypted : ""
        // One hash tag, so that a cluster keeps them on one node.
        keys = parts.map { "ntapi:1:{\(key)}:\($0)\(suffix)" }
    }

    /// Why it cannot be there.
    var problem: String? {
        if let problem = options.problem { return problem }
        let isValid =
            (1...200).contains(key.utf8.count)
            && !key.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }
        return isValid ? nil : "the key \(quoted(key)) must have 1 to 200 bytes, no braces and no control characters"
    }

    func run(
        _ script: StoreScript, _ arguments: [String],
        _ answered: @escaping @Sendable (Result<[String], StoreProblem>) -> Void
    ) {
        ask(StoreCall { answered($0.map(\.texts)) }) { [keys] store, call in
            store.run(script, keys: keys, arguments: arguments, call)
        }
    }

    /// Asks for a reply within the store's timeout.
    ///
    /// - Parameter heard: called once, or a second time when the reply comes after the timeout.
    func ask(
        _ clock: any WaitingClock, _ question: @escaping @Sendable (any SharedStore, [String], StoreCall) -> Void,
        _ heard: @escaping @Sendable (Result<StoreReply, StoreProblem>, Moment) -> Void
    ) {
        let isOver = Flag()
        let timeout = options.timeout
        let timer = clock.schedule(.limit, at: clock.now.advanced(bySeconds: timeout)) {
            guard isOver.set() else { return }
            heard(.failure(StoreProblem(text: "it has not replied in \(decimal(timeout)) s")), .timeout)
        }
        let call = StoreCall { result in
            timer.cancel()
            heard(result, isOver.set() ? .inTime : .late)
        }
        ask(call) { [keys] in question($0, keys, $1) }
    }

    /// On a worker, because the store may be the program's.
    private func ask(_ call: StoreCall, _ question: @escaping @Sendable (any SharedStore, StoreCall) -> Void) {
        DeliveryRuntime.current.workers.run { [store] () throws(Forked) in
            try Delivery.call { question(store, call) }
        }
    }

    // MARK: Encryption

    /// Whether the values are encrypted: a reader of the store learns nothing of them.
    var keepsSecrets: Bool { cipher != nil }

    /// The end of keys whose values are encrypted: a process without the cipher has other keys.
    var suffix: String { keepsSecrets ? Self.encrypted : "" }

    private static let encrypted = ":encrypted"

    /// Without a cipher, the value itself. Call it in a question: the cipher may be the program's.
    func encrypted(_ value: [UInt8], context: String) throws(StoreProblem) -> [UInt8] {
        guard let cipher else { return value }
        do {
            let encrypted = try cipher.encrypt(value, context: context)
            if !encrypted.isEmpty { return encrypted }
        } catch {
            throw .notEncrypted(reason(error))
        }
        throw .notEncrypted("it has made nothing")
    }

    /// The same for a text.
    func encrypted(_ text: String, context: String) throws(StoreProblem) -> String {
        guard cipher != nil else { return text }
        return Base64.encode(try encrypted(Array(text.utf8), context: context))
    }

    /// What was encrypted.
    func decrypted(_ value: [UInt8], context: String) throws(StoreProblem) -> [UInt8] {
        guard let cipher else { return value }
        do { return try cipher.decrypt(value, context: context) } catch { throw .notDecrypted(reason(error)) }
    }

    func decrypted(_ text: String, context: String) throws(StoreProblem) -> String {
        guard cipher != nil else { return text }
        guard let value = Base64.decode(text) else { throw .notDecrypted("it is not encrypted") }
        return String(decoding: try decrypted(value, context: context), as: UTF8.self)
    }

    private func reason(_ error: any Error) -> String { (error as? APIError)?.message ?? "\(error)" }

    /// A call whose reply is decrypted, on a worker, before it answers the given one.
    func decrypting(
        _ call: StoreCall, _ change: @escaping @Sendable (StoreReply) throws(StoreProblem) -> StoreReply
    ) -> StoreCall {
        guard cipher != nil else { return call }
        return StoreCall { result in
            guard case .success(let reply) = result else { return call.end(result) }
            DeliveryRuntime.current.workers.run { () throws(Forked) in
                call.end(
                    try Delivery.call { Result { () throws(StoreProblem) in try change(reply) } })
            }
        }
    }

    private final class Flag: Sendable {
        private let isSet = Atomic<Bool>(false)

        /// - Returns: whether it was not set before.
        func set() -> Bool { !isSet.exchange(true, ordering: .relaxed) }
    }
}
