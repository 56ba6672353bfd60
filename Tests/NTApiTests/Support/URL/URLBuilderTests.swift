import Testing

@testable import NTApi

@Suite struct URLBuilderTests {
    private static func url(
        _ base: String?, _ command: String = "", path: [String: String] = [:], query: [(String, String)] = [],
        replacement: String? = nil
    ) throws(APIError) -> String {
        try URLBuilder.url(
            base: base.map(BaseURL.init), replacement: replacement, command: command,
            path: path.map { (name: $0.key, value: $0.value) }, query: query.map { (name: $0.0, value: $0.1) })
    }

    @Test(arguments: [
        ("http://h", "", "http://h/"),
        ("http://h/", "", "http://h/"),
        ("http://h", "find", "http://h/find"),
        ("http://h/", "find", "http://h/find"),
        ("http://h/api", "find", "http://h/api/find"),
        ("http://h/api/", "/find", "http://h/api/find"),
        ("http://h/api", "find/", "http://h/api/find/"),
        ("http://h/api?key=1", "find", "http://h/api/find?key=1"),
        ("http://h/api?key=1#part", "find?a=b", "http://h/api/find?key=1&a=b"),
        ("http://h/api", "?a=b", "http://h/api?a=b"), ("http://h/api/", "?a=b", "http://h/api/?a=b"),
        ("http://h/api", "a b/ü", "http://h/api/a%20b/%C3%BC"),
        ("http://h/api", "a%20b/c%2Fd", "http://h/api/a%20b/c%2Fd"),
        ("http://h/api", "../x", "http://h/x"),
        ("http://h/api/", "a/./../../../x/.", "http://h/x/"),
        ("http://h/a/%2e%2E/b", "%2e/c?d=/../e", "http://h/b/c?d=/../e"),
        ("http://h/a b?c d", "e f", "http://h/a%20b/e%20f?c%20d"),
        ("HTTP://Example.com:8080/A", "b", "http://Example.com:8080/A/b"),
        ("http://[::1]:80/a", "b", "http://[::1]:80/a/b"),
    ]) func joins(_ base: String, _ command: String, _ expected: String) throws {
        #expect(try Self.url(base, command) == expected)
    }

    @Test(arguments: [
        ("http://h/a", "http://h/a?q=1"),
        ("http://h/a?", "http://h/a?q=1"),
        ("http://h/a?x=2", "http://h/a?x=2&q=1"),
        ("http://h/a?x=2&", "http://h/a?x=2&q=1"),
        ("http://h/a#part", "http://h/a?q=1"),
        ("http://h/a?x#part", "http://h/a?x&q=1"),
    ]) func extendsTheQueryOfTheBase(_ base: String, _ expected: String) throws {
        #expect(try Self.url(base, query: [("q", "1")]) == expected)
        #expect(try Self.url("http://other", "command", query: [("q", "1")], replacement: base) == expected)
    }

    @Test func encodesNameAndValueOfAPair() throws {
        let text = try Self.url("http://h/", query: [("a b", "c&d=e+f/?#%"), ("é", "💧"), ("~-._", ""), ("a b", "2")])
        #expect(text == "http://h/?a%20b=c%26d%3De%2Bf%2F%3F%23%25&%C3%A9=%F0%9F%92%A7&~-._=&a%20b=2")
    }

    @Test(arguments: [
        ("London", "London"), ("a/b", "a%2Fb"), ("a\\b", "a%5Cb"), ("a?b#c", "a%3Fb%23c"),
        ("...", "..."), (".a", ".a"), ("a/..b", "a%2F..b"), ("a..b", "a..b"), ("%2e%2e", "%252e%252e"),
        ("{name}", "%7Bname%7D"),
        ("", ""),
        ("\r\n\0", "%0D%0A%00"), ("ü", "%C3%BC"), ("a;b:c@d", "a%3Bb%3Ac%40d"),
    ]) func aPathValueIsOneSegment(_ value: String, _ encoded: String) throws {
        #expect(try Self.url("http://h", "x/{name}/y", path: ["name": value]) == "http://h/x/\(encoded)/y")
        #expect(try Self.url("http://h", "{name}", path: ["name": value]) == "http://h/\(encoded)")
    }

