import Testing

@testable import NTApi

@Suite struct SecretsTests {
    @Test(arguments: [
        "Authorization", "authorization", "Proxy-Authorization", "Cookie", "SET-COOKIE", "X-Api-Key", "api-key",
        "X-Auth-Token", "X-My-Secret",
        "X-Amz-Security-Token", "X-Session", "X-Sig", "X-Auth", "Cookies",
    ]) func headersThatAreSecretByName(_ name: String) {
        #expect(Secrets.isSecretHeader(name))
        #expect(HTTPHeaders([(name: name, value: "s3cr3t")]).description == "\(name): <redacted>")
    }

    @Test(arguments: [
        "Accept", "Content-Type", "X-Key", "Host", "", "WWW-Authenticate", "Author", "X-Design", "Assigned",
        "Cookie-Policy",
        "passenger", "compass", "residence", "pa", "s",
    ]) func othersAreNot(_ name: String) {
        #expect(!Secrets.isSecretHeader(name))
    }

    @Test(arguments: [
        "password", "passwd", "secret", "token", "api_key", "api-key", "apikey", "appid", "authorization", "credential",
        "passphrase", "pwd", "session", "signature", "access_key", "access-key", "accesskey", "private_key", "sessid",
    ]) func aSecretWordAnywhere(_ word: String) {
        for before in ["", "a", "to", "pass", "\u{e9}", "x_"] {
            for after in ["", "s", "id", "\u{e9}", "_x"] {
                #expect(Secrets.isSecretName(before + word + after))
                #expect(Secrets.isSecretName(before + word.uppercased() + after))
            }
            #expect(!Secrets.isSecretName(before + word.dropLast()))
        }
        #expect(!Secrets.isSecretName(String(word.dropFirst())))
    }

    /// These words also occur inside of harmless words, so only whole words count.
    @Test(arguments: ["sig", "sid", "pass", "auth", "jwt", "otp", "hmac", "bearer"]) func aShortWord(_ word: String) {
        let capital = word.prefix(1).uppercased() + word.dropFirst()
        for name in [word, word.uppercased(), "x-\(word)", "\(word)_1", "my\(capital)", "\(word)Value", "a.\(word)"] {
            #expect(Secrets.isSecretName(name), "\(name)")
        }
        for name in ["x\(word)", "\(word)x", "X\(word.uppercased())", "\(word.uppercased())S"] {
            #expect(!Secrets.isSecretName(name), "\(name)")
        }
    }

    @Test(arguments: [
        ("http://h/?q=1&appid=s3cr3t&x=2", "http://h/?q=1&appid=<redacted>&x=2"),
        ("http://h/?access_token=s3cr3t#part", "http://h/?access_token=<redacted>#part"),
        ("http://h/cb#access_token=s3cr3t&x=1", "http://h/cb#access_token=<redacted>&x=1"),
        ("http://h/?pass%77ord=s3cr3t", "http://h/?pass%77ord=<redacted>"),
        ("http://h/?mine=s3cr3t&password", "http://h/?mine=<redacted>&password"),
        ("http://user:s3cr3t@h/?a=b", "http://<redacted>@h/?a=b"),
        ("http://a@b:s3cr3t@h/", "http://<redacted>@h/"),
        ("http://h/@?a=b", "http://h/@?a=b"),
        ("http:///user:s3cr3t@h/", "http:///<redacted>@h/"), ("http:/user:s3cr3t@h/", "http:/<redacted>@h/"),
        ("user:s3cr3t@h/", "<redacted>@h/"), ("//user:s3cr3t@h/", "//<redacted>@h/"),
        ("http://user:s3/cr3t@h/", "http://<redacted>@h/"), ("http://h:80/a@b", "http://h:80/a@b"),
        ("/users/@me", "/users/@me"), ("/@me", "/@me"), ("http://[::1]:80/@", "http://[::1]:80/@"),
        ("http://h/a;sid=s3cr3t;v=1/b?c=d", "http://h/a;sid=<redacted>;v=1/b?c=d"),
        ("http://h/?to=http%3A%2F%2Fa%2F%3Ftoken%3Ds3cr3t&x=1", "http://h/?to=<redacted>&x=1"),
        ("http://h/?to=http%3A%2F%2Fa%2F%3Fq%3D1", "http://h/?to=http%3A%2F%2Fa%2F%3Fq%3D1"),
        ("@", "<redacted>@"), ("http:", "http:"), ("", ""),
        ("not a url", "not a url"),
    ]) func redactsAURL(_ url: String, _ expected: String) {
        #expect(Secrets.redactURL(url, alsoNamed: ["mine"]) == expected)
    }

