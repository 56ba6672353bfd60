// How a connection reaches its server, when the program says so.
extension SettingsReader {
    func route() throws(APIError) -> ConnectionRoute {
        var route = ConnectionRoute()
        if let path = try text("unixSocket", "the absolute path of a socket"), !path.isEmpty {
            guard path.utf8.first == UInt8(ascii: "/") else {
                throw problem("unixSocket", JSON(path), "the absolute path of a socket")
            }
            route.unixSocket = path
        }
        let resolved = "\"HOST:PORT:ADDRESS\", with more addresses after commas, or a list of these"
        route.resolve = try texts("resolve", resolved) ?? []
        for entry in route.resolve where !Self.isResolved(entry) { throw problem("resolve", JSON(entry), resolved) }
        let redirected = "\"HOST:PORT:OTHER_HOST:OTHER_PORT\", each of which may be empty, or a list of these"
        route.connectTo = try texts("connectTo", redirected) ?? []
        for entry in route.connectTo where !Self.isRedirected(entry) {
            throw problem("connectTo", JSON(entry), redirected)
        }
        if let url = try text("dnsOverHttps", "an https URL"), !url.isEmpty {
            guard Origin(url: url)?.isSecure == true else { throw problem("dnsOverHttps", JSON(url), "an https URL") }
            route.dnsOverHTTPS = url
        }
        return route
    }

    private static func isResolved(_ entry: String) -> Bool {
        let (parts, rest) = split(entry, at: 2)
        guard parts.count == 2, let host = parts[0].utf8.first, host != UInt8(ascii: "+"), host != UInt8(ascii: "-"),
            isPort(parts[1])
        else { return false }
        let addresses = rest.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        return addresses.allSatisfy { address in
            var text = String(Substring(address))
            if text.utf8.first == UInt8(ascii: "["), text.utf8.last == UInt8(ascii: "]") {
                text = String(text.dropFirst().dropLast())
            }
            return IPAddress(text) != nil
        }
    }

    private static func isRedirected(_ entry: String) -> Bool {
        let (parts, rest) = split(entry, at: 3)
        return parts.count == 3 && [parts[1], rest].allSatisfy { $0.isEmpty || isPort($0) }
            && entry.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static func isPort(_ text: String) -> Bool {
        text.utf8.allSatisfy(\.isASCIIDigit) && (1...65535).contains(Int(text) ?? 0)
    }

    /// The first parts between colons, and the rest. A colon in brackets is part of an address of IPv6.
    private static func split(_ entry: String, at count: Int) -> (parts: [String], rest: String) {
        var parts: [String] = []
        var rest = Substring(entry).utf8
        while parts.count < count {
            var isInside = false
            let end = rest.firstIndex { byte in
                if byte == UInt8(ascii: "[") { isInside = true }
                if byte == UInt8(ascii: "]") { isInside = false }
                return byte == UInt8(ascii: ":") && !isInside
            }
            guard let end else { break }
            parts.append(String(Substring(rest[..<end])))
            rest = rest[rest.index(after: end)...]
        }
        return (parts, String(Substring(rest)))
    }
}
