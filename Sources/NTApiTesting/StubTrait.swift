public import NTApi
public import Testing

/// Gives each test a stub and a manual clock of its own, and verifies the stub at the end.
///
///     @Test(.stub { $0.on("GET", "find").answer(.json(["name": "London"])) })
///     func find() async throws {
///         let client = APIClient(baseURL: "https://api.example.com/v1")
///         client.stub = try .ofTest
///         client.clock = try .ofTest
///         #expect(try await client.send("find").json?["name"] == "London")
///     }
///
/// If an expectation was not met, or a request was not expected, the test has an issue for each. It names what was
/// nearest. Nothing is verified if the test throws an error. A suite gives the trait to each of its tests. If a test has
/// one, too, both prepare the same stub, the suite's first.
public struct StubTrait: TestTrait, SuiteTrait, TestScoping {
    let prepare: @Sendable (Stub) -> Void

    /// Whether the tests of a suite have the trait, and not the suite itself: true.
    public var isRecursive: Bool { true }

    /// Runs a test with its stub and its clock.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if let stub = TestDoubles.current.stub {
            prepare(stub)
            return try await function()
        }
        let stub = Stub()
        prepare(stub)
        var doubles = TestDoubles.current
        doubles.stub = stub
        doubles.clock = ManualClock()
        try await TestDoubles.$current.withValue(doubles) { try await function() }
        for problem in stub.explainedProblems {
            Issue.record(Comment(rawValue: problem), sourceLocation: test.sourceLocation)
        }
    }
}

extension Trait where Self == StubTrait {
    /// Gives each test a stub without expectations, and a manual clock: see ``StubTrait``.
    public static var stub: Self { StubTrait { _ in } }

    /// Gives each test a stub and a manual clock: see ``StubTrait``.
    ///
    /// - Parameter prepare: adds expectations. Called before each test, on any thread.
    public static func stub(_ prepare: @escaping @Sendable (Stub) -> Void) -> Self { StubTrait(prepare: prepare) }
}
