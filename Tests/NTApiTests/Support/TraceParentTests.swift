import Testing

@testable import NTApi

/// The examples of W3C Trace Context.
@Suite struct TraceParentTests {
    private let known = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private func parts(_ text: String) -> [String] { text.split(separator: "-").map { String($0) } }

    @Test func aChildIsInItsTrace() {
        let (first, second) = (parts(TraceParent.make(childOf: known)), parts(TraceParent.make(childOf: known)))
        #expect(first[0] == "00" && first[1] == "0af7651916cd43dd8448eb211c80319c" && first[3] == "01")
        #expect(first[2] != second[2] && first[2] != "b7ad6b7169203331" && first[2].utf8.count == 16)
        let unsampled = TraceParent.make(childOf: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
        #expect(parts(unsampled)[3] == "00")
        // A later version, with flags that are not known yet.
        let later = TraceParent.make(childOf: "cc-12345678901234567890123456789012-1234567890123456-0b-what")
        #expect(parts(later)[1] == "12345678901234567890123456789012" && parts(later)[3] == "01")
    }

    @Test func whatIsInvalidBeginsATrace() {
        let wrong = [
            nil, "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", known + "-more", known + "0",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.what",
            "00-0af7651916cd43dd8448eb211c80319\u{e9}b7ad6b7169203331-01-0",
        ]
        for text in wrong {
            let made = parts(TraceParent.make(childOf: text))
            #expect(made.map(\.utf8.count) == [2, 32, 16, 2] && made[3] == "01", "\(text ?? "nil")")
            #expect(made[1] != "0af7651916cd43dd8448eb211c80319c")
        }
        #expect(parts(TraceParent.make(childOf: nil))[1] != parts(TraceParent.make(childOf: nil))[1])
    }
}