    @Test(arguments: [
        (#"{"password":"s3cr3t","a":1}"#, #"{"password":"<redacted>","a":1}"#),
        (#"{"a":{"Token" : ["s3cr3t",{"b":"}"}],"c":2}}"#, #"{"a":{"Token" : "<redacted>","c":2}}"#),
        (#"{"token":s3cr3t}"#, #"{"token":"<redacted>"}"#),
        (#"{"password":"s3cr3t\" still"#, #"{"password":"<redacted>""#),
        (#"["password","open"]"#, #"["password","open"]"#),
        (#"{"a":"password"}"#, #"{"a":"password"}"#),
        (#"plain "text"#, #"plain "text"#),
        (#""\"#, #""\"#),
        (#""password":"#, #""password":"#),
        ("", ""),
        (#"{"pass\u0077ord":"s3cr3t"}"#, #"{"pass\u0077ord":"<redacted>"}"#),
        (#"{"\u0074\u006F\u006b\u0065\u006e":1,"a":2}"#, #"{"\u0074\u006F\u006b\u0065\u006e":"<redacted>","a":2}"#),
        (#"{"m\u0069ne":"s3cr3t"}"#, #"{"m\u0069ne":"<redacted>"}"#),
        (#"{"pass\u0077ord":"s3cr"#, #"{"pass\u0077ord":"<redacted>""#),
        (#"{"a":"{\"token\":\"s3cr3t\",\"b\":1}"}"#, #"{"a":"{\"token\":\"<redacted>\",\"b\":1}"}"#),
        (#"{"a":"http:\/\/u:s3cr3t@h\/"}"#, #"{"a":"http://<redacted>@h/"}"#),
        (#"{"note":"the token: is not here"}"#, #"{"note":"the token: is not here"}"#),
    ]) func redactsJSON(_ text: String, _ expected: String) {
        #expect(Secrets.redact(text, alsoNamed: ["mine"]) == expected)
    }

    @Test(arguments: [
        ("token=s3cr3t", "token=<redacted>"), ("a token: s3cr3t, b", "a token: <redacted>, b"),
        ("'password' => 's3cr3t', 'b' => 1", "'password' => '<redacted>', 'b' => 1"),
        ("[\"token\"]=>\n  string(6) \"s3cr3t\"\nx", "[\"token\"]=>\n  string(6) \"<redacted>\"\nx"),
        ("Authorization: Bearer s3cr3t more\nHost: h", "Authorization: <redacted>\nHost: h"),
        ("Cookie: a=s3cr3t; b=s3cr3t\r\nX: y", "Cookie: <redacted>\r\nX: y"),
        ("x: Bearer s3cr3t", "x: Bearer s3cr3t"), ("auth=Bearer s3cr3t\n", "auth=<redacted>\n"),
        ("<ns:token a='b'>s3cr3t</ns:token> <b>", "<ns:token a='b'><redacted></ns:token> <b>"),
        ("<input type=\"password\" name=\"a\">", "<input type=\"password\" name=\"a\">"),
        ("</next?token=s3cr3t,s3cr3t&a=b>; rel=next", "</next?token=<redacted>&a=b>; rel=next"),
        ("see http://u:s3cr3t@h/?sig=s3cr3t now", "see http://<redacted>@h/?sig=<redacted> now"),
        ("{\"a\":1}\n{\"token\":\"s3cr3t\"}\n", "{\"a\":1}\n{\"token\":\"<redacted>\"}\n"),
        ("id: 7\r\ndata: {\"token\":1}\r\n\r\n", "id: 7\r\ndata: {\"token\":\"<redacted>\"}\r\n\r\n"),
        ("data: {\"token\":\ndata: \"s3cr3t\"}", "data: {\"token\":\n\"<redacted>\"}"),
        ("5\" wide {\"token\":\"s3cr3t\"", "5\" wide {\"token\":\"<redacted>\""),
        ("token:", "token:"), ("token: \nnext", "token: \nnext"), ("token: <redacted>", "token: <redacted>"),
        ("my tokens are gone", "my tokens are gone"), ("mine=s3cr3t", "mine=<redacted>"), ("\"", "\""),
    ]) func redactsOtherText(_ text: String, _ expected: String) {
        #expect(Secrets.redact(text, alsoNamed: ["mine"]) == expected)
    }

    /// A redacted text stays the same when it is redacted again.
    @Test func anotherPassChangesNothing() {
        for text in [
            #"{"password":"<redacted>","a":"http://<redacted>@h/?token=<redacted>"}"#, "token: <redacted>, b",
            "'password' => '<redacted>'", "http://<redacted>@h/?token=<redacted>&a=b",
            "see http://h/?token=<redacted>&a=b with",
        ] {
            #expect(Secrets.redact(text) == text)
        }
    }

    @Test func nestingHasAnEnd() {
        var text = "token=s3cr3t"
        for _ in 0..<12 { text = JSON(text).text }
        #expect(!Secrets.redact("x \(text)").containsSubstring("s3cr3t"))
        var url = "http://h/?token=s3cr3t"
        for _ in 0..<8 { url = "http://h/?next=\(PercentEncoding.component(url))" }
        #expect(!Secrets.redactURL(url).containsSubstring("s3cr3t"))
    }

    /// In a line, nothing else is hidden when the URL in it has already been redacted.
    @Test func whatWasRedactedStaysAsItIs() {
        let line = "GET http://<redacted>@h/find?appid=<redacted>&q=London#token=<redacted> 200"
        #expect(Secrets.redactURLs(in: line) == line)
        #expect(Secrets.redactURLs(in: "<http://h/?token=x>") == "<http://h/?token=<redacted>>")
    }

    /// A text that consists of quotes takes linear time.
    @Test func aTextOfQuotesTakesNoTime() {
        let text = "{\"a\":\"" + String(repeating: "\\\"", count: 200_000) + "\n"
        #expect(Secrets.redact(text).utf8.count == text.utf8.count)
    }

    @Test func descriptionsHaveNoSecrets() throws {
        let secret = "s3cr3t"
        let url = "http://h.test/?token=\(secret)"
        var http = HTTPRequest(method: "GET", url: url)
        http.headers.set("Authorization", secret)
        let resume = try ResumeData(
            url: url, destination: "/a", temporaryFile: "//.a.1.part", offset: 1, validator: .etag("\"x\""))
        var configuration = SessionConfiguration.ephemeral
        configuration["proxy"] = "user:s3cr3t@proxy.test:3128"
        let texts = [
            "\(try APIURL(url))", "\(http)", "\(resume)", "\(HTTPHeaders([("Location", url)]))",
            "\(HTTPHeaders.Field(name: "X-Token", value: secret))", "\(configuration)",
            "\(HTTPRequest.Part(name: "password", content: .bytes(Array(secret.utf8)), filename: nil, contentType: nil))",
        ]
        for text in texts { #expect(!text.containsSubstring(secret), "\(text)") }
    }

    /// The text to redact may be cut off anywhere.
    @Test func takesAnyPieceOfAText() {
        let text = Array(#"{"a":"\"x","password":{"b":["s3cr3t","\\"]},"token":"s3cr3t","c":"é"}"#.utf8)
        for start in text.indices {
            for end in stride(from: start, through: text.count, by: 3) {
                _ = Secrets.redact(String(decoding: text[start..<end], as: UTF8.self))
            }
        }
    }
}
