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
        @exclusivity(unchecked) var requests: [ObjectIdentifier] = []
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
        stack.requests.append(ObjectIdentifier(request))
        callback()
        stack.requests.removeLast()
    }

    static func isRunning(_ request: APIRequest) -> Bool { running.contains(ObjectIdentifier(request)) }

    static var running: [ObjectIdentifier] { ofThisThread.requests }

    private static var ofThisThread: Stack {
        if let pointer = pthread_getspecific(key) { return Unmanaged<Stack>.fromOpaque(pointer).takeUnretainedValue() }
        let stack = Stack()
        pthread_setspecific(key, Unmanaged.passRetained(stack).toOpaque())
        return stack
    }
}
