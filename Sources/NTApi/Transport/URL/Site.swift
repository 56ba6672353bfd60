import CNTApiSystem

/// Whether hosts belong to the same site, the registered domain: `example.com` for `www.example.com`.
enum Site {
    /// Uses the list of public suffixes that libcurl uses. Without the list, a host and its subdomains are a site.
    static func isSame(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        guard let shared = sharedDomain(one, other) else { return false }
        switch ntapi_system_may_set_cookies(one, shared) {
        case 1: return ntapi_system_may_set_cookies(other, shared) == 1
        case 0: return false
        default: return shared == one || shared == other
        }
    }

    /// Whether a cookie may be set for a domain: not for a public suffix, if there is a list. A host with a single
    /// name, in a private network, may have its own cookies.
    static func mayHaveCookies(_ domain: String, includingSubdomains: Bool) -> Bool {
        if isAddress(domain) || domain.utf8.contains(UInt8(ascii: ":")) || domain == "localhost" { return true }
        if !includingSubdomains, !domain.utf8.contains(UInt8(ascii: ".")) { return true }
        return ntapi_system_may_set_cookies("x.\(domain)", domain) != 0
    }

    /// The common final labels; nil when there are none, or for addresses.
    private static func sharedDomain(_ one: String, _ other: String) -> String? {
        guard !isAddress(one), !isAddress(other) else { return nil }
        let labels = zip(
            one.split(separator: ".", omittingEmptySubsequences: false).reversed(),
            other.split(separator: ".", omittingEmptySubsequences: false).reversed()
        ).prefix { $0 == $1 }.map(\.0)
        return labels.isEmpty ? nil : labels.reversed().joined(separator: ".")
    }

    private static func isAddress(_ host: String) -> Bool {
        host.hasPrefix("[") || host.split(separator: ".").last?.utf8.allSatisfy(\.isASCIIDigit) == true
    }
}
