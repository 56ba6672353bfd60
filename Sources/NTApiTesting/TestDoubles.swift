public import NTApi

/// What the traits have given to the test that runs.
struct TestDoubles: Sendable {
    @TaskLocal static var current = TestDoubles()

    var stub: Stub?
    var clock: ManualClock?
    var recorder: Recorder?

    static func given<Value>(_ double: Value?, _ what: String, by trait: String) throws -> Value {
        guard let double else {
            throw TraitError(
                description: "the test has no \(what): write @Test(\(trait)), and do not ask in a detached task or on "
                    + "another thread")
        }
        return double
    }
}

/// A test cannot have what it asks for.
struct TraitError: Error, CustomStringConvertible {
    let description: String
}

extension Stub {
    /// The stub of the test that runs, which ``StubTrait`` has given to it.
    ///
    /// - Throws: an error when the test has no such trait, or in a detached task.
    public static var ofTest: Stub {
        get throws { try TestDoubles.given(TestDoubles.current.stub, "stub", by: ".stub") }
    }
}

extension ManualClock {
    /// The clock of the test that runs, which ``StubTrait`` has given to it.
    ///
    /// - Throws: an error when the test has no such trait, or in a detached task.
    public static var ofTest: ManualClock {
        get throws { try TestDoubles.given(TestDoubles.current.clock, "clock", by: ".stub") }
    }
}

extension Recorder {
    /// The recorder of the test that runs, which ``RecordingTrait`` has given to it.
    ///
    /// - Throws: an error when the test has no such trait, or in a detached task.
    public static var ofTest: Recorder {
        get throws { try TestDoubles.given(TestDoubles.current.recorder, "recorder", by: ".recording()") }
    }
}
