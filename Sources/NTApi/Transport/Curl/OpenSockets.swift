import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The sockets of a loop's connections. On the loop's thread only.
///
/// libcurl does not say over which socket a request is about to go, only between which addresses: by these it is found.
final class OpenSockets {
    private struct Socket {
        /// Whether it was opened for an https URL.
        let isSecure: Bool
        /// Whether a server has answered on it with HTTP/2.
        var isMultiplexed = false
        var ends: ConnectionEnds?
    }

    private let poller: SystemPoller
    @exclusivity(unchecked) private var state = State()

    private struct State {
        var sockets: [Int32: Socket] = [:]
        var descriptors: [ConnectionEnds: Int32] = [:]
    }

    init(_ poller: SystemPoller) { self.poller = poller }

    func didOpen(_ descriptor: Int32, isSecure: Bool) {
        state.sockets[descriptor] = Socket(isSecure: isSecure)
        poller.didOpen(descriptor)
    }

    func didClose(_ descriptor: Int32) {
        poller.didClose(descriptor)
        if let ends = state.sockets.removeValue(forKey: descriptor)?.ends { state.descriptors[ends] = nil }
    }

    /// A connection was made, over one of these.
    func didConnect(_ candidates: [Int32], _ ends: ConnectionEnds) {
        guard let descriptor = candidates.first(where: { ntapi_socket_port($0) == ends.localPort }),
            state.sockets[descriptor] != nil
        else { return }
        state.sockets[descriptor]?.ends = ends
        state.descriptors[ends] = descriptor
    }

    func markMultiplexed(_ ends: ConnectionEnds) {
        if let descriptor = state.descriptors[ends] { state.sockets[descriptor]?.isMultiplexed = true }
    }

    /// Whether a connection between these is for such an origin.
    func isFor(isSecure: Bool, _ ends: ConnectionEnds) -> Bool {
        guard let socket = state.descriptors[ends].flatMap({ state.sockets[$0] }) else { return true }
        return socket.isSecure == isSecure
    }

    /// Whether there is nothing to be read before a request goes out. With HTTP/2 there may be, of others.
    func isSilent(_ ends: ConnectionEnds) -> Bool {
        guard let descriptor = state.descriptors[ends], state.sockets[descriptor]?.isMultiplexed != true else {
            return true
        }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        // 0 is the end of the connection.
        return count < 0 && errno == EAGAIN
    }
}
