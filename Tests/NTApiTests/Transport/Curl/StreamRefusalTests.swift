import Testing

@testable import NTApi

@Suite struct StreamRefusalTests {
    private func verdict(_ lines: String...) -> Bool {
        var refusal = StreamRefusal()
        var lastStream: Int?
        for line in lines { lastStream = Array(line.utf8).withUnsafeBytes { refusal.hear($0) } ?? lastStream }
        return refusal.isCertain(after: lastStream)
    }

    @Test func believesOnlyWhatIsSafe() {
        let goAway = "recveived GOAWAY, error=0, last_stream=99\n"
        #expect(verdict("Using Stream ID: 101 (easy handle 0x1)\n", goAway))
        #expect(!verdict("Using Stream ID: 99 (easy handle 0x1)\n", goAway))
        #expect(verdict("[HTTP/2] [101] OPENED stream for https://h/\n", goAway))
        #expect(!verdict("[HTTP/2] [99] OPENED stream for https://h/\n", goAway))
        #expect(!verdict("[HTTP/2] [101] [x: ] OPENED stream]\n", goAway))
        #expect(!verdict("x [HTTP/2] [101] OPENED stream for https://h/\n", goAway))
        #expect(verdict("HTTP/2 stream 101 refused by server, try again on a new connection\n"))
        #expect(!verdict("HTTP/2 stream x refused by server\n", "a HTTP/2 stream 1 refused by server\n"))
        #expect(!verdict(goAway))
        #expect(!verdict("Using Stream ID: 101 (easy handle 0x1)\n", goAway, "Using Stream ID: 1 (easy handle 0x1)\n"))
        #expect(!verdict("Using Stream ID: 101", " GOAWAY, error=0 (a server's words), last_stream=99\n"))
        #expect(verdict("REFUSED_STREAM, retrying a fresh connect\n"))
        #expect(!verdict("Issue another request to this URL: 'https://a/REFUSED_STREAM'\n"))
        #expect(!verdict("Using Stream ID: 101", "Connection died, retrying a fresh connect (retry count: 1)\n"))
        #expect(!verdict("Using Stream ID: ", "Using Stream ID: x", " GOAWAY, error=", " GOAWAY, error=1", ""))
        #expect(!verdict("Using Stream ID: 99999999999999999999", " GOAWAY, error=1, last_stream="))
    }
}
