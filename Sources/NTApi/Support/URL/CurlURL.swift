import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A URL that libcurl parses, with its `CURLU`.
final class CurlURL {
    private let handle: OpaquePointer

    /// libcurl's own bound (CURL_MAX_INPUT_LENGTH), which its headers do not have.
    private static let maximumSize = 8_000_000

    init() throws(APIError) {
        guard let handle = curl_url() else {
            throw APIError(domain: .request, code: .generic, message: "out of memory")
        }
        self.handle = handle
    }

    deinit { curl_url_cleanup(handle) }

    /// Sets the whole URL, which is absolute.
    ///
    /// - Parameter name: what error messages call the URL.
    func set(_ text: String, named name: String) throws(APIError) {
        let code = curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_PATH_AS_IS))
        guard code != CURLUE_OK else { return }
        let reason =
            switch code {
            case CURLUE_BAD_SCHEME: "it must begin with http:// or https://"
            case CURLUE_MALFORMED_INPUT where text.utf8.count > Self.maximumSize:
                "it has \(text.utf8.count) bytes, which is too long"
            default: String(cString: curl_url_strerror(code)).lowercasedASCII()
            }
        throw .invalidRequest("URL \(URLParts.quoted(name)): \(reason)")
    }

    var text: String? { part(CURLUPART_URL, flags: UInt32(CURLU_PUNYCODE)) }
    var scheme: String? { part(CURLUPART_SCHEME) }
    var hasUser: Bool { part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil }
    /// In punycode.
    var host: String? { part(CURLUPART_HOST, flags: UInt32(CURLU_PUNYCODE)) }
    /// The port, even if it is the scheme's default.
    var port: Int? { part(CURLUPART_PORT, flags: UInt32(CURLU_DEFAULT_PORT)).flatMap { Int($0) } }
    var path: String? { part(CURLUPART_PATH) }
    var query: String? { part(CURLUPART_QUERY) }
    var fragment: String? { part(CURLUPART_FRAGMENT) }

    private func part(_ part: CURLUPart, flags: UInt32 = 0) -> String? {
        // libidn2 reads names in the thread's locale. If the program never called `setlocale`, that is plain ASCII.
        let previous = Self.utf8Locale.map { uselocale($0) }
        defer { if let previous { uselocale(previous) } }
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    // Safe to share: made once, never changed or freed.
    nonisolated(unsafe) private static let utf8Locale: locale_t? = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
}
