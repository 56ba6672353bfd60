/// The server that a URL leads to. The URL is checked too, whoever built it.
///
/// libcurl takes the URL apart once more when it connects; here that would be for the host alone, which is nearly
/// always the same. So what stands before the path is remembered.
struct OriginCache {
    private static let capacity = 256
    private var origins: [Substring: HostQueue.Key] = [:]

    /// - Returns: the server, and the URL as libcurl is to be given it: in ASCII.
    mutating func origin(of url: String) throws(APIError) -> (key: HostQueue.Key, url: String) {
        let bytes = url.utf8
        // Anything unusual goes the long way, and gets its error there.
        if bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), let end = Self.endOfAuthority(bytes),
            let known = origins[url[..<end]]
        {
            return (known, url)
        }
        let parts = try URLParts(url)
        let key = HostQueue.Key(scheme: parts.scheme, host: parts.host, port: parts.port)
        if let end = Self.endOfAuthority(bytes) {
            if origins.count >= Self.capacity { origins = [:] }
            // A copy, or a slice would keep the whole URL in memory.
            origins[Substring(String(url[..<end]))] = key
        }
        return (key, parts.text)
    }

    private static func endOfAuthority(_ bytes: String.UTF8View) -> String.Index? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let start = bytes.index(colon, offsetBy: 3)
        return bytes[start...].firstIndex {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
    }
}
