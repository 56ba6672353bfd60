#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value behind a mutex, together in one piece of memory.
///
/// A pthread mutex, not `Synchronization.Mutex`: on Linux the latter is owned by thread id and cannot be released in a
/// forked child, and it costs three times as much. No lock of this library is ever held while user code runs.
///
/// A state that is itself a function belongs into a struct: a bare one would be wrapped anew at each access.
package struct Lock<State>: @unchecked Sendable {
    // Safe to share: the state is touched only between lock and unlock of `mutex`; neither ever moves.
    private final class Storage: ManagedBuffer<State, pthread_mutex_t> {
        deinit {
            _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) }
        }
    }

    private let storage: ManagedBuffer<State, pthread_mutex_t>
    /// In `storage`, or shared with other locks.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// - Parameters:
    ///   - state: made in its place, once.
    ///   - survivesFork: the lock guards settings that a forked child goes on using. It is then held by the
    ///     forking thread during `fork`, so that the child finds it free and its state whole. Such a lock is a leaf: no
    ///     other lock is taken under it, and it lives as long as the process.
    package init(_ state: @autoclosure () -> State, survivesFork: Bool = false) {
        storage = Storage.create(minimumCapacity: 1) { _ in state() }
        mutex = storage.withUnsafeMutablePointerToElements { $0 }
        pthread_mutex_init(mutex, nil)
        if survivesFork { ForkSafeLocks.register(mutex) }
    }

    /// One mutex for many objects that a forked child goes on using, as they come and go.
    package init(_ state: @autoclosure () -> State, sharing shared: SharedMutex) {
        storage = ManagedBuffer<State, pthread_mutex_t>.create(minimumCapacity: 0) { _ in state() }
        mutex = shared.mutex
    }

    /// Keeps the state for ever: in a forked child, where it may be held, and what is in it is the parent's.
    func leak() { _ = Unmanaged.passRetained(storage) }

    @inline(__always)
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        let state = storage.withUnsafeMutablePointerToHeader { $0 }
        return try withExtendedLifetime(storage) { () throws(Failure) in try body(&state.pointee) }
    }
}

extension Lock {
    /// Shows ThreadSanitizer that what was done under this lock comes before what the calling task does now. The runtime orders
    /// the two when it resumes a task, but the sanitizer does not see how. Nothing in any other build.
    @inline(__always)
    func showHandOver() {
        #if THREAD_SANITIZER
            withLock { _ in }
        #endif
    }
}

/// A mutex for the life of the process that `fork` finds free. A leaf: no other lock is taken under it, but for one that was
/// made after it.
package struct SharedMutex: @unchecked Sendable {
    // Safe to share: a mutex.
    fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>

    private init() {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        ForkSafeLocks.register(mutex)
    }

    /// For objects of other modules that guard fields of their own: a generic function of this one, called for any type from
    /// there, would cost more than the lock.
    package func lock() { pthread_mutex_lock(mutex) }

    package func unlock() { pthread_mutex_unlock(mutex) }

    static let clients = SharedMutex()
    // These are taken one under the other, so they are made in the same order.
    private static let ofCookies = (SharedMutex(), SharedMutex(), SharedMutex(), SharedMutex())
    /// Held while cookies are read from disk or written: never by a network thread.
    static var cookieFiles: SharedMutex { ofCookies.0 }
    /// The others are libcurl's.
    static var curlShares: SharedMutex { ofCookies.1 }
    static var cookies: SharedMutex { ofCookies.2 }
    static var publicSuffixes: SharedMutex { ofCookies.3 }
    /// Held while stored credentials are read from disk or written: never by a network thread.
    static let credentialFiles = SharedMutex()
    static let streams = SharedMutex()
    /// Taken for a moment, by the network thread, too.
    static let caches = SharedMutex()
    package static let args = SharedMutex()
    package static let texts = SharedMutex()
    static let documents = SharedMutex()

    /// For state that is too small to have a `Lock` of its own.
    @inline(__always)
    func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}

/// The locks that `fork` must find free. They are created for the life of the process.
private enum ForkSafeLocks {
    // Safe to share: a mutex, made once and never freed.
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
