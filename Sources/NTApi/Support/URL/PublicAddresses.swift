/// Which addresses are reached through the Internet: those that are in no registry of special addresses (RFC 6890).
enum PublicAddresses {
    static func contains(_ address: IPAddress) -> Bool {
        if address.isIPv4 { return !special.contains { $0.contains(address) } }
        // NAT64 is how a network without IPv4 reaches the servers of IPv4.
        if natted.contains(address) { return address.inner.map(contains) ?? false }
        return global.contains(address) && !specialIPv6.contains { $0.contains(address) }
    }

    // The values, not their texts, so that none can be wrong.
    private static func four(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ length: Int) -> AddressRange {
        AddressRange(IPAddress(ipv4: a << 24 | b << 16 | c << 8 | d), length: 96 + length)
    }

    private static let special = [
        four(0, 0, 0, 0, 8),  // this network
        four(10, 0, 0, 0, 8),  // private
        four(100, 64, 0, 0, 10),  // shared by customers of a provider (CGNAT); metadata of Alibaba Cloud
        four(127, 0, 0, 0, 8),  // loopback
        four(168, 63, 129, 16, 32),  // metadata of Azure
        four(169, 254, 0, 0, 16),  // link-local; metadata of most clouds
        four(172, 16, 0, 0, 12),  // private
        four(192, 0, 0, 0, 24),  // protocols; metadata of Oracle Cloud
        four(192, 0, 2, 0, 24),  // documentation
        four(192, 88, 99, 0, 24),  // 6to4 relays
        four(192, 168, 0, 0, 16),  // private
        four(198, 18, 0, 0, 15),  // benchmarks
        four(198, 51, 100, 0, 24),  // documentation
        four(203, 0, 113, 0, 24),  // documentation
        four(224, 0, 0, 0, 4),  // multicast
        four(240, 0, 0, 0, 4),  // reserved, broadcast
    ]

    private static func six(_ high: UInt64, _ length: Int) -> AddressRange {
        AddressRange(IPAddress(high: high, low: 0), length: length)
    }

    /// All that has been given out for use in the Internet. The rest is loopback, unique local (metadata of AWS and
    /// Google Cloud), link-local, multicast or reserved.
    private static let global = six(0x2000_0000_0000_0000, 3)
    private static let natted = six(0x0064_FF9B_0000_0000, 96)

    private static let specialIPv6 = [
        six(0x2001_0000_0000_0000, 23),  // protocols, among them Teredo
        six(0x2001_0DB8_0000_0000, 32),  // documentation
        six(0x2002_0000_0000_0000, 16),  // 6to4
        six(0x3FFF_0000_0000_0000, 20),  // documentation
    ]
}