    /// A server would resolve these segments, however they are encoded.
    @Test(arguments: [
        ("{a}", "."), ("{a}", ".."), ("x/{a}/y", ".."), ("x/{a}?q", ".."), ("{a}", "x/../y"), ("{a}", "x\\.."),
        ("{a}", "./x"),
        (".{a}", "."), ("{a}.", "."), (".{a}.", ""), ("%2e{a}", "."), ("x%2F{a}", ".."), ("x%5c{a}", ".."),
        ("{a}{b}", "."),
        ("{b}{a}", "."), ("{a*}", ".."), ("{a*}", "x/../y"), ("{a*}", "x/."), ("x/{a*}/y", "./x"), (".{a*}", "./x"),
        ("{a*}{b}", "x/."),
    ]) func refusesDotSegmentsOfValues(_ command: String, _ value: String) throws {
        let path = ["a": value, "b": "."]
        let error = try #require(thrown { _ = try Self.url("http://h", command, path: path) })
        #expect(error.code == .invalidRequest && error.message.hasPrefix("the path arg "), "\(error.message)")
        #expect(!error.message.containsSubstring("x/"), "the value may be a secret")
    }

    @Test func fillsEachName() throws {
        #expect(try Self.url("http://h", "{a}/{b}/{a}", path: ["a": "1", "b": "2"]) == "http://h/1/2/1")
        #expect(try Self.url("http://h", "x?y={a}", path: ["a": "&"]) == "http://h/x?y=%26")
        #expect(try Self.url("http://h", "x?y={a}", path: ["a": ".."]) == "http://h/x?y=..")
        #expect(try Self.url("http://h", "x/../{a}/y/..", path: ["a": "1"]) == "http://h/1/")
    }

    @Test(arguments: [
        ("http://h", "x/{name}", "{name}"),
        ("http://h", "x/{", "{ without a }"),
        ("http://h", "x\ry", "control character 13"),
        ("http://h", "http://evil/", "whole URL"),
        ("http://h\r\nX: y", "", "control character"),
        ("http://h h", "", "space"),
        ("http://user:pass@h", "", "basic auth arg"),
        ("ftp://h", "", "http and https"),
        ("file:///etc/passwd", "", ""),
        ("h", "", "http://"),
        ("", "", "http://"),
        ("http://", "", "host"),
        ("http:///x", "", "host"),
        ("http://h:0", "", "port"),
        ("http://h:99999", "", "port"),
    ]) func refuses(_ base: String, _ command: String, _ says: String) throws {
        let error = try #require(thrown { _ = try Self.url(base, command) })
        #expect(error.code == .invalidRequest && error.domain == .request && !error.isRetryable)
        #expect(error.message.lowercasedASCII().containsSubstring(says.lowercasedASCII()), "\(error.message)")
        #expect(!error.message.containsSubstring("pass@"))
    }

    @Test func saysWhatIsMissing() throws {
        let noBase = try #require(thrown { _ = try Self.url(nil, "x") })
        #expect(noBase.message.containsSubstring("baseUrl"))
        let unfilled = try #require(thrown { _ = try Self.url("http://h", "{city}") })
        #expect(unfilled.message.containsSubstring("{city}") && unfilled.message.containsSubstring("path arg"))
    }

    // If the command were joined to such a base, it would become the host.
    @Test(arguments: ["http://", "https:///", "http://?a=b", "http://#x", "http:", "http:/", ""])
    func aBaseWithoutAHostIsRefused(_ base: String) {
        for command in ["evil.example/x", "/evil.example/x", "//evil.example/x"] {
            let error = thrown { _ = try Self.url(base, command) }
            #expect(error?.code == .invalidRequest)
            let says = base.contains("://") ? "the host is missing" : "it must begin with http:// or https://"
            #expect(error?.message.containsSubstring(says) == true)
        }
    }

    @Test func errorsShowNoSecretOfTheQuery() {
        for command in ["x?token=s3cr3t\u{1}", "{id}?token=s3cr3t"] {
            let error = thrown { _ = try Self.url("http://h", command) }
            #expect(error?.message.containsSubstring("s3cr3t") == false)
        }
        #expect(
            thrown { _ = try Self.url("http://bad host/", "x?token=s3cr3t") }?.message.containsSubstring("s3cr3t")
                == false)
    }
}
