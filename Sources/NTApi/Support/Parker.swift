import CNTApiSystem

/// Lets threads wait for others without a lock: a wake-up is one system call on either side.
///
/// A thread that waits on a condition variable is given the lock back before it goes on, and that takes two more.
final class Parker: @unchecked Sendable {
    #if os(Linux)
        // Safe to share: only read and changed by atomic operations, and by the system.
        private let counter: UnsafeMutablePointer<UInt32> = {
            let counter = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
            counter.initialize(to: 0)
            return counter
        }()

        deinit { counter.deallocate() }

        /// What to `park` with: taken before the last look at what is waited for.
        var ticket: UInt32 { ntapi_system_atomic_load(counter) }

        /// Waits until `unpark` is called, or was since the ticket was taken, or the deadline has passed; maybe less long.
        func park(_ ticket: UInt32, until deadline: MonotonicTime) {
            ntapi_system_futex_wait(counter, ticket, deadline.nanoseconds)
        }

        /// Wakes every thread that is parked.
        func unpark() { ntapi_system_futex_wake(counter) }
    #else
        private let counter = Monitor<UInt32>(0)

        var ticket: UInt32 { counter.withLock { $0 } }

        func park(_ ticket: UInt32, until deadline: MonotonicTime) {
            _ = counter.wait(until: deadline) { $0 == ticket ? nil : () }
        }

        func unpark() {
            counter.withLock { $0 &+= 1 }
            counter.broadcast()
        }
    #endif
}
