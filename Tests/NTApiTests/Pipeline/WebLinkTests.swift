import Testing

@testable import NTApi

/// RFC 8288, 3, and wrong headers that servers send.
@Suite struct WebLinkTests {
    private func target(_ relation: String, _ lines: String...) -> String? { WebLink.target(of: relation, in: lines) }

    @Test func pages() {
        let line = #"<https://a.example/issues?page=2>; rel="next", <https://a.example/issues?page=9>; rel="last""#
        #expect(target("next", line) == "https://a.example/issues?page=2")
        #expect(target("LAST", line) == "https://a.example/issues?page=9")
        #expect(target("prev", line) == nil)
        #expect(target("first", line, "</first>;rel=First") == "/first")
    }

    @Test func commasSemicolonsAndQuotesMayStandAnywhere() {
        #expect(target("next", #"</a,b;c>; title="x, <y>; rel=\"next\"" ; rel = "up next" ; type=a"#) == "/a,b;c")
        #expect(target("up", #"</a>;crossorigin;rel="next up",</b>;rel=up"#) == "/a")
        #expect(target("next", ", ,</a>;rel=next, ,") == "/a")
        #expect(target("next", "<>; rel=next") == "")
    }

    @Test func aLinkFromElsewhereIsNotMeant() {
        #expect(target("next", ##"</a>; rel="next"; anchor="#part", </b>; rel="next""##) == "/b")
    }

    @Test func ofSeveralRelationsOfALinkTheFirstCounts() {
        #expect(target("next", "</a>; rel=prev; rel=next") == nil)
    }

    @Test func whatIsBrokenIsPassedOver() {
        #expect(
            target("next", "") == nil && target("next", "/a; rel=next") == nil && target("next", "</a; rel=next") == nil
        )
        #expect(target("next", "</a>; rel", "</b>; rel=\"next") == "/b")
        #expect(target("next", "</a>; =; rel=next") == "/a")
        #expect(WebLink.parse([String(repeating: "</a>,", count: 1000)]).count == 64)
    }

    @Test func aResponseHasAbsoluteURLs() async {
        let stub = Stub()
        stub.on("GET", "/v1/issues").answer(
            .text(
                "[]",
                headers: [
                    "Link": "<?page=2>; rel=next, <../up>; rel=up, <file:///etc>; rel=odd", "link": "</b>; rel=b",
                ]))
        let client = APIClient(baseURL: "https://a.example/v1/")
        client.stub = stub
        let response = await client.response("issues", args: [.url("page", 1)])
        #expect(response.link("next") == "https://a.example/v1/issues?page=2")
        #expect(response.link("up") == "https://a.example/up" && response.link("b") == "https://a.example/b")
        #expect(response.link("odd") == nil && response.link("none") == nil && response.link("") == nil)
    }
}
