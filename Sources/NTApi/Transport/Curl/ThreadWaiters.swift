/// Lets a thread wait for a request that a network thread performs. The request wakes it, and so does a file descriptor
/// of the caller.
final class ThreadWaiter: @unchecked Sendable {
    // Safe to share: `poller` belongs to the one thread that has taken this. The mailbox has its own lock.
    /// The request wakes the thread through this when it is over.
    let mailbox = Mailbox(owner: .anyone)
    // Not epoll: it forgets a closed descriptor, and would miss the next one with the same number.
    private let poller: PollPoller

    init?() {
        guard let poller = PollPoller() else { return nil }
        self.poller = poller
        _ = mailbox.lend(poller.waker)
    }

    /// - Returns: why the wait ended, if it was neither the request nor the deadline.
    func wait(until deadline: MonotonicTime, watching descriptor: Int32) -> Interruption? {
        poller.watch(descriptor)
        return poller.wait(milliseconds: MonotonicTime.now().milliseconds(until: deadline)) { _, _ in }
    }
}

/// Keeps waiters for the next threads, because each has two descriptors.
final class ThreadWaiters: Sendable {
    private static let mostIdle = 64
    private let idle = Lock<[ThreadWaiter]>([])

    /// - Returns: nil when the system has no file descriptors left.
    func take() -> ThreadWaiter? { idle.withLock { $0.popLast() } ?? ThreadWaiter() }

    func giveBack(_ waiter: ThreadWaiter) {
        idle.withLock { if $0.count < Self.mostIdle { $0.append(waiter) } }
    }
}
