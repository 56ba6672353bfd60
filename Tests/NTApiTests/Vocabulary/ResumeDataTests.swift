import Testing

@testable import NTApi

@Suite struct ResumeDataTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func data(
        _ validator: ResumeData.Validator = .etag("\"v1\""), offset: Int64? = 500, total: Int64? = 1000,
        start: Double? = 1_700_000_000.25
    ) throws -> ResumeData {
        try ResumeData(
            url: "https://a.example/f?x=1", destination: "/d/f.zip", temporaryFile: "/d/.f.zip.1a.part", offset: offset,
            validator: validator, totalLength: total, startTime: start)
    }

    @Test func theTextIsReadAsItWasWritten() throws {
        for validator in [
            ResumeData.Validator.etag("\"a\\b!~\""), .etag("\"\""), .etag("\"é\""), .etag("\"é\"", isLatin1: true),
            .lastModified(Self.date),
        ] {
            for (offset, total, start) in [(500, 1000, 1.5), (0, 0, 0), (nil, nil, nil), (Int64.max, nil, nil)]
                as [(Int64?, Int64?, Double?)]
            {
                let written = try data(validator, offset: offset, total: total, start: start)
                #expect(try ResumeData(written.text) == written)
            }
        }
    }

    /// The text of version 1 never changes, because programs store it.
    @Test func theTextIsThatOfVersionOne() throws {
        let text = #"""
            {"ntapiResumeData":1,"url":"https://a.example/f?x=1","destination":"/d/f.zip","temporaryFile":"/d/.f.zip.1a.part",\#
            "offset":500,"etag":"\"v1\"","totalLength":1000,"startTime":1700000000.25}
            """#
        #expect(try data().text == text)
        #expect(try ResumeData(text) == data())
        let minimal = #"""
            {"ntapiResumeData":1,"url":"http://h/","destination":"/d","temporaryFile":"//.d.1a.part","lastModified":"\#(Self.date)",\#
            "offset":null,"of tomorrow":[1]}
            """#
        let read = try ResumeData(minimal)
        #expect(read.offset == nil && read.totalLength == nil && read.startTime == nil)
        #expect(read.validator == .lastModified(Self.date) && read.url == "http://h/")
    }

    @Test(arguments: [
        ("", "resume data: it is not JSON"), ("{", "resume data: it is not JSON"),
        ("[]", "resume data: it is not a JSON object"),
        ("{}", "\"ntapiResumeData\": it is missing"),
        (#"{"ntapiResumeData":"1"}"#, "\"ntapiResumeData\": it is not an integer"),
        (#"{"ntapiResumeData":2}"#, "\"ntapiResumeData\": version 2"),
    ]) func whatIsNoResumeDataIsSaidToBeNone(_ text: String, _ message: String) throws {
        let error = try #require(thrown { _ = try ResumeData(text) })
        #expect(error.code == .invalidRequest && error.domain == .request)
        #expect(error.message.containsSubstring(message), "\(error.message)")
    }

    static let mistakes: [(String, JSON?, String)] = [
        ("url", nil, "missing"), ("url", 5, "not a string"), ("url", "", "http"), ("url", "ftp://a/b", "http"),
        ("url", "file:///etc/passwd", "host"), ("url", "http://h/\n", "URL"), ("url", "/f", "http"),
        ("destination", nil, "missing"), ("destination", "f.zip", "absolute"), ("destination", "/d/", "absolute"),
        ("destination", "", "absolute"), ("destination", "/d\u{0}/f", "NUL"), ("destination", [], "not a string"),
        ("temporaryFile", nil, "missing"), ("temporaryFile", "/d/f.zip", "destination itself"),
        ("temporaryFile", "../x", "absolute"), ("temporaryFile", "/\u{0}", "NUL"),
        ("temporaryFile", "/etc/passwd", "not a name"), ("temporaryFile", "/d/f.zip.1a.part", "not a name"),
        ("temporaryFile", "/d/.f.zip.part", "not a name"), ("temporaryFile", "/d/.f.zip..part", "not a name"),
        ("temporaryFile", "/d/.f.zip.1A.part", "not a name"), ("temporaryFile", "/d/.g.zip.1a.part", "not a name"),
        ("temporaryFile", "/e/.f.zip.1a.part", "not a name"), ("temporaryFile", "/d/../d/.f.zip.1a.part", "not a name"),
        ("temporaryFile", "//d/.f.zip.1a.part", "not a name"), ("temporaryFile", "/d/.f.zip.1a.part/x", "not a name"),
        ("temporaryFile", "/d/.f.zip.12345678901234.part", "not a name"),
        ("isTemporary", true, "not a name"),
        ("etag", nil, "missing"), ("etag", "W/\"v1\"", "not a strong entity tag"),
        ("etag", "v1", "not a strong entity tag"),
        ("etag", "\"v1", "not a strong"), ("etag", "\"", "not a strong"), ("etag", "\"a\"b\"", "not a strong"),
        ("etag", "\"a\r\nX: y\"", "not a strong"), ("etag", "\"\u{7F}\"", "not a strong"),
        ("etag", "\"a\", \"b\"", "not a strong"),
        ("etag", 1, "not a string"), ("lastModified", "yesterday", "not an HTTP date"),
        ("lastModified", 784_111_777, "not a string"),
        ("lastModified", "Sun,\t06 Nov 1994 08:49:37 GMT", "not an HTTP date"),
        ("offset", -1, "negative"), ("offset", 1001, "beyond the total length"), ("offset", 0.5, "not an integer"),
        ("offset", "5", "not an integer"), ("offset", 1e30, "not an integer"), ("totalLength", -1, "negative"),
        ("totalLength", true, "not an integer"), ("totalLength", 499, "beyond the total length"),
        ("startTime", "now", "not a number"),
    ]

    @Test(arguments: mistakes) func aMistakeIsNamed(_ field: String, _ value: JSON?, _ reason: String) throws {
        var members = try #require(data().json.object).map { ($0.key, $0.value) }
        members.removeAll { $0.0 == field || field == "lastModified" && $0.0 == "etag" }
        if let value { members.append((field, value)) }
        let error = try #require(thrown { _ = try ResumeData(JSON(members).text) })
        #expect(error.code == .invalidRequest)
        let named = reason.containsSubstring("beyond") ? "offset" : field == "isTemporary" ? "destination" : field
        #expect(error.message.hasASCIIPrefix("resume data, field \"\(named)\": "), "\(error.message)")
        #expect(error.message.containsSubstring(reason), "\(error.message)")
    }

    @Test func anEntityTagInLatin1HasNoOtherCharacters() throws {
        var members = try #require(data(.etag("\"€\"")).json.object).map { ($0.key, $0.value) }
        members.append(("etagIsLatin1", true))
        let error = try #require(thrown { _ = try ResumeData(JSON(members).text) })
        #expect(error.message == "resume data, field \"etag\": \"\\\"€\\\"\" is not ISO-8859-1")
    }

    @Test func cutOffTextIsRefusedEverywhere() throws {
        let text = Array(try data().text.utf8)
        for length in 0..<text.count {
            #expect(throws: APIError.self) { try ResumeData(String(decoding: text[..<length], as: UTF8.self)) }
        }
    }

    // MARK: Which responses can be resumed

    private func head(_ status: Int = 200, _ headers: [(name: String, value: String)]) -> ResponseHead {
        ResponseHead(status: status, headers: HTTPHeaders(headers), httpVersion: 1.1)
    }

    private func resumable(
        _ headers: [(name: String, value: String)], status: Int = 200, method: String = "GET", range: String? = nil
    ) -> Result<ResumeData.Validator, ResumeData.NotResumable> {
        var request = HTTPRequest(method: method, url: "http://h/")
        if let range { request.headers.add("Range", range) }
        return ResumeData.resumable(request, head(status, headers))
    }

    private let etag = (name: "ETag", value: "\"v1\"")
    private let modified = (name: "Last-Modified", value: "Sun, 06 Nov 1994 08:49:37 GMT")

    @Test func aStrongValidatorIsNeeded() {
        #expect(resumable([etag]) == .success(.etag("\"v1\"")))
        #expect(resumable([etag, modified]) == .success(.etag("\"v1\"")))
        #expect(resumable([(name: "ETag", value: "\"é\"")]) == .success(.etag("\"é\"")))
        #expect(refusal(resumable([])) == "the answer has neither ETag nor Last-Modified")
        for weak in ["W/\"v1\"", "v1", "", "W/\"\"", "w/\"v1\""] {
            // Not even the date helps: if there is an entity tag, the date must not be used.
            let tag = (name: "ETag", value: weak)
            #expect(refusal(resumable([tag, modified, (name: "Date", value: "Sun, 06 Nov 1994 09:49:37 GMT")])) != nil)
        }
        #expect(refusal(resumable([etag, (name: "ETag", value: "\"v2\"")])) != nil)
    }

    /// RFC 9110, 8.8.2.2.
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:38 GMT", true), ("Mon, 07 Nov 1994 08:49:37 GMT", true),
        ("Sun, 06 Nov 1994 08:49:37 GMT", false), ("Sun, 06 Nov 1994 08:49:36 GMT", false), ("yesterday", false),
        (nil, false),
    ]) func aDateIsStrongASecondLater(_ date: String?, _ isStrong: Bool) {
        let dates = date.map { [(name: "Date", value: $0)] } ?? []
        let outcome = resumable([modified] + dates)
        #expect((outcome == .success(.lastModified(Self.date))) == isStrong && (refusal(outcome) == nil) == isStrong)
    }

    @Test func onlyAWholeUnencodedAnswerToAGETCanBeGoneOnWith() {
        for method in ["POST", "HEAD", "PUT", "get"] { #expect(refusal(resumable([etag], method: method)) != nil) }
        for status in [201, 203, 204, 206, 304, 404, 500] { #expect(refusal(resumable([etag], status: status)) != nil) }
        #expect(refusal(resumable([etag], range: "bytes=0-5")) == "the request has its own range")
        for encoding in ["gzip", "br", "identity, gzip", "x"] {
            #expect(refusal(resumable([etag, (name: "Content-Encoding", value: encoding)])) != nil)
        }
        #expect(refusal(resumable([etag, (name: "Content-Encoding", value: "Identity")])) == nil)
    }

    @Test(arguments: [
        ("bytes", true), ("Bytes", true), ("items, bytes", true), ("none", false), ("NONE", false), ("items", false),
        ("", false),
    ]) func theServerMaySayThatItHasNoRanges(_ units: String, _ isResumable: Bool) {
        #expect((refusal(resumable([etag, (name: "Accept-Ranges", value: units)])) == nil) == isResumable)
    }

    private func refusal(_ outcome: Result<ResumeData.Validator, ResumeData.NotResumable>) -> String? {
        if case .failure(let refusal) = outcome { refusal.reason } else { nil }
    }

    private func make(
        _ head: ResponseHead, received: Int64, previous: ResumeData? = nil
    ) throws -> ResumeData {
        var request = HTTPRequest(method: "GET", url: "http://cdn.example/f")
        if previous != nil { request.headers.add("Range", "bytes=5-") }
        return try ResumeData.make(
            request, url: "http://h/f", head: head, destination: "/d/f", temporaryFile: "/d/.f.1a.part",
            received: received,
            previous: previous, startTime: 5)
    }

    @Test func isMadeOfAFirstAnswer() throws {
        let made = try make(head(200, [etag, (name: "Content-Length", value: "9")]), received: 4)
        #expect(made.url == "http://h/f" && made.offset == 4 && made.totalLength == 9 && made.startTime == 5)
        #expect(try make(head(200, [etag]), received: 0).totalLength == nil)
        #expect(throws: ResumeData.NotResumable.self) {
            try make(head(200, [etag, (name: "Content-Length", value: "3")]), received: 4)
        }
    }

    /// The second part is also cut off.
    @Test func isMadeOfAnAnswerThatWentOn() throws {
        let first = try make(head(200, [etag]), received: 5)
        let second = try make(head(206, [(name: "Content-Range", value: "bytes 5-8/9")]), received: 7, previous: first)
        #expect(second.offset == 7 && second.totalLength == 9 && second.validator == first.validator)
        // The file had changed, so the download started over.
        let anew = try make(
            head(200, [(name: "ETag", value: "\"v2\""), (name: "Content-Length", value: "20")]), received: 3,
            previous: second)
        #expect(anew.offset == 3 && anew.totalLength == 20 && anew.validator == .etag("\"v2\""))
        #expect(throws: ResumeData.NotResumable.self) { try make(head(206, [etag]), received: 7) }
    }
}
