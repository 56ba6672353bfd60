/// The requests that were resumed and whose handlers have not returned. It keeps them, and so their clients, alive.
final class RequestRegistry: Sendable {
    private struct State {
        var requests: [ObjectIdentifier: APIRequest] = [:]
        var waiters: [Mailbox] = []
    }

    private let state = Lock(State())

    func insert(_ request: APIRequest) { state.withLock { $0.requests[ObjectIdentifier(request)] = request } }

    func remove(_ request: APIRequest) {
        state.withLock { state in
            state.requests[ObjectIdentifier(request)] = nil
            // A mailbox's own lock is a leaf: it may be taken under this one.
            for waiter in state.waiters { waiter.wake() }
        }
    }

    func cancelAll(where matches: (APIRequest) -> Bool) {
        for request in all where matches(request) { request.cancel() }
    }

    /// Waits until no matching request is left, save those whose callback the caller is; runs the calling thread's
    /// mailbox meanwhile.
    ///
    /// - Returns: how many are left.
    func wait(until deadline: MonotonicTime, where matches: (APIRequest) -> Bool) -> Int {
        let mailbox = Mailbox.current
        let own = Set(Delivery.running)
        var left = 0
        state.withLock { $0.waiters.append(mailbox) }
        _ = mailbox.runUntil(deadline, ignoresStop: true) {
            left = all.count { !own.contains(ObjectIdentifier($0)) && matches($0) }
            return left == 0
        }
        state.withLock { state in
            if let index = state.waiters.firstIndex(where: { $0 === mailbox }) { state.waiters.remove(at: index) }
        }
        return left
    }

    private var all: [APIRequest] { state.withLock { Array($0.requests.values) } }
}
