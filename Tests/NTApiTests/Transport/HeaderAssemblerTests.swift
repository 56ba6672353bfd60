import Testing

@testable import NTApi

@Suite struct HeaderAssemblerTests {
    private func assemble(_ lines: [String]) -> (HeaderAssembler, [HeaderAssembler.Outcome]) {
        var assembler = HeaderAssembler()
        let outcomes = lines.map { line in Array(line.utf8).withUnsafeBytes { assembler.append($0) } }
        return (assembler, outcomes)
    }

    @Test func assembles() {
        let (assembler, outcomes) = assemble([
            "HTTP/1.1 100 Continue\r\n", "X: interim\r\n", "\r\n", "HTTP/1.0 200 OK\r\n", "A: 1 \r\n", "a:2\r\n",
            "B:\r\n",
            " folded\t\r\n", "no colon\r\n", ": no name\r\n", "\r\n", "Trailer: x\r\n", "HTTP/1.1 500 x\r\n", "\r\n",
        ])
        #expect(outcomes.filter { $0 == .complete }.count == 1)
        #expect(assembler.head?.status == 200 && assembler.head?.httpVersion == 1.0)
        #expect(assembler.head?.headers.all("a") == ["1", "2"])
        #expect(assembler.head?.headers["b"] == "folded")
        #expect(assembler.head?.headers.count == 3)
        #expect(assembler.head?.headers.reason == "OK")
        #expect(assembler.trailers == HTTPHeaders([("Trailer", "x")]))
    }

    @Test(arguments: [
        ("HTTP/1.1 404 Not Found", "Not Found"), ("HTTP/1.1 404  spaces  kept \t", "spaces  kept"),
        ("HTTP/1.1 404", ""), ("HTTP/1.1 404 ", ""), ("HTTP/2 404", ""),
    ]) func keepsTheReason(_ line: String, _ reason: String) {
        #expect(assemble([line, ""]).0.head?.headers.reason == reason)
        #expect(assemble([line, "A: 1", ""]).0.head?.headers.reason == reason)
    }

    /// A reason phrase that is longer than the first block, with header lines after it.
    @Test func keepsALongReason() throws {
        let reason = String(repeating: "r", count: 5000)
        var headers = try #require(assemble(["HTTP/1.1 200 \(reason)", "A: 1", " 2", "B: 3", ""]).0.head).headers
        #expect(headers.reason == reason && headers == HTTPHeaders([("A", "1 2"), ("B", "3")]))
        headers.set("A", "4")
        #expect(headers.reason.isEmpty, "changed headers have no reason phrase")
    }

    @Test func trailersAreApart() {
        let start = ["HTTP/1.1 200 OK", "A: 1", ""]
        #expect(assemble(start).0.trailers == nil)
        let (assembler, _) = assemble(start + ["A: 2", " folded", "b: 3", "HTTP/1.1 500: no", "no colon", ""])
        #expect(assembler.trailers == HTTPHeaders([("A", "2 folded"), ("b", "3")]))
        #expect(assembler.head?.headers == HTTPHeaders([("A", "1")]))
        // After a restart, there are no trailers.
        var restarted = assembler
        restarted.restart()
        #expect(restarted.trailers == nil)
    }

    @Test(arguments: ["Content-Length", "TRANSFER-ENCODING"]) func refusesFoldedFraming(_ name: String) {
        #expect(assemble(["HTTP/1.1 200 OK", "A: 1", "\(name): 5", " 0"]).1.last == .foldedFraming)
        #expect(assemble(["HTTP/1.1 200 OK", "\(name):", "\t5"]).1.last == .foldedFraming)
        #expect(assemble(["HTTP/1.1 200 OK", "\(name): 5", "B: 1", " 0"]).1.last == .more)
    }

    @Test func tellsThatTheServerHasSwitched() {
        let (assembler, outcomes) = assemble(["HTTP/1.1 101 Switching Protocols", "Upgrade: x", ""])
        #expect(outcomes == [.more, .more, .switched] && assembler.information?.headers["upgrade"] == "x")
        #expect(assembler.head == nil)
    }

    /// The limit for all header lines also counts trailers.
    @Test func trailersAreLimited() {
        let line = "X: \(String(repeating: "x", count: 1000))"
        let (_, outcomes) = assemble(["HTTP/1.1 200 OK", ""] + Array(repeating: line, count: 400))
        #expect(outcomes.last == .tooLarge)
    }

    /// More lines and text than the initial capacity, with continued lines.
    @Test func growsWithItsLines() throws {
        let values = (0..<200).map { String(repeating: "v", count: $0) }
        let lines = values.enumerated().flatMap { ["N\($0.offset): \($0.element)\r\n", "\t\($0.element) \r\n"] }
        let headers = try #require(assemble(["HTTP/1.1 200 OK\r\n"] + lines + ["\r\n"]).0.head).headers
        #expect(headers.map(\.name) == values.indices.map { "N\($0)" })
        #expect(headers.map(\.value) == values.map { $0.isEmpty ? "" : "\($0) \($0)" })
        #expect(headers["n199"] == values[199] + " " + values[199] && headers["n200"] == nil)
    }

