/// The server that a URL leads to. The URL is checked too, whoever built it.
///
/// libcurl takes the URL apart once more when it connects; here that would be for the host alone, which is nearly
/// always the same. So what stands before the path is remembered.
struct OriginCache {
    private static let capacity = 256
    private var origins: [Substring: Origin] = [:]
    /// What stood before the path of the last URL, and its server.
    private var last: (prefix: [UInt8], origin: Origin)?

    /// - Returns: the server, and the URL as libcurl is to be given it: in ASCII.
    mutating func origin(of url: String) throws(APIError) -> (key: Origin, url: String) {
        let bytes = url.utf8
        // Anything unusual goes the long way, and gets its error there.
        let isPlain = bytes.withContiguousStorageIfAvailable(Self.isPlain) ?? bytes.allSatisfy(Self.isPlain)
        if isPlain, let last, isBehind(last.prefix, url) { return (last.origin, url) }
        let end = Self.endOfAuthority(bytes)
        if isPlain, let end, let known = origins[url[..<end]] {
            last = (Array(bytes[..<end]), known)
            return (known, url)
        }
        let parts = try URLParts(url)
        let origin = Origin(scheme: parts.scheme, host: parts.host, port: parts.port)
        if let end {
            if origins.count >= Self.capacity { origins = [:] }
            // A copy, or a slice would keep the whole URL in memory.
            origins[Substring(String(url[..<end]))] = origin
        }
        return (origin, parts.text)
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7f }

    private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool { bytes.allSatisfy(isPlain) }

    /// Whether a URL begins with this prefix and its authority ends there.
    private func isBehind(_ prefix: [UInt8], _ url: String) -> Bool {
        url.utf8.withContiguousStorageIfAvailable { bytes in
            bytes.count > prefix.count && Self.endsAuthority(bytes[prefix.count])
                && prefix.elementsEqual(bytes[..<prefix.count])
        } ?? false
    }

    private static func endOfAuthority(_ bytes: String.UTF8View) -> String.Index? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let start = bytes.index(colon, offsetBy: 3)
        return bytes[start...].firstIndex(where: endsAuthority)
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}
