import Synchronization

/// A store that several processes use together, such as a Redis server: see ``RateLimiter/init(_:sharedBy:key:_:)``,
/// ``Authenticator/share(by:key:_:)`` and ``HTTPCache/share(by:key:_:)``.
///
/// A program can bring one of its own. ``MemoryStore`` is one within the process, for tests.
///
/// All functions are called on a worker. They must not block until the reply is there: start the work, return, and
/// answer the call later, from any thread.
public protocol SharedStore: AnyObject, Sendable {
    /// Runs a script as one step: nobody else uses its keys meanwhile.
    ///
    /// - Parameters:
    ///   - keys: the keys that the script uses. Those of one call have the same hash tag.
    ///   - arguments: the script's arguments, without zero bytes.
    func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall)

    /// Reads a value. Answer by ``StoreCall/reply(value:)``; nil if there is none.
    ///
    /// This and the two other functions for values serve caches, whose scripts read and change the same values. A store
    /// that has none of them is for limits and tokens.
    func get(_ key: String, _ call: StoreCall)

    /// Keeps a value under a key, in place of any other, until it expires. Answer by ``StoreCall/reply(value:)`` with nil.
    ///
    /// - Parameter seconds: after which it expires. The store may remove it sooner.
    func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall)

    /// Removes a value, if there is one. Answer by ``StoreCall/reply(value:)`` with nil.
    func remove(_ key: String, _ call: StoreCall)

    /// Encrypts tokens and responses before they are stored; nil stores them as they are.
    ///
    /// Only with one do caches share responses to requests with credentials.
    var cipher: (any StoreCipher)? { get }
}

extension SharedStore {
    public var cipher: (any StoreCipher)? { nil }
    public func get(_ key: String, _ call: StoreCall) { call.failWithoutValues() }
    public func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall) { call.failWithoutValues() }
    public func remove(_ key: String, _ call: StoreCall) { call.failWithoutValues() }
}

/// Encrypts what a ``SharedStore`` keeps, with a key that its server does not have. All processes need the same key.
///
/// Called on workers, which it holds up: it should not wait for anything.
public protocol StoreCipher: Sendable {
    /// Encrypts a value.
    ///
    /// - Parameter context: where the value belongs. Authenticate it, too (as additional data): ``decrypt(_:context:)``
    ///   must refuse a value that was moved to another place.
    /// - Throws: why it cannot; then the value is not stored.
    func encrypt(_ value: [UInt8], context: String) throws -> [UInt8]

    /// Decrypts a value.
    ///
    /// - Throws: for what ``encrypt(_:context:)`` has not made with the same key and context.
    func decrypt(_ value: [UInt8], context: String) throws -> [UInt8]
}

/// A script of a store. The library has all of them; the store only runs them.
public struct StoreScript: Sendable, Hashable {
    /// Name and version, such as `ntapi.permits.1`. A store without Lua knows by it what to do.
    public let name: String
    /// The script in Lua, as Redis 7 and Valkey 8 run it (`EVALSHA`, and `EVAL` after NOSCRIPT). It replies with an array
    /// of texts and whole numbers.
    public let lua: String
}

/// Waits for a store's reply. Only the first answer counts. Safe to use from any thread.
///
/// A call that is dropped without an answer has failed.
public final class StoreCall: Sendable {
    private let isAnswered = Atomic<Bool>(false)
    private let answer: @Sendable (Result<StoreReply, StoreProblem>) -> Void
    private let generation = Fork.generation

    init(_ answer: @escaping @Sendable (Result<StoreReply, StoreProblem>) -> Void) { self.answer = answer }

    // A child does not answer its parent's calls.
    deinit { if generation == Fork.generation { fail("the store has dropped the call") } }

    /// The script has replied with these values, numbers as decimal text.
    public func reply(_ values: [String]) { end(.success(StoreReply(texts: values))) }

    /// The value that was read; nil if there is none.
    public func reply(value: [UInt8]?) { end(.success(StoreReply(value: value))) }

