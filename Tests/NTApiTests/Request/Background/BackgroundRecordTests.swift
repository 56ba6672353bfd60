import Testing

@testable import NTApi

@Suite struct BackgroundRecordTests {
    static func record(_ identifier: Int64 = 7) throws -> BackgroundRecord {
        var record = BackgroundRecord(
            identifier: identifier, method: "GET", url: "https://a.example/f?x=1",
            work: .download(
                destination: "/d/f", temporaryFile: "/d/.f.1a.part",
                resume: try ResumeData(
                    url: "https://a.example/f?x=1", destination: "/d/f", temporaryFile: "/d/.f.1a.part", offset: 5,
                    validator: .etag("\"v\""), totalLength: 9)), created: 1_700_000_000.5)
        record.headers.add("Authorization", "Bearer t0ken")
        record.headers.add("X-Mine", "é", isSecret: true)
        record.headers.add("Accept", "a")
        record.headers.add("Accept", "b")
        record.description = "the photo of \"today\"\n"
        record.priority = 0.75
        record.settings = ["timeout": 5, "list": [1, nil ?? JSON.null]]
        return record
    }

    static let outcomes = [
        BackgroundOutcome(
            status: 200, headers: HTTPHeaders([("ETag", "\"v\"")]), url: "https://cdn.example/f", body: [0, 255, 10],
            ended: 1_700_000_009),
        BackgroundOutcome(
            error: APIError(
                domain: .network, code: .timeout, message: "no byte for 60 s", transportCode: 28, isRetryable: true)),
        BackgroundOutcome(
            status: 503, error: APIError(domain: .http, code: ErrorCode("mine"), message: "é", httpStatus: 503)),
    ]

    private func states() throws -> [BackgroundRecord] {
        var all = [try Self.record()]
        var running = try Self.record()
        try running.run()
        all.append(running)
        for outcome in Self.outcomes {
            var record = running
            try record.finish(outcome)
            all.append(record)
            _ = try record.deliver()
            all.append(record)
        }
        var upload = BackgroundRecord(
            identifier: 1, method: "PUT", url: "http://h/", work: .upload(file: "/f"), created: 0)
        all.append(upload)
        upload.work = .download(destination: "/d", temporaryFile: "/t", resume: nil)
        return all + [upload]
    }

    @Test func isReadAsItWasWritten() throws {
        for record in try states() {
            let read = try BackgroundRecord(parsing: record.json.utf8())
            #expect(read == record)
            #expect(read.headers.elementsEqual(record.headers) && read.json == record.json)
        }
    }

    @Test func aRecordThatIsCutOffIsNone() throws {
        for record in try states() {
            let text = record.json.utf8()
            for length in 0..<text.count {
                #expect(throws: APIError.self) { try BackgroundRecord(parsing: Array(text[..<length])) }
            }
        }
    }

    static let mistakes: [(String, JSON?, String)] = [
        ("version", 2, "it has version 2"), ("version", nil, "field \"version\": it is missing"),
        ("identifier", 0, "not positive"), ("identifier", "7", "not an integer"), ("priority", "high", "not a number"),
        ("method", "GET /", "method"), ("url", "ftp://h/", "http"),
        ("headers", [["A"]], "not a list of names and values"),
        ("headers", [["A", "b\r\nC: d"]], "carriage return"), ("headers", ["A": "b"], "not an array"),
        ("kind", "stream", "is unknown"), ("destination", "f", "not an absolute path"),
        ("temporaryFile", nil, "missing"),
        ("resumeData", ["ntapiResumeData": 1], "resume data, field"), ("settings", [], "not an object"),
        ("settings", nil, "missing"), ("state", "tired", "is unknown"),
        ("state", "finished", "field \"outcome\": it is missing"),
        ("created", nil, "missing"), ("description", 5, "not a string"),
    ]

    @Test(arguments: mistakes) func aMistakeIsNamed(_ field: String, _ value: JSON?, _ reason: String) throws {
        var members = try #require(Self.record().json.object).map { ($0.key, $0.value) }
        members.removeAll { $0.0 == field }
        if let value { members.append((field, value)) }
        let error = try #require(thrown { _ = try BackgroundRecord(parsing: JSON(members).utf8()) })
        #expect(error.message.containsSubstring(reason), "\(error.message)")
    }

    @Test func aMistakeInTheOutcomeIsNamed() throws {
        var record = try Self.record()
        try record.finish(Self.outcomes[1])
        let text = record.json.text
        for (part, other, reason) in [
            ("\"domain\":\"network\"", "\"domain\":\"x\"", "outcome.error.domain"),
            ("\"body\":\"\"", "\"body\":\"?\"", "outcome.body"), ("\"status\":0", "\"status\":\"\"", "outcome.status"),
        ] {
            let range = try #require(text.firstRange(of: part))
            let broken = text.replacingCharacters(range, other)
            let error = try #require(thrown { _ = try BackgroundRecord(parsing: Array(broken.utf8)) })
            #expect(error.message.containsSubstring(reason), "\(error.message)")
        }
    }

    // MARK: Steps

    @Test func hasOneOutcome() throws {
        var record = try Self.record()
        #expect(thrown { _ = try record.deliver() } != nil)
        try record.run()
        try record.wait()
        try record.run()
        try record.run()
        try record.finish(Self.outcomes[0])
        let kept = record
        #expect(thrown { try record.finish(Self.outcomes[1]) } != nil)
        #expect(thrown { try record.run() } != nil && thrown { try record.wait() } != nil)
        #expect(record == kept && record.outcome == Self.outcomes[0])
        let (first, second) = (try record.deliver(), try record.deliver())
        #expect(!first && second)
        #expect(thrown { try record.finish(Self.outcomes[1]) } != nil && thrown { try record.run() } != nil)
        #expect(record.outcome == Self.outcomes[0])
    }

    @Test func higherPrioritiesAndOlderOnesGoFirst() throws {
        var records = try (1...6).map { try Self.record($0) }
        for (index, priority) in [0.5, 1, 0, 0.5, 1, .nan].enumerated() where !priority.isNaN {
            records[index].priority = priority
        }
        records.removeLast()
        #expect(records.shuffled().sorted(by: BackgroundRecord.isBefore).map(\.identifier) == [2, 5, 1, 4, 3])
    }
}

extension String {
    fileprivate func firstRange(of part: String) -> Range<String.Index>? {
        indices.first { self[$0...].hasPrefix(part) }.map { $0..<index($0, offsetBy: part.count) }
    }

    fileprivate func replacingCharacters(_ range: Range<String.Index>, _ other: String) -> String {
        self[..<range.lowerBound] + other + self[range.upperBound...]
    }
}
