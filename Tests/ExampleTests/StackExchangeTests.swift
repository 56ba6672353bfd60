import NTApi
import Testing

@testable import qanda

/// The client of the Stack Exchange example, with stubbed responses and a clock that stands still.
@Suite struct StackExchangeTests {
    private let stub = Stub()
    private let clock = ManualClock()
    private let stack = StackExchange(url: "https://api.example.com")

    init() {
        stack.client.stub = stub
        stack.client.clock = clock
        stack.client.logFlags = []
        stack.client.defaults["site"] = "stackoverflow"
    }

    private func wrapper(_ items: [JSON], hasMore: Bool = false, backoff: JSON? = nil) -> JSON {
        [
            "items": JSON(items), "has_more": JSON(hasMore), "backoff": backoff ?? .null, "quota_remaining": 42,
        ]
    }

    private func question(_ number: Int) -> JSON {
        [
            "question_id": JSON(number), "title": "Is 1 &lt; 2 &amp;&amp; &#39;a&#39; &quot;b&quot;?", "score": 5,
            "answer_count": 2, "creation_date": 1_700_000_000, "tags": ["c"], "owner": ["display_name": "user404"],
        ]
    }

    @Test func aPageIsFetchedWhenItIsWanted() async throws {
        stub.on("GET", "2.3/search/advanced?q=x&page=1&site=stackoverflow&sort=relevance")
            .answer(.json(wrapper([question(1), question(2)], hasMore: true)))
        stub.on("GET", "2.3/search/advanced?q=x&page=2").answer(.json(wrapper([question(3)])))

        var found = stack.search("x").makeAsyncIterator()
        #expect(stub.requests.isEmpty)
        #expect(try await found.next()?.questionID == 1)
        #expect(try await found.next()?.questionID == 2)
        #expect(stub.requests.count == 1)
        #expect(try await found.next()?.questionID == 3)
        #expect(try await found.next() == nil)
        #expect(try await found.next() == nil)
        #expect(stub.requests.count == 2)
        #expect(stack.quotaRemaining == 42)
        try stub.verify()
    }

    @Test func theNextPageWaitsAsLongAsTheAPIAsks() async throws {
        stub.on("GET", "2.3/search/advanced?page=1")
            .answer(.json(wrapper([question(1)], hasMore: true, backoff: 10)))
        stub.on("GET", "2.3/search/advanced?page=2").answer(.json(wrapper([question(2)])))

        async let numbers = stack.search("x").reduce(into: [Int]()) { $0.append($1.questionID) }
        try await clock.waitForSleepers(timeout: 120)
        #expect(clock.nextWake == 10)
        #expect(stub.requests.count == 1)
        clock.advance(by: 9)
        #expect(clock.nextWake == 1)
        clock.advance(by: 1)
        #expect(try await numbers == [1, 2])
        #expect(clock.elapsed == 10)
    }

    @Test func anErrorMayAskToWaitToo() async throws {
        let wrapper: JSON = ["error_id": 503, "error_name": "temporarily_unavailable", "backoff": 7]
        stub.on("GET", "2.3/users/1").answer(.json(wrapper, status: 400), .json(self.wrapper([])))

        await #expect { try await stack.user(1) } throws: { ($0 as? APIError)?.code == StackExchange.unavailable }
        async let nobody = stack.user(1)
        try await clock.waitForSleepers(timeout: 120)
        #expect(clock.nextWake == 7)
        clock.advance(by: 7)
        #expect(try await nobody == nil)
    }

    @Test func aThrottleViolationIsClear() async throws {
        let text = "too many requests from this IP, more requests available in 60 seconds"
        stub.on("GET", "2.3/questions/7").answer(
            .json(["error_id": 502, "error_name": "throttle_violation", "error_message": JSON(text)], status: 400))

        let error = await #expect(throws: APIError.self) { try await stack.question(7) }
        #expect(error?.domain == .service && error?.code == StackExchange.throttled)
        #expect(error?.message == text && error?.httpStatus == 400)
    }

    @Test func afterAnErrorTheSamePageIsAskedForAgain() async throws {
        stub.on("GET", "2.3/search/advanced?page=1").answer(.fault(.noConnection), .json(wrapper([question(1)])))
        var found = stack.search("x").makeAsyncIterator()
        do {
            _ = try await found.next()
            Issue.record("there is no connection")
        } catch { #expect(error.code == .network) }
        #expect(try await found.next()?.questionID == 1)
    }

    @Test func aQuestionIsAsDeclared() async throws {
        stub.on("GET", "2.3/questions/7?filter=withbody").answer(.json(wrapper([question(7)])))
        let found = try #require(try await stack.question(7))
        #expect(found.title.description == #"Is 1 < 2 && 'a' "b"?"#)
        #expect(found.creationDate.description == "2023-11-14T22:13:20Z")
        #expect(found.owner.userID == nil && found.body == nil)
    }

    @Test(arguments: [
        ("a &amp;lt; b", "a &lt; b"), ("<p>x <code>a &#x3C; b</code></p>", "x a < b"),
        ("AT&T; &unknown; &", "AT&T; &unknown; &"),
        ("1 < 2", "1 < 2"), ("&#xD800;", "&#xD800;"),
    ])
    func htmlBecomesText(_ html: String, _ text: String) { #expect(HTMLText(html: html).description == text) }
}
