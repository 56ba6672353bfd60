import Testing

@testable import NTApi

/// How a stored response answers a condition or range of the caller. Unit tests with real headers.
@Suite struct CacheConditionTests {
    private typealias Headers = [(String, String)]

    private func request(_ headers: Headers, method: String = "GET") -> HTTPRequest {
        HTTPRequest(
            method: method, url: "http://h/", headers: HTTPHeaders(headers.map { (name: $0.0, value: $0.1) }))
    }

    /// A body of ten bytes.
    private func stored(_ headers: Headers, status: Int = 200, _ text: String = "0123456789") -> CachedResponse {
        let body = Bytes()
        _ = Array(text.utf8).withUnsafeBytes { body.append($0) }
        let head = ResponseHead(
            status: status, headers: HTTPHeaders(headers.map { (name: $0.0, value: $0.1) }), httpVersion: 1.1)
        return CachedResponse(head: head, requestTime: 784_111_777, responseTime: 784_111_777, body: body)
    }

    private func answer(_ headers: Headers, _ stored: CachedResponse) throws -> CachedAnswer? {
        try #require(CacheCondition(request(headers)), "\(headers)").answer(from: stored)
    }

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    private static let after = "Sun, 06 Nov 1994 08:49:38 GMT"

    @Test(
        arguments: [
            ("\"1\"", "\"1\"", true), ("W/\"1\"", "\"1\"", true), ("\"1\"", "W/\"1\"", true), ("\"2\"", "\"1\"", false),
            ("\"2\", \"1\"", "\"1\"", true), (",\"2\" ,\t, W/\"1\",", "\"1\"", true), ("\"a,\"", "\"a,\"", true),
            ("*", "\"1\"", true), (" * ", nil, true), ("\"1\"", nil, false), ("\"W/\"", "W/\"W/\"", true),
            ("\"1\"", "1", false), ("\"\"", "\"\"", true),
        ] as [(String, String?, Bool)])
    func tagsAreComparedWeakly(_ tags: String, _ tag: String?, _ matches: Bool) throws {
        let stored = stored(tag.map { [("ETag", $0)] } ?? [])
        #expect(try answer([("If-None-Match", tags)], stored) == (matches ? .notModified : .whole))
    }

    @Test(arguments: ["", ",", "1", "\"1", "\"1\" \"2\"", "\"1\"x", "w/\"1\"", "W/", "*, \"1\"", "\"1\", *", "\"1\",x"])
    func whatIsNoListOfTagsIsTheServers(_ text: String) {
        #expect(CacheCondition(request([("If-None-Match", text)])) == nil)
    }

