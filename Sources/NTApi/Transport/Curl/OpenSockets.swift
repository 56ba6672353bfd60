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
    /// The addresses and ports of both ends.
    struct Ends: Hashable {
        private var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        fileprivate let localPort: Int32

        /// As the prereq callback has them.
        init(
            _ address: UnsafePointer<CChar>?, _ port: Int32, _ localAddress: UnsafePointer<CChar>?, _ localPort: Int32
        ) {
            self.localPort = localPort
            mix(UInt64(truncatingIfNeeded: port))
            add(address)
            add(localAddress)
        }

        private mutating func add(_ text: UnsafePointer<CChar>?) {
            guard var next = text else { return }
            while next.pointee != 0 {
                mix(UInt64(UInt8(bitPattern: next.pointee)))
                next += 1
            }
            mix(0)
        }

        // FNV-1a: half a dozen instructions a letter.
        private mutating func mix(_ value: UInt64) { hash = (hash ^ value) &* 0x100_0000_01B3 }
    }

    private struct Socket {
        /// Whether it was opened for an https URL.
        let isSecure: Bool
        /// Whether a server has answered on it with HTTP/2.
        var isMultiplexed = false
        var ends: Ends?
    }

    private let poller: SystemPoller
    @exclusivity(unchecked) private var sockets: [Int32: Socket] = [:]
    @exclusivity(unchecked) private var descriptors: [Ends: Int32] = [:]

    init(_ poller: SystemPoller) { self.poller = poller }

    func didOpen(_ descriptor: Int32, isSecure: Bool) {
        sockets[descriptor] = Socket(isSecure: isSecure)
        poller.didOpen(descriptor)
    }

    func didClose(_ descriptor: Int32) {
        poller.didClose(descriptor)
        if let ends = sockets.removeValue(forKey: descriptor)?.ends { descriptors[ends] = nil }
    }

    /// A connection was made, over one of these.
    func didConnect(_ candidates: [Int32], _ ends: Ends) {
        guard let descriptor = candidates.first(where: { ntapi_socket_port($0) == ends.localPort }),
            sockets[descriptor] != nil
        else { return }
        sockets[descriptor]?.ends = ends
        descriptors[ends] = descriptor
    }

    func markMultiplexed(_ ends: Ends) {
        if let descriptor = descriptors[ends] { sockets[descriptor]?.isMultiplexed = true }
    }

    /// Whether a connection between these is for such an origin.
    func isFor(isSecure: Bool, _ ends: Ends) -> Bool {
        guard let socket = descriptors[ends].flatMap({ sockets[$0] }) else { return true }
        return socket.isSecure == isSecure
    }

    /// Whether there is nothing to be read before a request goes out. With HTTP/2 there may be, of others.
    func isSilent(_ ends: Ends) -> Bool {
        guard let descriptor = descriptors[ends], sockets[descriptor]?.isMultiplexed != true else { return true }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        // 0 is the end of the connection.
        return count < 0 && errno == EAGAIN
    }
}
