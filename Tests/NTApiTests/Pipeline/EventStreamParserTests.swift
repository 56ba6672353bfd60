import Testing

@testable import NTApi

/// The event stream of WHATWG HTML, 9.2.6, and cases of the web platform tests.
@Suite struct EventStreamParserTests {
    private struct Outcome: Equatable {
        var events: [ServerSentEvent] = []
        var lastEventID = ""
        var retry: Int?
        var error: APIError?
    }

    private func read(_ pieces: [ArraySlice<UInt8>], _ parser: EventStreamParser) -> Outcome {
        var parser = parser
        var outcome = Outcome()
        outcome.error = StreamSplits.feed(pieces) { (rest) throws(APIError) in
            while let event = try parser.next(&rest) { outcome.events.append(event) }
        }
        outcome.lastEventID = parser.lastEventID
        outcome.retry = parser.retry
        return outcome
    }

    private func read(_ text: String) -> Outcome { read(Array(text.utf8)) }

    /// Parses a stream that is cut in many ways. The result must not depend on the cuts.
    private func read(_ stream: [UInt8], maximumSize: Int = 1 << 20, lastEventID: String = "") -> Outcome {
        let parser = EventStreamParser(lastEventID: lastEventID, maximumSize: maximumSize)
        let whole = read([stream[...]], parser)
        for pieces in StreamSplits.pieces(of: stream) {
            let outcome = read(pieces, parser)
            if outcome != whole { Issue.record("\(pieces.map { Array($0) }) gives \(outcome), not \(whole)") }
        }
        return whole
    }

    private func data(_ text: String) -> [String] { read(text).events.map(\.data) }

