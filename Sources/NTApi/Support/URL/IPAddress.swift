#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An IP address as a number of 128 bits. One of IPv4 is in `::ffff:0:0/96`.
struct IPAddress: Sendable, Hashable {
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(ipv4 bits: UInt32) { self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(bits)) }

    /// Reads `192.0.2.1` or `2001:db8::1`; no other way of writing.
    init?(_ text: String) {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(ipv4: UInt32(bigEndian: four.s_addr))
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        self.init(six)
    }

    /// Nil for what is no IP address, such as a Unix socket.
    init?(_ address: UnsafePointer<sockaddr>) {
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: self.init(ipv4: UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6: self.init(bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
        default: return nil
        }
    }

    private init(_ address: in6_addr) {
        (high, low) = withUnsafeBytes(of: address) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    var text: String {
        var storage = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        if isIPv4 {
            var four = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
            inet_ntop(AF_INET, &four, &storage, socklen_t(storage.count))
        } else {
            var six = (high.bigEndian, low.bigEndian)
            inet_ntop(AF_INET6, &six, &storage, socklen_t(storage.count))
        }
        return storage.withUnsafeBufferPointer { $0.baseAddress.map(String.init(cString:)) ?? "" }
    }

    /// The IPv4 address to which a translator or a tunnel sends what is sent to this address: NAT64 (RFC 6052), 6to4
    /// (RFC 3056), Teredo (RFC 4380), or one that is IPv4-compatible.
    var inner: IPAddress? {
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return IPAddress(ipv4: UInt32(low)) }
        if high >> 48 == 0x2002 { return IPAddress(ipv4: UInt32(truncatingIfNeeded: high >> 16)) }
        if high >> 32 == 0x2001_0000 { return IPAddress(ipv4: ~UInt32(truncatingIfNeeded: low)) }
        if high == 0, low >> 32 == 0, low > 1 { return IPAddress(ipv4: UInt32(low)) }
        return nil
    }
}

/// Addresses with the same first bits: `10.0.0.0/8`, `2001:db8::/32`, or one address.
struct AddressRange: Sendable, Hashable {
    let first: IPAddress
    /// How many of the 128 bits are the same.
    let length: Int

    init(_ first: IPAddress, length: Int) {
        self.first = first
        self.length = length
    }

    /// A range of one address.
    init(_ address: IPAddress) { self.init(address, length: 128) }

    /// Reads an address with or without a length. Nil when it is none, or when a bit behind the length is set.
    init?(_ text: String) {
        guard let (address, length) = Self.read(text) else { return nil }
        self.init(address, length: length)
        guard Self.mask(length, first) == first else { return nil }
    }

    /// The range that an address is in: `10.1.2.3/8` is `10.0.0.0/8`.
    init?(around text: String) {
        guard let (address, length) = Self.read(text) else { return nil }
        self.init(Self.mask(length, address), length: length)
    }

    private static func read(_ text: String) -> (IPAddress, length: Int)? {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = IPAddress(String(Substring(parts[0]))) else { return nil }
        let most = first.isIPv4 ? 32 : 128
        var length = most
        if parts.count == 2 {
            guard parts[1].allSatisfy(\.isASCIIDigit), let given = Int(Substring(parts[1])), given <= most else {
                return nil
            }
            length = given
        }
        return (first, 128 - most + length)
    }

    /// A range of IPv6 contains no address of IPv4, and the reverse.
    func contains(_ address: IPAddress) -> Bool {
        address.isIPv4 == first.isIPv4 && Self.mask(length, address) == first
    }

    private static func mask(_ length: Int, _ address: IPAddress) -> IPAddress {
        func bits(_ count: Int) -> UInt64 { count <= 0 ? 0 : .max << UInt64(64 - min(64, count)) }
        return IPAddress(high: address.high & bits(length), low: address.low & bits(length - 64))
    }

    var text: String {
        let own = first.isIPv4 ? length - 96 : length
        return own == (first.isIPv4 ? 32 : 128) ? first.text : "\(first.text)/\(own)"
    }
}
