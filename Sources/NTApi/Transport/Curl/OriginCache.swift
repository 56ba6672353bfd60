/// The server that a URL leads to. The URL is checked too, whoever built it.
///
/// libcurl parses the URL again when it connects. Here only the host is needed, which is nearly always the same. So what
/// comes before the path is remembered.
struct OriginCache {
    private static let capacity = 256
    private var origins: [String: Origin] = [:]
    /// The last one, which most often is the next, too.
    private var last: (text: String, key: Origin)?

    /// - Returns: the server, and the URL as libcurl is to be given it: in ASCII.
    mutating func origin(of url: String) throws(APIError) -> (key: Origin, url: String) {
        let length = Self.lengthOfOrigin(url)
        // An unusual URL is parsed by libcurl, and gets its error there.
        if let length, let known = known(url, length) { return (known, url) }
        let parts = try URLParts(url)
        let key = Origin(scheme: parts.scheme, host: parts.host, port: parts.port)
        guard let length else { return (key, parts.text) }
        remember(key, of: Self.prefix(url, length))
        return (key, url)
    }

    private mutating func known(_ url: String, _ length: Int) -> Origin? {
        if let last, last.text.utf8.count == length, url.hasASCIIPrefix(last.text) { return last.key }
        let text = Self.prefix(url, length)
        guard let key = origins[text] else { return nil }
        last = (text, key)
        return key
    }

    private mutating func remember(_ key: Origin, of text: String) {
        if origins.count >= Self.capacity { origins = [:] }
        origins[text] = key
        last = (text, key)
    }

    // A copy, or a slice would keep the whole URL in memory.
    private static func prefix(_ url: String, _ length: Int) -> String {
        String(decoding: url.utf8.prefix(length), as: UTF8.self)
    }

    /// How many bytes stand before path, query or fragment; nil for a URL that is anything but plain.
    private static func lengthOfOrigin(_ url: String) -> Int? {
        url.withBytes { bytes in
            guard bytes.areVisibleASCII, let start = bytes.endOfScheme else { return nil }
            return (start..<bytes.count).first {
                bytes[$0] == UInt8(ascii: "/") || bytes[$0] == UInt8(ascii: "?") || bytes[$0] == UInt8(ascii: "#")
            }
        }
    }
}
