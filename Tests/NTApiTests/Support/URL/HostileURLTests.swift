import Testing

@testable import NTApi

/// A request goes to the origin that RFC 3986 finds in a URL, or it is refused.
@Suite struct HostileURLTests {
    private static let base = "https://a.test:8443/b/c?d#e"
    private static let home = "https://a.test:8443"

    /// The origin that RFC 3986 names, found with the expression of its appendix B; nil if there is none for http. It
    /// is independent of libcurl.
    private static func origin(_ reference: String) -> String? {
        guard let match = reference.wholeMatch(of: #/(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?:\/\/([^\/?#]*))?[^?#]*.*/#)
        else {
            return nil
        }
        let scheme = match.1.map { $0.lowercased() }
        guard let authority = match.2.map(String.init) else { return scheme == nil ? home : nil }
        guard ["http", "https", nil].contains(scheme), !authority.contains("@") else { return nil }
        let port = authority.firstMatch(of: #/:([0-9]*)$/#)
        let host = PercentEncoding.decode(String(authority.prefix(authority.count - (port?.0.count ?? 0)))).lowercased()
        let usual = scheme == "http" ? "80" : "443"
        let number = port.map { $0.1.isEmpty ? usual : String(Int($0.1) ?? 0) } ?? usual
        // The pieces of random references only make names. A number would be an address.
        guard host.wholeMatch(of: #/[a-z0-9.\-]+/#) != nil else { return nil }
        return "\(scheme ?? "https")://\(host):\(number)"
    }

    private static func origin(of url: String) -> String? {
        (try? URLParts(url)).map { "\($0.scheme)://\($0.host):\($0.port)" }
    }

    /// For each place that takes a URL: where it would send a request, or nil if it refuses the URL.
    private static func places(_ reference: String) -> [(place: String, url: String?, isResolved: Bool)] {
        var head = ResponseHead(status: 302, headers: HTTPHeaders(), httpVersion: 1.1)
        head.headers.add("Location", reference)
        var followed: String?
        if case .follow(let next) = RedirectPolicy.decide(HTTPRequest(method: "GET", url: base), head, followed: 0) {
            followed = next.url
        }
        var cache = OriginCache()
        let known = (try? cache.origin(of: reference)).map { "\($0.key.scheme)://\($0.key.host):\($0.key.port)/" }
        var changed = HTTPRequest(method: "GET", url: reference)
        changed.url = reference
        let none: [(name: String, value: String)] = []
        let url = { (base: String?, command: String) in
            try? URLBuilder.url(
                base: base.map { BaseURL($0) }, replacement: base == nil ? reference : nil, command: command,
                path: none,
                query: none)
        }
        let resumed = try? ResumeData(
            url: reference, destination: "/tmp/a", temporaryFile: "/tmp/a.part", offset: nil, validator: .etag("\"a\""))
        return [
            ("resolved", (try? URLParts(reference, relativeTo: base))?.text, true), ("redirect", followed, true),
            ("absolute", (try? URLParts(reference))?.text, false), ("origin cache", known, false),
            ("interceptor", changed.isValid() ? reference : nil, false), ("base URL arg", url(nil, ""), false),
            ("base URL", url(reference, ""), false), ("base URL with a command", url(reference, "x"), false),
            ("base URL with a hostile command", url(reference, "//evil.test/x"), false),
            ("command", url(base, reference), false), ("resume data", resumed?.url, false),
            ("JSON", (try? APIURL(reference))?.text, false),
        ]
    }

    private func check(_ reference: String, _ note: String = "") -> Int {
        let named = Self.origin(reference)
        var sent = 0
        for (place, url, isResolved) in Self.places(reference) {
            guard let url else { continue }
            sent += 1
            // A reference without a scheme is not a URL. A command is always a path on its client's server.
            let isAbsolute = reference.wholeMatch(of: #/(?i)https?:.*/#) != nil
            let expected = place == "command" ? Self.home : isResolved || isAbsolute ? named : nil
            guard Self.origin(of: url) != expected else { continue }
            Issue.record("\(place): \(reference.debugDescription) went to \(url), not \(expected ?? "nowhere") \(note)")
        }
        return sent
    }

    static let refused = [
        "//", "///", "////", "///b.test", "///b.test/c", "///a/../b.test/c", "///example.org/../path", "///../b.test",
        "///%2e%2e/b.test", "///./b.test", "//?b.test", "//#b.test", "//@/", "//@b.test/", "//:80/", "//@:80/", "//u@/",
        "//u:p@b.test/", "//a.test:8443@b.test/", "//b.test@a.test:8443/", "http:", "http:/", "http://", "http:///",
        "http:/x", "http:///x", "http:////x", "http:x", "http:b.test/x", "https:/b.test", "https:///b.test",
        "https:b.test", "https:///a/../b.test", "https://@/", "https://:443/", "https://?x", "https://#x",
        "https:\\\\b.test",
        "https:/\\b.test", "//\\b.test", "//b.test\\@a.test:8443/", "//a.test:8443\\.b.test/", "//b.test\\c/",
        "//b%2Ftest/", "//b.test%2Fc/", "//b.test%40a.test/", "//b.test%23a.test/", "//b.test%3Fa.test/",
        "//%2F%2Fb.test/",
        "//b.test:0/", "//b.test:99999/", "//b.test:8443x/", "//b.test:-1/", "//b.test:+1/", "// b.test/", "//b .test/",
        "//b\u{2100}.test/", "//b\u{ff0f}c.test/", "//b.test\u{ff1a}80/", "//b.test\u{ff20}a.test/", "//[b.test/",
        "//[::1/", "//[::1]b.test/", "//[]/", "javascript:alert(1)", "file:///etc/passwd", "ftp://b.test/", "a:b",
        "x+y:z",
        "//b.test\r\nHost: c/", "//b.test\t/", "\thttps://b.test/", "//b.test\0.a.test/",
    ]

    @Test(arguments: refused) func isRefused(_ reference: String) {
        #expect((try? URLParts(reference, relativeTo: Self.base)) == nil)
        // The expected origin is only known for names in ASCII.
        if reference.utf8.allSatisfy({ $0 < 0x80 }) { _ = check(reference) }
    }

    @Test(
        arguments: [
            ("/\\b.test", "\(home)/\\b.test"), ("\\\\b.test/x", "\(home)/b/\\\\b.test/x"),
            ("\\/b.test", "\(home)/b/\\/b.test"),
            ("/..//b.test/x", "\(home)//b.test/x"), ("/.//b.test", "\(home)//b.test"),
            ("..//b.test", "\(home)//b.test"),
            ("./..//../b.test", "\(home)/b.test"), ("/%2e%2e//b.test", "\(home)//b.test"),
            ("b.test:80", "refused"), ("1b:80", "\(home)/b/1b:80"), ("@b.test", "\(home)/b/@b.test"),
            ("/@b.test/", "\(home)/@b.test/"), ("?//b.test", "\(home)/b/c?//b.test"),
            ("#//b.test", "\(home)/b/c?d#//b.test"),
            ("x?http://b.test", "\(home)/b/x?http://b.test"), ("/x#http://b.test", "\(home)/x#http://b.test"),
            (" //b.test/x", "\(home)/b/%20//b.test/x"), (" https://b.test/", "\(home)/b/%20https://b.test/"),
            ("//b.test", "https://b.test/"), ("//b.test?x", "https://b.test/?x"), ("//b.test#x", "https://b.test/#x"),
            ("//b.test//a.test", "https://b.test//a.test"), ("//b.test/..//a.test", "https://b.test//a.test"),
            ("//b.test:/x", "https://b.test/x"), ("HTTPS://B.test/x", "https://B.test/x"),
            ("//[::1]:8/", "https://[::1]:8/"),
        ] as [(String, String)]) func goesThere(_ reference: String, _ expected: String) throws
    {
        guard expected != "refused" else {
            #expect((try? URLParts(reference, relativeTo: Self.base)) == nil)
            return
        }
        let url = try URLParts(reference, relativeTo: Self.base)
        let inherits = url.fragment == "e" && !reference.hasSuffix("#e")
        #expect(url.text == expected + (inherits ? "#e" : ""))
        if !reference.contains("[") { _ = check(reference) }
    }

    @Test func randomReferencesGoWhereTheStandardSays() {
        let pieces = [
            "/", "/", "//", "///", "..", ".", "%2e", "%2E%2e", "b.test", "c.test", "a.test:8443", "x", ":", ":80", "@",
            "u:p@",
            "?", "#", "\\", "http:", "https:", "https://", "HTTP://", "%2F", "%40", ";", "=", "[", "]", "-", "+", " ",
            "q",
        ]
        let seed = SeededGenerator.ofThisRun
        var generator = SeededGenerator(seed)
        var sent = 0
        for _ in 0..<4_000 {
            let count = Int.random(in: 1...7, using: &generator)
            let reference = (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            sent += check(reference, "NTAPI_SEED=\(seed)")
        }
        #expect(sent > 4_000)
    }

    /// The expectation of a stub and a link to the next page use the same parser.
    @Test(arguments: refused) func nothingIsSentToIt(_ reference: String) async throws {
        guard !reference.utf8.contains(where: { $0 < 0x20 }) else { return }
        let stub = Stub()
        stub.on(nil, "/start").answer(
            .status(302, headers: ["Location": reference, "Link": "<\(reference)>; rel=next"]))
        let client = APIClient(baseURL: Self.home)
        client.stub = stub
        let response = await client.response("start")
        #expect(response.status == 302 && response.error?.code == .httpError, "\(response)")
        #expect(response.link("next") == nil && stub.requests.count == 1)
    }
}
