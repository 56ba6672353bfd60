/// The requests that are resumed and whose handlers have not returned. It keeps them and their clients alive.
///
/// An intrusive list: adding and removing a request needs no allocation and no look-up.
final class RequestRegistry: Sendable {
    /// A request's place in the list.
    struct Links {
        fileprivate var isListed = false
        /// Whether it was made to be resumed later, and was not yet.
        fileprivate(set) var isExpected = false
        /// The client's `Expected.cancelCount` when it was made.
        fileprivate var cancelCount = 0
        // Unmanaged: the list holds one reference to each request, from `insert` to `remove`.
        fileprivate var previous: Unmanaged<APIRequest>?
        fileprivate var next: Unmanaged<APIRequest>?
    }

    /// The requests of a client that were made to be resumed later. Belongs to the registry, under its lock.
    struct Expected {
        fileprivate var count = 0
        /// How often all requests of the client were cancelled.
        fileprivate var cancelCount = 0
    }

    private struct State {
        var first: Unmanaged<APIRequest>?
        /// Clients that are ending, until their hook has been called after their last request.
        var ending: [Ending] = []
        var waiters: [Mailbox] = []

        var requests: [APIRequest] {
            var requests: [APIRequest] = []
            var next = first
            while let request = next?.takeUnretainedValue() {
                requests.append(request)
                next = request.links.next
            }
            return requests
        }

        /// Whether there is one that matches. A drain asks after each callback, so nothing is retained here.
        func contains(where matches: (APIRequest) -> Bool) -> Bool {
            var next = first
            while let entry = next {
                let (isMeant, following) = entry._withUnsafeGuaranteedRef { (matches($0), $0.links.next) }
                if isMeant { return true }
                next = following
            }
            return false
        }

        mutating func ending(of client: APIClient, _ change: (inout Ending) -> Void) {
            if let index = ending.firstIndex(where: { $0.client === client }) { change(&ending[index]) }
        }

        /// Makes an ending client invalid if it has no requests. A request that is resumed after this is cancelled.
        ///
        /// - Returns: whether this call did it. The caller must then call `callEndHook`.
        func ends(_ client: APIClient) -> Bool {
            guard let ending = ending.first(where: { $0.client === client }), ending.left == 0 else { return false }
            return (client.expected.count == 0 || client.hasCancelled) && client.becomesInvalid()
        }

        // A mailbox's lock is a leaf, so it may be taken under this one.
        func wakeWaiters() { for waiter in waiters { waiter.wake() } }
    }

    private struct Ending {
        let client: APIClient
        /// How many of its requests are in the list.
        var left: Int
        /// The mailbox of the thread that calls its hook.
        var thread: Mailbox?
    }

    private let state = ProcessLock(Lock(State()))

    /// - Returns: whether all requests of the client were cancelled before it was resumed.
    @discardableResult func insert(_ request: APIRequest) throws(Forked) -> Bool {
        try state.withLock { state in
            guard !request.links.isListed else { return false }
            var wasCancelled = false
            if request.links.isExpected {
                request.client.expected.count -= 1
                wasCancelled = request.links.cancelCount != request.client.expected.cancelCount
            }
            let entry = Unmanaged.passRetained(request)
            request.links = Links(isListed: true, previous: nil, next: state.first)
            state.first?._withUnsafeGuaranteedRef { $0.links.previous = entry }
            state.first = entry
            if !state.ending.isEmpty { state.ending(of: request.client) { $0.left += 1 } }
            return wasCancelled
        }
    }

    /// A new request will be resumed later. The end of its client waits until it is resumed or released.
    func expect(_ request: APIRequest) {
        state.withLock(inChild: ()) { _ in
            request.links.isExpected = true
            request.links.cancelCount = request.client.expected.cancelCount
            request.client.expected.count += 1
        }
    }

    /// A request of the client was released that was never resumed.
    ///
    /// - Returns: true when it was the last request of an ending client. The caller must then call `callEndHook`.
    func forgetExpected(of client: APIClient) -> Bool {
        state.withLock(inChild: false) { state in
            client.expected.count -= 1
            return state.ends(client)
        }
    }

    /// - Returns: true when it was the last request of an ending client. The caller must then call `callEndHook`.
    func remove(_ request: APIRequest) throws(Forked) -> Bool {
        try state.withLock { state in
            guard request.links.isListed else { return false }
            let links = request.links
            request.links = Links()
            if let previous = links.previous {
                previous._withUnsafeGuaranteedRef { $0.links.next = links.next }
            } else {
                state.first = links.next
            }
            links.next?._withUnsafeGuaranteedRef { $0.links.previous = links.previous }
            // Not the last reference: the caller has one.
            Unmanaged.passUnretained(request).release()
            state.wakeWaiters()
            guard !state.ending.isEmpty else { return false }
            state.ending(of: request.client) { $0.left -= 1 }
            return state.ends(request.client)
        }
    }

