/// The requests that were resumed and whose handlers have not returned. It keeps them, and so their clients, alive.
///
/// A list that runs through the requests themselves: to come and go costs no memory and no look-up.
final class RequestRegistry: Sendable {
    /// A request's place in the list.
    struct Links {
        fileprivate var isListed = false
        fileprivate var previous: APIRequest?
        /// Each keeps the next one alive, and the registry the first.
        fileprivate var next: APIRequest?
    }

    private struct State {
        var first: APIRequest?
        var waiters: [Mailbox] = []
    }

    private let state = Lock(State())

    func insert(_ request: APIRequest) {
        state.withLock { state in
            guard !request.links.isListed else { return }
            request.links = Links(isListed: true, previous: nil, next: state.first)
            state.first?.links.previous = request
            state.first = request
        }
    }

    func remove(_ request: APIRequest) {
        state.withLock { state in
            guard request.links.isListed else { return }
            let links = request.links
            request.links = Links()
            if let previous = links.previous { previous.links.next = links.next } else { state.first = links.next }
            links.next?.links.previous = links.previous
            // A mailbox's own lock is a leaf: it may be taken under this one.
            for waiter in state.waiters { waiter.wake() }
        }
    }

    /// Does something, during which no request is added, unless the client has one in the list.
    ///
    /// - Returns: what it returns; false when there is one.
    func ifNone(of client: APIClient, _ body: () -> Bool) -> Bool {
        state.withLock { state in
            var next = state.first
            while let request = next {
                if request.client === client { return false }
                next = request.links.next
            }
            return body()
        }
    }

    func cancelAll(where matches: (APIRequest) -> Bool) {
        for request in all where matches(request) { request.cancel() }
    }

    /// The process ends: what background sessions have not finished is left to the next one.
    func detachBackground() {
        for request in all { request.background?.session.detach() }
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

    private var all: [APIRequest] {
        state.withLock { state in
            var requests: [APIRequest] = []
            var next = state.first
            while let request = next {
                requests.append(request)
                next = request.links.next
            }
            return requests
        }
    }
}
