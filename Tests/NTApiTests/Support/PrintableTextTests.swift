import Testing

@testable import NTApi

/// In a terminal, a log or an error's message, control characters of a server's text are always escaped.
@Suite struct PrintableTextTests {
    /// All of C0, DEL and C1, the line separators, and the bidirectional controls of UAX 9.
    private static let controls: [Unicode.Scalar] =
        [0..<0x20, 0x7F..<0xA0, 0x61C..<0x61D, 0x200E..<0x2010, 0x2028..<0x202F, 0x2066..<0x206A]
        .flatMap { $0.compactMap { Unicode.Scalar(UInt32($0)) } }

    private static func has(_ text: String, _ scalar: Unicode.Scalar) -> Bool { text.unicodeScalars.contains(scalar) }

    @Test func everyControlIsEscapedAndNothingElse() {
        for value in (0..<0x11_0000 as Range<UInt32>) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(scalar)b"
            let isControl = Self.controls.contains(scalar) && scalar != "\n" && scalar != "\t"
            if isControl {
                #expect(!Self.has(printable(text), scalar) && !Self.has(quoted(text), scalar), "\(value)")
            } else if printable(text) != text {
                Issue.record("\(value) is escaped")
            }
        }
        #expect(printable("a\r\nb\r\rc\u{1B}[31m\u{9B}x\u{202E}") == "a\nb\\r\\rc\\u{1b}[31m\\u{9b}x\\u{202e}")
        #expect(printableLine("a\nb\r\nc") == "a\\nb\\nc" && printableLine("") == "")
        #expect(printableLines("a\n  b\nc\r\n\td") == "a\n  b\n  c\n  \td")
        #expect(printable("żółw 🐢 שלום") == "żółw 🐢 שלום")
    }

    private final class Client: TestClient, @unchecked Sendable {
        override func mapServiceError(_ response: APIResponse) -> APIError? {
            guard let message = response.json?["error"]?.string else { return nil }
            return APIError(code: ErrorCode(message), message: message)
        }
    }

    /// Each place from which a server's text may come, with every control character.
    private enum Place: CaseIterable {
        case header, headerName, cookie, location, serviceError, body, beforeJSON, invalidJSON, status

        func answer(_ text: String) -> StubAnswer {
            switch self {
            case .header: .json([:], headers: ["X-A": text, "ETag": text, "Content-Type": text])
            case .headerName: .json([:], headers: [text: "1"])
            case .cookie: .json([:], headers: ["Set-Cookie": "\(text)=\(text); path=/\(text)"])
            case .location: .status(302, headers: ["Location": "/\(text)?\(text)"])
            case .serviceError: .json(["error": JSON(text)], status: 400)
            case .body: .text("\(text)\nntapi error: forged")
            case .beforeJSON: .text("<b>\(text)</b>{\"a\": 1}", headers: ["Content-Type": "application/json"])
            case .invalidJSON: .text("{\"a\": \(text)}", headers: ["Content-Type": "application/json"])
            case .status: .text(text, status: 404)
            }
        }
    }

    @Test(arguments: Place.allCases) private func noControlLeavesTheLibrary(_ place: Place) async throws {
        for control in Self.controls {
            let client = Client(at: "http://api.test")
            client.logFlags = .all
            let stub = Stub()
            client.stub = stub
            stub.on("GET", "a").answer(place.answer("x\(control)y"))
            let response = await client.response("a")
            var texts = ["\(response)", "\(response.headers)", "\(response.request)"]
            texts += response.headers.map { "\($0)" }
            if let error = response.error { texts += [error.message, "\(error)", "\(error.code)"] }
            texts += response.requestMetrics.transactions.map { "\($0)" }
            for text in texts where Self.has(text, control) && control != "\n" && control != "\t" {
                Issue.record("\(place), \(control.value): \(quoted(text))")
            }
            for (level, line) in client.lines.all {
                if Self.has(line, control), control != "\t", control != "\n" {
                    Issue.record("\(place), \(control.value), \(level): \(quoted(line))")
                }
                let further = line.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
                // A server's text must not look like a line of the log.
                #expect(further.allSatisfy { $0.hasPrefix("  ") }, "\(place), \(control.value): \(quoted(line))")
                #expect(level == .debug || further.isEmpty, "\(place), \(control.value): \(quoted(line))")
            }
        }
    }

    @Test func cookiesAndURLs() throws {
        for control in Self.controls where control != "\n" && control != "\t" {
            let text = "x\(control)y"
            let printed = [
                "\(Cookie(name: text, value: text, domain: text, path: text))",
                "\(HTTPHeaders([(text, text)]))", "\(HTTPRequest(method: text, url: "http://h/\(text)"))",
                "\(ServerSentEvent(type: text, data: text, lastEventID: text))", "\(ErrorCode(text))",
                "\(ProtectionSpace(scheme: "http", host: "h", port: 1, realm: text))",
            ]
            for text in printed { #expect(!Self.has(text, control), "\(control.value): \(quoted(text))") }
            var error = APIError(code: .generic, message: text)
            #expect(!Self.has(error.message, control))
            error.message = text
            #expect(!Self.has(error.message, control))
        }
    }
}