    /// It was not done, or it is not known whether it was.
    ///
    /// - Parameter problem: why, for the log and for errors.
    public func fail(_ problem: String) { end(.failure(StoreProblem(text: problem))) }

    /// The store has no functions for values.
    package func failWithoutValues() { fail("this store keeps no values, so it cannot have a cache") }

    /// The value that a function replies with before it returns.
    package static func value(_ function: (StoreCall) -> Void) throws(APIError) -> [UInt8] {
        let answer = Lock<Result<StoreReply, StoreProblem>?>(nil)
        function(StoreCall { result in answer.withLock { $0 = result } })
        switch answer.withLock({ $0 }) {
        case .success(let reply)?:
            guard let value = reply.value else { throw .storeFailed("the value is NULL") }
            return value
        case .failure(let problem)?: throw .storeFailed(problem.text)
        case nil: throw .storeFailed("it was not answered before the function returned")
        }
    }

    func end(_ result: Result<StoreReply, StoreProblem>) {
        guard generation == Fork.generation, !isAnswered.exchange(true, ordering: .relaxed) else { return }
        answer(result)
    }
}

/// What a store has replied: the texts of a script, or a value.
struct StoreReply: Sendable {
    var texts: [String] = []
    var value: [UInt8]?
}

/// Why a store did not do what it was asked for.
struct StoreProblem: Error {
    let text: String

    static func unknownReply(to script: StoreScript) -> StoreProblem {
        StoreProblem(text: "its reply is none of the script \(script.name)")
    }

    static func notEncrypted(_ reason: String) -> StoreProblem { StoreProblem(text: "its cipher fails: \(reason)") }

    static func notDecrypted(_ reason: String) -> StoreProblem {
        StoreProblem(
            text: "what it has cannot be decrypted, and all processes need the same keys: \(reason)")
    }

    static func unknownArguments(of script: StoreScript) -> StoreProblem {
        StoreProblem(text: "the keys or arguments are none of the script \(script.name)")
    }
}

/// How a program uses a ``SharedStore``.
public struct StoreOptions: Sendable, Hashable {
    /// What happens while a store fails.
    public enum Substitute: Sendable, Hashable {
        /// Each process keeps the limit alone, and together they may exceed it; or refreshes the token alone.
        case local
        /// Requests start without a limit. There is no such choice for tokens.
        case open
        /// Requests fail with the code ``ErrorCode/storeFailed``: those with a limit, or those that need a new token.
        case closed
    }

    /// Seconds after which a store that has not replied counts as failing.
    public var timeout: Double
    /// What happens until the store answers again; nil is `local` for limits, and `closed` for tokens.
    public var onFailure: Substitute?
    /// How many permits a process takes at a time if nobody waits for them: from 1 to the smallest burst. It uses the others
    /// within a second, so that these requests do not wait for the store.
    ///
    /// In any period, all processes together may start up to `batch - 1` requests each more than the limit allows.
    public var batch: Int
    /// Seconds after which a process that goes silent is replaced, while it refreshes a token or loads a response; from 0.1.
    public var lease: Double

    /// A store that has not replied in half a second fails.
    public init(timeout: Double = 0.5, onFailure: Substitute? = nil, batch: Int = 1, lease: Double = 10) {
        self.timeout = timeout
        self.onFailure = onFailure
        self.batch = batch
        self.lease = lease
    }

    /// Why the options are invalid.
    var problem: String? {
        guard timeout > 0 else { return "the store's timeout is \(timeout): it must be above 0 seconds" }
        guard (1...1000).contains(batch) else { return "the store's batch is \(batch): it must be from 1 to 1000" }
        guard (0.1...86_400).contains(lease) else {
            return "the store's lease is \(lease): it must be from 0.1 to 86400 seconds"
        }
        return nil
    }
}

extension StoreOptions.Substitute {
    /// What happens, for the log.
    var words: String {
        switch self {
        case .local: "this process keeps the limit alone"
        case .open: "requests start without a limit"
        case .closed: "requests fail"
        }
    }
}
