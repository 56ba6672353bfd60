/// A connection policy that is checked and ready to judge.
struct ConnectionRules: Sendable, Hashable {
    private let schemes: [String]?
    private let ports: [Int]?
    private let hosts: [HostPattern]?
    private let deniedHosts: [HostPattern]
    private let allowsPublic: Bool
    private let ranges: [AddressRange]?
    private let deniedRanges: [AddressRange]

    init(_ policy: ConnectionPolicy) throws(APIError) {
        for scheme in policy.schemes ?? [] where scheme != "http" && scheme != "https" {
            throw ConnectionPolicy.problem("\(quoted(scheme)) in schemes is neither \"http\" nor \"https\"")
        }
        for port in policy.ports ?? [] where !(1...65535).contains(port) {
            throw ConnectionPolicy.problem("\(port) in ports is not between 1 and 65535")
        }
        schemes = policy.schemes
        ports = policy.ports
        hosts = try policy.hosts.map { names throws(APIError) in try Self.patterns(names, "hosts") }
        deniedHosts = try Self.patterns(policy.deniedHosts, "denied_hosts")
        allowsPublic = policy.addresses?.contains("public") ?? false
        ranges = try policy.addresses.map { texts throws(APIError) in
            try Self.ranges(texts.filter { $0 != "public" }, "addresses")
        }
        deniedRanges = try Self.ranges(policy.deniedAddresses, "denied_addresses")
    }

    /// Whether addresses are judged. Then there may be no proxy, which resolves the names itself.
    var judgesAddresses: Bool { ranges != nil || !deniedRanges.isEmpty }

    /// Judges what the URL says.
    ///
    /// - Returns: the rule that does not allow it, in words.
    func objection(to origin: Origin) -> String? {
        if let schemes, !schemes.contains(origin.scheme) { return "the scheme \(origin.scheme) is not in schemes" }
        if let ports, !ports.contains(origin.port) { return "the port \(origin.port) is not in ports" }
        let host = HostPattern.canonical(origin.host)
        if let denied = deniedHosts.first(where: { $0.matches(host) }) { return "\(denied.text) is in denied_hosts" }
        if let hosts, !hosts.contains(where: { $0.matches(host) }) { return "the host is not in hosts" }
        return nil
    }

    /// Judges the address that a socket is about to connect to.
    ///
    /// - Parameter address: nil for what is no IP address.
    /// - Returns: the rule that does not allow it, in words.
    func objection(to address: IPAddress?) -> String? {
        guard judgesAddresses else { return nil }
        guard let address else { return "it is no IP address" }
        let inner = address.inner
        for range in deniedRanges where range.contains(address) || inner.map(range.contains) ?? false {
            return "\(range.text) is in denied_addresses"
        }
        guard let ranges else { return nil }
        if ranges.contains(where: { $0.contains(address) }) { return nil }
        if allowsPublic, PublicAddresses.contains(address) { return nil }
        return allowsPublic && ranges.isEmpty ? "it is not public" : "it is not in addresses"
    }

    private static func patterns(_ names: [String], _ rule: String) throws(APIError) -> [HostPattern] {
        var patterns: [HostPattern] = []
        for name in names {
            guard let pattern = HostPattern(name) else {
                throw ConnectionPolicy.problem(
                    "\(quoted(name)) in \(rule) is no host: write a name in ASCII, an address, or \"*.example.com\"")
            }
            patterns.append(pattern)
        }
        return patterns
    }

    private static func ranges(_ texts: [String], _ rule: String) throws(APIError) -> [AddressRange] {
        var ranges: [AddressRange] = []
        for text in texts {
            guard let range = AddressRange(text) else {
                throw ConnectionPolicy.problem(
                    "\(quoted(text)) in \(rule) is no address: write \"192.0.2.1\", or a range from its first address, "
                        + "such as \"10.0.0.0/8\" or \"2001:db8::/32\"")
            }
            ranges.append(range)
        }
        return ranges
    }
}

/// A host, or with `*.` all names below it.
private struct HostPattern: Sendable, Hashable {
    let text: String
    private let name: String
    private let isBelow: Bool

    init?(_ text: String) {
        self.text = text
        isBelow = text.hasASCIIPrefix("*.")
        name = Self.canonical(isBelow ? String(text.dropFirst(2)) : text)
        // A colon is only in an address of IPv6.
        let isAddress = !isBelow && IPAddress(name) != nil
        let isName = name.utf8.allSatisfy { $0.isASCIIDigit || $0.isASCIILetter || "-._".utf8.contains($0) }
        guard !name.isEmpty, isAddress || isName else { return nil }
    }

    /// In lower case, without the brackets of IPv6 and the dot at the end.
    static func canonical(_ host: String) -> String {
        var host = host.lowercasedASCII()
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
            host = String(host.dropFirst().dropLast())
        }
        if host.utf8.last == UInt8(ascii: "."), host.utf8.count > 1 { host.removeLast() }
        return IPAddress(host)?.text ?? host
    }

    func matches(_ host: String) -> Bool {
        guard isBelow else { return host == name }
        let end = host.utf8.count - name.utf8.count
        return end > 1 && host.utf8.dropFirst(end).elementsEqual(name.utf8)
            && host.utf8.dropFirst(end - 1).first == UInt8(ascii: ".")
    }
}
