#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The requests whose callbacks run on the calling thread, innermost last.
///
/// With this list, a handler that waits for its own request, or for all requests, does not wait for itself.
enum Delivery {
    /// So many handlers run inside one another, each in a wait of the one before. Without a limit, handlers that wait
    /// would use up the stack.
    static let deepest = 16

    /// What a wait on the calling thread may run.
    ///
    /// - Parameter request: what it waits for; nil for all requests.
    static func scope(ofWaitFor request: AnyObject?) -> Mailbox.Scope {
        ofThisThread.calls.depth < deepest ? .all : .only(request.map(ObjectIdentifier.init))
    }

    private final class Stack {
        @exclusivity(unchecked) var calls = Calls()
    }

    private struct Calls {
        var requests: [ObjectIdentifier] = []
        /// How many nested calls of user code the thread is in.
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
    static func run<Result>(_ request: AnyObject, _ callback: () -> Result) throws(Forked) -> Result {
        let stack = ofThisThread
        stack.calls.requests.append(ObjectIdentifier(request))
        defer { stack.calls.requests.removeLast() }
        return try call(on: stack, callback)
    }

    /// Runs user code that is not a callback of a request.
    ///
    /// The code may fork. The child then returns here with a copy of this thread only. A library thread has nothing to
    /// do in the child: it exits, and the child ends with it. A thread of the program goes back to where the program
    /// has called the library.
    static func call<Result>(_ code: () -> Result) throws(Forked) -> Result { try call(on: ofThisThread, code) }

    private static func call<Result>(on stack: Stack, _ code: () -> Result) throws(Forked) -> Result {
        let generation = Fork.generation
        stack.calls.depth += 1
        // A nested call counts once.
        let worker = stack.calls.depth == 1 ? WorkerPool.beginCall() : nil
        let result = LibraryCode.outside(code)
        if let worker { WorkerPool.endCall(of: worker) }
        stack.calls.depth -= 1
        guard generation != Fork.generation else { return result }
        if stack.calls.depth == 0, WorkerPool.isWorkerThread { exit(0) }
        throw Forked()
    }

    static func isRunning(_ request: AnyObject) -> Bool { running.contains(ObjectIdentifier(request)) }

    static var running: [ObjectIdentifier] { ofThisThread.calls.requests }

    private static var ofThisThread: Stack {
        if let pointer = pthread_getspecific(key) { return Unmanaged<Stack>.fromOpaque(pointer).takeUnretainedValue() }
        let stack = Stack()
        pthread_setspecific(key, Unmanaged.passRetained(stack).toOpaque())
        return stack
    }
}

/// What a process has once to run callbacks: the workers, the main thread's mailbox, and a list of all mailboxes.
///
/// A forked child gets its own and does not touch the parent's, because the parent's threads do not exist in the child.
final class DeliveryRuntime: Sendable {
    let workers = WorkerPool()
    let mainMailbox = Mailbox(owner: .mainThread)
    private let mailboxes = Lock<[MailboxReference]>([])
    private let generation = Fork.generation

    private static let slot = Lock<DeliveryRuntime?>(nil, survivesFork: true)

    static var current: DeliveryRuntime {
        let generation = Fork.generation
        return slot.withLock { slot in
            if let runtime = slot, runtime.generation == generation { return runtime }
            // The child leaks the parent's runtime on purpose: freeing it would touch it.
            if let inherited = slot { _ = Unmanaged.passRetained(inherited) }
            let runtime = DeliveryRuntime()
            // Nobody runs it, and no destructor of that thread will close it.
            if Thread.mainHasEnded { runtime.mainMailbox.close() }
            slot = runtime
            return runtime
        }
    }

    /// Remembers a mailbox, so that its waiting callbacks can run when the process exits.
    func register(_ mailbox: Mailbox) {
        mailboxes.withLock { mailboxes in
            if mailboxes.count >= 64, mailboxes.count.nonzeroBitCount == 1 { mailboxes.removeAll { $0.mailbox == nil } }
            mailboxes.append(mailbox.reference)
        }
    }

    /// All mailboxes that somebody can still drain.
    var allMailboxes: [Mailbox] { mailboxes.withLock { Array($0) }.compactMap(\.mailbox) + [mainMailbox] }

    /// Runs the jobs of a mailbox that nobody can drain any more on a worker.
    static func adopt(_ callbacks: [Job], _ events: [DeliveryBatch.Event], warns: Bool) {
        let count = callbacks.count + events.count
        guard count > 0 else { return }
        current.workers.run { () throws(Forked) in
            if warns {
                APILog.warn("\(count) callback(s) run on a background worker, because their thread has ended")
            }
            for callback in callbacks { try callback.run() }
            for event in events { _ = try event.take() }
        }
    }
}
