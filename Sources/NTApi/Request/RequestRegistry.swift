/// The requests that were resumed and whose handlers have not returned. It keeps them, and so their clients, alive.
///
/// A list that runs through the requests themselves: to come and go costs no memory and no look-up.
final class RequestRegistry: Sendable {
    /// A request's place in the list.
    struct Links {
        fileprivate var isListed = false
        // Not counted: what is in the list is kept by one reference, from `insert` to `remove`.
        fileprivate var previous: Unmanaged<APIRequest>?
        fileprivate var next: Unmanaged<APIRequest>?
    }

    private struct State {
        var first: Unmanaged<APIRequest>?
        /// Clients that begin nothing more, until they have been told that their last request is gone.
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

        mutating func ending(of client: APIClient, _ change: (inout Ending) -> Void) {
            if let index = ending.firstIndex(where: { $0.client === client }) { change(&ending[index]) }
        }

        // A mailbox's own lock is a leaf: it may be taken under this one.
        func wakeWaiters() { for waiter in waiters { waiter.wake() } }
    }

    private struct Ending {
        let client: APIClient
        /// How many of its requests are in the list.
        var left: Int
        /// Where it is told, once it is.
        var thread: Mailbox?
    }

    private let state = Lock(State())
    private let generation = Fork.generation

    func insert(_ request: APIRequest) {
        state.withLock { state in
            guard !request.links.isListed else { return }
            let entry = Unmanaged.passRetained(request)
            request.links = Links(isListed: true, previous: nil, next: state.first)
            state.first?._withUnsafeGuaranteedRef { $0.links.previous = entry }
            state.first = entry
            if !state.ending.isEmpty { state.ending(of: request.client) { $0.left += 1 } }
        }
    }

    /// - Returns: true when it was the last one of a client that ends, so that `tellEnd` has to follow.
    func remove(_ request: APIRequest) -> Bool {
        state.withLock { state in
            guard request.links.isListed else { return false }
            let links = request.links
            request.links = Links()
            if let previous = links.previous {
                previous._withUnsafeGuaranteedRef { $0.links.next = links.next }
            } else {
                state.first = links.next
            }
            links.next?._withUnsafeGuaranteedRef { $0.links.previous = links.previous }
            // Not the last one: the caller has it.
            Unmanaged.passUnretained(request).release()
            state.wakeWaiters()
            var isLast = false
            if !state.ending.isEmpty {
                state.ending(of: request.client) { ending in
                    ending.left -= 1
                    // Who adds a request after this finds the client invalid, and cancels it.
                    isLast = ending.left == 0 && request.client.becomesInvalid()
                }
            }
            return isLast
        }
    }

    /// From now on it is watched whether a client has requests; a second time does nothing.
    ///
    /// - Returns: true when it has none, so that `tellEnd` has to follow.
    func beginEnd(of client: APIClient) -> Bool {
        state.withLock { state in
            guard !client.isInvalid, !state.ending.contains(where: { $0.client === client }) else { return false }
            let left = state.requests.count { $0.client === client }
            state.ending.append(Ending(client: client, left: left))
            return left == 0 && client.becomesInvalid()
        }
    }

    /// Runs what tells a client of its end. Who waits for its requests waits for that, too.
    func tellEnd(of client: APIClient, _ tell: () -> Void) {
        let mailbox = Mailbox.current
        state.withLock { $0.ending(of: client) { $0.thread = mailbox } }
        Delivery.call(tell)
        forgetEnd(of: client)
    }

    /// A client's end is complete: who waits for it goes on.
    func forgetEnd(of client: APIClient) {
        state.withLock { state in
            state.ending.removeAll { $0.client === client }
            state.wakeWaiters()
        }
    }

    func cancelAll(where matches: (APIRequest) -> Bool) {
        for request in all where matches(request) { request.cancel() }
    }

    /// The process ends: what background sessions have not finished is left to the next one.
    func detachBackground() {
        for request in all { request.background?.session.detach() }
    }

    var isEmpty: Bool { state.withLock { $0.first == nil } }

    /// Waits for what may finish at the process's end, and cancels the rest: each when its time is over, counted from a moment.
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

    /// Waits until no request of a client, or of any, is left, save those whose callback the caller is; runs the calling
    /// thread's mailbox meanwhile.
    ///
    /// - Returns: how many are left.
    func wait(until deadline: MonotonicTime, of client: APIClient? = nil) -> Int {
        let mailbox = Mailbox.current
        let own = Set(Delivery.running)
        var left = 0
        state.withLock { $0.waiters.append(mailbox) }
        _ = mailbox.runUntil(deadline, ignoresStop: true) {
            // Nobody waits for what a cache brings up to date.
            left = all.count {
                !own.contains(ObjectIdentifier($0)) && (client == nil || $0.client === client) && !$0.isRevalidation
            }
            let isTold = state.withLock { state in
                !state.ending.contains { ending in
                    ending.left == 0 && ending.thread !== mailbox && (client == nil || ending.client === client)
                }
            }
            return left == 0 && isTold
        }
        // A callback has forked: none of these requests is the child's.
        guard generation == Fork.generation else { return 0 }
        state.withLock { state in
            if let index = state.waiters.firstIndex(where: { $0 === mailbox }) { state.waiters.remove(at: index) }
        }
        return left
    }

    private var all: [APIRequest] { state.withLock { $0.requests } }
}
