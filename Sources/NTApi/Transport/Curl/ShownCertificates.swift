import CCurl

/// The certificates that a server has shown in the handshake, for whoever is to decide about them.
enum ShownCertificates {
    private static let prefix = "Cert:"

    /// The chain in PEM, the server's own first; empty when nothing was shown, or libcurl's TLS cannot tell.
    static func chain(_ easy: UnsafeMutableRawPointer) -> [String] {
        guard let info = ntapi_easy_certificates(easy)?.pointee, let lists = info.certinfo else { return [] }
        return (0..<max(0, Int(info.num_of_certs))).compactMap { pem(lists[$0]) }
    }

    /// One of the lines "Name:value" that a certificate is told in.
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
