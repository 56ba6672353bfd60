import Testing

@testable import NTApi

/// RFC 9111, 4.2, at times that the test sets.
@Suite struct CacheFreshnessTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT.
    private let origin = 784_111_777.0

    private func response(
        _ headers: [(String, String)], status: Int = 200, sent: Double = 0, came: Double = 0
    ) -> CachedResponse {
        let head = ResponseHead(
            status: status, headers: HTTPHeaders(headers.map { (name: $0.0, value: $0.1) }), httpVersion: 1.1)
        return CachedResponse(head: head, requestTime: origin + sent, responseTime: origin + came)
    }

    private func freshness(_ response: CachedResponse, at time: Double) -> CacheFreshness {
        CacheFreshness(response, CacheControl(response.head.headers), now: origin + time)
    }

    private let date = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")

    @Test func ageIsTheLargerOfTwo() {
        // The clocks agree: the age is the time of the transfer.
        #expect(freshness(response([date], sent: 0, came: 2), at: 10).age == 10)
        #expect(freshness(response([date, ("Age", "5")], sent: 0, came: 2), at: 10).age == 15)
        // The server's clock is ahead, so its date is not usable.
        #expect(freshness(response([date], sent: -8, came: -5), at: 0).age == 8)
        // The server's clock is behind, or a cache between has not sent an age.
        #expect(freshness(response([date, ("Age", "5")], sent: 100, came: 100), at: 101).age == 101)
        // Without a date, the time of arrival counts.
        #expect(freshness(response([], came: 3), at: 10).age == 10)
        #expect(freshness(response([("Date", "yesterday")], sent: 3, came: 3), at: 10).age == 7)
    }

    @Test func ageThatIsNoneIsPassedOver() {
        #expect(freshness(response([date, ("Age", "-5")]), at: 1).age == 1)
        #expect(freshness(response([date, ("Age", "old")]), at: 1).age == 1)
        #expect(freshness(response([date, ("Age", "7, 9"), ("Age", "11")]), at: 1).age == 8)
        #expect(freshness(response([date, ("Age", "99999999999999999999")]), at: 1).age == 1 << 31 + 1)
    }

    @Test func aClockThatWasSetBackMakesStale() {
        let response = response([date, ("Cache-Control", "max-age=1000")])
        #expect(freshness(response, at: -10).isFresh)
        #expect(!freshness(response, at: -3600).isFresh)
        #expect(!freshness(self.response([("Cache-Control", "max-age=1000")], sent: 500, came: 0), at: 1).isFresh)
    }

    @Test func maxAgeGoesBeforeExpires() {
        let later = ("Expires", "Sun, 06 Nov 1994 09:49:37 GMT")
        #expect(freshness(response([date, later]), at: 0).lifetime == 3600)
        #expect(freshness(response([date, later, ("Cache-Control", "max-age=10")]), at: 0).lifetime == 10)
        // Directives for shared caches do not apply to a private one.
        #expect(freshness(response([date, later, ("Cache-Control", "s-maxage=10")]), at: 0).lifetime == 3600)
        #expect(
            freshness(response([date, ("Expires", "0")]), at: 0)
                == freshness(response([date, ("Expires", "-1")]), at: 0))
        #expect(freshness(response([date, ("Expires", "0")]), at: 0).lifetime == 0)
        #expect(!freshness(response([date, ("Expires", "0")]), at: 0).isHeuristic)
        #expect(freshness(response([date, ("Expires", "Sun, 06 Nov 1994 07:49:37 GMT")]), at: 0).lifetime == 0)
    }

    @Test func aTenthOfTheTimeSinceTheLastChange() {
        let changed = ("Last-Modified", "Sun, 06 Nov 1994 07:09:37 GMT")
        let guess = freshness(response([date, changed]), at: 0)
        #expect(guess.lifetime == 600 && guess.isHeuristic)
        #expect(freshness(response([date, changed]), at: 599).isFresh)
        #expect(!freshness(response([date, changed]), at: 600).isFresh)
        #expect(freshness(response([date, changed], status: 404), at: 0).lifetime == 600)
        #expect(freshness(response([date, changed], status: 403), at: 0).lifetime == 0)
        #expect(freshness(response([date, changed, ("Cache-Control", "public")], status: 403), at: 0).lifetime == 600)
        #expect(freshness(response([date, ("Last-Modified", "Sun, 06 Nov 1994 09:49:37 GMT")]), at: 0).lifetime == 0)
        #expect(freshness(response([date]), at: 0).lifetime == 0)
    }

    @Test func stalenessIsWhatIsTooMuch() {
        let response = response([date, ("Cache-Control", "max-age=10")])
        #expect(freshness(response, at: 9).staleness == 0 && freshness(response, at: 9).isFresh)
        #expect(freshness(response, at: 10).staleness == 0 && !freshness(response, at: 10).isFresh)
        #expect(freshness(response, at: 15).staleness == 5)
    }
}
