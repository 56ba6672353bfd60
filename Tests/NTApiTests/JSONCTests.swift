import Testing

@testable import NTApi

/// What the C ABI borrows and copies.
@Suite struct JSONCTests {
    @Test func stringsAreLent() throws {
        let document = try JSON(parsing: #"{"s":"é\u0000x","e":"","n":1}"#)
        // The child is gone after the call; the document keeps what the pointer points to.
        let string = try #require(document["s"]?.cString)
        #expect(string.length == 4)
        #expect(String(cString: string.pointer) == "é")
        #expect(string.pointer[3] == CChar(UInt8(ascii: "x")))
        #expect(string.pointer[4] == 0)
        #expect(document["e"]?.cString?.length == 0)
        #expect(document["n"]?.cString == nil)
        withExtendedLifetime(document) {}
    }

    @Test func keysAreLentInOrder() throws {
        let document = try JSON(parsing: #"{"b":1,"":2,"é":3}"#)
        let keys = (0..<3).map { document.cKey(at: $0).map { String(cString: $0) } }
        #expect(keys == ["b", "", "é"])
        for index in [-1, 3, .max, .min] { #expect(document.cKey(at: index) == nil) }
        #expect(([1] as JSON).cKey(at: 0) == nil)
        #expect((1 as JSON).cKey(at: 0) == nil)
        withExtendedLifetime(document) {}
    }

    @Test func deepCopiesShareNothing() throws {
        for text in ["null", "1", #""a\u0000b""#, #"{"a":[1,2.5,{"b":null}]}"#] {
            let value = try JSON(parsing: text)
            let owner = JSONNode(adopting: JSONRef(value.janssonDeepCopy()), heightBound: JSONDepth.limit)
            let again = owner.read { JSON(janssonDeepCopying: UnsafeRawPointer($0)) }
            #expect(again == value)
            #expect(again.text == text)
        }
    }

    @Test func treesOfTheHostAreMeasured() {
        var tree = JSONRef.array()
        for _ in 0..<5_000 {
            let outer = JSONRef.array()
            outer.appendNew(tree)
            tree = outer
        }
        let owner = JSONNode(adopting: tree, heightBound: 5_001)
        #expect(owner.read { JSON(janssonDeepCopying: UnsafeRawPointer($0)) }.isNull)
    }
}
