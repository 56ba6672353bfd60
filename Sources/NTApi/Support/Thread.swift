import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Plain threads of the system.
enum Thread {
    /// Holds the body of a thread until it runs.
    private final class Box {
        let name: String
        let body: () -> Void

        init(name: String, body: @escaping () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Starts a detached thread with signals blocked, so that they go to the host's own threads.
    ///
    /// Those by which a process is told to end stay as they are in the thread that starts this one: when the host's main
    /// thread has ended with `pthread_exit`, nobody else might be left to take them. As long as it is there, the system
    /// gives them to it.
    ///
    /// - Returns: false when the system has no thread to give.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let box = Unmanaged.passRetained(Box(name: name, body: body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // SIGPIPE too: libcurl cannot ignore it for us under TLS, and the host's disposition is not ours to change.
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
            &thread, &attributes,
            { argument in
                #if canImport(Glibc)
                    guard let argument else { return nil }
                #endif
                let box = Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
                ntapi_system_set_thread_name(box.name)
                box.body()
                return nil
            }, box.toOpaque())
        if status != 0 { box.release() }
        return status == 0
    }

    /// Whether the calling thread is the process's main thread: the one that `fork` or `exec` began it with.
    ///
    /// Asked with every request, so each thread remembers the answer; as long as it is not forked, which makes any thread
    /// the main one of the child.
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
