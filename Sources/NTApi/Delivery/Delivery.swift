#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Which requests' callbacks the calling thread is inside of, innermost last.
///
/// A handler that waits for its own request, or for all requests, would otherwise wait for itself.
enum Delivery {
    private final class Stack {
        @exclusivity(unchecked) var calls = Calls()
    }

    private struct Calls {
        var requests: [ObjectIdentifier] = []
        /// How many calls of the program's code the thread is inside of.
        var depth = 0
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { pointer in
            #if canImport(Glibc)
                guard let pointer else { return }
            #endif
            Unmanaged<Stack>.fromOpaque(pointer).release()
        }
        return key
    }()

    /// Runs a callback of a request.
    static func run(_ request: APIRequest, _ callback: () -> Void) {
        let stack = ofThisThread
        stack.calls.requests.append(ObjectIdentifier(request))
        call(on: stack, callback)
        stack.calls.requests.removeLast()
    }

    /// Runs code of the program's that is no callback of a request.
    ///
    /// The code may fork. The child then comes back here with a copy of this thread and without the others. A thread of the
    /// library has nothing to go on with: it ends, and with it the child, whose only thread it is. On a thread of the program,
    /// the caller asks whether the process is still the same. If it is not, the caller returns and touches nothing: a lock may
    /// be held for ever, and what comes over the sockets is the parent's.
    static func call<Result, Failure: Error>(_ code: () throws(Failure) -> Result) throws(Failure) -> Result {
        try call(on: ofThisThread, code)
    }

    private static func call<Result, Failure: Error>(
        on stack: Stack, _ code: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let generation = Fork.generation
        stack.calls.depth += 1
        defer {
            stack.calls.depth -= 1
            if generation != Fork.generation, stack.calls.depth == 0, WorkerPool.isWorkerThread { exit(0) }
        }
        // One that is inside of another is counted once.
        return try stack.calls.depth > 1 ? code() : WorkerPool.whileCalling(code)
    }

    static func isRunning(_ request: APIRequest) -> Bool { running.contains(ObjectIdentifier(request)) }

    static var running: [ObjectIdentifier] { ofThisThread.calls.requests }

    private static var ofThisThread: Stack {
        if let pointer = pthread_getspecific(key) { return Unmanaged<Stack>.fromOpaque(pointer).takeUnretainedValue() }
        let stack = Stack()
        pthread_setspecific(key, Unmanaged.passRetained(stack).toOpaque())
        return stack
    }
}
