/// Where the requests of a session may go: for programs that request URLs which others have given them.
///
///     var configuration = SessionConfiguration.ephemeral
///     configuration.connectionPolicy = .public
///
/// Addresses are judged after a name is resolved, on the very address that is connected to, for each attempt and each
/// redirect. A request that may not go fails with the code `not allowed`, and nothing is sent.
///
/// A rule that is nil allows everything. What is denied stays denied, whatever is allowed.
public struct ConnectionPolicy: Sendable, Hashable {
    /// The allowed schemes: `http`, `https`.
    public var schemes: [String]?
    /// The allowed ports.
    public var ports: [Int]?
    /// The allowed hosts: names and addresses as they are in URLs. `*.example.com` is each name below example.com.
    public var hosts: [String]?
    /// Hosts that are not allowed.
    public var deniedHosts: [String]
    /// The allowed addresses: `192.0.2.1`, ranges such as `10.0.0.0/8` and `2001:db8::/32`, and `public`, which is each
    /// address that is reached through the Internet.
    public var addresses: [String]?
    /// Addresses and ranges that are not allowed; also in the forms of IPv6 that a translator or tunnel sends there.
    public var deniedAddresses: [String]

    /// Makes a policy. What is not given allows everything.
    public init(
        schemes: [String]? = nil, ports: [Int]? = nil, hosts: [String]? = nil, deniedHosts: [String] = [],
        addresses: [String]? = nil, deniedAddresses: [String] = []
    ) {
        self.schemes = schemes
        self.ports = ports
        self.hosts = hosts
        self.deniedHosts = deniedHosts
        self.addresses = addresses
        self.deniedAddresses = deniedAddresses
    }

    /// Only addresses that are reached through the Internet: no private, loopback, link-local or shared ones, no
    /// multicast, none of a cloud's metadata.
    public static let `public` = ConnectionPolicy(addresses: ["public"])
}

// As a setting: `"public"`, or an object.
extension ConnectionPolicy {
    private enum Key: String, CaseIterable {
        case schemes, ports, hosts, addresses
        case deniedHosts = "denied_hosts"
        case deniedAddresses = "denied_addresses"
    }

    /// Reads the value of the default `connectionPolicy`.
    init(_ value: JSON) throws(APIError) {
        self.init()
        if value.string == "public" {
            self = .public
            return
        }
        guard let members = value.object else { throw Self.problem("it must be \"public\" or an object") }
        for (name, value) in members {
            guard let key = Key(rawValue: name) else {
                let names = Key.allCases.map(\.rawValue).joined(separator: ", ")
                throw Self.problem("\(quoted(name)) is none of its rules: \(names)")
            }
            switch key {
            case .schemes: schemes = try Self.texts(name, value)
            case .ports: ports = try Self.list(name, value, "whole numbers", \.int)
            case .hosts: hosts = try Self.texts(name, value)
            case .deniedHosts: deniedHosts = try Self.texts(name, value)
            case .addresses: addresses = try Self.texts(name, value)
            case .deniedAddresses: deniedAddresses = try Self.texts(name, value)
            }
        }
    }

    /// The value of the default `connectionPolicy`.
    var json: JSON {
        func list(_ texts: [String]) -> JSON { JSON(texts.map { JSON($0) }) }
        var members: [(String, JSON)] = []
        if let schemes { members.append((Key.schemes.rawValue, list(schemes))) }
        if let ports { members.append((Key.ports.rawValue, JSON(ports.map { JSON($0) }))) }
        if let hosts { members.append((Key.hosts.rawValue, list(hosts))) }
        if !deniedHosts.isEmpty { members.append((Key.deniedHosts.rawValue, list(deniedHosts))) }
        if let addresses { members.append((Key.addresses.rawValue, list(addresses))) }
        if !deniedAddresses.isEmpty { members.append((Key.deniedAddresses.rawValue, list(deniedAddresses))) }
        return JSON(members)
    }

    // It runs seldom, and a copy for each rule takes 5 KB.
    @inline(never) private static func texts(_ name: String, _ value: JSON) throws(APIError) -> [String] {
        try list(name, value, "texts", \.string)
    }

    private static func list<Element>(
        _ name: String, _ value: JSON, _ wanted: String, _ read: (JSON) -> Element?
    ) throws(APIError) -> [Element] {
        guard let array = value.array else { throw problem("\(name) must be a list of \(wanted)") }
        let elements = array.compactMap(read)
        guard elements.count == array.count else { throw problem("\(name) must be a list of \(wanted)") }
        return elements
    }

    static func problem(_ what: String) -> APIError { .invalidRequest("the default connectionPolicy: \(what)") }
}
