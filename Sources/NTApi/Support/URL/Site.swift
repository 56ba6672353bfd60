import CNTApiSystem

/// Whether hosts belong to the same site, the registered domain: `example.com` for `www.example.com`.
enum Site {
    /// Whether a host may set cookies for a domain that its name ends with: 1, 0, or -1 when it is not known.
    typealias SuffixList = (_ host: String, _ domain: String) -> Int32

    /// Uses the list of public suffixes that libcurl uses. Without one, a host and its subdomains are a site.
    static func isSame(
        _ one: String, _ other: String, by list: SuffixList = { ntapi_system_may_set_cookies($0, $1) }
    ) -> Bool {
        if one == other { return true }
        guard let shared = sharedDomain(one, other) else { return false }
        switch list(one, shared) {
        case 1: return list(other, shared) == 1
        case 0: return false
        default: return shared == one || shared == other
        }
    }

    /// Why no cookie may be set for a domain. It is a public suffix, or it may be one, because there is no list. A host
    /// with a single name, in a private network, may have cookies of its own.
    ///
    /// - Returns: nil when a cookie may be set.
    static func objectionToCookies(
        for domain: String, includingSubdomains: Bool,
        by list: SuffixList = { ntapi_system_may_set_cookies($0, $1) }
    ) -> String? {
        if isAddress(domain) || domain.utf8.contains(UInt8(ascii: ":")) || domain == "localhost" { return nil }
        if !includingSubdomains, !domain.utf8.contains(UInt8(ascii: ".")) { return nil }
        switch list("x.\(domain)", domain) {
        case 1: return nil
        case 0: return "\(domain) is a public suffix, below which the hosts belong to different owners"
        default:
            guard includingSubdomains else { return nil }
            return "the installed libcurl has no list of public suffixes, so it is unknown whether the hosts below "
                + "\(domain) belong to one owner; set it for one host"
        }
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
