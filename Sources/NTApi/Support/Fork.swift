import CNTApiSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Counts the forks between the first process that used the library and this one.
///
/// A child inherits the parent's memory but none of its threads. Objects that belong to threads (engine, workers,
/// mailboxes, requests) remember the generation in which they were made. A later generation never touches them, because
/// a thread that does not exist in the child may hold their locks.
enum Fork {
    private static let childCount = Atomic<Int>(0)

    static var generation: Int { childCount.load(ordering: .acquiring) }

    /// Keeps a value for ever. For a child, where what it holds is the parent's.
    static func leak<Value>(_ value: consuming Value) {
        UnsafeMutablePointer<Value>.allocate(capacity: 1).initialize(to: value)
    }

    /// Called in the child by the handler that `pthread_atfork` was given.
    static func countChild() { childCount.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

/// The threads that run the library's own code at this moment. A fork waits for them.
///
/// In a child, nobody finishes what another thread of the parent had begun. A lock of OpenSSL, or of libcurl, would stay
/// taken for ever. So a fork begins while the library's threads, and callers of its requests, are in a system call that
/// waits or in the program's code.
///
/// In libntapi.so, a fork also waits until no thread holds a lock of Swift's runtime (cmake/fork_gate.c). A Swift program
/// has the toolchain's runtime, without that gate. There a fork waits longer for these threads, because they may hold such
/// a lock. It cannot wait for the program's own threads.
enum LibraryCode {
    private static let threads = Atomic<Int>(0)
    private static let forks = Atomic<Int>(0)
    private static let changes = Parker()
    /// How many seconds a fork waits at most: a thread may be reading a slow disk, or parsing a large body. Without the
    /// gate of the runtime it may hold a lock without which the child hangs.
    private static var patience: Double { ntapi_system_has_fork_gate() ? 0.02 : 1 }

    // A thread's own mark.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// Makes the constants, before there are two threads: in a child, Swift's runtime may wait for ever when two threads
    /// need the same one for the first time.
    static func prepare() {
        _ = key
        _ = changes
        // Without optimization these are made on demand, too.
        _ = threads.load(ordering: .relaxed)
        _ = forks.load(ordering: .relaxed)
        _ = Fork.generation
    }

    private static var isEntered: Bool { pthread_getspecific(key) != nil }

    /// Marks the calling thread. Waits while another thread forks, so the caller holds no lock.
    ///
    /// - Returns: false when it is marked already.
    @inline(never) static func enter() -> Bool {
        ForkSafeLocks.prepare()
        guard !isEntered else { return false }
        while true {
            threads.add(1, ordering: .sequentiallyConsistent)
            guard forks.load(ordering: .sequentiallyConsistent) > 0 else { break }
            countDown()
            let ticket = changes.ticket
            if forks.load(ordering: .sequentiallyConsistent) > 0 { changes.park(ticket, until: .distantFuture) }
        }
        pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
        return true
    }

    /// Removes the mark.
    ///
    /// - Returns: false when the thread is not marked.
    @inline(never) @discardableResult static func leave() -> Bool {
        guard isEntered else { return false }
        pthread_setspecific(key, nil)
        countDown()
        return true
    }

    /// Runs code of the library, with the mark.
    @inline(__always)
    static func inside<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let marks = enter()
        defer { if marks { leave() } }
        return try body()
    }

    /// Runs code of the program, or a wait, without the mark.
    @inline(__always)
    static func outside<Result>(_ body: () -> Result) -> Result {
        let wasInside = leave()
        let result = body()
        if wasInside { _ = enter() }
        return result
    }

    private static func countDown() {
        threads.subtract(1, ordering: .sequentiallyConsistent)
        if forks.load(ordering: .sequentiallyConsistent) > 0 { changes.unpark() }
    }

    /// Called before a fork.
    static func beginFork() {
        forks.add(1, ordering: .sequentiallyConsistent)
        let own = isEntered ? 1 : 0
        let deadline = MonotonicTime.now().advanced(bySeconds: patience)
        while true {
            let ticket = changes.ticket
            guard threads.load(ordering: .sequentiallyConsistent) > own, .now() < deadline else { return }
            changes.park(ticket, until: deadline)
        }
    }

    static func endForkInParent() {
        forks.subtract(1, ordering: .sequentiallyConsistent)
        changes.unpark()
    }

    /// The child has this thread only.
    static func endForkInChild() {
        threads.store(isEntered ? 1 : 0, ordering: .sequentiallyConsistent)
        forks.store(0, ordering: .sequentiallyConsistent)
    }
}

/// This process is a child, and what the caller works with belongs to its parent.
///
/// A function that may run code of the program throws it, because that code may fork. Access to the state of a process
/// throws it too: see `ProcessLock`. So a `try` marks each place after which the process may be a child.
///
/// A function that gets the error throws it on at once and touches nothing. A thread that does not exist in the child may
/// hold a lock, and the sockets' data is the parent's. The error is caught where the program has called the library.
struct Forked: Error {}

/// A lock whose state belongs to the process that made it. A child does not get at it.
struct ProcessLock<State>: Sendable {
    private let lock: Lock<State>
    private let generation = Fork.generation

    init(_ lock: Lock<State>) { self.lock = lock }

    /// False in a child.
    var isOfThisProcess: Bool { generation == Fork.generation }

    @inline(__always)
    func withLock<Result>(_ body: (inout State) -> Result) throws(Forked) -> Result {
        guard isOfThisProcess else { throw Forked() }
        return lock.withLock(body)
    }

    /// The same from outside, where the program calls the library.
    @inline(__always)
    func withLock<Result>(inChild elsewhere: @autoclosure () -> Result, _ body: (inout State) -> Result) -> Result {
        isOfThisProcess ? lock.withLock(body) : elsewhere()
    }

    /// See `Lock.showHandOver`.
    @inline(__always)
    func showHandOver() { if isOfThisProcess { lock.showHandOver() } }

    /// Leaks the state on purpose, in a child.
    func leak() { lock.leak() }
}

/// A lock whose state a child continues to use, after it has given up what belongs to its parent.
struct InheritedLock<State>: Sendable {
    private struct Content {
        var state: State
        var generation = Fork.generation
    }

    private let lock: Lock<Content>
    private let giveUp: @Sendable (inout State) -> Void

    /// - Parameter giveUp: takes what belongs to the parent out of the state, and leaks it. Called once in a child.
    init(_ state: State, sharing mutex: SharedMutex, giveUp: @escaping @Sendable (inout State) -> Void) {
        lock = Lock(Content(state: state), sharing: mutex)
        self.giveUp = giveUp
    }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        lock.withLock { content in
            if content.generation != Fork.generation {
                content.generation = Fork.generation
                giveUp(&content.state)
            }
            return body(&content.state)
        }
    }
}

/// The last jobs to run when the process exits.
enum ExitJobs {
    private static let jobs = Lock<[@Sendable () -> Void]>([], survivesFork: true)

    static func add(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

    static func run() { for job in jobs.withLock({ $0 }) { job() } }
}
