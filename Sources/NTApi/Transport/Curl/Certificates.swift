import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Which certificates are trusted, if libcurl's own path to them does not serve.
///
/// libcurl has one path compiled in. It is wrong on other distributions than the one that libcurl was built for.
struct CertificateStore: Equatable {
    /// A PEM file.
    var file: String?
    /// A folder of PEM files with names that OpenSSL has computed.
    var folder: String?

    /// The store of this process, nil for libcurl's own. Read once, before the first request: the host program may
    /// change its environment while requests run.
    static let system: CertificateStore? = {
        let version = ntapi_version()?.pointee
        return CertificateStore(
            environment: { name in getenv(name).map { String(cString: $0) } },
            builtIn: (version?.cainfo ?? version?.capath).map { String(cString: $0) },
            isReadable: { access($0, R_OK) == 0 })
    }()

    init(file: String) { self.file = file }

    /// The environment's SSL_CERT_FILE and SSL_CERT_DIR come first. If neither is set and libcurl's own path does not
    /// exist, the first well-known file that exists.
    init?(environment: (String) -> String?, builtIn: String?, isReadable: (String) -> Bool) {
        file = environment("SSL_CERT_FILE").flatMap { $0.isEmpty ? nil : $0 }
        folder = environment("SSL_CERT_DIR").flatMap { $0.isEmpty ? nil : $0 }
        if file != nil || folder != nil { return }
        // Of a file and a folder, only the file counts: without it libcurl fails, whatever the folder has.
        if let builtIn, isReadable(builtIn) { return nil }
        guard let file = Self.wellKnown.first(where: isReadable) else { return nil }
        self.file = file
    }

    private static let wellKnown = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine, Gentoo
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
        "/etc/pki/tls/certs/ca-bundle.crt",  // older Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",  // SUSE
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
