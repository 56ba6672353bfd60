/// Finds the server of a URL, and checks the URL.
///
/// libcurl parses the URL again when it connects. Here only the host is needed, which is nearly always the same. So the
/// text before the path is cached.
struct OriginCache {
    private static let capacity = 256
    private var origins: [String: Origin] = [:]
    /// The last one, which is usually also the next.
    private var last: (text: String, key: Origin)?

    /// - Returns: the server, and the URL for libcurl, in ASCII.
    mutating func origin(of url: String) throws(APIError) -> (key: Origin, url: String) {
        let length = Self.lengthOfOrigin(url)
        // For an unusual URL, libcurl's parser decides and reports the error.
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

    // Copies the text, because a slice would keep the whole URL in memory.
    private static func prefix(_ url: String, _ length: Int) -> String {
        String(decoding: url.utf8.prefix(length), as: UTF8.self)
    }

    /// The number of bytes before path, query or fragment; nil for an unusual URL.
    private static func lengthOfOrigin(_ url: String) -> Int? {
        url.withBytes { bytes in
            guard bytes.areVisibleASCII, let start = bytes.endOfScheme else { return nil }
            return (start..<bytes.count).first {
                bytes[$0] == UInt8(ascii: "/") || bytes[$0] == UInt8(ascii: "?") || bytes[$0] == UInt8(ascii: "#")
            }
        }
    }
}
