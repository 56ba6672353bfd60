import Testing

@testable import NTApi

/// How Digest responds to a challenge, without a server.
@Suite struct DigestAuthenticationTests {
    /// The examples of RFC 7616, 3.9.1.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ]) func examples(_ algorithm: String, _ response: String) throws {
        let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        var digest = DigestAuthentication()
        let challenge = """
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="\(opaque)"
            """
        let verdict = digest.received(
            head(challenge), to: request("Mufasa", "Circle of Life", "GET"), at: "/dir/index.html",
            clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        #expect(verdict == .sendAgain)
        let sent = String(decoding: try #require(digest.authorization), as: UTF8.self)
        #expect(sent.containsSubstring("response=\"\(response)\"") && sent.containsSubstring("opaque=\"\(opaque)\""))
        #expect(sent.hasPrefix("Digest username=\"Mufasa\", ") && sent.containsSubstring("qop=auth, nc=00000001"))
    }

    @Test func hashes() {
        let long = [UInt8](repeating: 0x61, count: 1000)
        #expect(MD5.hex([]) == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(MD5.hex(long) == "cabe45dcc9ae5b66ba86600cca6b8ba8")
        #expect(
            SHA512Truncated.hex(Array("abc".utf8)) == "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"
        )
        #expect(
            SHA512Truncated.hex(long) == "40eb4a70d4d69815407a9e272f0101cd67e3d11262a4a0bfc087712749c7fb53")
    }

    @Test func onlyAStaleNonceIsAnsweredAgain() {
        var digest = DigestAuthentication()
        let request = request("a", "b")
        let (fresh, stale) = (head("Digest nonce=1"), head("Digest nonce=2, stale=TRUE"))
        #expect(digest.received(fresh, to: request, at: "/") == .sendAgain)
        for _ in 0..<4 { #expect(digest.received(stale, to: request, at: "/") == .sendAgain) }
        var wrong = digest
        #expect(wrong.received(fresh, to: request, at: "/") == .final)
        guard case .refuse(let reason) = digest.received(stale, to: request, at: "/") else {
            Issue.record("the sixth was answered")
            return
        }
        #expect(reason.containsSubstring("stale"))
    }

    /// The first message has no body. If the server does not ask for credentials, the body must be sent after all.
    @Test(arguments: [
        (200, true), (204, true), (302, false), (400, true), (403, false), (404, false), (411, true), (415, true),
        (422, true), (500, false),
    ])
    func withoutAChallengeTheBodyFollows(_ status: Int, _ follows: Bool) {
        var digest = DigestAuthentication()
        var request = request("a", "b")
        #expect(digest.received(head(status: status), to: request, at: "/") == .final)
        request.body = .bytes([1])
        #expect(digest.received(head(status: status), to: request, at: "/") == (follows ? .sendAgain : .final))
        #expect(digest.sendsBody == follows && digest.authorization == nil)
        #expect(digest.received(head(status: status), to: request, at: "/") == .final)
    }

    /// No text of the server can end the header line, or a value in it.
    @Test func nothingIsInjected() throws {
        var digest = DigestAuthentication()
        let challenge = #"Digest realm="a\"b\\", nonce="c\",d", opaque="\\""#
        #expect(digest.received(head(challenge), to: request(#"u"\"#, "p"), at: "/?a=\"") == .sendAgain)
        let sent = String(decoding: try #require(digest.authorization), as: UTF8.self)
        #expect(sent.hasPrefix(#"Digest username="u\"\\", realm="a\"b\\", nonce="c\",d", uri="/?a=\"", response=""#))
        #expect(sent.hasSuffix(#", opaque="\\""#))
        var other = DigestAuthentication()
        guard case .refuse = other.received(head("Digest nonce=\"a\u{1}b\""), to: request("u", "p"), at: "/") else {
            Issue.record("a control character was sent back")
            return
        }
    }

    @Test(arguments: [
        ("http://h", "/"), ("http://h?a", "/?a"), ("http://h#f", "/"), ("https://h:1/a/b?c#d", "/a/b?c"),
        ("http://[::1]/x", "/x"),
    ]) func targets(_ url: String, _ target: String) { #expect(URLParts.target(of: url) == target) }

    private func request(_ user: String, _ password: String, _ method: String = "POST") -> HTTPRequest {
        var request = HTTPRequest(method: method, url: "http://h/")
        request.digest = Credential(user: user, password: password)
        return request
    }

    private func head(_ challenge: String? = nil, status: Int = 401) -> ResponseHead {
        let headers = challenge.map { HTTPHeaders([("WWW-Authenticate", $0)]) } ?? HTTPHeaders()
        return ResponseHead(status: status, headers: headers, httpVersion: 1.1)
    }
}
