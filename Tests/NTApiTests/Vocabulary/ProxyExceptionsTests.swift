import Testing

@testable import NTApi

/// Which hosts a list of exceptions contains.
@Suite struct ProxyExceptionsTests {
    private func isExcepted(_ url: String, _ entries: [String]) throws -> Bool {
        var exceptions = ProxyExceptions()
        for entry in entries {
            let isAdded = exceptions.add(entry)
            #expect(isAdded, "\(entry)")
        }
        return exceptions.contains(host: try URLParts(url).host)
    }

    @Test(arguments: [
        ("example.com", "http://example.com/"), ("example.com", "http://a.b.example.com./"),
        (".example.com", "http://example.com/"), ("Example.COM.", "http://a.EXAMPLE.com/"),
        ("localhost", "http://localhost:8080/"), ("b\u{fc}cher.example", "http://xn--bcher-kva.example/"),
        ("my_host", "http://my_host/"), ("127.0.0.1", "http://127.0.0.1/"), ("127.1", "http://127.0.0.1/"),
        ("127.0.0.1", "http://0x7f.1/"), ("10.0.0.0/8", "http://10.255.0.1/"), ("10.1.2.3/8", "http://10.0.0.1/"),
        ("0.0.0.0/0", "http://192.0.2.1/"), ("127.0.0.1/32", "http://127.0.0.1/"), ("::1", "http://[::1]/"),
        ("[::1]", "http://[::1]/"), ("0:0:0:0:0:0:0:1", "http://[::1]/"), ("::1/128", "http://[::1]/"),
        ("::/64", "http://[::1]/"), ("[fd00::]/8", "http://[fdff::1]/"), ("FD00::/8", "http://[fd00:0:0::A]/"),
        ("fe80::/10", "http://[fe80::1%25lo]/"), ("::/0", "http://[2001:db8::1]/"),
        ("127.0.0.0/8", "http://[::ffff:127.0.0.1]/"), ("*", "http://example.com/"), ("*", "http://[::1]/"),
    ]) func contains(_ entry: String, _ url: String) throws {
        #expect(try isExcepted(url, [entry]))
        #expect(try isExcepted(url, ["other.test", "192.0.2.77/32", entry, "2001:db8:77::/48"]))
    }

    @Test(arguments: [
        ("example.com", "http://badexample.com/"), ("example.com", "http://example.com.evil.test/"),
        ("a.example.com", "http://example.com/"), ("127.0.0.1", "http://127.0.0.2/"),
        ("10.0.0.0/8", "http://11.0.0.1/"), ("10.0.0.0/8", "http://10.example.com/"), ("::1", "http://[::2]/"),
        ("::/64", "http://[0:0:0:1::1]/"), ("0.0.0.0/0", "http://[::1]/"), ("::/0", "http://127.0.0.1/"),
        ("1", "http://127.0.0.1/"),
    ]) func lacks(_ entry: String, _ url: String) throws {
        #expect(try !isExcepted(url, [entry]))
        #expect(try !isExcepted(url, []))
    }

    /// No host can ever match these entries.
    @Test(arguments: [
        "", "*.corp.example", "ex*mple.com", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "::1/129", "::g",
        "[::1", "[10.0.0.1]", "[example.com]", "http://example.com", "example.com/", "example.com:80", "a b", ".", "..",
        "u@h", "example.com/8", "127.0.0.1:80", "[::1]:80", "h?", "h#", "100%",
    ]) func refuses(_ entry: String) {
        var exceptions = ProxyExceptions()
        let isAdded = exceptions.add(entry)
        #expect(!isAdded && exceptions == ProxyExceptions())
    }

    @Test func entriesOfAList() {
        #expect(ProxyExceptions.entries(" a,, b\t,c d,") == ["a", "b", "c d"] && ProxyExceptions.entries("") == [])
    }
}
