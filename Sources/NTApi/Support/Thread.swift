import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Plain threads of the system.
enum Thread {
    /// Holds what a thread does until it runs.
    private final class Box: Sendable {
        let name: String
        let body: @Sendable () -> Void
        let atEnd: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void, atEnd: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
            self.atEnd = atEnd
        }

        func run() {
            ntapi_system_set_thread_name(name)
            body()
            let (others, mayEnd) = ended.withLock { $0.add(Handle(thread: pthread_self())) }
            for thread in others { thread.join() }
            atEnd()
            if !mayEnd { while true { pause() } }
        }
    }

    private struct Handle: @unchecked Sendable {
        // Safe to share: the name of a thread.
        let thread: pthread_t

        /// Waits until the thread has ended, with the destructors that libraries have for a thread.
        func join() { pthread_join(thread, nil) }
    }

    /// The threads that have done their work, but may still run such destructors. Each is joined by the next that ends.
    private struct Ended {
        private var generation = Fork.generation
        private var threads: [Handle] = []
        private var isOver = false

        /// - Returns: the threads to join, and whether this one may end.
        mutating func add(_ thread: Handle) -> (others: [Handle], mayEnd: Bool) {
            let others = take()
            if !isOver { threads.append(thread) }
            return (others, !isOver)
        }

        /// No thread ends any more.
        mutating func finish() -> [Handle] {
            let others = take()
            isOver = true
            return others
        }

        private mutating func take() -> [Handle] {
            // A child has none of its parent's threads.
            if generation != Fork.generation { self = Ended() }
            defer { threads = [] }
            return threads
        }
    }

    private static let ended = Lock(leaf: Ended(), survivesFork: true)

    /// At exit: waits until the threads whose body has returned are gone. Those that are later stay until the process
    /// is gone: OpenSSL's exit handler frees what its destructor for a thread frees.
    static func joinEnded() {
        for thread in ended.withLock({ $0.finish() }) { thread.join() }
    }

    /// Starts a thread with signals blocked, so that the host's own threads handle them.
    ///
    /// The signals that end a process keep the mask of the starting thread. If the host's main thread has ended with
    /// `pthread_exit`, no other thread might be left to receive them. While the main thread exists, the system prefers
    /// it.
    ///
    /// - Parameter atEnd: runs after the body. `joinEnded` waits for it.
    /// - Returns: false when the system has no thread left.
    static func start(
        name: String, atEnd: @escaping @Sendable () -> Void = {}, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        let box = Unmanaged.passRetained(Box(name: name, body: body, atEnd: atEnd))
        // This blocks SIGPIPE too: libcurl cannot ignore it under TLS, and a library must not change the host's
        // handler.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        let ending = [SIGTERM, SIGINT, SIGHUP, SIGQUIT].filter { sigismember(&previous, $0) == 0 }
        for signal in ending { sigdelset(&all, signal) }
        if !ending.isEmpty { pthread_sigmask(SIG_SETMASK, &all, nil) }
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        let status = pthread_create(
            &thread, nil,
            { argument in
                #if canImport(Glibc)
                    guard let argument else { return nil }
                #endif
                Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        guard status == 0 else {
            box.release()
            return false
        }
        return true
    }

    /// Whether the main thread has ended before the process, with `pthread_exit`. That of a Swift program with an
    /// asynchronous `main` does, as soon as `main` waits. Reads a file of the system.
    static var mainHasEnded: Bool {
        #if os(Linux)
            // The state of a process is that of its main thread. Without /proc, it counts as running.
            guard let bytes = (try? SystemFile.read("/proc/self/stat")) ?? nil else { return false }
            // Behind the name, which may have any character: a thread that has ended is a zombie.
            guard let name = bytes.lastIndex(of: UInt8(ascii: ")")), name + 2 < bytes.count else { return false }
            return bytes[name + 2] == UInt8(ascii: "Z")
        #else
            return false
        #endif
    }

    /// Whether the calling thread is the process's main thread, with which `fork` or `exec` began.
    ///
    /// Every request asks for this, so each thread remembers the answer until the process forks: any thread can become
    /// the main thread of a child.
    static var isMain: Bool {
        let generation = UInt(bitPattern: Fork.generation) &+ 1
        let known = UInt(bitPattern: pthread_getspecific(mainKey))
        if known >> 1 == generation { return known & 1 == 1 }
        let isMain = ntapi_system_is_main_thread()
        pthread_setspecific(mainKey, UnsafeRawPointer(bitPattern: generation << 1 | (isMain ? 1 : 0)))
        return isMain
    }

    private static let mainKey: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()
}

/// Lets threads wait for others without a lock. A wake-up costs one system call on each side.
///
/// With a condition variable the waiting thread must take the lock again, which costs two more calls.
final class Parker: @unchecked Sendable {
    #if os(Linux)
        // Safe to share: only atomic operations and the system access it.
        private let counter: UnsafeMutablePointer<UInt32> = {
            let counter = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
            counter.initialize(to: 0)
            return counter
        }()

        deinit { counter.deallocate() }

        /// The argument for `park`. Take it before the last check of the awaited condition.
        var ticket: UInt32 { ntapi_system_atomic_load(counter) }

        /// Waits until `unpark` is called, until the deadline, or not at all when `unpark` was called after the ticket
        /// was taken. May return early.
        func park(_ ticket: UInt32, until deadline: MonotonicTime) {
            ntapi_system_futex_wait(counter, ticket, deadline.nanoseconds)
        }

        /// Wakes every thread that is parked.
        func unpark() { ntapi_system_futex_wake(counter) }
    #else
        private let counter = Monitor<UInt32>(0)

        var ticket: UInt32 { counter.withLock(inChild: 0) { $0 } }

        func park(_ ticket: UInt32, until deadline: MonotonicTime) {
            _ = counter.wait(until: deadline) { $0 == ticket ? nil : () }
        }

        func unpark() {
            counter.withLock(inChild: ()) { $0 &+= 1 }
            counter.broadcast()
        }
    #endif
}

/// Wakes a poller from any thread. The descriptor stays open as long as somebody can write to it, even after the poller
/// is gone.
final class Waker: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    init(readEnd: Int32, writeEnd: Int32) {
        self.readEnd = readEnd
        self.writeEnd = writeEnd
    }

    deinit {
        close(readEnd)
        if writeEnd != readEnd { close(writeEnd) }
    }

    func wake() {
        // An eventfd takes exactly eight bytes. A full pipe has already woken the poller.
        var one: UInt64 = 1
        _ = write(writeEnd, &one, MemoryLayout<UInt64>.size)
    }
}
