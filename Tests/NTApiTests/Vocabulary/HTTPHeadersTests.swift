import NTApi
import Testing

/// Header fields by their names.
@Suite struct HTTPHeadersTests {
    @Test func settingReplacesAllOfTheName() {
        var headers = HTTPHeaders([(name: "Accept", value: "a"), (name: "X", value: "1"), (name: "accept", value: "b")])
        #expect(headers["ACCEPT"] == "a, b" && headers.all("accept") == ["a", "b"])
        headers["accept"] = "c"
        #expect(headers.map(\.description) == ["accept: c", "X: 1"])
        headers["Y"] = "2"
        #expect(headers.map(\.name) == ["accept", "X", "Y"])
        headers["Accept"] = nil
        #expect(headers.map(\.name) == ["X", "Y"] && headers["Accept"] == nil)
        headers["Z"] = nil
        #expect(headers.count == 2)
    }

    @Test func whatReplacesASecretIsOne() {
        var headers = HTTPHeaders()
        headers.add("X-Ticket", "s3cret", isSecret: true)
        headers["X-Ticket"] = "0ther"
        #expect(headers.description == "X-Ticket: <redacted>" && headers["x-ticket"] == "0ther")
    }
}
