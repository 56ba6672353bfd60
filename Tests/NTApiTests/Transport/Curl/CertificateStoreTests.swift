import Testing

@testable import NTApi

/// Where the library looks for trusted certificates, also on systems other than this one.
@Suite struct CertificateStoreTests {
    private static let debian = "/etc/ssl/certs/ca-certificates.crt"

    private func store(
        _ environment: [String: String] = [:], builtIn: String? = debian, having files: Set<String>
    ) -> CertificateStore? {
        CertificateStore(environment: { environment[$0] }, builtIn: builtIn, isReadable: { files.contains($0) })
    }

    @Test func libcurlsOwnFileServesWhereItExists() {
        #expect(store(having: [Self.debian, "/etc/ssl/cert.pem"]) == nil)
        #expect(store(builtIn: "/etc/ssl/certs", having: ["/etc/ssl/certs", "/etc/ssl/cert.pem"]) == nil)
    }

    /// Fedora also has a folder /etc/ssl/certs, but without the names that OpenSSL looks for.
    @Test(arguments: [
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]) func anotherSystemsFileIsFound(file: String) {
        #expect(store(having: ["/etc/ssl/certs", file]) == CertificateStore(file: file))
    }

    @Test func aLibcurlWithoutAPathTakesTheFirstFile() {
        #expect(store(builtIn: nil, having: [Self.debian]) == CertificateStore(file: Self.debian))
        #expect(store(builtIn: nil, having: []) == nil)
    }

    @Test func theEnvironmentComesFirst() {
        let file = store(["SSL_CERT_FILE": "/mine.pem"], having: [Self.debian])
        #expect(file?.file == "/mine.pem" && file?.folder == nil)
        let folder = store(["SSL_CERT_DIR": "/mine"], having: [Self.debian])
        #expect(folder?.file == nil && folder?.folder == "/mine")
        let both = store(["SSL_CERT_FILE": "/mine.pem", "SSL_CERT_DIR": "/mine"], having: [])
        #expect(both?.file == "/mine.pem" && both?.folder == "/mine")
        #expect(store(["SSL_CERT_FILE": "", "SSL_CERT_DIR": ""], having: [Self.debian]) == nil)
    }
}
