import Testing

@testable import NTApi

/// Nesting must neither exceed the limit nor exhaust the stack.
@Suite struct JSONDepthTests {
    private func nested(_ levels: Int) -> String {
        String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }

    private func height(_ value: JSON) -> Int? {
        JSONDepth.height(of: value, limit: .max)
    }

    @Test func parsesUpToTheLimit() throws {
        let deepest = try JSON(parsing: nested(JSONDepth.limit))
        #expect(height(deepest) == JSONDepth.limit)
        #expect(deepest.text == nested(JSONDepth.limit))
        #expect(deepest == deepest[path: ""])
        #expect(try JSON(parsing: deepest.text) == deepest)
    }

    @Test(arguments: [2_049, 100_000, 1 << 20])
    func refusesBeyondTheLimit(levels: Int) {
        let error = #expect(throws: JSONParseError.self) { try JSON(parsing: nested(levels)) }
        #expect(error?.offset == JSONDepth.limit + 1)
        let objects = String(repeating: #"{"a":"#, count: levels)
        #expect(throws: JSONParseError.self) { try JSON(parsing: objects) }
    }

    @Test func buildingBeyondTheLimitGivesNull() {
        var value: JSON = "core"
        for _ in 0..<JSONDepth.limit { value = [value] }
        #expect(height(value) == JSONDepth.limit)
        #expect(([value] as JSON) == [.null])
        #expect((["a": value, "b": 1] as JSON) == ["a": .null, "b": 1])
    }

    @Test func buildingInALoopEnds() throws {
        var array: JSON = []
        var object: JSON = [:]
        for _ in 0..<100_000 {
            array = [array]
            object = ["a": object]
        }
        for value in [array, object] {
            #expect(try #require(height(value)) <= JSONDepth.limit)
            #expect(try JSON(parsing: value.text) == value)
        }
    }

    @Test func parsedValuesAreMeasuredBeforeTheyAreRefused() throws {
        // Its size would allow a depth beyond the limit, but its real depth is far below.
        let flat = try JSON(parsing: "[" + String(repeating: "[1],", count: 10_000) + "1]")
        #expect(([flat] as JSON)[0] == flat)
        let deepest = try JSON(parsing: nested(JSONDepth.limit))
        #expect(([deepest] as JSON) == [.null])
        #expect(try height([#require(deepest[0])]) == JSONDepth.limit)
    }

    @Test func sharedChildrenAreNotWalked() {
        // As text, this would be 2^1000 values. So the bounds of the depth must be added up, not measured.
        var value: JSON = []
        for _ in 0..<1_000 { value = [value, value] }
        #expect(value[path: "[0][1]"]?.count == 2)
        #expect(([value[0] ?? .null] as JSON).count == 1)
        #expect(value == value)
    }
}
