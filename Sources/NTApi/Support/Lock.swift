#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value behind a mutex.
///
/// A pthread mutex, not `Synchronization.Mutex`: on Linux the latter is owned by thread id and cannot be released in a
/// forked child, and it costs three times as much. No lock of this library is ever held while user code runs.
package final class Lock<State>: @unchecked Sendable {
    // Safe to share: `state` is touched only between lock and unlock of `mutex`, whose address never changes.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    /// - Parameter survivesFork: the lock guards settings that a forked child goes on using. It is then held by the
    ///   forking thread during `fork`, so that the child finds it free and its state whole. Such a lock is a leaf: no
    ///   other lock is taken under it.
    package init(_ state: State, survivesFork: Bool = false) {
        self.state = state
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        if survivesFork { ForkSafeLocks.register(mutex) }
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always)
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}

/// The locks that `fork` must find free. They are created for the life of the process.
private enum ForkSafeLocks {
    nonisolated(unsafe) private static let registry: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_atfork(
            { ForkSafeLocks.lockAll() }, { ForkSafeLocks.unlockAll() },
            {
                ForkSafeLocks.unlockAll()
                Fork.countChild()
            })
        return mutex
    }()

    // Guarded by `registry`.
    nonisolated(unsafe) private static var locks: [UnsafeMutablePointer<pthread_mutex_t>] = []

    static func register(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
        pthread_mutex_lock(registry)
        locks.append(mutex)
        pthread_mutex_unlock(registry)
    }

    private static func lockAll() {
        pthread_mutex_lock(registry)
        for mutex in locks { pthread_mutex_lock(mutex) }
    }

    private static func unlockAll() {
        for mutex in locks.reversed() { pthread_mutex_unlock(mutex) }
        pthread_mutex_unlock(registry)
    }
}
