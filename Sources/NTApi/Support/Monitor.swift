import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value behind a mutex, with a condition that threads can wait for.
final class Monitor<State>: @unchecked Sendable {
    // Safe to share: `state` is touched only between lock and unlock of `mutex`; `condition` is awaited with it. So it need
    // not be checked a second time whether something else is inside of it.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    @exclusivity(unchecked) private var state: State

    init(_ state: State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        ntapi_system_condattr_use_monotonic_clock(&attributes)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    /// Calls `body` under the lock, again after each signal, until it returns something.
    ///
    /// - Returns: nil when the deadline has passed before it did.
    func wait<Result>(until deadline: MonotonicTime = .distantFuture, for body: (inout State) -> Result?) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            if ntapi_system_cond_wait_until(condition, mutex, deadline.nanoseconds) != 0 { return body(&state) }
        }
    }

    /// Wakes one thread that waits.
    func signal() { pthread_cond_signal(condition) }

    /// Wakes every thread that waits.
    func broadcast() { pthread_cond_broadcast(condition) }
}
