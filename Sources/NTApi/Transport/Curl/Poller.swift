#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Waits for many sockets at once, on the network thread. There is one implementation for each kind of system.
protocol Poller: AnyObject {
    /// Wakes a wait from any thread.
    var waker: Waker { get }

    /// Fails when the system has no file descriptors left.
    init?()

    /// Sets what to wait for at a socket from now on; an empty set for nothing.
    func want(_ interest: Interest, of socket: Int32)

    /// A socket was opened, so what is known of an earlier one with the same number is outdated. `didClose` will be
    /// called for it. Neither is called for sockets that libcurl opens for its own use.
    func didOpen(_ socket: Int32)

    func didClose(_ socket: Int32)

    /// Also wakes a wait when this descriptor of the caller is readable; −1 for none.
    func watch(_ descriptor: Int32)

    /// Waits until a socket is ready, the waker is used, or the time is over. Reports every ready socket.
    ///
    /// - Returns: what else ended the wait.
    func wait(milliseconds: Int32, _ report: (_ socket: Int32, _ ready: Interest) -> Void) -> Interruption?
}

/// What ends a wait early.
enum Interruption {
    /// A signal handler ran on the thread.
    case signal
    /// The caller's descriptor is readable.
    case watched
}

/// What to wait for at a socket, or what it is ready for.
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

/// Waits with `poll`, which every system has. Its cost grows with the number of open sockets.
final class PollPoller: Poller {
    let waker: Waker
    private var wanted: [Int32: Interest] = [:]
    private var watched: Int32 = -1

    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        waker = Waker(readEnd: ends[0], writeEnd: ends[1])
    }

    func want(_ interest: Interest, of socket: Int32) { wanted[socket] = interest.isEmpty ? nil : interest }

    func didOpen(_ socket: Int32) { wanted[socket] = nil }

    func didClose(_ socket: Int32) { wanted[socket] = nil }

    func watch(_ descriptor: Int32) { watched = descriptor }

    func wait(milliseconds: Int32, _ report: (_ socket: Int32, _ ready: Interest) -> Void) -> Interruption? {
        // `poll` ignores a negative descriptor.
        var entries = [
            pollfd(fd: waker.readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watched, events: Int16(POLLIN), revents: 0),
        ]
        for (socket, interest) in wanted {
            var events: Int16 = 0
            if interest.contains(.read) { events |= Int16(POLLIN) }
            if interest.contains(.write) { events |= Int16(POLLOUT) }
            entries.append(pollfd(fd: socket, events: events, revents: 0))
        }
        let wasInside = LibraryCode.leave()
        let count = poll(&entries, nfds_t(entries.count), milliseconds)
        let isInterrupted = count < 0 && errno == EINTR
        if wasInside { _ = LibraryCode.enter() }
        if isInterrupted { return .signal }
        guard count > 0 else { return nil }
        if entries[0].revents != 0 {
            var drained = [UInt8](repeating: 0, count: 512)
            while read(waker.readEnd, &drained, drained.count) == drained.count {}
        }
        for entry in entries.dropFirst(2) where entry.revents != 0 && wanted[entry.fd] != nil {
            var ready = Interest()
            if entry.revents & Int16(POLLIN) != 0 { ready.insert(.read) }
            if entry.revents & Int16(POLLOUT) != 0 { ready.insert(.write) }
            // Let libcurl read or write, so that it gets the error itself and can report it.
            if entry.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { ready = [.read, .write] }
            report(entry.fd, ready)
        }
        return entries[1].revents != 0 ? .watched : nil
    }
}
