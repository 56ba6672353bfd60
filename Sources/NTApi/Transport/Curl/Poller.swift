/// Waits for many sockets at once, on the network thread. One for each kind of system.
protocol Poller: AnyObject {
    /// Wakes a wait from any thread.
    var waker: Waker { get }

    /// Nil when the system has no descriptor to give.
    init?()

    /// Says what is wanted of a socket from now on; neither is: nothing.
    func want(_ interest: Interest, of socket: Int32)

    /// A socket was opened, so that what is known of an earlier one of the same number is void. Such a socket promises
    /// `didClose`; what libcurl opens for itself comes without either.
    func didOpen(_ socket: Int32)

    func didClose(_ socket: Int32)

    /// Wakes a wait when this descriptor of the caller's is readable, too; −1 is none.
    func watch(_ descriptor: Int32)

    /// Waits until a socket is ready, the waker is used, or the time is over, and reports every ready socket.
    ///
    /// - Returns: what else ended the wait.
    func wait(milliseconds: Int32, _ report: (_ socket: Int32, _ ready: Interest) -> Void) -> Interruption?
}

/// What ends a wait beside that which it is for.
enum Interruption {
    /// A signal handler ran on the thread.
    case signal
    /// The caller's own descriptor is readable.
    case watched
}

/// What is wanted of a socket, or what it is ready for.
struct Interest: OptionSet {
    let rawValue: UInt8

    static let read = Interest(rawValue: 1)
    static let write = Interest(rawValue: 2)
}

#if os(Linux)
    typealias SystemPoller = EpollPoller
#else
    typealias SystemPoller = PollPoller
#endif