    /// Starts to count the requests of an ending client.
    ///
    /// - Returns: true when it has none. The caller must then call `callEndHook`.
    func beginEnd(of client: APIClient) -> Bool {
        state.withLock(inChild: false) { state in
            guard !client.isInvalid else { return false }
            if !state.ending.contains(where: { $0.client === client }) {
                state.ending.append(Ending(client: client, left: state.requests.count { $0.client === client }))
            }
            return state.ends(client)
        }
    }

    /// Calls the hook for a client's end. To wait for the client's requests is to wait for this call as well.
    func callEndHook(of client: APIClient, _ tell: () -> Void) throws(Forked) {
        let mailbox = Mailbox.current
        try state.withLock { $0.ending(of: client) { $0.thread = mailbox } }
        try Delivery.call(tell)
        forgetEnd(of: client)
    }

    /// A client's end is complete. Wakes those who wait for it.
    func forgetEnd(of client: APIClient) {
        state.withLock(inChild: ()) { state in
            state.ending.removeAll { $0.client === client }
            state.wakeWaiters()
        }
    }

    func cancelAll(of client: APIClient) {
        state.withLock(inChild: ()) { _ in client.expected.cancelCount += 1 }
        // A request that cannot be sent keeps its own error, such as that the client is closed.
        for request in all where request.client === client && request.built.request != nil { request.cancel() }
    }

    func cancelAll() { for request in all { request.cancel() } }

    /// The process ends. Unfinished transfers of background sessions are left to the next process.
    func detachBackground() {
        for request in all { request.background?.session.detach() }
    }

    /// The process ends. Calls of interceptors and decisions that have not returned may never do.
    func stopWaitingForCalls() { for request in all { request.stopWaitingForCalls() } }

    var isEmpty: Bool { state.withLock(inChild: true) { $0.first == nil } }

    /// Lets requests finish when the process ends. Cancels each one when its `exitTimeout` since `begun` is over.
    func finish(since begun: MonotonicTime) {
        let own = Set(Delivery.running)
        while true {
            let elapsed = MonotonicTime.now().seconds(since: begun)
            var next: Double?
            for request in all where !own.contains(ObjectIdentifier(request)) && !request.isRevalidation {
                let timeout = request.exitTimeout
                if timeout > elapsed { next = min(next ?? timeout, timeout) } else { request.cancel() }
            }
            guard let next, wait(until: begun.advanced(bySeconds: next)) > 0 else { return }
        }
    }

    /// Waits until no request of the client, or of any client, is left, except those whose callbacks run on this
    /// thread. Runs the calling thread's mailbox meanwhile.
    ///
    /// - Parameter scope: which callbacks it runs meanwhile.
    /// - Returns: how many are left.
    func wait(until deadline: MonotonicTime, of client: APIClient? = nil, running scope: Mailbox.Scope = .all) -> Int {
        // If a callback forks, none of these requests belongs to the child.
        (try? waited(until: deadline, of: client, scope)) ?? 0
    }

    private func waited(
        until deadline: MonotonicTime, of client: APIClient?, _ scope: Mailbox.Scope
    ) throws(Forked) -> Int {
        let mailbox = Mailbox.current
        let own = Set(Delivery.running)
        // Background revalidations of the cache are not waited for.
        func isAwaited(_ request: APIRequest) -> Bool {
            !own.contains(ObjectIdentifier(request)) && (client == nil || request.client === client)
                && !request.isRevalidation
        }
        try state.withLock { $0.waiters.append(mailbox) }
        let isOver = try mailbox.runUntil(deadline, ignoresStop: true, running: scope) { () throws(Forked) in
            try state.withLock { state in
                let isEnding = state.ending.contains { ending in
                    ending.client.isInvalid && ending.thread !== mailbox && (client == nil || ending.client === client)
                }
                return !isEnding && !state.contains(where: isAwaited)
            }
        }
        return try state.withLock { state in
            if let index = state.waiters.firstIndex(where: { $0 === mailbox }) { state.waiters.remove(at: index) }
            return isOver ? 0 : state.requests.count(where: isAwaited)
        }
    }

    private var all: [APIRequest] { state.withLock(inChild: []) { $0.requests } }
}
