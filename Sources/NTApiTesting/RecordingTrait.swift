public import NTApi
import Synchronization
public import Testing

/// Gives each test a recorder, which replays the test's own file or records it.
///
///     @Test(.recording()) func find() async throws {
///         let client = APIClient(baseURL: "https://api.example.com/v1")
///         client.recorder = try .ofTest
///         #expect(try await client.send("find").json?["name"] == "London")
///     }
///
/// The environment variable `NTAPI_RECORD_MODE` says what the recorder does: none, once, new_episodes or all. Without it
/// the mode is none, and a request that is not in the file fails. The file is `recordings/<file>/<suite>.<test>.json`
/// in the folder of the source file. It is written after the test, if the test had no issue and recorded anything. A
/// suite gives the trait to each of its tests; a test's own trait takes its place.
///
/// A test with arguments has no such recorder, because its cases would share a file.
public struct RecordingTrait: TestTrait, SuiteTrait, TestScoping {
    let file: String?
    /// Nil is that of the environment.
    let mode: RecordMode?
    let secrets: [String]
    /// The source file of the trait.
    let source: String

    /// Whether the tests of a suite have the trait, and not the suite itself: true.
    public var isRecursive: Bool { true }

    /// Runs a test with its recorder.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase?.isParameterized != true else {
            throw TraitError(
                description: "the cases of \(test.name) would share a recording. Make a Recorder in the test, with a "
                    + "file for each case")
        }
        let recorder = try Recorder(
            path: RecordingName(test, source).path(file), mode: mode ?? .ofEnvironment, secrets: secrets)
        var doubles = TestDoubles.current
        doubles.recorder = recorder
        let hasIssue = Atomic<Bool>(false)
        let watch: IssueHandlingTrait = .compactMapIssues { issue in
            hasIssue.store(true, ordering: .relaxed)
            return issue
        }
        try await watch.provideScope(for: test, testCase: testCase) { [doubles] in
            try await TestDoubles.$current.withValue(doubles) { try await function() }
        }
        if !hasIssue.load(ordering: .relaxed) { try recorder.saveIfUsed() }
    }
}

extension Trait where Self == RecordingTrait {
    /// Gives each test a recorder in the mode of the environment: see ``RecordingTrait``.
    ///
    /// - Parameters:
    ///   - file: another file in the folder `recordings`, such as `cities/london.har`; nil is named after the test.
    ///   - secrets: additional secret names of headers, pairs, parts and JSON members.
    ///   - source: the source file, beside which the folder `recordings` is.
    public static func recording(
        _ file: String? = nil, secrets: [String] = [], source: String = #filePath
    ) -> Self {
        RecordingTrait(file: file, mode: nil, secrets: secrets, source: source)
    }

    /// Gives each test a recorder in a fixed mode: see ``RecordingTrait``.
    ///
    /// - Parameters:
    ///   - file: another file in the folder `recordings`, such as `cities/london.har`; nil is named after the test.
    ///   - mode: what the recorder does, whatever the environment says.
    ///   - secrets: additional secret names of headers, pairs, parts and JSON members.
    ///   - source: the source file, beside which the folder `recordings` is.
    public static func recording(
        _ file: String? = nil, mode: RecordMode, secrets: [String] = [], source: String = #filePath
    ) -> Self {
        RecordingTrait(file: file, mode: mode, secrets: secrets, source: source)
    }
}

/// Where the recording of a test is.
struct RecordingName {
    /// The folder of the source file, with a slash at the end.
    private let folder: String
    private let stem: String
    private let test: String

    init(_ test: Test, _ source: String) {
        let parts = source.split(separator: "/", omittingEmptySubsequences: false)
        folder = parts.dropLast().map { "\($0)/" }.joined()
        stem = String((parts.last ?? "").prefix { $0 != "." })
        let name = test.id.nameComponents.joined(separator: ".")
        self.test = name.hasSuffix("()") ? String(name.dropLast(2)) : name
    }

    /// - Parameter file: the name that the trait gives; nil for that of the test.
    func path(_ file: String?) -> String {
        "\(folder)recordings/\(file ?? "\(Self.safe(stem))/\(Self.safe(test)).json")"
    }

    /// A name of a file. The end of a changed name keeps it apart from others.
    static func safe(_ name: String) -> String {
        let safe = String(name.unicodeScalars.prefix(150).map { isSafe($0) ? Character($0) : "_" })
        return safe == name ? name : "\(safe)-\(SHA256.hex(name).prefix(8))"
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", ".", "-": true
        default: false
        }
    }
}
