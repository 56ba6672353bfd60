import Synchronization

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

/// The last jobs to run when the process exits.
enum ExitJobs {
    private static let jobs = Lock<[@Sendable () -> Void]>([], survivesFork: true)

    static func add(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

    static func run() { for job in jobs.withLock({ $0 }) { job() } }
}
