/// What makes the exchanges over connections of one's own: a network thread, started with the first exchange that needs it, and
/// loops for callers that wait for their answer anyway.
final class OwnNetwork: Sendable {
    let thread: NetworkThread
    /// Nil where the connections to all servers are limited: one loop has to count them all.
    let direct: DirectLoops?
    private let generation = Fork.generation

    init(thread: NetworkThread, direct: DirectLoops?) {
        self.thread = thread
        self.direct = direct
    }

    var isOfThisProcess: Bool { generation == Fork.generation }

    /// Ends every exchange as cancelled, and closes every connection. Does not wait.
    func requestStop() { _ = requestStop(until: .now()) }

    /// - Parameter deadline: until when body streams may be read on.
    /// - Returns: whether there is a thread to wait for.
    func requestStop(until deadline: MonotonicTime) -> Bool {
        direct?.stop()
        return thread.requestStop(until: deadline)
    }

    /// The same, and waits until the connections are closed.
    func stop() {
        if requestStop(until: .now()) { _ = thread.wait(until: .now().advanced(bySeconds: 1)) }
    }

    /// Keeps it for ever: in a forked child, where it is the parent's.
    func leak() { _ = Unmanaged.passRetained(self) }
}
