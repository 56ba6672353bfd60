import Testing

@testable import NTApi

/// Which URLs a stub's rule matches.
@Suite struct StubURLTests {
    private func matches(_ pattern: String, _ url: String) -> Bool {
        var closeness = 0
        return StubURL(pattern).mismatch(url, closeness: &closeness) == nil
    }

    @Test(arguments: [
        ("", "http://h/a"), ("**", "http://h/a/b?c=d"), ("/**", "http://h/"), ("/a", "http://h/a"),
        ("/a/", "http://h/a"), ("/a", "http://h/a/?x=1#f"), ("/a/*", "http://h/a/b"), ("/*/c", "http://h/b/c"),
        ("/a/**", "http://h/a/b/c"), ("/a/**", "http://h/a"), ("b/c", "http://h/a/b/c"), ("c", "http://h/c"),
        ("/p/*.png", "http://h/p/cat.png"), ("/p/*a*b", "http://h/p/xaybb"), ("http://h/a", "http://H:80/a"),
        ("https://h:443/a", "https://h/a"), ("http://[::1]/a", "http://[::1]:80/a"),
        ("/city/São Paulo", "http://h/city/S%C3%A3o%20Paulo"), ("/a%2Fb", "http://h/a%2Fb"),
        ("/f?q=London", "http://h/f?x=1&q=London"), ("/f?q=a%20b", "http://h/f?q=a+b"), ("f?q=*", "http://h/f?q=x"),
        ("/f?a=1&a=2", "http://h/f?a=2&a=1"), ("?q=1", "http://h/any/where?q=1"), ("/", "http://h/"), ("/", "http://h"),
    ]) func itIsMeant(_ pattern: String, _ url: String) {
        #expect(matches(pattern, url))
    }

    @Test(arguments: [
        ("/a", "http://h/b"), ("/a", "http://h/a/b"), ("/a/*", "http://h/a"), ("/a/*", "http://h/a/b/c"),
        ("/b/c", "http://h/a/b/c"), ("a/b/c", "http://h/b/c"), ("http://h/a", "https://h/a"),
        ("http://h/a", "http://h:81/a"), ("http://h/a", "http://other/a"), ("/f?q=1", "http://h/f"),
        ("/f?q=1", "http://h/f?q=2"), ("/f?a=1&a=1", "http://h/f?a=1"), ("/p/*.png", "http://h/p/cat.jpg"),
        ("/p/a*a", "http://h/p/a"), ("/a/b", "http://h/a%2Fb"), ("/A", "http://h/a"),
    ]) func itIsNotMeant(_ pattern: String, _ url: String) {
        #expect(!matches(pattern, url))
    }

    @Test func aRecordedURLIsMeantJustSo() {
        func matches(_ recorded: String, _ url: String, anyOrigin: Bool = false) -> Bool {
            var closeness = 0
            return StubURL(recorded: recorded, anyOrigin: anyOrigin).mismatch(url, closeness: &closeness) == nil
        }
        #expect(matches("http://h/a?q=*", "http://h/a?q=%2A") && !matches("http://h/a?q=*", "http://h/a?q=x"))
        #expect(!matches("http://h/a", "http://h/a?q=1") && !matches("http://h/a?q=1", "http://h/a"))
        #expect(!matches("http://h/a", "http://i/a") && matches("http://h/a", "http://i/a", anyOrigin: true))
        #expect(matches("http://h/<redacted>?key=<redacted>", "http://h/x?key=secret"))
        #expect(!matches("http://h/<redacted>?key=<redacted>", "http://h/x?kex=secret"))
    }

    @Test func whatComesNearIsClose() {
        func closeness(_ pattern: String, _ url: String) -> Int {
            var closeness = 0
            _ = StubURL(pattern).mismatch(url, closeness: &closeness)
            return closeness
        }
        let url = "http://h/a/b?q=1"
        let patterns = ["/x", "/a/x", "/a/b?z=1", "/a/b?q=1"]
        let all = patterns.map { closeness($0, url) }
        #expect(all == all.sorted() && Set(all).count == 4)
    }
}
