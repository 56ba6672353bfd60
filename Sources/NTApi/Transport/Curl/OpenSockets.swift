import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The sockets of a loop's connections. Used only on the loop's thread.
///
/// libcurl does not say which socket a request is about to use. It gives only the addresses and ports of the
/// connection, which identify the socket.
final class OpenSockets {
    private struct Socket {
        /// Whether it was opened for an https URL.
        let isSecure: Bool
        /// The number of the pool that has its connection.
        let pool: Int?
        /// Whether a server has answered on it with HTTP/2.
        var isMultiplexed = false
        var ends: ConnectionEnds?
    }

    private let poller: SystemPoller
    @exclusivity(unchecked) private var state = State()

    private struct State: ~Copyable {
        var sockets: [Int32: Socket] = [:]
        var descriptors: [ConnectionEnds: Int32] = [:]
        /// Those with TLS from which no answer has come yet.
        var unproven: Set<Int32> = []
    }

    init(_ poller: SystemPoller) { self.poller = poller }

    func didOpen(_ descriptor: Int32, isSecure: Bool, pool: Int?) {
        Descriptors.didOpenSocket()
        state.sockets[descriptor] = Socket(isSecure: isSecure, pool: pool)
        poller.didOpen(descriptor)
    }

    func didClose(_ descriptor: Int32) {
        poller.didClose(descriptor)
        if !state.unproven.isEmpty { state.unproven.remove(descriptor) }
        guard let socket = state.sockets.removeValue(forKey: descriptor) else { return }
        Descriptors.didCloseSocket()
        if let ends = socket.ends { state.descriptors[ends] = nil }
    }

    /// How many a pool has. Looks at all, so only for a shortage.
    func count(of pool: Int) -> Int { state.sockets.values.count { $0.pool == pool } }

    /// A connection was made with one of these sockets.
    func didConnect(_ candidates: [Int32], _ ends: ConnectionEnds) {
        guard let descriptor = candidates.first(where: { ntapi_socket_port($0) == ends.localPort }),
            let socket = state.sockets[descriptor]
        else { return }
        if socket.isSecure { state.unproven.insert(descriptor) }
        state.sockets[descriptor]?.ends = ends
        state.descriptors[ends] = descriptor
    }

    /// A server has answered.
    ///
    /// - Parameter ends: the ends of the connection, if they are known.
    func didAnswer(_ ends: ConnectionEnds?, isMultiplexed: Bool) {
        guard isMultiplexed || !state.unproven.isEmpty, let descriptor = ends.flatMap({ state.descriptors[$0] }) else {
            return
        }
        if isMultiplexed { state.sockets[descriptor]?.isMultiplexed = true }
        if !state.unproven.isEmpty { state.unproven.remove(descriptor) }
    }

    /// Whether the connection was made with TLS, and no answer has come yet.
    func isUnproven(_ descriptor: Int32) -> Bool {
        !state.unproven.isEmpty && state.unproven.contains(descriptor)
    }

    /// Whether the connection between these ends was opened for such an origin.
    func isFor(isSecure: Bool, _ ends: ConnectionEnds) -> Bool {
        guard let socket = state.descriptors[ends].flatMap({ state.sockets[$0] }) else { return true }
        return socket.isSecure == isSecure
    }

    /// Whether there is nothing to read before a request is sent. Over HTTP/2 there may be data for other requests.
    func isSilent(_ ends: ConnectionEnds) -> Bool {
        guard let descriptor = state.descriptors[ends], state.sockets[descriptor]?.isMultiplexed != true else {
            return true
        }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        // 0 means that the server closed the connection.
        return count < 0 && errno == EAGAIN
    }
}

extension EasyHandle {
    /// Reports every socket that the handle opens to the loop.
    func followSockets(_ sockets: OpenSockets) -> CURLcode {
        state.sockets = sockets
        let code = ntapi_easy_set_open_socket(easy, openSocketCallback, Unmanaged.passUnretained(self).toOpaque())
        guard code == CURLE_OK else { return code }
        // A connection outlives the handle that opened it.
        return ntapi_easy_set_close_socket(easy, closeSocketCallback, Unmanaged.passUnretained(sockets).toOpaque())
    }
}

/// Opens a connection's socket as libcurl would, but with close-on-exec, so that programs which the host starts do not
/// inherit it.
private func openSocketCallback(
    data: UnsafeMutableRawPointer?, purpose: curlsocktype, address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let data, let pointer = address, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else {
        return CURL_SOCKET_BAD
    }
    let address = pointer.pointee
    let handle = Unmanaged<EasyHandle>.fromOpaque(data).takeUnretainedValue()
    // An IPv6 address is longer than the field in which it begins.
    let destination = (UnsafeRawPointer(pointer) + offset).assumingMemoryBound(to: sockaddr.self)
    guard handle.transfer?.mayLeave(towards: destination, socklen_t(address.addrlen)) != false else {
        return CURL_SOCKET_BAD
    }
    guard let sockets = handle.state.sockets, handle.transfer?.mayOpenConnection() != false else {
        return CURL_SOCKET_BAD
    }
    #if os(Linux)
        let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
    #else
        let type = address.socktype
    #endif
    let descriptor = socket(address.family, type, address.protocol)
    guard descriptor >= 0 else {
        handle.transfer?.state.socketError = errno
        return CURL_SOCKET_BAD
    }
    #if !os(Linux)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #endif
    sockets.didOpen(
        descriptor, isSecure: handle.transfer?.origin.isSecure == true, pool: handle.transfer?.poolNumber)
    handle.state.newSockets.append(descriptor)
    return descriptor
}

private func closeSocketCallback(data: UnsafeMutableRawPointer?, descriptor: curl_socket_t) -> Int32 {
    // Forget it before closing it. Afterwards another thread may get the same number.
    if let data { Unmanaged<OpenSockets>.fromOpaque(data).takeUnretainedValue().didClose(descriptor) }
    return close(descriptor)
}
