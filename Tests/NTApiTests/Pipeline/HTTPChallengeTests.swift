import Testing

@testable import NTApi

/// RFC 9110, 11.6.1, and wrong headers that servers send.
@Suite struct HTTPChallengeTests {
    private func parse(_ lines: String...) -> String {
        HTTPChallenge.parse(lines).map { challenge in
            let parameters = challenge.parameters.map { "\($0.name)=<\($0.value)>" }
            return ([challenge.scheme] + (challenge.token68.map { ["[\($0)]"] } ?? []) + parameters)
                .joined(separator: " ")
        }.joined(separator: " | ")
    }

    @Test func one() {
        #expect(parse(#"Basic realm="simple""#) == "Basic realm=<simple>")
        #expect(parse("Negotiate") == "Negotiate")
        #expect(parse("Negotiate YII/ab+c==") == "Negotiate [YII/ab+c==]")
        #expect(
            parse(#"Digest realm="a, \"b\" = c\\", qop="auth,auth-int" , nonce = abc,stale=true"#)
                == #"Digest realm=<a, "b" = c\> qop=<auth,auth-int> nonce=<abc> stale=<true>"#)
        #expect(HTTPChallenge.parse([#"bearer REALM="x", Error="invalid_token""#]).first?["error"] == "invalid_token")
        #expect(HTTPChallenge.parse([#"bearer REALM="x""#]).first?.realm == "x")
        #expect(HTTPChallenge.parse(["bearer"]).first?.isScheme("Bearer") == true)
    }

    /// The example of RFC 9110, 11.6.1.
    @Test func severalInOneLine() {
        #expect(
            parse(#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#)
                == #"Basic realm=<simple> | Newauth realm=<apps> type=<1> title=<Login to "apps">"#)
        #expect(parse("Negotiate, NTLM,Basic realm=\"a\"") == "Negotiate | NTLM | Basic realm=<a>")
        #expect(parse("Negotiate abc==, Basic realm=a") == "Negotiate [abc==] | Basic realm=<a>")
        #expect(parse(",, ,Basic realm=\"a\",, ,") == "Basic realm=<a>")
    }

    @Test func severalLines() {
        #expect(
            parse("Basic realm=\"a\"", "Digest realm=\"b\", nonce=\"n\"")
                == "Basic realm=<a> | Digest realm=<b> nonce=<n>")
    }

    @Test func whatIsBroken() {
        #expect(parse("") == "")
        #expect(parse("   ") == "")
        #expect(parse("realm=\"a\"") == "")
        #expect(parse("Basic realm=\"a") == "Basic realm=<a>")
        #expect(parse("Basic realm=\"a\\") == "Basic realm=<a\\>")
        #expect(parse("Basic realm=") == "Basic [realm=]")
        #expect(parse("Basic realm=my realm, charset=UTF-8") == "Basic realm=<my> charset=<UTF-8>")
        #expect(parse("\"quoted\", Basic realm=a") == "Basic realm=<a>")
        #expect(parse("Basic realm=\"é💧\"") == "Basic realm=<é💧>")
        #expect(HTTPChallenge.parse([String(repeating: "a,", count: 100_000)]).count == 64)
    }
}
