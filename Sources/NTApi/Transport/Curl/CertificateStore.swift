import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where the machine keeps the certificates it trusts.
///
/// libcurl has one path compiled in, which is wrong on other distributions than the one it was built on.
enum CertificateStore {
    /// The file to name to libcurl; nil when its own answer exists, or none was found. Looked up once.
    static let file: String? = {
        if let version = ntapi_version()?.pointee {
            for answer in [version.cainfo, version.capath] {
                if let answer, access(answer, R_OK) == 0 { return nil }
            }
        }
        return wellKnown.first { access($0, R_OK) == 0 }
    }()

    private static let wellKnown = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Gentoo
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
        "/etc/pki/tls/certs/ca-bundle.crt",  // older Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",  // openSUSE
        "/etc/ssl/cert.pem",  // Alpine, BSD, macOS
    ]
}
