import CCurl

/// Sets up libcurl once for the process, and never cleans it up: the host program may use it, too.
enum CurlGlobal {
    /// The result of `curl_global_init`, which runs on first use. It does not change libcurl's allocator: only the host
    /// program may do that.
    static let ready: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// One curl multi handle, which is a pool of connections, with the sockets and the timer that it asks for. Used only on
/// the loop's thread.
final class CurlMulti {
    private let handle: UnsafeMutableRawPointer
    private let poller: SystemPoller
    /// The number of this pool in its loop; 0 is the first.
    let number: Int
    @exclusivity(unchecked) var state = State()

    struct State: ~Copyable {
        /// All pools of the loop.
        unowned(unsafe) var pools: ConnectionPools?
        /// How many transfers the pool has.
        fileprivate(set) var transferCount = 0
        /// When it was first seen idle; nil while it has transfers.
        var idleSince: MonotonicTime?
        /// When libcurl wants to be called, unless a socket is ready before.
        fileprivate(set) var timer: MonotonicTime?
        fileprivate var wantedConnections = 2 * CurlMulti.idleConnections
        /// What libcurl was told.
        fileprivate var connectionLimit = 2 * CurlMulti.idleConnections
        /// The program's limit of connections; 0 for none.
        fileprivate var ownLimit = 0
    }

    /// Fails when libcurl cannot be set up.
    init?(poller: SystemPoller, number: Int) {
        guard CurlGlobal.ready == CURLE_OK, let handle = curl_multi_init() else { return nil }
        self.number = number
        self.handle = handle
        self.poller = poller
        let this = Unmanaged.passUnretained(self).toOpaque()
        ntapi_multi_set_socket(handle, socketCallback, this)
        ntapi_multi_set_timer(handle, timerCallback, this)
        ntapi_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        ntapi_multi_set_long(handle, CURLMOPT_MAXCONNECTS, state.connectionLimit)
        ntapi_multi_set_long(handle, .resolveThreadsMax, Self.lookUps)
        ntapi_multi_set_long(handle, .quickExit, 1)
    }

    /// How many threads look up names at the same time. With libcurl's own limit, 20, ten names that hang would hold up
    /// all others: each name is looked up twice, for IPv4 and IPv6.
    private static let lookUps = 512

    /// How many idle connections are kept. libcurl's default is four times the number of handles in use, so most would
    /// be closed after a burst.
    static let idleConnections = 256

    /// How many are kept when connections have more than their share of the file descriptors.
    private static let leastIdle = 8

    /// libcurl's limit includes the connections of running transfers. Above the limit, each transfer that ends would
    /// lose its connection, after a search through all others.
    private func keepConnections() {
        let needed = state.transferCount + Self.idleConnections
        if needed > state.wantedConnections || needed < state.wantedConnections / 4 {
            state.wantedConnections = needed * 2
        }
        let limit = Descriptors.areScarce ? state.transferCount + Self.leastIdle : state.wantedConnections
        guard limit != state.connectionLimit else { return }
        state.connectionLimit = limit
        ntapi_multi_set_long(handle, CURLMOPT_MAXCONNECTS, limit)
    }

    /// Limits the number of connections, including idle ones. For a new one, libcurl closes the one that has been idle
    /// for longest.
    ///
    /// Our own queue starts no more transfers than that, so none waits inside libcurl.
    func limitConnections(to count: Int) {
        state.ownLimit = count
        closeIdle(forNew: nil)
    }

    /// Whether each new connection closes one that is idle, the oldest first, because there is no file descriptor.
    ///
    /// libcurl does so only above the limit. The limit is not below what the transfers need, so none waits inside libcurl.
    ///
    /// - Parameter connections: how many there are; nil to close none any more.
    func closeIdle(forNew connections: Int?) {
        var limit = state.ownLimit
        if let connections { limit = min(max(1, state.transferCount, connections), limit == 0 ? .max : limit) }
        ntapi_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, limit)
    }

    /// Closes every connection. This is the last call. Remove and clean up every handle before.
    ///
    /// Not in `deinit`, because libcurl calls back during this.
    func close() { curl_multi_cleanup(handle) }

    func add(_ easy: UnsafeMutableRawPointer) -> CURLMcode {
        let code = curl_multi_add_handle(handle, easy)
        guard code == CURLM_OK else { return code }
        state.transferCount += 1
        state.idleSince = nil
        keepConnections()
        return code
    }

    /// Must not be called from a callback of libcurl.
    func remove(_ easy: UnsafeMutableRawPointer) {
        curl_multi_remove_handle(handle, easy)
        state.transferCount -= 1
    }

    /// Whether libcurl's timer has expired.
    func isDue(_ now: MonotonicTime) -> Bool { state.timer.map { $0 <= now } ?? false }

    /// Calls libcurl for its timer. During this call, libcurl sets the next one.
    func runTimer() {
        state.timer = nil
        var running: Int32 = 0
        curl_multi_socket_action(handle, CURL_SOCKET_TIMEOUT, 0, &running)
    }

    func run(_ socket: Int32, _ ready: Interest) {
        var mask: Int32 = 0
        if ready.contains(.read) { mask |= CURL_CSELECT_IN }
        if ready.contains(.write) { mask |= CURL_CSELECT_OUT }
        var running: Int32 = 0
        curl_multi_socket_action(handle, socket, mask, &running)
    }

    /// The next transfer that has ended, with its result.
    func nextMessage() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var remaining: Int32 = 0
        while let message = curl_multi_info_read(handle, &remaining) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            return (easy, ntapi_message_result(message))
        }
        return nil
    }

    fileprivate func want(_ what: Int32, of socket: Int32) {
        state.pools?.setOwner(number, of: socket)
        switch what {
        case CURL_POLL_IN: poller.want(.read, of: socket)
        case CURL_POLL_OUT: poller.want(.write, of: socket)
        case CURL_POLL_INOUT: poller.want([.read, .write], of: socket)
        default: poller.want([], of: socket)
        }
    }

    fileprivate func setTimer(milliseconds: Int) {
        // −1 deletes the timer. 0 means now, but not during this call.
        switch milliseconds {
        case ..<0: state.timer = nil
        case 0: state.timer = MonotonicTime(nanoseconds: 0)
        default: state.timer = MonotonicTime.now().advanced(bySeconds: Double(milliseconds) / 1000)
        }
    }
}

private func socketCallback(
    easy: UnsafeMutableRawPointer?, socket: curl_socket_t, what: Int32, data: UnsafeMutableRawPointer?,
    socketData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let data else { return 0 }
    Unmanaged<CurlMulti>.fromOpaque(data).takeUnretainedValue().want(what, of: socket)
    return 0
}

private func timerCallback(
    multi: UnsafeMutableRawPointer?, milliseconds: Int, data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let data else { return 0 }
    Unmanaged<CurlMulti>.fromOpaque(data).takeUnretainedValue().setTimer(milliseconds: milliseconds)
    return 0
}

extension CURLMoption {
    // Since libcurl 8.20. Older versions refuse both, and have a thread for each look-up.
    fileprivate static let resolveThreadsMax = CURLMoption(rawValue: 20)
    /// Cleaning up does not wait for look-ups.
    fileprivate static let quickExit = CURLMoption(rawValue: 21)
}
