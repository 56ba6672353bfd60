/// The requests that were resumed and whose handlers have not returned. It keeps them, and so their clients, alive.
final class RequestRegistry: Sendable {
    private struct State {
        var requests: [ObjectIdentifier: APIRequest] = [:]
        var waiters: [Mailbox] = []
    }

    private let state = Lock(State())

    func insert(_ request: APIRequest) { state.withLock { $0.requests[ObjectIdentifier(request)] = request } }

    func remove(_ request: APIRequest) {
        let waiters = state.withLock { state in
            state.requests[ObjectIdentifier(request)] = nil
            return state.waiters
        }
        for waiter in waiters { waiter.wake() }
    }

    func cancelAll(where matches: (APIRequest) -> Bool) {
        for request in all.values where matches(request) { request.cancel() }
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
            left = all.count { !own.contains($0.key) && matches($0.value) }
            return left == 0
        }
        state.withLock { state in
            if let index = state.waiters.firstIndex(where: { $0 === mailbox }) { state.waiters.remove(at: index) }
        }
        return left
    }

    private var all: [ObjectIdentifier: APIRequest] { state.withLock { $0.requests } }
}
