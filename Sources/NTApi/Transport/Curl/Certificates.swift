import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where the machine stores the certificates that it trusts.
///
/// libcurl has one path compiled in. It is wrong on other distributions than the one that libcurl was built for.
enum CertificateStore {
    /// The path to give to libcurl. Nil when libcurl's own path exists, or when no file was found. Looked up once.
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

/// The certificates that a server sent in the handshake, for a program that decides about them.
enum PeerCertificates {
    private static let prefix = "Cert:"

    /// The chain in PEM, the server's own certificate first. Empty when the server sent none, or when libcurl's TLS
    /// library cannot list them.
    static func chain(_ easy: UnsafeMutableRawPointer) -> [String] {
        guard let info = ntapi_easy_certificates(easy)?.pointee, let lists = info.certinfo else { return [] }
        return (0..<max(0, Int(info.num_of_certs))).compactMap { pem(lists[$0]) }
    }

    /// The certificate in PEM, from libcurl's list of lines "Name:value".
    private static func pem(_ list: UnsafeMutablePointer<curl_slist>?) -> String? {
        var next = list
        while let entry = next?.pointee {
            if let data = entry.data {
                let line = String(cString: data)
                if line.hasASCIIPrefix(prefix) { return String(line.dropFirst(prefix.utf8.count)) }
            }
            next = entry.next
        }
        return nil
    }
}
