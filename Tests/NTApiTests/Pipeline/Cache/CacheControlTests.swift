import Testing

@testable import NTApi

@Suite struct CacheControlTests {
    private func control(_ lines: String...) -> CacheControl {
        CacheControl(HTTPHeaders(lines.map { ("Cache-Control", $0) }))
    }

    @Test func directivesAreReadInAnyCase() {
        let control = control("No-Store, MAX-AGE=10 ,\tmust-revalidate", "private,public, , must-understand")
        #expect(control.noStore && control.mustRevalidate && control.isPrivate && control.isPublic)
        #expect(control.maxAge == 10 && control.mustUnderstand && !control.noCache && !control.onlyIfCached)
        let request = self.control("only-if-cached, max-stale, min-fresh=3, stale-if-error=4")
        #expect(request.onlyIfCached && request.maxStale == .max && request.minFresh == 3 && request.staleIfError == 4)
        #expect(self.control("max-stale=7").maxStale == 7)
        #expect(self.control("stale-while-revalidate=30").staleWhileRevalidate == 30)
        #expect(self.control() == CacheControl() && self.control("") == CacheControl())
    }

    @Test func theFirstOfTwoCounts() {
        #expect(control("max-age=1, max-age=2", "max-age=3").maxAge == 1)
    }

    @Test func quotedValuesMayHaveCommas() {
        let control = control(#"private="set-cookie, x", ext="a\", no-store", max-age="5""#)
        #expect(control.isPrivate && !control.noStore && control.maxAge == 5)
        #expect(self.control(#"no-cache="Set-Cookie""#).noCache)
        #expect(self.control(#""no-store", max-age=1"#) == self.control("max-age=1"))
        #expect(self.control(#"ext="max-age=1, no-store"#) == CacheControl())
    }

    @Test(arguments: ["max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age=x", "max-age=\"\""])
    func whatIsNoNumberIsStale(_ text: String) {
        #expect(control(text).maxAge == 0)
    }

    @Test func numbersBeyondReasonAreAsLongAsCanBe() {
        #expect(control("max-age=99999999999999999999999").maxAge == 1 << 31)
        #expect(control("max-age=2147483649").maxAge == 1 << 31)
        #expect(control("min-fresh=soon").minFresh == .max)
    }

    @Test func pragmaCountsWithoutCacheControl() {
        #expect(CacheControl(HTTPHeaders([("Pragma", "x, No-Cache")])).noCache)
        #expect(!CacheControl(HTTPHeaders([("Pragma", "no-cache"), ("Cache-Control", "max-age=1")])).noCache)
    }

    @Test func whatOnlySharedCachesMindIsPassedOver() {
        #expect(control("no-transform, immutable") == CacheControl())
        for text in ["s-maxage=0", "s-maxage=9", "max-age=9, s-maxage=8", "proxy-revalidate"] {
            #expect(control(text).isShorterForAll && control(text).maxAge == control("no-transform, \(text)").maxAge)
        }
        #expect(!control("max-age=9, s-maxage=9").isShorterForAll && !control("max-age=9").isShorterForAll)
    }
}
