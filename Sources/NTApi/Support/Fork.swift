import Synchronization

/// How often this process has been forked from one that used the library.
///
/// A child inherits the parent's memory but none of its threads. What belongs to threads (engine, workers, mailboxes,
/// requests) remembers the generation that it was made in; in a later generation it is never touched again, because its
/// locks may be held by threads that do not exist here.
enum Fork {
    private static let childCount = Atomic<Int>(0)

    static var generation: Int { childCount.load(ordering: .acquiring) }

    /// Called in the child by the handler that `pthread_atfork` was given.
    static func countChild() { childCount.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

/// What is done as the last thing when the process exits.
enum ExitJobs {
    private static let jobs = Lock<[@Sendable () -> Void]>([], survivesFork: true)

    static func add(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

    static func run() { for job in jobs.withLock({ $0 }) { job() } }
}
