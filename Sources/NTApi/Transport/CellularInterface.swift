#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Which interfaces are mobile, according to Linux: `DEVTYPE=wwan`.
///
/// Does not wait and sends nothing. A tunnel or PPP interface over a mobile one does not count. Without information
/// from the system, no interface is mobile.
enum CellularInterface {
    /// The folder in which the system describes each interface. Tests replace it.
    static let folder = Lock("/sys/class/net", survivesFork: true)

    /// The mobile interface of the route to an address; nil when the route uses no mobile interface.
    ///
    /// - Parameter setting: the interface or address of the setting `networkInterface`.
    static func towards(_ address: UnsafePointer<sockaddr>, _ length: socklen_t, boundTo setting: String?) -> String? {
        if let setting { return bound(to: setting) }
        #if os(Linux)
            let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        #else
            let kind = SOCK_DGRAM
        #endif
        let descriptor = socket(Int32(address.pointee.sa_family), kind, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Only looks up the route: this sends nothing.
        guard connect(descriptor, address, length) == 0 else { return nil }
        var own = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &own) { own -> String? in
            own.withMemoryRebound(to: sockaddr.self, capacity: 1) { own -> String? in
                getsockname(descriptor, own, &size) == 0 ? text(of: own).flatMap(having) : nil
            }
        }
    }

    /// The mobile interface with a numeric address; nil when there is none.
    static func having(_ address: String) -> String? {
        let wanted = withoutZone(address)
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, text(of: address) == wanted else { continue }
            let name = String(cString: entry.ifa_name)
            if isCellular(name) { return name }
        }
        return nil
    }

    static func isCellular(_ name: String) -> Bool {
        guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")) else { return false }
        let bytes = try? SystemFile.read("\(folder.withLock { $0 })/\(name)/uevent")
        return bytes?.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual("DEVTYPE=wwan".utf8) } ?? false
    }

    /// The interface of `eth0`, `127.0.0.2`, `if!eth0` or `host!127.0.0.2`.
    private static func bound(to setting: String) -> String? {
        if setting.hasASCIIPrefix("if!") { return named(String(setting.dropFirst(3))) }
        if setting.hasASCIIPrefix("host!") { return having(String(setting.dropFirst(5))) }
        return named(setting) ?? having(setting)
    }

    private static func named(_ name: String) -> String? { isCellular(name) ? name : nil }

    /// The address in numeric form, as libcurl writes it.
    private static func text(of address: UnsafePointer<sockaddr>) -> String? {
        let length: Int
        switch Int32(address.pointee.sa_family) {
        case AF_INET: length = MemoryLayout<sockaddr_in>.size
        case AF_INET6: length = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let size = socklen_t(text.count)
        guard getnameinfo(address, socklen_t(length), &text, size, nil, 0, NI_NUMERICHOST) == 0 else { return nil }
        return withoutZone(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    private static func withoutZone(_ address: String) -> String {
        address.utf8.firstIndex(of: UInt8(ascii: "%")).map { String(address[..<$0]) } ?? address
    }
}