    @Test func whatCameIsLikeWhatWasMade() throws {
        let lines = ["HTTP/1.1 200 OK", "A: 1", "Set-Cookie: x", "a: 2", "B:", "set-cookie: y", ""]
        let came = try #require(assemble(lines).0.head).headers
        let made = HTTPHeaders([("A", "1"), ("Set-Cookie", "x"), ("a", "2"), ("B", ""), ("set-cookie", "y")])
        #expect(came == made && Array(came) == Array(made) && came.description == made.description)
        for name in ["a", "A", "b", "SET-COOKIE", "c", ""] {
            #expect(came[name] == made[name] && came.all(name) == made.all(name))
        }
        #expect(came["a"] == "1, 2" && came["set-cookie"] == "x" && came.all("Set-Cookie") == ["x", "y"])
        let changes: [(inout HTTPHeaders) -> Void] = [
            { $0.set("A", "3") }, { $0.set("C", "3") }, { $0.add("a", "3") }, { $0.remove("SET-cookie") },
            { $0.removeSecrets() }, { $0.setIfAbsent("B", "3") },
            { $0.addMissing(from: HTTPHeaders([("b", "3"), ("C", "4")])) },
        ]
        for change in changes {
            var (left, right) = (came, made)
            change(&left)
            change(&right)
            #expect(left == right)
        }
        #expect(came == made)
    }

    @Test(arguments: [
        ("HTTP/2 204", 204, 2.0), ("HTTP/2 204 ", 204, 2), ("HTTP/1.1  302 Found", 302, 1.1), ("HTTP/3 599", 599, 3),
    ])
    func readsStatusLines(_ line: String, _ status: Int, _ version: Double) {
        let (assembler, _) = assemble([line, ""])
        #expect(assembler.head?.status == status && assembler.head?.httpVersion == version)
    }

    @Test(arguments: [
        "HTTP/", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 099", "HTTP/x 200", "HTTP/1.1 2 00",
        "HTTP/1.1 2000 OK", "HTTP/1.1 200OK", "HTTP/2 2000",
    ])
    func refusesStatusLines(_ line: String) { #expect(assemble([line]).1 == [.malformed]) }

    @Test func readsWhatIsNotUTF8AsISO88591() {
        var assembler = HeaderAssembler()
        for line in [Array("HTTP/2 200".utf8), [0x41, 0x3a, 0xff, 0xe4], []] {
            _ = line.withUnsafeBytes { assembler.append($0) }
        }
        #expect(assembler.head?.headers["a"] == "\u{ff}\u{e4}")
        #expect(
            assembler.head?.headers.bytes("a") == [0xff, 0xe4] && assembler.head?.headers.first?.bytes == [0xff, 0xe4])
        var changed = assembler.head?.headers ?? HTTPHeaders()
        changed.add("b", "c")
        #expect(
            changed.bytes("a") == [0xff, 0xe4] && changed.bytes("b") == Array("c".utf8) && changed.bytes("c") == nil)
        changed.set("a", "ÿ")
        #expect(changed.bytes("a") == Array("ÿ".utf8))
    }

    @Test func tellsInterimAnswersThatSaySomething() {
        var assembler = HeaderAssembler()
        var seen: [HeaderAssembler.Outcome] = []
        for line in ["HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", ""] {
            seen.append(Array(line.utf8).withUnsafeBytes { assembler.append($0) })
        }
        #expect(seen == [.more, .more, .more, .more, .information, .more, .complete])
        #expect(assembler.information?.status == 103 && assembler.information?.headers["link"] == "</a>")
        #expect(assembler.head?.status == 200 && assembler.head?.headers.isEmpty == true)
        // After a limit, interim responses are no longer reported.
        var count = 0
        for _ in 0..<100 {
            for line in ["HTTP/1.1 103", ""] {
                if Array(line.utf8).withUnsafeBytes({ assembler.append($0) }) == .information { count += 1 }
            }
        }
        #expect(count == 0)
    }

    @Test func isBounded() {
        var assembler = HeaderAssembler()
        let line = [UInt8](repeating: 0x61, count: 1024)
        for _ in 0..<300 { #expect(line.withUnsafeBytes { assembler.append($0) } == .more) }
        #expect(line.withUnsafeBytes { assembler.append($0) } == .tooLarge)
    }

    /// No input leads to a trap.
    @Test(arguments: [UInt64.random(in: 0 ... .max)]) func survivesAnything(seed: UInt64) {
        var random = SeededGenerator(seed)
        let alphabet = Array("HTTP/1.2 0\r\n\t:aä\0".utf8)
        for _ in 0..<2000 {
            var assembler = HeaderAssembler()
            for _ in 0..<8 {
                let line = (0..<Int.random(in: 0..<14, using: &random)).map { _ in
                    alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                }
                _ = line.withUnsafeBytes { assembler.append($0) }
            }
            _ = assembler.head?.announcedLength
        }
    }

    @Test(arguments: [
        (["5"], ResponseHead.AnnouncedLength.bytes(5)), ([], .unknown), (["5", "5"], .bytes(5)), (["5, 5"], .bytes(5)),
        (["5", "6"], .invalid), (["-5"], .invalid), (["+5"], .invalid), (["5,"], .invalid), ([""], .invalid),
        (["9223372036854775808"], .invalid), (["0x5"], .invalid), (["5 0"], .invalid), (["5\t0"], .invalid),
        ([" 5 ,\t5"], .bytes(5)), ([" "], .invalid), (["5, "], .invalid),
    ])
    func readsLengths(_ values: [String], _ length: ResponseHead.AnnouncedLength) {
        let headers = HTTPHeaders(values.map { ("Content-Length", $0) })
        #expect(ResponseHead(status: 200, headers: headers, httpVersion: 1.1).announcedLength == length)
    }
}