    @Test func readsTheStandardsExamples() {
        #expect(
            data("data: YHOO\ndata: +2\ndata: 10\n\n") == ["YHOO\n+2\n10"])
        let second = read(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n")
        #expect(
            second.events == [
                ServerSentEvent(data: "first event", lastEventID: "1"), ServerSentEvent(data: "second event"),
            ])
        #expect(data("data\n\ndata\ndata\n\ndata:") == ["", "\n"])
        #expect(data("data:test\n\ndata: test\n\n") == ["test", "test"])
        let kinds = read("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n")
        #expect(kinds.events.map(\.type) == ["add", "remove", "add"])
    }

    @Test(arguments: ["\n", "\r", "\r\n"]) func linesEndInAnyWay(_ end: String) {
        let outcome = read("id: 7\(end)event: e\(end)data: a\(end)data: b\(end)\(end)data: c\(end)\(end)")
        #expect(
            outcome.events == [
                ServerSentEvent(type: "e", data: "a\nb", lastEventID: "7"),
                ServerSentEvent(data: "c", lastEventID: "7"),
            ])
    }

    @Test func endsOfLinesMayBeMixed() {
        #expect(data("data:a\r\ndata:b\rdata:c\ndata:d\n\rdata:e\r\n\r\n\n\r") == ["a\nb\nc\nd", "e"])
        // A line feed after a carriage return is not an empty line; two carriage returns make one.
        #expect(data("data:a\r\n") == [] && data("data:a\r\r") == ["a"] && data("data:a\r\r\n") == ["a"])
    }

    @Test func anEventIsThereAsSoonAsItsLineEnds() {
        var parser = EventStreamParser()
        let events = Array("data:a\r\r".utf8).withUnsafeBytes { bytes in
            var rest = bytes
            return try? parser.next(&rest)
        }
        #expect(events?.data == "a")
    }

    @Test func aByteOrderMarkAtTheStartIsNoPartOfIt() {
        #expect(data("\u{FEFF}data:a\n\n") == ["a"])
        #expect(data("\u{FEFF}\u{FEFF}data:a\n\ndata:b\n\n") == ["b"])
        #expect(data("data:a\n\n\u{FEFF}data:b\n\n") == ["a"])
        #expect(data("\n\u{FEFF}data:b\n\n") == [])
        #expect(data("data:\u{FEFF}b\n\n") == ["\u{FEFF}b"])
    }

    @Test func onlyOneSpaceIsTakenOff() {
        #expect(data("data:  a \n\ndata:\ta\n\ndata: :a\n\n") == [" a ", "\ta", ":a"])
    }

    @Test func otherFieldsAreNone() {
        let text = " data:a\nData:b\ndata :c\ndatab:d\n:data:e\n\u{0}data:f\nfoo\n: \nda\ndata:g\n\n"
        #expect(data(text) == ["g"])
    }

    @Test func withoutDataThereIsNoEvent() {
        let outcome = read("event: a\nid: 1\n\nevent: b\n\nid: 2\n\ndata: x\n\n")
        #expect(outcome.events == [ServerSentEvent(data: "x", lastEventID: "2")])
    }

    @Test func theLastTypeAndIdentifierOfAnEventCount() {
        let outcome = read("event:a\nid:1\nevent:b\nid:2\ndata:x\n\nevent:c\nevent\ndata:y\n\n")
        #expect(
            outcome.events == [
                ServerSentEvent(type: "b", data: "x", lastEventID: "2"), ServerSentEvent(data: "y", lastEventID: "2"),
            ])
    }

    @Test func anIdentifierStaysUntilAnother() {
        let outcome = read("id:1\ndata:a\n\ndata:b\n\nid\ndata:c\n\nid:é€𝄞\ndata:d\n\n")
        #expect(outcome.events.map(\.lastEventID) == ["1", "1", "", "é€𝄞"])
        #expect(outcome.lastEventID == "é€𝄞")
    }

    @Test func anIdentifierWithNULIsIgnored() {
        #expect(read("id:1\nid:2\u{0}3\ndata:a\n\n").events == [ServerSentEvent(data: "a", lastEventID: "1")])
        #expect(read("id:1\n\nid:\u{0}\n\n").lastEventID == "1")
        // Elsewhere NUL is an ordinary character.
        #expect(read("event:a\u{0}\ndata:b\u{0}\n\n").events == [ServerSentEvent(type: "a\u{0}", data: "b\u{0}")])
    }

    /// The connection broke. The identifier of an incomplete event does not count.
    @Test func anEventThatIsCutOffIsNone() {
        let outcome = read("id:1\ndata:a\n\nid:2\ndata:b\n")
        #expect(outcome.events.count == 1 && outcome.lastEventID == "1")
        #expect(read("id:1\n\nid:2").lastEventID == "1")
    }

    @Test func aNewConnectionGoesOnWithTheIdentifier() {
        let outcome = read(Array("data:a\n\nid\ndata:b\n\n".utf8), lastEventID: "41")
        #expect(outcome.events.map(\.lastEventID) == ["41", ""])
        #expect(read([], lastEventID: "41").lastEventID == "41")
    }

    @Test(arguments: [
        ("retry: 1000", 1000), ("retry:0", 0), ("retry", nil), ("retry:", nil), ("retry: 1 ", nil), ("retry:  1", nil),
        ("retry:-1", nil), ("retry:1.5", nil), ("retry:1e3", nil), ("retry:0x1", nil), ("retry:１", nil),
        ("retry:000000000000000000000000000005", 5), ("retry:99999999999999999999999", Int.max),
        ("retry:2\nretry:x", 2),
    ]) func theTimeToRetryIsDigits(_ line: String, _ expected: Int?) {
        #expect(read(line + "\n").retry == expected)
    }

    /// A character may be cut anywhere. Invalid bytes become U+FFFD, as many as the encoding standard says.
    @Test func bytesAreDecodedAcrossCuts() {
        let bytes: [UInt8] = [0xC3, 0xE2, 0x82, 0xF0, 0x9D, 0x84, 0xFF, 0xC0, 0xAF, 0xED, 0xA0, 0x80, 0x41]
        let outcome = read(Array("data:é€𝄞\ndata:".utf8) + bytes + Array("\n\nid:".utf8) + [0xE9] + Array("\n\n".utf8))
        let replaced = String(repeating: "\u{FFFD}", count: 4) + String(repeating: "\u{FFFD}", count: 5) + "A"
        #expect(outcome.events.map(\.data) == ["é€𝄞\n" + replaced])
        #expect(outcome.lastEventID == "\u{FFFD}")
        // A line end counts even in the middle of a character.
        #expect(read(Array("data:".utf8) + [0xE2, 0x82, 0x0A, 0x0A]).events.map(\.data) == ["\u{FFFD}"])
    }

    @Test func anEndlessLineIsAnError() throws {
        let outcome = read(Array("data:a\n\n".utf8) + [UInt8](repeating: 0x78, count: 21), maximumSize: 20)
        #expect(outcome.events.map(\.data) == ["a"])
        let error = try #require(outcome.error)
        #expect(error.code == .responseTooLarge && error.domain == .network)
        #expect(error.message == "line 3 of the stream is longer than the allowed 20 bytes")
        #expect(read([UInt8](repeating: 0x78, count: 20), maximumSize: 20).error == nil)
        // The limit also holds for a comment.
        #expect(read(Array(":".utf8) + [UInt8](repeating: 0x78, count: 20), maximumSize: 20).error != nil)
    }

    @Test func anEndlessEventIsAnError() throws {
        let lines = String(repeating: "data:x\n", count: 11)
        #expect(read(Array((lines + "\n").utf8), maximumSize: 22).events.map(\.data.utf8.count) == [21])
        let outcome = read(Array("\(lines)\n\n".utf8), maximumSize: 20)
        let error = try #require(outcome.error)
        #expect(error.message == "an event of the stream has more than the allowed 20 bytes of data")
        #expect(outcome.events == [])
        // Any number of small ones is allowed.
        #expect(read(String(repeating: "data:x\n\n:\n", count: 50)).events.count == 50)
    }

    @Test func afterAnErrorNothingComes() {
        var parser = EventStreamParser(maximumSize: 8)
        let pieces = [Array("data:longer".utf8)[...], Array("\n\ndata:a\n\n".utf8)[...]]
        for piece in pieces {
            let error = StreamSplits.feed([piece]) { (rest) throws(APIError) in
                while try parser.next(&rest) != nil { Issue.record("an event") }
            }
            #expect(error?.code == .responseTooLarge)
        }
    }

    @Test func randomStreamsReadTheSameInPieces() {
        var random = SeededGenerator(SeededGenerator.ofThisRun)
        let alphabet = [
            "data:", "id:", "event:", "retry:", "\n", "\r", "\r\n", "\n\n", " ", "x", ":", "é", "\u{FEFF}", "\u{0}",
            "7",
        ]
        for _ in 0..<25 {
            let text = (0..<15).map { _ in alphabet.randomElement(using: &random) ?? "" }.joined()
            _ = read(text)
        }
    }

    @Test func anEventPrintsItselfAndItsJSON() {
        let event = ServerSentEvent(type: "add", data: #"{"a":1}"#, lastEventID: "5")
        #expect("\(event)" == #"add "5": "{\"a\":1}""# && event.json?["a"]?.int == 1)
        #expect("\(ServerSentEvent(data: "x"))" == #"message: "x""# && ServerSentEvent(data: "x").json == nil)
    }
}
