import Testing

@testable import NTApi

/// What a server may answer to a request that resumes a download.
@Suite struct ResumeDecisionTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func data(
        _ validator: ResumeData.Validator = .etag("\"v1\""), offset: Int64? = 500, total: Int64? = 1000
    ) throws -> ResumeData {
        try ResumeData(
            url: "http://h/f", destination: "/d/f", temporaryFile: "/d/.f.1a.part", offset: offset,
            validator: validator,
            totalLength: total)
    }

    private func head(_ status: Int, _ headers: [String: String]) -> ResponseHead {
        ResponseHead(
            status: status, headers: HTTPHeaders(headers.map { (name: $0.key, value: $0.value) }), httpVersion: 1.1)
    }

    private func decide(
        _ status: Int, _ headers: [String: String] = [:], _ data: ResumeData? = nil, offset: Int64 = 500
    ) throws -> ResumeDecision {
        ResumeDecision.decide(try data ?? self.data(), offset: offset, head(status, headers))
    }

    private func startsOver(_ decision: ResumeDecision) -> String? {
        if case .startOver(let reason) = decision { reason } else { nil }
    }

    // MARK: The request

    @Test func asksForTheRestOfTheSameVersion() throws {
        let headers = ResumeDecision.headers(for: try data(), offset: 500)
        let expected = [("Range", "bytes=500-"), ("If-Range", "\"v1\""), ("Accept-Encoding", "identity")]
        #expect(headers.map(\.name) == expected.map(\.0) && headers.map(\.value) == expected.map(\.1))
        let byDate = ResumeDecision.headers(for: try data(.lastModified(Self.date)), offset: 1)
        #expect(byDate.map(\.value) == ["bytes=1-", Self.date, "identity"])
        #expect(ResumeDecision.headers(for: try data(), offset: 0).isEmpty)
    }

    /// The server compares bytes.
    @Test(arguments: [[0x22, 0xC3, 0xA9, 0x22], [0x22, 0xE9, 0x22]] as [[UInt8]]) func theEntityTagKeepsItsBytes(
        _ tag: [UInt8]
    ) throws {
        var head = ResponseHead(status: 200, headers: HTTPHeaders(), httpVersion: 1.1)
        head.headers.add(.init(name: "ETag", received: tag))
        let validator = try ResumeData.resumable(HTTPRequest(method: "GET", url: "http://h/"), head).get()
        let stored = try ResumeData(data(validator).text)
        #expect(ResumeDecision.headers(for: stored, offset: 1)[1].bytes == tag)
        head.status = 206
        head.headers.add("Content-Range", "bytes 500-999/1000")
        #expect(ResumeDecision.decide(stored, offset: 500, head) == .append(end: 1000, total: 1000))
        let other = tag.count == 3 ? [0x22, 0xC3, 0xA9, 0x22] : [0x22, 0xE9, 0x22] as [UInt8]
        head.headers.set("ETag", toReceived: .init(name: "ETag", received: other))
        #expect(ResumeDecision.decide(stored, offset: 500, head) != .append(end: 1000, total: 1000))
    }

    @Test(
        arguments: [
            (500, 1000, 500, 500), (500, 1000, 700, 500), (500, 1000, 300, 300), (500, 1000, 0, 0), (500, 1000, -1, 0),
            (nil, 1000, 700, 700), (nil, 1000, 1000, 1000), (nil, 1000, 1001, 0), (nil, nil, 5000, 5000),
            (0, nil, 10, 0),
            (1000, 1000, 4000, 1000),
        ] as [(Int64?, Int64?, Int64, Int64)]) func goesOnFromWhatIsSure(
            _ offset: Int64?, _ total: Int64?, _ size: Int64, _ expected: Int64
        ) throws
    {
        #expect(ResumeDecision.offset(of: try data(offset: offset, total: total), fileSize: size) == expected)
    }

    // MARK: The answer

    @Test func theRightPartIsAppended() throws {
        let part = ["Content-Range": "bytes 500-999/1000"]
        #expect(try decide(206, part) == .append(end: 1000, total: 1000))
        let more = [
            "ETag": "\"v1\"", "Content-Length": "500", "Content-Encoding": "identity", "Accept-Ranges": "none",
            "Content-Type": "application/zip",
        ]
        #expect(try decide(206, part.merging(more) { $1 }) == .append(end: 1000, total: 1000))
        #expect(try decide(206, ["Content-Range": "bytes 500-999/*"]) == .append(end: 1000, total: 1000))
        #expect(try decide(206, part, data(total: nil)) == .append(end: 1000, total: 1000))
        #expect(
            try decide(206, ["Content-Range": "bytes 500-999/*"], data(total: nil)) == .append(end: 1000, total: nil))
        #expect(
            try decide(206, ["Content-Range": "bytes 0-9/10"], data(total: nil), offset: 0)
                == .append(end: 10, total: 10))
    }

    /// A server may send less than was requested. The rest is then requested again.
    @Test func aShortPartIsAppendedAndIsNotTheEnd() throws {
        #expect(try decide(206, ["Content-Range": "bytes 500-599/1000"]) == .append(end: 600, total: 1000))
    }

    @Test(arguments: [
        "bytes 499-999/1000", "bytes 501-999/1000", "bytes 0-999/1000", "bytes 0-499/1000", "bytes 500-1000/1000",
        "bytes 500-999/2000", "bytes 500-1999/2000", "bytes 500-999/999", "bytes 500-1000/*", "bytes */1000",
        "500-999/1000",
        "items 500-999/1000", "bytes 999-500/1000", "bytes 500-999", "", "bytes 500-999/1000, bytes 500-999/1000",
    ]) func anotherPartIsNotGluedOn(_ range: String) throws {
        #expect(startsOver(try decide(206, ["Content-Range": range])) != nil)
    }

    @Test func severalPartsAreNone() throws {
        #expect(startsOver(try decide(206)) != nil)
        #expect(startsOver(try decide(206, ["Content-Type": "multipart/byteranges; boundary=x"])) != nil)
    }

    @Test(arguments: ["gzip", "br", "deflate", "identity, gzip"]) func anEncodedPartIsNoPartOfTheFile(_ name: String)
        throws
    {
        let headers = ["Content-Range": "bytes 500-999/1000", "Content-Encoding": name]
        #expect(startsOver(try decide(206, headers)) == "the part is encoded")
    }

    @Test(arguments: ["499", "501", "0", "x", "-1", "500, 501"]) func theLengthAgrees(_ length: String) throws {
        #expect(startsOver(try decide(206, ["Content-Range": "bytes 500-999/1000", "Content-Length": length])) != nil)
    }

    @Test(arguments: [206, 416]) func anotherVersionIsNotGluedOn(_ status: Int) throws {
        let range = status == 206 ? "bytes 500-999/1000" : "bytes */500"
        let total: Int64 = status == 206 ? 1000 : 500
        func decide(_ name: String, _ value: String, _ validator: ResumeData.Validator) throws -> Bool {
            let decision = try self.decide(
                status, ["Content-Range": range, name: value], data(validator, total: total))
            return startsOver(decision) == nil
        }
        let (etag, date) = (ResumeData.Validator.etag("\"v1\""), ResumeData.Validator.lastModified(Self.date))
        let later = "Sun, 06 Nov 1994 08:49:38 GMT"
        #expect(try decide("ETag", "\"v1\"", etag) && !decide("ETag", "\"v2\"", etag) && !decide("ETag", "", etag))
        // The entity tag is now weak: the files may differ in details that the server ignores.
        #expect(try !decide("ETag", "W/\"v1\"", etag))
        #expect(try decide("Last-Modified", Self.date, date) && !decide("Last-Modified", later, date))
        // If there is an entity tag, only it counts: a file may get a new date without a change.
        #expect(try decide("Last-Modified", later, etag))
        #expect(try decide("ETag", "\"new\"", date))
    }

    @Test(arguments: [200, 201, 203, 226]) func aWholeAnswerTakesThePlace(_ status: Int) throws {
        #expect(try decide(status) == .replace)
        #expect(try decide(status, ["ETag": "\"v1\"", "Content-Range": "bytes 0-999/1000"]) == .replace)
        #expect(startsOver(try decide(status, ["ETag": "\"v1\"", "Content-Range": "bytes 500-999/1000"])) != nil)
        #expect(startsOver(try decide(status, ["Content-Range": "bytes 0-499/1000"])) != nil)
        #expect(try decide(status, ["Content-Encoding": "gzip"]) == .replace)
    }

    @Test func nothingLeftIsComplete() throws {
        let all = ["Content-Range": "bytes */1000"]
        #expect(try decide(416, all, offset: 1000) == .complete)
        #expect(try decide(416, all, data(offset: nil, total: nil), offset: 1000) == .complete)
        #expect(startsOver(try decide(416, all, offset: 500)) != nil)
        #expect(startsOver(try decide(416, ["Content-Range": "bytes */400"], offset: 500)) != nil)
        #expect(startsOver(try decide(416, ["Content-Range": "bytes */500"], offset: 500)) != nil, "known to be longer")
        #expect(startsOver(try decide(416, [:], offset: 1000)) != nil)
        #expect(startsOver(try decide(416, ["Content-Range": "bytes 0-999/1000"], offset: 1000)) != nil)
        #expect(startsOver(try decide(416, ["Content-Range": "bytes */1000", "ETag": "\"v2\""], offset: 1000)) != nil)
    }

    @Test(arguments: [300, 301, 302, 304, 307, 400, 401, 403, 404, 410, 412, 429, 500, 502, 503, 504])
    func anErrorLeavesWhatIsThere(_ status: Int) throws {
        #expect(try decide(status) == .fail)
        #expect(try decide(status, ["Content-Range": "bytes 500-999/1000", "ETag": "\"v2\""]) == .fail)
    }

    /// Parts are joined only if everything that the server says about them agrees.
    @Test func nothingIsGluedThatDoesNotFit() throws {
        let ranges = (0...4).flatMap { first in
            (0...4).flatMap { last in ["3", "4", "5", "*"].map { "bytes \(first)-\(last)/\($0)" } }
        }
        var appended = 0
        for offset in Int64(1)...4 {
            for total in [nil, 3, 4, 5] as [Int64?] where offset <= total ?? 9 {
                let data = try data(offset: nil, total: total)
                for (range, etag) in ranges.flatMap({ range in
                    ["\"v1\"", "\"v2\"", "W/\"v1\"", nil].map { (range, $0) }
                }) {
                    for (length, encoding) in [(nil, nil), ("2", nil), (nil, "gzip")] as [(String?, String?)] {
                        let fields = [
                            ("Content-Range", range), ("ETag", etag), ("Content-Length", length),
                            ("Content-Encoding", encoding),
                        ]
                        let headers = fields.reduce(into: [:]) { $0[$1.0] = $1.1 }
                        guard case .append(let end, let whole) = try decide(206, headers, data, offset: offset) else {
                            continue
                        }
                        appended += 1
                        let numbers = range.split { !$0.isNumber }.compactMap { Int64($0) }
                        #expect(numbers[0] == offset && numbers[1] == end - 1)
                        #expect(etag == nil || etag == "\"v1\"")
                        #expect(encoding == nil && (length == nil || end - offset == 2))
                        #expect(whole == (numbers.count > 2 ? numbers[2] : total) && end <= whole ?? 9)
                        #expect(total == nil || whole == total)
                    }
                }
            }
        }
        #expect(appended > 100)
    }
}
