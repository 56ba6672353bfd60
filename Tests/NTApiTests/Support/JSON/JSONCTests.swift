import CJansson
import Testing

@testable import NTApi

/// Which memory the C ABI borrows, and which it copies.
@Suite struct JSONCTests {
    @Test func stringsAreLent() throws {
        let document = try JSON(parsing: #"{"s":"é\u0000x","e":"","n":1}"#)
        // The value of the member is freed after the call, but the document keeps its memory.
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

    /// Runs the body with a jansson tree from the library, and releases the tree afterwards.
    private func withTree<Result>(of value: JSON, _ body: (UnsafeMutablePointer<json_t>) throws -> Result) rethrows
        -> Result
    {
        let tree = UnsafeMutablePointer<json_t>(value.jansson())
        defer { json_decref(tree) }
        return try body(tree)
    }

    @Test func deepCopiesShareNothing() throws {
        for text in ["null", "1", #""a\u0000b""#, #"{"a":[1,2.5,{"b":null}]}"#] {
            let value = try JSON(parsing: text)
            let again = withTree(of: value) { JSON(jansson: UnsafeRawPointer($0)) }
            #expect(again == value)
            #expect(again?.text == text)
        }
    }

    @Test(arguments: [
        ("0.1", "0.1"), ("[0.1,2.5,-0.0]", "[0.1,2.5,-0.0]"), ("3e0", "3.0"), ("1e20", "1e20"), ("1.5e-7", "1.5e-7"),
        ("5e-324", "4.94065645841247e-324"), ("1.7976931348623157e308", "1.7976931348623157e308"),
        ("[0.1,1700000000.123456]", "[0.1,1700000000.123456]"),
        ("[0.1,0.30000000000000004]", "[0.10000000000000001,0.30000000000000004]"),
        (#"{"z":1,"\u001f":"\u0000/é\"","a":[[],{}]}"#, #"{"z":1,"\u001F":"\u0000/é\"","a":[[],{}]}"#),
        ("18446744073709551616", "18446744073709551616"), ("[1.123456789012345678,3e0]", "[1.123456789012345678,3e0]"),
        ("[true,false,null,-5]", "[true,false,null,-5]"),
    ])
    func isDumped(text: String, written: String) throws {
        let value = try JSON(parsing: text)
        #expect(value.dumped == written)
        #expect(try JSON(parsing: value.dumped) == value)
    }

    @Test func everyRealReadsBack() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let real = Double(bitPattern: random.next())
            guard real.isFinite else { continue }
            let text = JSON(real).dumped
            #expect(try JSON(parsing: text).double == real, "\(text), not \(real)")
        }
    }

    @Test func treesOfTheHostAreMeasured() {
        var tree = json_array()
        for _ in 0..<5_000 {
            let outer = json_array()
            json_array_append_new(outer, tree)
            tree = outer
        }
        #expect(tree.flatMap { JSON(jansson: UnsafeRawPointer($0)) } == nil)
        json_decref(tree)
    }
}
