/// Hosts that are reached without a proxy: names, which include their subdomains, addresses, and networks.
///
/// libcurl is not asked: not every version knows networks of IPv6, and each ignores what it cannot read.
struct ProxyExceptions: Sendable, Equatable {
    private var haveAll = false
    private var names: [String] = []
    private var networks: [AddressRange] = []

    /// The entries of a list, which commas separate.
    static func entries(_ list: String) -> [String] {
        list.split(separator: ",").map { String($0.trimmed) }.filter { !$0.isEmpty }
    }

    /// What an entry is, for messages.
    static let wanted =
        "a list of names such as \"example.com\", which include their subdomains, addresses, and networks such as "
        + "\"10.0.0.0/8\"; or \"*\" for all hosts"

    /// - Returns: false when no host can ever match the entry, because it is misspelled.
    mutating func add(_ entry: String) -> Bool {
        if entry == "*" {
            haveAll = true
        } else if let network = Self.network(entry) {
            networks.append(network)
        } else if let name = Self.name(entry) {
            // Other ways to write an address of IPv4, such as 127.1.
            if let address = IPAddress(name) { networks.append(AddressRange(address)) } else { names.append(name) }
        } else {
            return false
        }
        return true
    }

    /// - Parameter host: as in a parsed URL.
    func contains(host: String) -> Bool {
        if haveAll { return true }
        if !networks.isEmpty, let address = Self.address(host) {
            return networks.contains { $0.contains(address) }
        }
        guard !names.isEmpty else { return false }
        let host = Self.withoutDot(host)
        return names.contains { host == $0 || host.hasSuffix(".\($0)") }
    }

    /// `10.0.0.0/8`, `::1`, `[::1]`, `fd00::/8`. Bits behind the length do not matter.
    private static func network(_ entry: String) -> AddressRange? {
        guard entry.utf8.first == UInt8(ascii: "[") else { return AddressRange(around: entry) }
        guard let end = entry.firstIndex(of: "]") else { return nil }
        let (address, length) = (entry[..<end].dropFirst(), entry[end...].dropFirst())
        guard address.utf8.contains(UInt8(ascii: ":")), length.isEmpty || length.utf8.first == UInt8(ascii: "/") else {
            return nil
        }
        return AddressRange(around: String(address + length))
    }

    /// A name as a parsed URL has it: in lower case and punycode. A dot at its start is usual, and means the same.
    private static func name(_ entry: String) -> String? {
        let name = entry.utf8.first == UInt8(ascii: ".") ? String(entry.dropFirst()) : entry
        guard !name.utf8.contains(where: { "/:@?#%*[]\\".utf8.contains($0) }),
            let host = try? URLParts("http://\(name)/").host, let first = withoutDot(host).utf8.first,
            first != UInt8(ascii: ".")
        else { return nil }
        return withoutDot(host)
    }

    private static func address(_ host: String) -> IPAddress? {
        guard host.utf8.first == UInt8(ascii: "[") else { return IPAddress(host) }
        return IPAddress(String(host.dropFirst().prefix { $0 != "]" && $0 != "%" }))
    }

    /// The dot at the end of a full name.
    private static func withoutDot(_ name: String) -> String {
        name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name
    }
}