    @Test func linesOfTagsAreOneList() throws {
        let lines = [("If-None-Match", "\"1\""), ("if-none-match", "\"2\"")]
        for tag in ["\"1\"", "\"2\""] { #expect(try answer(lines, stored([("ETag", tag)])) == .notModified) }
    }

    @Test func datesAreComparedWithTheLastChange() throws {
        let changed = stored([("Last-Modified", Self.date), ("Date", Self.after)])
        #expect(try answer([("If-Modified-Since", Self.date)], changed) == .notModified)
        #expect(try answer([("If-Modified-Since", Self.after)], changed) == .notModified)
        #expect(try answer([("If-Modified-Since", Self.before)], changed) == .whole)
        #expect(try answer([("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT")], changed) == .notModified)
        // Without Last-Modified, the response's date counts; without that, the time of arrival.
        for headers in [[("Date", Self.date)], []] {
            #expect(try answer([("If-Modified-Since", Self.date)], stored(headers)) == .notModified)
            #expect(try answer([("If-Modified-Since", Self.before)], stored(headers)) == .whole)
        }
        #expect(try answer([("If-Modified-Since", Self.date)], stored([("Last-Modified", "x")])) == .whole)
    }

    @Test(arguments: ["", "x", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT, x"])
    func whatIsNoDateIsTheServers(_ text: String) {
        #expect(CacheCondition(request([("If-Modified-Since", text)])) == nil)
        #expect(CacheCondition(request([("If-Modified-Since", Self.date), ("If-Modified-Since", text)])) == nil)
    }

    @Test func aTagOutdoesADate() throws {
        let response = stored([("ETag", "\"1\""), ("Last-Modified", Self.date)])
        #expect(try answer([("If-None-Match", "\"2\""), ("If-Modified-Since", Self.date)], response) == .whole)
        #expect(try answer([("If-None-Match", "\"1\""), ("If-Modified-Since", "x")], response) == .notModified)
    }

    @Test(
        arguments: [
            ("bytes=0-0", .part(0..<1)), ("bytes=2-4", .part(2..<5)), ("Bytes=8-", .part(8..<10)),
            ("bytes=8-10", .part(8..<10)), ("bytes=0-99999999999999999999", .part(0..<10)), ("bytes=-3", .part(7..<10)),
            ("bytes=-10", .part(0..<10)), ("bytes=-99999999999999999999", .part(0..<10)), ("bytes=0-", .part(0..<10)),
            ("bytes=10-", .unsatisfied), ("bytes=10-12", .unsatisfied), ("bytes=-0", .unsatisfied),
            ("bytes=99999999999999999999-", .unsatisfied), ("bytes=9-9", .part(9..<10)),
        ] as [(String, CachedAnswer)])
    func aRangeIsAPart(_ range: String, _ part: CachedAnswer) throws {
        #expect(try answer([("Range", range)], stored([])) == part)
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=-", "bytes=3-2", "bytes=0-1,3-4", "bytes=0-1,", "lines=0-1", "bytes=a-b",
        "bytes=0-1-2", "bytes=+1-2", "bytes=0x1-2", "bytes= 0-1", "0-1", "bytes=--1",
    ])
    func otherRangesAreTheServers(_ range: String) {
        #expect(CacheCondition(request([("Range", range)])) == nil)
    }

    @Test func aRangeIsOfAGetAlone() {
        #expect(CacheCondition(request([("Range", "bytes=0-1")], method: "HEAD")) == nil)
        #expect(CacheCondition(request([("Range", "bytes=0-1"), ("Range", "bytes=3-4")])) == nil)
    }

    @Test func anEmptyBodyHasNoParts() throws {
        let empty = stored([], "")
        #expect(try answer([("Range", "bytes=0-")], empty) == .unsatisfied)
        #expect(try answer([("Range", "bytes=-1")], empty) == .whole)
    }

    @Test func whatIsNotThatBodyHasNoParts() throws {
        #expect(try answer([("Range", "bytes=0-1")], stored([("Content-Encoding", "gzip")])) == nil)
        #expect(try answer([("Range", "bytes=0-1")], stored([("Content-Encoding", "identity")])) == .part(0..<2))
        for status in [203, 204, 301, 404, 410] {
            #expect(try answer([("Range", "bytes=0-1")], stored([], status: status)) == nil)
            #expect(try answer([("If-None-Match", "*")], stored([], status: status)) == nil)
        }
    }

    @Test func ifRangeWantsTheVeryVersion() throws {
        func answer(_ ifRange: String, _ headers: Headers) throws -> CachedAnswer? {
            try self.answer([("Range", "bytes=0-1"), ("If-Range", ifRange)], stored(headers))
        }
        #expect(try answer("\"1\"", [("ETag", "\"1\"")]) == .part(0..<2))
        #expect(try answer("\"2\"", [("ETag", "\"1\"")]) == .whole)
        #expect(try answer("\"1\"", []) == .whole)
        #expect(try answer("W/\"1\"", [("ETag", "W/\"1\"")]) == .whole)
        #expect(try answer("\"1\"", [("ETag", "W/\"1\"")]) == .whole)
        let dates = [("Last-Modified", Self.date)]
        #expect(try answer(Self.date, dates + [("Date", Self.after)]) == .part(0..<2))
        #expect(try answer(Self.before, dates + [("Date", Self.after)]) == .whole)
        #expect(try answer(Self.after, dates + [("Date", Self.after)]) == .whole)
        // The resource may have changed again within that second.
        #expect(try answer(Self.date, dates + [("Date", Self.date)]) == .whole)
        #expect(try answer(Self.date, dates) == .whole)
        #expect(try answer("", [("ETag", "\"1\"")]) == .whole && answer("x", [("Last-Modified", "x")]) == .whole)
        // Without a range, If-Range has no meaning.
        #expect(try self.answer([("If-Range", "\"1\"")], stored([("ETag", "\"1\"")])) == .whole)
    }

    @Test func aConditionComesBeforeTheRange() throws {
        let response = stored([("ETag", "\"1\"")])
        #expect(try answer([("If-None-Match", "\"1\""), ("Range", "bytes=0-1")], response) == .notModified)
        #expect(try answer([("If-None-Match", "\"2\""), ("Range", "bytes=0-1")], response) == .part(0..<2))
    }

    @Test func headsOfAnswers() {
        let headers: Headers = [
            ("Age", "5"), ("cache-control", "max-age=9"), ("Content-Location", "/x"), ("Content-Length", "10"),
            ("Content-Type", "a/b"), ("Date", Self.date), ("Expires", Self.after), ("Vary", "A"), ("Vary", "B"),
            ("Last-Modified", Self.before), ("X-More", "1"),
        ]
        func shown(_ answer: CachedAnswer, _ more: Headers = []) -> [String] {
            let head = answer.head(from: stored(headers + more).head, of: 10)
            return ["\(head.status)"] + head.headers.map { "\($0.name): \($0.value)" }
        }
        let all = headers.map { "\($0.0): \($0.1)" }
        let kept = all.filter { line in !["Content-Le", "Content-Ty", "Last", "X-"].contains { line.hasPrefix($0) } }
        #expect(shown(.whole) == ["200"] + all)
        #expect(shown(.notModified) == ["304"] + kept + ["Last-Modified: \(Self.before)"])
        #expect(shown(.notModified, [("ETag", "\"1\"")]) == ["304"] + kept + ["ETag: \"1\""])
        let part = all.map { $0 == "Content-Length: 10" ? "Content-Length: 3" : $0 }
        #expect(shown(.part(2..<5)) == ["206"] + part + ["Content-Range: bytes 2-4/10"])
        #expect(shown(.unsatisfied) == ["416", "Age: 5", "Date: \(Self.date)", "Content-Range: bytes */10"])
    }
}
