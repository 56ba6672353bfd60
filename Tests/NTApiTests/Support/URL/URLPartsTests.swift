import Testing

@testable import NTApi

@Suite struct URLPartsTests {
    @Test func takesAURLApart() throws {
        let url = try URLParts("HTTP://Example.COM:8080/a/../b%2F?x=1&y=%20#top")
        #expect(url.scheme == "http" && url.host == "example.com" && url.port == 8080)
        #expect(url.path == "/b%2F" && url.query == "x=1&y=%20" && url.fragment == "top")
        #expect(try URLParts("https://[::1]/").host == "[::1]")
        #expect(try URLParts("https://h").port == 443 && URLParts("http://h").path == "/")
        #expect(try URLParts("http://h/\u{e4}?\u{e4}").text == "http://h/%C3%A4?%C3%A4")
        #expect(try URLParts("http://b\u{fc}cher.example/").host == "xn--bcher-kva.example")
    }

    @Test(arguments: [
        "", "example.com/x", "ftp://h/", "file:///etc/passwd", "http://", "http:///x", "http://u:secret@h/",
        "http://u@h/",
        "http://a b/", "http://h/\r\nX: 1", "http://h/\0", "http://h:0/", "http://h:99999/", "http://h:x/",
        "javascript:1",
        "http://[::1/", "http://u:secret@h x/", "http://u:secret@[h/", "mailto:a@b",
    ])
    func refuses(_ text: String) {
        let error = #expect(throws: APIError.self) { try URLParts(text) }
        #expect(error?.code == .invalidRequest && error?.domain == .request)
        #expect(error?.message.containsSubstring("secret") == false)
        #expect(error?.message.utf8.contains { $0 < 0x20 } == false)
    }

    /// An escaped character differs from the text around it, and none affects a terminal.
    @Test func escapesControls() {
        for (text, shown) in [
            ("http://h/\there", #"'http://h/\u{9}here'"#), ("ftp://h/\u{9B}1\u{202E}", #"\u{9b}1\u{202e}'"#),
        ] {
            let error = #expect(throws: APIError.self) { try URLParts(text) }
            #expect(error?.message.containsSubstring(shown) == true, "\(error?.message ?? "")")
        }
    }

    @Test func saysThatAURLIsTooLong() {
        let error = #expect(throws: APIError.self) {
            try URLParts("http://h/?" + String(repeating: "x", count: 8_000_000))
        }
        #expect(error?.message.containsSubstring("it has 8000010 bytes, which is too long") == true)
    }

    @Test func saysWhatToDoWithCredentials() {
        let error = #expect(throws: APIError.self) { try URLParts("http://user:pass@host/") }
        #expect(error?.message.containsSubstring("basic auth arg") == true)
    }

    /// RFC 3986, 5.2.4; `%2E` is a dot (6.2.2.2).
    @Test(arguments: [
        ("/a/b/c/./../../g", "/a/g"), ("/a//../b", "/a/b"), ("/..", "/"), ("/.", "/"), ("/../../x", "/x"),
        ("/a/b/..", "/a/"),
        ("/a/.", "/a/"), ("/%2e%2E/a/%2e/b", "/a/b"), ("/a/.%2E/b", "/b"), ("/a/%2e.", "/"),
        ("/.../..a/a../.a", "/.../..a/a../.a"),
        ("/a/%2f../b", "/a/%2f../b"), ("/a/..;x", "/a/..;x"), ("/a/%2", "/a/%2"), ("//..//", "//"),
        ("/%2e%2e%2e", "/%2e%2e%2e"),
    ])
    func resolvesDotSegments(_ path: String, _ expected: String) throws {
        for rest in ["", "?/../x", "#/../x"] {
            #expect(try URLParts("http://h\(path)\(rest)").text == "http://h\(expected)\(rest)")
        }
        #expect(try URLParts(path.hasPrefix("//") ? "/.\(path)" : path, relativeTo: "http://h/x").path == expected)
    }

    /// RFC 3986, 5.4, as far as it concerns http, and other references that servers send.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), ("../g", "http://a/b/g"),
        ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("https://other/x", "https://other/x"),
        ("/a b?c d", "http://a/a%20b?c%20d"), ("/\u{e4}", "http://a/%C3%A4"), ("g;x=1/../y", "http://a/b/c/y"),
    ])
    func resolves(_ reference: String, _ expected: String) throws {
        #expect(try URLParts(reference, relativeTo: "http://a/b/c/d;p?q").text == expected)
    }

    @Test func inheritsTheFragment() throws {
        #expect(try URLParts("/x", relativeTo: "http://a/#top").text == "http://a/x#top")
        #expect(try URLParts("/x#own", relativeTo: "http://a/#top").fragment == "own")
        #expect(throws: APIError.self) { try URLParts("http://u:p@h/", relativeTo: "http://a/") }
        #expect(throws: APIError.self) { try URLParts("file:///etc/passwd", relativeTo: "http://a/") }
    }

    @Test func comparesOrigins() throws {
        let url = try URLParts("http://host/x")
        #expect(try url.isSameOrigin(as: URLParts("HTTP://HOST:80/y")))
        #expect(try !url.isSameOrigin(as: URLParts("https://host/x")))
        #expect(try !url.isSameOrigin(as: URLParts("http://host:81/x")))
        #expect(try !url.isSameOrigin(as: URLParts("http://host.evil/x")))
    }

    @Test func takesNoOriginForAnother() throws {
        var cache = OriginCache()
        let hosts = [
            "http://h/x", "http://h.evil/x", "http://h:81?x", "http://hh#x", "http://h/", "HTTP://h/x",
            "http://h.evil/",
        ]
        for url in hosts + hosts.reversed() {
            let parts = try URLParts(url)
            let known = try cache.origin(of: url)
            #expect(known.key == .init(scheme: parts.scheme, host: parts.host, port: parts.port), "\(url)")
            #expect(try URLParts(known.url).text == parts.text, "\(url)")
        }
        for url in ["http://h", "http:h/", "http://h/ ", "http://h/\u{e9}", "://h/", ""] {
            #expect((try? cache.origin(of: url))?.url == (try? URLParts(url))?.text, "\(url)")
        }
    }

    @Test func remembersOrigins() throws {
        var cache = OriginCache()
        for _ in 0..<2 {
            #expect(
                try cache.origin(of: "https://Host/x?y=http://z/").key
                    == .init(scheme: "https", host: "host", port: 443))
            #expect(try cache.origin(of: "https://Host?x").key == .init(scheme: "https", host: "host", port: 443))
            #expect(try cache.origin(of: "https://Host/a b").url == "https://Host/a%20b")
            #expect(throws: APIError.self) { try cache.origin(of: "https://Ho st/") }
        }
    }
}
