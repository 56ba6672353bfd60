import CCurl

/// The URL of an easy handle, parsed once for all its transfers to the same server.
///
/// For each transfer libcurl parses the text of a URL and then formats it again: a sixth of all its work for a small
/// request. With a `CURLU` it gets the parts, and only path and query change from one request to the next. It also gets
/// the text, which it uses when it sends a request again.
struct HandleURL: ~Copyable {
    private var parts: OpaquePointer?
    /// The length of the text before its path, if the parts belong to the text; otherwise 0.
    private var originLength = 0
    private var text = ""
    private var isSet = false
    private var hasParts = false

    init() {}

    deinit { curl_url_cleanup(parts) }

    /// The handle was reset and has lost the URL.
    mutating func forget() {
        isSet = false
        hasParts = false
    }

    mutating func set(_ url: String, _ options: inout EasyOptions) {
        if isSet, url == text { return }
        let isApart = takeApart(url)
        if isApart != hasParts { options.set(CURLOPT_CURLU, pointer: isApart ? UnsafeMutableRawPointer(parts) : nil) }
        options.set(CURLOPT_URL, url)
        text = url
        isSet = true
        hasParts = isApart
    }

    /// - Returns: whether the parts belong to the URL now. libcurl parses an unusual URL itself.
    private mutating func takeApart(_ url: String) -> Bool {
        let lastLength = originLength
        // Until this succeeds, the parts do not belong to the new text.
        originLength = 0
        guard let path = url.withBytes(Self.startOfPath) else { return false }
        if parts == nil { parts = curl_url() }
        guard let parts else { return false }
        let isSameServer =
            path == lastLength
            && url.withBytes { new in text.withBytes { new.prefix(path).elementsEqual($0.prefix(path)) } }
        let code =
            isSameServer
            ? Self.set(parts, target: url.utf8.dropFirst(path))
            : curl_url_set(parts, CURLUPART_URL, url, UInt32(CURLU_PATH_AS_IS))
        guard code == CURLUE_OK else { return false }
        originLength = path
        return true
    }

    private static func set(_ parts: OpaquePointer, target: Substring.UTF8View) -> CURLUcode {
        let mark = target.firstIndex(of: UInt8(ascii: "?"))
        let code = curl_url_set(parts, CURLUPART_PATH, String(Substring(target[..<(mark ?? target.endIndex)])), 0)
        guard code == CURLUE_OK else { return code }
        let query = mark.map { String(Substring(target[target.index(after: $0)...])) }
        return curl_url_set(parts, CURLUPART_QUERY, query, 0)
    }

    /// Where the path begins. Nil if libcurl might write the URL differently when it gets the parts: a percent sign,
    /// whose digits it changes to lower case, an IPv6 address, whose zone it loses, or a fragment.
    private static func startOfPath(_ url: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let start = url.endOfScheme, let path = url[start...].firstIndex(of: UInt8(ascii: "/")),
            url[..<path].allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || ".-_:/".utf8.contains($0) }),
            url.areVisibleASCII, !url.has(UInt8(ascii: "%")), !url.has(UInt8(ascii: "#"))
        else { return nil }
        return path
    }
}
