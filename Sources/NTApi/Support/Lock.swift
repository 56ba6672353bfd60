import CNTApiSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value behind a mutex, in one allocation.
///
/// It uses a pthread mutex. On Linux, `Synchronization.Mutex` is owned by a thread id, so a forked child cannot release
/// it, and it costs three times as much. The library never holds a lock while user code runs.
///
/// Put a function into a struct before you make it a state: a bare function would be wrapped again at each access.
package struct Lock<State>: @unchecked Sendable {
    // Safe to share: the state is only touched while `mutex` is locked, and neither ever moves.
    private final class Storage: ManagedBuffer<State, pthread_mutex_t> {
        deinit {
            _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) }
        }
    }

    private let storage: ManagedBuffer<State, pthread_mutex_t>
    /// In `storage`, or shared with other locks.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    #if CHECK_LOCKS
        private var role = LockCheck.Role.usual
    #endif

    /// Makes the lock of a request. Under it, only leaf locks may be taken. A build with `CHECK_LOCKS` checks that.
    init(ofRequest state: @autoclosure () -> State) {
        self.init(state())
        #if CHECK_LOCKS
            role = .request
        #endif
    }

    /// Makes a leaf lock: no other lock is taken under it. It is held for a moment, where memory is allocated or a name
    /// is looked up.
    init(leaf state: @autoclosure () -> State, survivesFork: Bool = false) {
        self.init(state(), survivesFork: survivesFork)
        #if CHECK_LOCKS
            role = .leaf
        #endif
    }

    /// - Parameters:
    ///   - state: the initial value, made in place, once.
    ///   - survivesFork: true for settings that a forked child continues to use. The forking thread holds the lock
    ///     during `fork`, so that the child finds it free and the state consistent. Such a lock is a leaf: no other
    ///     lock is taken under it. It lives as long as the process.
    package init(_ state: @autoclosure () -> State, survivesFork: Bool = false) {
        storage = Storage.create(minimumCapacity: 1) { _ in state() }
        mutex = storage.withUnsafeMutablePointerToElements { $0 }
        pthread_mutex_init(mutex, nil)
        if survivesFork { ForkSafeLocks.register(mutex) }
    }

    /// Shares one mutex with other objects that a forked child continues to use.
    package init(_ state: @autoclosure () -> State, sharing shared: SharedMutex) {
        storage = ManagedBuffer<State, pthread_mutex_t>.create(minimumCapacity: 0) { _ in state() }
        mutex = shared.mutex
    }

    /// Leaks the state on purpose. For a forked child, where the lock may be held and the content is the parent's.
    func leak() { _ = Unmanaged.passRetained(storage) }

    @inline(__always)
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if CHECK_LOCKS
            LockCheck.begin(role)
            defer { LockCheck.end(role) }
        #endif
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        let state = storage.withUnsafeMutablePointerToHeader { $0 }
        return try withExtendedLifetime(storage) { () throws(Failure) in try body(&state.pointee) }
    }
}

extension Lock {
    /// Tells ThreadSanitizer that what was done under this lock happened before what the calling task does now. The
    /// runtime orders the two when it resumes a task, but the sanitizer does not see how. Does nothing in other builds.
    @inline(__always)
    func showHandOver() {
        #if THREAD_SANITIZER
            withLock { _ in }
        #endif
    }
}

#if CHECK_LOCKS
    /// Checks, with `swift test -Xswiftc -DCHECK_LOCKS`, that a thread that holds a request's lock takes no other lock.
    /// This also covers user code, files and jobs for other threads, because they use locks.
    enum LockCheck {
        private static let key: pthread_key_t = {
            var key = pthread_key_t()
            pthread_key_create(&key, nil)
            return key
        }()

        enum Role {
            case usual
            case request
            case leaf
        }

        static func begin(_ role: Role) {
            guard role != .leaf else { return }
            assert(pthread_getspecific(key) == nil, "a lock is taken under the lock of a request")
            if role == .request { pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1)) }
        }

        static func end(_ role: Role) { if role == .request { pthread_setspecific(key, nil) } }
    }
#endif

