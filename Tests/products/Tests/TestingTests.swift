import Foundation
import NTApi
import NTApiTesting
import Synchronization
import Testing

/// Expects that the test has issues with these texts, and no others.
private struct ExpectedIssues: TestTrait, TestScoping {
    let texts: [String]

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let texts = texts
        let found = Mutex<Set<String>>([])
        try await withKnownIssue {
            try await function()
        } matching: { issue in
            let issue = (issue.comments.map(\.rawValue) + [issue.error.map { "\($0)" } ?? ""]).joined(separator: "\n")
            let matching = texts.filter(issue.contains)
            found.withLock { $0.formUnion(matching) }
            return !matching.isEmpty
        }
        #expect(found.withLock { $0 } == Set(texts))
    }
}

extension Trait where Self == ExpectedIssues {
    fileprivate static func expects(_ texts: String...) -> Self { ExpectedIssues(texts: texts) }
}

private let baseURL = "https://api.example.com/v1"

/// A stub and a clock for each test.
@Suite struct StubTraitTests {
    @Test(.stub) func expectationsAreAddedInTheTest() async throws {
        try Stub.ofTest.on("GET", "find").answer(.status(204))
        let client = APIClient(baseURL: baseURL)
        client.stub = try .ofTest
        #expect(await client.response("find").status == 204)
    }

    @Test(
        .expects(
            "POST notes was never requested; the nearest request: POST \(baseURL)/note (the path is /v1/note)",
            "no stub matches POST \(baseURL)/note; the nearest: POST notes (the path is /v1/note)"),
        .stub { $0.on("POST", "notes") })
    func whatIsWrongIsAnIssue() async throws {
        let client = APIClient(baseURL: baseURL)
        client.stub = try .ofTest
        _ = await client.response("note", args: [.method("POST")])
    }

    private struct Stop: Error {}

    @Test(.expects("Stop"), .stub { $0.on("POST", "notes") })
    func nothingIsVerifiedAfterAnError() throws { throw Stop() }

    @Test(.expects("the test has no stub: write @Test(.stub)")) func withoutTheTraitThereIsNone() throws {
        _ = try Stub.ofTest
    }
}

/// Tests with the stub of their suite, side by side.
@Suite(.stub { $0.on("GET", "find").answer(.json(["name": "London"])) })
struct StubOfSuiteTests {
    private let client = APIClient(baseURL: baseURL)

    @Test(arguments: 0..<20) func nothingIsShared(_ number: Int) async throws {
        let stub = try Stub.ofTest
        client.stub = stub
        for _ in 0...number { _ = try await client.send("find") }
        #expect(stub.requests.count == number + 1)
    }

    @Test(.stub { $0.on("GET", "weather").answer(.json(["temperature": 20])) })
    func aTestAddsToIt() async throws {
        client.stub = try .ofTest
        #expect(try await client.send("find").json?["name"]?.string == "London")
        #expect(try await client.send("weather").json?["temperature"]?.int == 20)
    }
}

/// Recordings named after tests.
@Suite struct RecordingTraitTests {
    /// Sends a request with the recorder of the test. A stub takes the place of the server.
    ///
    /// - Parameter isNew: whether the request is recorded. Otherwise it is replayed.
    private static func find(isNew: Bool) async throws {
        let stub = Stub()
        stub.on("GET", "find").answer(.json(["name": "London"]))
        let client = APIClient(baseURL: baseURL)
        client.stub = stub
        client.recorder = try .ofTest
        #expect(try await client.send("find").json?["name"]?.string == "London")
        #expect(try Recorder.ofTest.count == (isNew ? 1 : 0))
    }

    /// Runs code as a test with this trait would.
    private static func run(_ trait: RecordingTrait, _ body: @Sendable () async throws -> Void) async throws {
        let test = try #require(Test.current)
        try await trait.provideScope(for: test, testCase: Test.Case.current, performing: body)
    }

    private let folder: URL

    init() throws {
        folder = try FileManager.default.url(
            for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: URL(filePath: "/tmp"), create: true)
    }

    private var source: String { "\(folder.path)/CityTests.swift" }

    private func files() throws -> [String] {
        let all = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return all.filter { $0.contains(".") }.sorted()
    }

    @Test(.recording()) func aFileIsNamedAfterItsTest() throws {
        let end = "/products/Tests/recordings/TestingTests/RecordingTraitTests.aFileIsNamedAfterItsTest.json"
        #expect(try Recorder.ofTest.path.hasSuffix(end))
    }

    @Test func thePageShowsCityTests() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let code = try String(contentsOf: tests.appending(path: "CityTests.swift"), encoding: .utf8)
        let page = try String(contentsOf: tests.appending(path: "../../../docs/testing.md"), encoding: .utf8)
        #expect(page.contains("```swift\n\(code)```\n"))
    }

    @Test func theFirstRunRecords() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let trait: RecordingTrait = .recording(mode: .once, source: source)
        try await Self.run(trait) { try await Self.find(isNew: true) }
        #expect(try files() == ["recordings/CityTests/RecordingTraitTests.theFirstRunRecords.json"])
        try await Self.run(trait) { try await Self.find(isNew: false) }
    }

    @Test func `a/name with spaces`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let trait: RecordingTrait = .recording(mode: .all, source: source)
        try await Self.run(trait) { try await Self.find(isNew: true) }
        let file = try #require(try files().first)
        // A suffix distinguishes it from other names.
        let wanted = #/recordings/CityTests/RecordingTraitTests\._a_name_with_spaces_-[0-9a-f]{8}\.json/#
        #expect(file.wholeMatch(of: wanted) != nil)
    }

    @Test func aFileCanHaveAnotherName() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let trait: RecordingTrait = .recording("cities/london.har", mode: .all, secrets: ["name"], source: source)
        try await Self.run(trait) { try await Self.find(isNew: true) }
        #expect(try files() == ["recordings/cities/london.har"])
        let text = try String(contentsOf: folder.appending(path: "recordings/cities/london.har"), encoding: .utf8)
        #expect(text.contains("<redacted>") && !text.contains("London"))
    }

    @Test func nothingIsWrittenIfTheTestFails() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let trait: RecordingTrait = .recording(mode: .all, source: source)
        try await withKnownIssue {
            try await Self.run(trait) {
                try await Self.find(isNew: true)
                Issue.record("it has failed")
            }
        } matching: {
            $0.comments.contains("it has failed")
        }
        await #expect(throws: CancellationError.self) {
            try await Self.run(trait) {
                try await Self.find(isNew: true)
                throw CancellationError()
            }
        }
        // Nothing was recorded.
        try await Self.run(trait) {}
        #expect(try files().isEmpty)
    }

    @Test(
        .expects("to make the recording", "run the test with NTAPI_RECORD_MODE=once"),
        .recording("missing.json", mode: .none))
    func aMissingRecordingSaysHowToMakeIt() async throws { try await Self.find(isNew: true) }

    @Test(
        .expects("the cases of casesWouldShareAFile(_:) would share a recording"), .recording(mode: .all),
        arguments: 0..<2)
    func casesWouldShareAFile(_ number: Int) {}

    @Test(.expects("the test has no recorder: write @Test(.recording())")) func withoutTheTraitThereIsNone() throws {
        _ = try Recorder.ofTest
    }
}
