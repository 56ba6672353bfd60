import Synchronization

/// A store that several processes use together, such as a Redis server: see ``RateLimiter/init(_:sharedBy:key:_:)`` and
/// ``Authenticator/share(by:key:_:)``.
///
/// A program can bring one of its own. ``MemoryStore`` is one within the process, for tests.
public protocol SharedStore: AnyObject, Sendable {
    /// Runs a script as one step: nobody else uses its keys meanwhile.
    ///
    /// Called on a worker. Must not block until the reply is there: start the work, return, and answer the call later,
    /// from any thread.
    ///
    /// - Parameters:
    ///   - keys: the keys that the script uses. Those of one call have the same hash tag.
    ///   - arguments: the script's arguments, without zero bytes.
    func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall)
}

/// A script of a store. The library has all of them; the store only runs them.
public struct StoreScript: Sendable, Hashable {
    /// Name and version, such as `ntapi.permits.1`. A store without Lua knows by it what to do.
    public let name: String
    /// The script in Lua, as Redis 7 and Valkey 8 run it (`EVALSHA`, and `EVAL` after NOSCRIPT). It replies with an array
    /// of texts and whole numbers.
    public let lua: String
}

/// Waits for a store's reply to one script. Only the first answer counts. Safe to use from any thread.
///
/// A call that is dropped without an answer has failed.
public final class StoreCall: Sendable {
    private let isAnswered = Atomic<Bool>(false)
    private let answer: @Sendable (Result<[String], StoreProblem>) -> Void
    private let generation = Fork.generation

    init(_ answer: @escaping @Sendable (Result<[String], StoreProblem>) -> Void) { self.answer = answer }

    // A child does not answer its parent's calls.
    deinit { if generation == Fork.generation { fail("the store has dropped the call") } }

    /// The script has replied with these values, numbers as decimal text.
    public func reply(_ values: [String]) { end(.success(values)) }

    /// The script was not run, or it is not known whether it was.
    ///
    /// - Parameter problem: why, for the log and for errors.
    public func fail(_ problem: String) { end(.failure(StoreProblem(text: problem))) }

    private func end(_ result: Result<[String], StoreProblem>) {
        guard generation == Fork.generation, !isAnswered.exchange(true, ordering: .relaxed) else { return }
        answer(result)
    }
}

/// Why a store did not do what it was asked for.
struct StoreProblem: Error {
    let text: String

    static func unknownReply(to script: StoreScript) -> StoreProblem {
        StoreProblem(text: "its reply is none of the script \(script.name)")
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
    /// Seconds after which a process that goes silent during its refresh of a token is replaced; from 0.1.
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