/// A mutex for the life of the process that is free after a `fork`. While it is held, only a shared mutex that was made
/// later may be taken.
package struct SharedMutex: @unchecked Sendable {
    // Safe to share: a mutex.
    fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>

    private init() {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        ForkSafeLocks.register(mutex)
    }

    /// For objects of other modules that guard their own fields. Calling a generic function of this module from there
    /// would cost more than the lock.
    package func lock() { pthread_mutex_lock(mutex) }

    package func unlock() { pthread_mutex_unlock(mutex) }

    static let clients = SharedMutex()
    // They may be taken one inside another, in the order in which they are made.
    private static let ofCookies = (SharedMutex(), SharedMutex(), SharedMutex(), SharedMutex())
    /// Held while cookies are read from disk or written: never by a network thread.
    static var cookieFiles: SharedMutex { ofCookies.0 }
    /// For libcurl's own share locks.
    static var curlShares: SharedMutex { ofCookies.1 }
    static var cookies: SharedMutex { ofCookies.2 }
    static var publicSuffixes: SharedMutex { ofCookies.3 }
    /// Held while stored credentials are read from disk or written: never by a network thread.
    static let credentialFiles = SharedMutex()
    static let streams = SharedMutex()
    /// Held for a moment only, also by the network thread.
    static let caches = SharedMutex()
    package static let args = SharedMutex()
    package static let texts = SharedMutex()
    static let documents = SharedMutex()

    /// For state that is too small for its own `Lock`.
    @inline(__always)
    func withLock<Result>(_ body: () -> Result) -> Result {
        #if CHECK_LOCKS
            LockCheck.begin(.usual)
        #endif
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}

/// The locks that must be free after a `fork`. They live as long as the process.
package enum ForkSafeLocks {
    // Safe to share: a mutex, made once and never freed.
    nonisolated(unsafe) private static let registry: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        LibraryCode.prepare()
        pthread_atfork(
            { ForkSafeLocks.lockAll() },
            {
                ForkSafeLocks.unlockAll(inChild: false)
                LibraryCode.endForkInParent()
            },
            {
                ForkSafeLocks.unlockAll(inChild: true)
                Fork.countChild()
                LibraryCode.endForkInChild()
                FileLock.closeInChild()
            })
        return mutex
    }()

    // Guarded by `registry`.
    nonisolated(unsafe) private static var locks: [UnsafeMutablePointer<pthread_mutex_t>] = []

    /// Registers what happens at a fork. libntapi.so calls it when it is loaded; in a Swift program the first lock does.
    package static func prepare() { _ = registry }

    fileprivate static func register(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
        pthread_mutex_lock(registry)
        locks.append(mutex)
        pthread_mutex_unlock(registry)
    }

    private static func lockAll() {
        // Before the locks are held, because another thread may need one of them to finish.
        ErrorCode.makeBuiltIn()
        LibraryCode.beginFork()
        let deadline = MonotonicTime.now().advanced(bySeconds: runtimePatience)
        takeAll()
        while !ntapi_system_close_runtime(), .now() < deadline {
            // A thread makes a type or a constant, and may need one of these locks for it.
            releaseAll()
            sched_yield()
            takeAll()
        }
    }

    /// How many seconds a fork waits at most for the locks of Swift's runtime. They are held for microseconds.
    private static let runtimePatience = 1.0

    private static func unlockAll(inChild: Bool) {
        ntapi_system_open_runtime(inChild)
        releaseAll()
    }

    private static func takeAll() {
        pthread_mutex_lock(registry)
        for mutex in locks { pthread_mutex_lock(mutex) }
    }

    private static func releaseAll() {
        for mutex in locks.reversed() { pthread_mutex_unlock(mutex) }
        pthread_mutex_unlock(registry)
    }
}

/// A value behind a mutex, with a condition that threads can wait for. As in a `ProcessLock`, a child does not get at it.
final class Monitor<State>: @unchecked Sendable {
    // Safe to share: `state` is only touched while `mutex` is locked, and `condition` waits with that mutex. So the
    // runtime's check for exclusive access is not needed.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    @exclusivity(unchecked) private var state: State
    private let generation = Fork.generation

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

    /// False in a child.
    var isOfThisProcess: Bool { generation == Fork.generation }

    func withLock<Result>(inChild elsewhere: @autoclosure () -> Result, _ body: (inout State) -> Result) -> Result {
        guard isOfThisProcess else { return elsewhere() }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    /// Calls `body` under the lock, and again after each signal, until it returns a value.
    ///
    /// - Returns: nil when the deadline has passed before it did, and in a child.
    func wait<Result>(until deadline: MonotonicTime = .distantFuture, for body: (inout State) -> Result?) -> Result? {
        guard isOfThisProcess else { return nil }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            let wasInside = LibraryCode.leave()
            let isOver = ntapi_system_cond_wait_until(condition, mutex, deadline.nanoseconds) != 0
            if wasInside {
                // Without the lock: this may wait for a fork, which waits for threads that need the lock.
                pthread_mutex_unlock(mutex)
                _ = LibraryCode.enter()
                pthread_mutex_lock(mutex)
            }
            if isOver { return body(&state) }
        }
    }

    /// Wakes one thread that waits.
    func signal() { pthread_cond_signal(condition) }

    /// Wakes every thread that waits.
    func broadcast() { pthread_cond_broadcast(condition) }
}

/// An optional part of an object that is rarely set. While it is not set, reading it takes no lock.
struct Attachment<Value: Sendable>: ~Copyable, Sendable {
    private let isThere = Atomic<Bool>(false)
    private let lock: Lock<Value?>

    init(sharing mutex: SharedMutex) { lock = Lock(nil, sharing: mutex) }

    var value: Value? { isThere.load(ordering: .acquiring) ? lock.withLock { $0 } : nil }

    func set(_ new: Value?) {
        // Releasing the old value may run user code, so it must outlive the lock.
        let replaced = lock.withLock { value in exchange(&value, with: new) }
        isThere.store(new != nil, ordering: .releasing)
        withExtendedLifetime(replaced) {}
    }
}

/// Delivers one value to a listener. The first caller wins; later calls do nothing.
struct Once<Value: Sendable>: Sendable {
    private struct Listener {
        let body: @Sendable (Value) -> Void
    }

    private let listener: Lock<Listener?>

    init(_ body: @escaping @Sendable (Value) -> Void) { listener = Lock(Listener(body: body)) }

    /// - Returns: false when a value was delivered before.
    @discardableResult func tell(_ value: Value) -> Bool {
        guard let listener = listener.withLock({ $0.take() }) else { return false }
        listener.body(value)
        return true
    }

    var isTold: Bool { listener.withLock { $0 == nil } }
}
