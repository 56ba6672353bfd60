/// What a thread waits with for a request that a network thread performs: the request wakes it, and a descriptor of the
/// thread's own does.
final class ThreadWaiter: @unchecked Sendable {
    // Safe to share: `poller` belongs to the one thread that has taken this; the mailbox is made for all.
    /// What the request wakes when it is over.
    let mailbox = Mailbox(owner: .anyone)
    // Not epoll: it forgets a descriptor that is closed, and the next one of the same number would go unnoticed.
    private let poller: PollPoller

    init?() {
        guard let poller = PollPoller() else { return nil }
        self.poller = poller
        _ = mailbox.lend(poller.waker)
    }

    /// - Returns: why the wait ended, when that was neither the request nor the time.
    func wait(until deadline: MonotonicTime, watching descriptor: Int32) -> Interruption? {
        poller.watch(descriptor)
        return poller.wait(milliseconds: MonotonicTime.now().milliseconds(until: deadline)) { _, _ in }
    }
}

/// Keeps waiters for the threads that come next: each has two descriptors.
final class ThreadWaiters: Sendable {
    private static let mostIdle = 64
    private let idle = Lock<[ThreadWaiter]>([])

    /// - Returns: nil when the system has no descriptor to give.
    func take() -> ThreadWaiter? { idle.withLock { $0.popLast() } ?? ThreadWaiter() }

    func giveBack(_ waiter: ThreadWaiter) {
        idle.withLock { if $0.count < Self.mostIdle { $0.append(waiter) } }
    }
}
