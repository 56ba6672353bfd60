import Testing

@testable import NTApi

@Suite struct JSONLinesParserTests {
    private struct Outcome: Equatable {
        var values: [JSON] = []
        var error: APIError?
    }

    private func read(_ pieces: [ArraySlice<UInt8>], _ parser: JSONLinesParser) -> Outcome {
        var parser = parser
        var outcome = Outcome()
        outcome.error = StreamSplits.feed(pieces) { (rest) throws(APIError) in
            while let value = try parser.next(&rest) { outcome.values.append(value) }
        }
        do throws(APIError) {
            if let value = try parser.last() { outcome.values.append(value) }
        } catch {
            if outcome.error == nil { outcome.error = error }
            // The error stays the same.
            #expect(error == outcome.error)
        }
        return outcome
    }

    /// Parses a stream that is cut in many ways. The result must not depend on the cuts.
    private func read(_ stream: [UInt8], maximumLength: Int = 1 << 20) -> Outcome {
        let parser = JSONLinesParser(maximumLength: maximumLength)
        let whole = read([stream[...]], parser)
        for pieces in StreamSplits.pieces(of: stream) {
            let outcome = read(pieces, parser)
            if outcome != whole { Issue.record("\(pieces.map { Array($0) }) gives \(outcome), not \(whole)") }
        }
        return whole
    }

    private func read(_ text: String) -> Outcome { read(Array(text.utf8)) }

    @Test(arguments: [
        "{\"a\":1}\n[2]\n\"é\"\n", "{\"a\":1}\n[2]\n\"é\"", "{\"a\":1}\r\n[2]\r\n\"é\"\r\n",
        "{\"a\":1}\r\n[2]\n\"é\"\r",
        "\n\n{\"a\":1}\n \t\r\n[2]\n\n\"é\"\n\n", " {\"a\":1} \n\t[2]\n\"é\"", "\u{FEFF}{\"a\":1}\n[2]\n\"é\"\n",
        "\u{1E}{\"a\":1}\n\u{1E}[2]\n\u{1E}\"é\"\n", "\u{1E}\u{1E}{\"a\":1}\n\u{1E}\n\u{1E}[2]\n\u{1E}\"é\"",
    ]) func aLineIsAValue(_ text: String) {
        #expect(read(text) == Outcome(values: [["a": 1], [2], "é"]))
    }

    @Test(arguments: ["", "\n", "\r\n\r\n", " ", "\u{1E}", "\u{1E}\n"]) func nothingIsNoValue(_ text: String) {
        #expect(read(text) == Outcome())
    }

    @Test func everyKindOfValueHasALine() {
        #expect(read("1\ntrue\nnull\n-0.5\n\"\"\n[]\n{}") == Outcome(values: [1, true, .null, -0.5, "", [], [:]]))
    }

    @Test(arguments: [
        ("[1]\n{\"a\":}\n[3]\n", 1, "line 2 of the stream is not JSON: column 7: unexpected token near '}'"),
        ("\n\n[1]\n\n[1\n2]", 1, "line 5 of the stream is not JSON: column 3: unexpected end of the text"),
        ("{}{}", 0, "line 1 of the stream is not JSON: column 4: unexpected text after the value"),
        ("[1]\rx\n", 0, "line 1 of the stream is not JSON: column 6: "),
        ("1\n2\nnul", 2, "line 3 of the stream is not JSON: "),
        ("[1]\u{1E}\n", 0, "line 1 of the stream is not JSON: "),
        ("1\n\u{0}\n", 1, "line 2 of the stream is not JSON: "),
    ]) func aBadLineIsNamed(_ text: String, _ values: Int, _ message: String) throws {
        let outcome = read(text)
        #expect(outcome.values.count == values)
        let error = try #require(outcome.error)
        #expect(error.domain == .json && error.code == .invalidJSON)
        #expect(error.message.hasASCIIPrefix(message), "\(error.message)")
    }

    @Test func aLineThatIsNotUTF8IsBad() {
        let outcome = read(Array("1\n\"".utf8) + [0xE9] + Array("\"\n".utf8))
        #expect(outcome.values == [1] && outcome.error?.message.containsSubstring("line 2") == true)
    }

    @Test func anEndlessLineIsAnError() throws {
        let line = [UInt8](repeating: 0x31, count: 20)
        #expect(read(line, maximumLength: 20).values.count == 1)
        // The end of the line does not count.
        #expect(read(line + Array("\r\n".utf8), maximumLength: 20).values.count == 1)
        #expect(read(line + Array("\r".utf8), maximumLength: 20).values.count == 1)
        for end in ["", "\n", "\r\n", " \n", "1\n"] {
            let outcome = read(Array("1\n".utf8) + line + [0x31] + Array(end.utf8), maximumLength: 20)
            let error = try #require(outcome.error)
            #expect(outcome.values == [1] && error.code == .responseTooLarge)
            #expect(error.message == "line 2 of the stream is longer than the allowed 20 bytes")
        }
        #expect(read(line + Array("\r\r\n".utf8), maximumLength: 20).error != nil)
    }

    @Test func randomLinesReadTheSameInPieces() {
        var random = SeededGenerator(SeededGenerator.ofThisRun)
        let alphabet = ["[1]", "{\"a\":\"é\"}", "\n", "\r\n", "\n\n", " ", "\r", "\u{1E}", "7"]
        for _ in 0..<25 {
            _ = read((0..<20).map { _ in alphabet.randomElement(using: &random) ?? "" }.joined())
        }
    }

    @Test func valuesOutliveTheChunk() {
        var values: [JSON] = []
        var parser = JSONLinesParser()
        for number in 0..<1000 {
            _ = StreamSplits.feed([Array("{\"n\":\"\(number)\"}\n".utf8)[...]]) { (rest) throws(APIError) in
                while let value = try parser.next(&rest) { values.append(value) }
            }
        }
        #expect(values.enumerated().allSatisfy { $1["n"]?.string == "\($0)" } && values.count == 1000)
    }
}
