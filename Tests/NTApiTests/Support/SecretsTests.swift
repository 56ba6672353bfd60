import Testing

@testable import NTApi

@Suite struct SecretsTests {
    @Test(arguments: [
        "Authorization", "authorization", "Proxy-Authorization", "Cookie", "SET-COOKIE", "X-Api-Key", "api-key",
        "X-Auth-Token", "X-My-Secret", "X-Amz-Security-Token",
    ]) func headersThatAreSecretByName(_ name: String) {
        #expect(Secrets.isSecretHeader(name))
        #expect(HTTPHeaders([(name: name, value: "s3cr3t")]).description == "\(name): <redacted>")
    }

    @Test(arguments: ["Accept", "Content-Type", "X-Key", "Host", ""]) func othersAreNot(_ name: String) {
        #expect(!Secrets.isSecretHeader(name))
    }

    @Test(arguments: [
        "password", "passwd", "secret", "token", "api_key", "api-key", "apikey", "appid", "authorization", "credential",
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

    @Test(arguments: [
        ("http://h/?q=1&appid=s3cr3t&x=2", "http://h/?q=1&appid=<redacted>&x=2"),
        ("http://h/?access_token=s3cr3t#part", "http://h/?access_token=<redacted>#part"),
        ("http://h/cb#access_token=s3cr3t&x=1", "http://h/cb#access_token=<redacted>&x=1"),
        ("http://h/?pass%77ord=s3cr3t", "http://h/?pass%77ord=<redacted>"),
        ("http://h/?mine=s3cr3t&password", "http://h/?mine=<redacted>&password"),
        ("http://user:s3cr3t@h/?a=b", "http://<redacted>@h/?a=b"),
        ("http://a@b:s3cr3t@h/", "http://<redacted>@h/"),
        ("http://h/@?a=b", "http://h/@?a=b"),
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
    ]) func redactsJSON(_ text: String, _ expected: String) {
        #expect(Secrets.redactJSON(text) == expected)
    }

    /// PITFALLS 23: what is redacted is cut off anywhere.
    @Test func takesAnyPieceOfAText() {
        let text = Array(#"{"a":"\"x","password":{"b":["s3cr3t","\\"]},"token":"s3cr3t","c":"é"}"#.utf8)
        for start in text.indices {
            for end in stride(from: start, through: text.count, by: 3) {
                _ = Secrets.redactJSON(String(decoding: text[start..<end], as: UTF8.self))
            }
        }
    }
}
