import Testing

@testable import NTApi

@Suite struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-0/1", .part(first: 0, last: 0, total: 1)), ("bytes 5-9/10", .part(first: 5, last: 9, total: 10)),
            ("BYTES 5-9/*", .part(first: 5, last: 9, total: nil)), ("bytes */10", .unsatisfied(total: 10)),
            ("bytes */0", .unsatisfied(total: 0)), ("bytes 005-9/10", .part(first: 5, last: 9, total: 10)),
            (
                "bytes 0-9223372036854775806/9223372036854775807",
                .part(first: 0, last: .max - 1, total: .max)
            ),
        ] as [(String, ContentRange)]) func readsThem(_ text: String, _ expected: ContentRange)
    {
        #expect(ContentRange(text) == expected)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes=0-1/2", "items 0-1/2", "bytes 0-1", "bytes 0/2", "bytes -1/2", "bytes 0-/2",
        "bytes 0-1/", "bytes 0-2/2", "bytes 1-0/2", "bytes */*", "bytes 0-1/2/3", "bytes 0-1-2/3", "bytes +0-1/2",
        "bytes 0 - 1/2", "bytes 0-1/-2", "bytes 0-1/0x2", "bytes 0-9223372036854775807/*",
        "bytes 0-1/9223372036854775808",
        "bytes 0-9223372036854775807/9223372036854775807", "bytes  0-1/2", "bytes 0-1/2, bytes 0-1/2",
    ]) func refusesWhatContradictsItself(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test func ofSeveralNoneIsBelieved() {
        let one = (name: "content-range", value: "bytes 0-1/2")
        #expect(ContentRange(HTTPHeaders([one])) != nil)
        #expect(ContentRange(HTTPHeaders([one, one])) == nil && ContentRange(HTTPHeaders()) == nil)
    }
}
